"""How much the contributors' rankings overlap, and how many independent ones that makes.

Runs that return the same documents find the same relevant ones, and miss the same. Overlap says how
alike two contributors are; families are groups of runs that are alike; the effective number says
how many contributors without overlap would be as diverse. Relevant documents are shared by good
systems however independent they are, so all this is a lower guess at independence.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from poolaudit.pairs import Pairs, Rankings

PERSISTENCE = 0.9
DEPTH = 100
SAME_FAMILY = 0.4


def rank_biased_overlap(
    rankings: Rankings, p: float = PERSISTENCE, depth: int = DEPTH
) -> np.ndarray:
    """Mean rank-biased overlap of every two runs, extrapolated (Webber, Moffat and Zobel 2010).

    The variant is RBO_ext, their equation 32, which fits lists of unequal length. With s and l the
    lengths of the shorter and the longer list and X_d the number of documents common to the first d
    of both (of the shorter one its first s, beyond its end)::

        (1 - p) / p * (sum_{d=1..l} X_d p^d / d + sum_{d=s+1..l} X_s (d - s) p^d / (s d))
            + ((X_l - X_s) / l + X_s / s) p^l

    Args:
        rankings: the rankings.
        p: persistence; at 0.9 the first ten ranks carry 86% of the weight.
        depth: lists are cut here; at p = 0.9 the first 100 ranks carry 99.997%.

    Returns:
        float64[runs, runs], the mean over the queries that both runs answered; 0 for two runs that
        answered none in common. 1 on the diagonal.
    """
    n_runs = len(rankings.runs)
    total = np.zeros((n_runs, n_runs))
    shared = np.zeros((n_runs, n_runs), int)
    for lists in _lists_by_query(rankings):
        runs = rankings.list_run[lists]
        square = np.ix_(runs, runs)
        total[square] += _rbo_of_query(rankings, lists, p, depth)
        shared[square] += 1
    mean = np.divide(total, shared, out=np.zeros_like(total), where=shared > 0)
    np.fill_diagonal(mean, 1)
    return mean


def _lists_by_query(rankings: Rankings) -> list[np.ndarray]:
    """For each query that any run answered, the indices of its lists."""
    starts = np.flatnonzero(np.diff(rankings.list_query, prepend=-1))
    return np.split(np.arange(len(rankings.list_query)), starts[1:]) if len(starts) else []


def _rbo_of_query(rankings: Rankings, lists: np.ndarray, p: float, depth: int) -> np.ndarray:
    """float64[lists, lists]: RBO_ext of every two lists of one query."""
    length = np.minimum(rankings.length[lists], depth)
    document, place = _places(rankings, lists, length)
    shorter = np.minimum(length[:, None], length)
    longer = np.maximum(length[:, None], length)
    common = np.zeros(shorter.shape)
    at_shorter, at_longer, total = np.zeros((3, *shorter.shape))
    for d in range(1, length.max() + 1):
        # A list that has ended brings no document in; its column of `document` is past the last.
        of_i_in_j = place[:, document[:, d - 1]].T  # rank in list j of the d-th document of list i
        of_j_in_i = of_i_in_j.T
        common += of_i_in_j <= d
        common += of_j_in_i < d
        at_shorter = np.where(shorter == d, common, at_shorter)
        at_longer = np.where(longer == d, common, at_longer)
        beyond = np.where(d > shorter, at_shorter * (d - shorter) / shorter, 0)
        total += np.where(d <= longer, (common + beyond) / d * p**d, 0)
    tail = ((at_longer - at_shorter) / longer + at_shorter / shorter) * p**longer
    return (1 - p) / p * total + tail


def _places(
    rankings: Rankings, lists: np.ndarray, length: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The documents of a query's lists as numbers, and the rank of each in each list.

    Returns:
        document, int[lists, depth]: the document at each rank; the number after the last past a
        list's end. place, int[lists, documents + 1]: the rank, or a rank beyond any where the list
        does not hold the document.
    """
    deepest = length.max()
    inside = np.arange(deepest) < length[:, None]
    rows = (rankings.offsets[lists][:, None] + np.arange(deepest))[inside]
    known, code = np.unique(rankings.pair[rows], return_inverse=True)
    document = np.full(inside.shape, len(known))
    document[inside] = code
    place = np.full((len(lists), len(known) + 1), np.iinfo(np.int32).max)
    of, rank = np.nonzero(inside)
    place[of, code] = rank + 1
    return document, place


def jaccard(
    pairs: Pairs,
    rankings: Rankings,
    depth: int = DEPTH,
    member: np.ndarray | None = None,
) -> np.ndarray:
    """Mean Jaccard overlap of the first `depth` documents of every two contributors.

    |A and B| / |A or B|, where A holds what any run of a contributor returned to `depth`.

    Args:
        pairs, rankings: the two tables.
        depth: how far down the lists.
        member: int[runs], the contributor that each run belongs to, from 0; -1 for none. Default:
            every run by itself. The overlap of two contributors of very different size is small
            however alike they are.

    Returns:
        float64[contributors, contributors], the mean over the queries that both answered; 0 for two
        that answered none in common. 1 on the diagonal.
    """
    member = np.arange(len(rankings.runs)) if member is None else np.asarray(member)
    n = int(member.max(initial=-1)) + 1
    contributor = member[rankings.list_run]
    rows = np.flatnonzero((rankings.rank <= depth) & (contributor >= 0)[rankings.list_of])
    contributor, pair = contributor[rankings.list_of[rows]], rankings.pair[rows]
    # Rows are in the order of queries: each query is one block of them.
    ends = np.searchsorted(pairs.query[pair], np.arange(len(pairs.query_ids)), side="right")
    total, shared = np.zeros((n, n)), np.zeros((n, n), int)
    for start, end in zip(np.append(0, ends), ends, strict=False):
        documents, code = np.unique(pair[start:end], return_inverse=True)
        holds = np.zeros((n, len(documents)), np.float32)
        holds[contributor[start:end], code] = 1
        common = holds @ holds.T
        size = np.diag(common)
        both = (size[:, None] > 0) & (size > 0)
        union = size[:, None] + size - common
        total += np.divide(common, union, out=np.zeros((n, n)), where=both)
        shared += both
    mean = np.divide(total, shared, out=np.zeros((n, n)), where=shared > 0)
    np.fill_diagonal(mean, 1)
    return mean


def effective_number(overlap: np.ndarray) -> float:
    """How many contributors without overlap would be as diverse: n^2 / sum of squared overlaps.

    n where none overlap, 1 where all are the same. NaN for no contributors.
    """
    return len(overlap) ** 2 / np.square(overlap).sum() if len(overlap) else float("nan")


def find_families(overlap: np.ndarray, least: float = SAME_FAMILY) -> np.ndarray:
    """Families of runs that are alike, by average linkage (Sokal and Michener 1958).

    The two clusters with the highest mean overlap are joined, again and again, as long as it is at
    least `least`.

    Args:
        overlap: float64[runs, runs], symmetric, between 0 and 1.
        least: the mean overlap at which two clusters still are one family.

    Returns:
        int[runs], the family of each run; families are numbered by their first run.
    """
    from scipy.cluster import hierarchy

    if len(overlap) < 2:
        return np.zeros(len(overlap), int)
    # The distances are sums of rounded floats; a pair just at the threshold belongs together.
    labels = hierarchy.fcluster(_linkage(overlap), 1 - least + 1e-12, "distance")
    _, first, code = np.unique(labels, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[code]


def name_families(overlap: np.ndarray, families: np.ndarray, runs: Sequence[str]) -> list[str]:
    """Name found families by their most typical run: `like <run>`.

    The most typical run has the highest mean overlap with the runs of its family; the first of
    them by order where several have.
    """
    typical = {}
    for family in np.unique(families):
        members = np.flatnonzero(families == family)
        inside = overlap[np.ix_(members, members)].mean(axis=1)
        typical[family] = runs[members[np.argmax(inside.round(12))]]
    return [f"like {typical[family]}" for family in families]


def order_by_family(overlap: np.ndarray, families: Sequence[str]) -> np.ndarray:
    """An order of the runs for a heat map: by family, and within it those alike side by side."""
    from scipy.cluster import hierarchy

    families = np.asarray(families, object)
    order = []
    for family in sorted(set(families)):
        members = np.flatnonzero(families == family)
        if len(members) > 1:
            inside = overlap[np.ix_(members, members)]
            members = members[hierarchy.leaves_list(_linkage(inside))]
        order.append(members)
    return np.concatenate(order) if order else np.empty(0, int)


def _linkage(overlap: np.ndarray) -> np.ndarray:
    from scipy.cluster import hierarchy
    from scipy.spatial.distance import squareform

    distance = 1 - overlap
    np.fill_diagonal(distance, 0)
    return hierarchy.linkage(squareform(distance, checks=False), "average")
