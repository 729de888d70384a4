"""The tail: what the runs returned and nobody judged, as a random sample of it shows.

The population is the pairs that the audited runs returned down to a stated depth and that the
judgment set leaves unjudged. Documents that no run returned are outside it: the estimate is of what
these runs reached.

The sample is stratified, random without replacement within each stratum, by one of two designs:

* `total`: strata are bands of best rank by number of runs that returned the pair (and by family
  where known), over all queries. Best for one number: how many relevant documents are missed.
* `by-query`: the same within each query, for estimates by query and for xinfAP and infNDCG.

Both draw the same fraction of every stratum up to whole documents, because only then do the exact
intervals of `intervals.hypergeometric` hold for the total. Which strata get the document that
rounding leaves over is drawn too (systematic rounding), so that each document has exactly the same
chance. Under `by-query` a query too small for one draw gets one all the same, at its own fraction.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from poolaudit.errors import AuditError, first_of
from poolaudit.pairs import NEVER, Pairs
from poolaudit.tail import intervals

if TYPE_CHECKING:
    import pandas as pd

    from poolaudit.reading.documents import Documents

DESIGNS = ("total", "by-query")
RANK_BANDS = (10, 20, 50, 100, 200, 500, 1000)
"""Last best rank of each band of strata; one more band follows."""
RUN_BANDS = (1, 3, 7, 15)
"""Last number of runs of each band of strata; one more band follows."""
ENOUGH_FOR_A_QUERY = 20
"""Sampled documents from which a query's completeness is told."""


@dataclass(frozen=True)
class TailSettings:
    """How the tail is sampled.

    Attributes:
        beyond: pool depth to which calibration cuts the judgments.
        depth: how far down the runs the population reaches; None: as far as they go.
        size: documents to judge; more than the population is all of it.
        budget: what judging may cost, in any unit; None: `size` says how much is judged.
        cost: of judging one document, in the same unit.
        design: one of DESIGNS.
        seed: of the random numbers.
        draws: samples that calibration draws.
        alpha: 1 - confidence of the intervals.
    """

    beyond: int = 10
    depth: int | None = 100
    size: int = 200
    budget: float | None = None
    cost: float = 1
    design: str = "total"
    seed: int = 2019
    draws: int = 1000
    alpha: float = 0.05

    @property
    def documents(self) -> int:
        """How many documents are to be judged: `size`, or what the budget pays for."""
        return self.size if self.budget is None else size_within(self.budget, self.cost)


@dataclass(frozen=True)
class Frame:
    """The population, divided into strata: what a sample is drawn from.

    Attributes:
        rows: int64[population], row numbers in Pairs, ascending.
        stratum: int32[population], row number in `strata`.
        strata: a row each: `stratum` (its name), `query_id` (null when it spans queries),
            `population`, `fraction` (at which it is to be drawn), and what it holds:
            `best_rank_from`, `best_rank_to`, `returned_by_from`, `returned_by_to`, `families`.
        size: documents to draw.
    """

    rows: np.ndarray
    stratum: np.ndarray
    strata: pd.DataFrame
    size: int

    def __len__(self) -> int:
        return len(self.rows)

    def count(self, grades: np.ndarray, levels: Sequence[int]) -> np.ndarray:
        """int64[levels, strata]: documents of each stratum with a grade of at least each level.

        Args:
            grades: int16[pairs], the truth.
            levels: grades.
        """
        grade = grades[self.rows]
        return np.array(
            [np.bincount(self.stratum[grade >= k], minlength=len(self.strata)) for k in levels]
        ).reshape(len(levels), len(self.strata))


def size_within(budget: float, cost: float) -> int:
    """How many documents a budget pays for, at the cost of judging one, in the same unit.

    Raises:
        AuditError: not one.
    """
    size = int(budget // cost)
    if size < 1:
        raise AuditError(
            "the budget does not pay for one judgment",
            where="tail: budget and cost",
            found=f"budget {budget:g}, cost of a judgment {cost:g}",
            expected="a budget of at least one judgment, in the same unit",
            todo="raise tail: budget",
        )
    return size


def population(pairs: Pairs, grades: np.ndarray, depth: int | None = None) -> np.ndarray:
    """int64: the pairs that the audited runs returned to `depth` and the judgment set lacks.

    Grades below zero (in the pool, not judged) count as lacking; `depth` None is as far as the runs
    go.
    """
    returned = pairs.any_best_rank <= depth if depth else pairs.any_best_rank != NEVER
    return np.flatnonzero(returned & (grades < 0))


def stratify(pairs: Pairs, rows: np.ndarray, size: int, design: str = "total") -> Frame:
    """Divide a population into strata that a sample of `size` can represent.

    Cells of rank band, run band and family that are too small for one draw at the common fraction
    are merged with a neighbour: the next cell in the order of query, rank band, run band, family.

    Args:
        pairs: the pairs.
        rows: the population, ascending row numbers. An empty one has no strata, its sample no
            documents, and what it misses is 0.
        size: documents to draw, at least one; under `by-query` at least one a query.
        design: one of DESIGNS.

    Raises:
        AuditError: too little to draw for the design.
    """
    import pandas as pd

    query = pairs.query[rows] if design == "by-query" else np.zeros(len(rows), np.int32)
    owners, owner, members = np.unique(query, return_inverse=True, return_counts=True)
    _check(len(rows), size, design, len(owners))
    size = min(size, len(rows))
    fraction = _common_fraction(members, size) if len(rows) else 1.0

    families = pairs.holders.get("family")
    family = families.best[rows] if families else np.zeros(len(rows), np.int32)
    best_rank, returned_by = pairs.any_best_rank[rows], pairs.returned_by[rows]
    bands = np.stack(
        [
            owner,
            np.searchsorted(RANK_BANDS, best_rank),
            np.searchsorted(RUN_BANDS, returned_by),
            family,
        ]
    )
    cells, cell, in_cell = np.unique(bands, axis=1, return_inverse=True, return_counts=True)
    of_cell = _merge(in_cell, cells[0], 1 / fraction)
    stratum = of_cell[cell.ravel()].astype(np.int32)

    held = np.bincount(stratum)
    first = np.unique(of_cell, return_index=True)[1]
    owner_of = cells[0][first]
    alone = members[owner_of] * fraction < 1
    order = np.argsort(stratum, kind="stable")
    starts = np.cumsum(held) - held
    strata = pd.DataFrame(
        {
            "stratum": _names(pairs, owners[owner_of], design),
            # With its type said, it is text also where it is null throughout.
            "query_id": pd.array(
                [pairs.query_ids[q] if design == "by-query" else None for q in owners[owner_of]],
                "string",
            ),
            "population": held,
            "fraction": np.where(alone, 1 / held, fraction),
            "best_rank_from": np.minimum.reduceat(best_rank[order], starts),
            "best_rank_to": np.maximum.reduceat(best_rank[order], starts),
            "returned_by_from": np.minimum.reduceat(returned_by[order], starts),
            "returned_by_to": np.maximum.reduceat(returned_by[order], starts),
            "families": _families(families, cells[3], of_cell),
        }
    )
    return Frame(rows, stratum, strata, size)


def _check(population: int, size: int, design: str, queries: int) -> None:
    if design not in DESIGNS:
        raise AuditError("no such sampling design", found=design, expected=" or ".join(DESIGNS))
    if size < 1 or (design == "by-query" and size < min(queries, population)):
        raise AuditError(
            "the sample is too small for its design",
            found=f"size {size:,}",
            expected=f"at least {queries if design == 'by-query' else 1:,}"
            + (", one document for each query" if design == "by-query" else ""),
            todo="raise tail: size, or choose design: total",
        )


def _common_fraction(members: np.ndarray, size: int) -> float:
    """The fraction for all who are large enough for one draw; the others get one draw each."""
    small = np.zeros(len(members), bool)
    while True:
        fraction = (size - small.sum()) / max(1, members[~small].sum())
        grown = small | (members * fraction < 1)
        if (grown == small).all():
            return fraction
        small = grown


def _merge(sizes: np.ndarray, owner: np.ndarray, least: float) -> np.ndarray:
    """int64[cells]: the stratum of each cell; strata of one owner, of `least` documents or more.

    Cells are added up in their order until they are enough. What is left over at the end of an
    owner joins its last stratum; an owner with too few in all is one stratum.
    """
    stratum = np.zeros(len(sizes), np.int64)
    current, held = -1, 0
    for cell, size in enumerate(sizes):
        new_owner = cell == 0 or owner[cell] != owner[cell - 1]
        if new_owner or held >= least - 1e-9:
            rest = sizes[cell:][owner[cell:] == owner[cell]].sum()
            if new_owner or rest >= least - 1e-9:
                current, held = current + 1, 0
        stratum[cell] = current
        held += size
    return stratum


def _names(pairs: Pairs, query: np.ndarray, design: str) -> list[str]:
    """Names that say nothing of ranks: assessors see them, and a spreadsheet leaves them alone."""
    if design == "total":
        width = len(str(len(query)))
        return [f"s{number:0{width}d}" for number in range(1, len(query) + 1)]
    number = np.arange(1, len(query) + 1) - np.searchsorted(query, query)
    return [f"q{pairs.query_ids[q]}.s{i}" for q, i in zip(query, number, strict=True)]


def _families(families, family: np.ndarray, of_cell: np.ndarray) -> list[str]:
    n_strata = of_cell.max(initial=-1) + 1
    if families is None:
        return [""] * n_strata
    names = np.array([*families.names, "none in the pool"], object)
    return [", ".join(names[np.unique(family[of_cell == s])]) for s in range(n_strata)]


def allocate(frame: Frame, rng: np.random.Generator, draws: int = 1) -> np.ndarray:
    """How many documents each stratum gives, by systematic rounding.

    The strata of the common fraction f are laid end to end, and every 1/f-th place is drawn from a
    random start: a stratum of N documents gives f N rounded down or up, f N on average, and the sum
    is the size of the sample. A stratum at its own fraction gives one.

    Returns:
        int64[draws, strata], at least 1 each.
    """
    held = frame.strata["population"].to_numpy()
    alone = (frame.strata["fraction"] != frame.strata["fraction"].min()).to_numpy()
    if alone.all() or not (~alone).any():
        return np.ones((draws, len(held)), np.int64)
    size, total = frame.size - alone.sum(), held[~alone].sum()
    ends = np.concatenate([[0], np.cumsum(held[~alone])]) * size
    start = rng.integers(total, size=(draws, 1))
    allocated = np.ones((draws, len(held)), np.int64)
    allocated[:, ~alone] = np.diff((ends + start) // total, axis=1)
    return allocated


def draw(
    pairs: Pairs,
    frame: Frame,
    seed: int = 2019,
    queries: Mapping[str, str] | None = None,
    documents: Documents | None = None,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Draw the sample: the judging sheet and the counts that its estimate needs.

    Args:
        pairs, frame: as `stratify` took and gave them.
        seed: the same seed and inputs give the same sample.
        queries: the text of each query by its id.
        documents: where their text is at hand.

    Returns:
        sample: query_id, query, doc_id, text (only if any is at hand), stratum,
            inclusion_probability (documents drawn over documents held, in the stratum), relevance
            (null: not judged yet). In the order of the queries and, within each, in random order,
            so that a document's place says nothing of its rank.
        strata: `frame.strata` and `sampled`.
    """
    import pandas as pd

    rng = np.random.default_rng(seed)
    sampled = allocate(frame, rng)[0]
    key = rng.random(len(frame))
    order = np.lexsort((key, frame.stratum))
    held = frame.strata["population"].to_numpy()
    place = np.arange(len(order)) - np.repeat(np.cumsum(held) - held, held)
    drawn = order[place < np.repeat(sampled, held)]
    drawn = drawn[np.lexsort((key[drawn], pairs.query[frame.rows[drawn]]))]

    rows, stratum = frame.rows[drawn], frame.stratum[drawn]
    query_id = [pairs.query_ids[code] for code in pairs.query[rows]]
    doc_id = pairs.doc_id.take(rows).to_pylist()
    columns = {
        "query_id": query_id,
        "query": [(queries or {}).get(query) or "" for query in query_id],
        "doc_id": doc_id,
    }
    if documents:
        texts = documents.texts(pairs.doc_id.take(rows))
        columns["text"] = [texts.get(doc, "") for doc in doc_id]
    sample = pd.DataFrame(
        {
            **columns,
            "stratum": frame.strata["stratum"].to_numpy()[stratum],
            "inclusion_probability": sampled[stratum] / held[stratum],
            "relevance": pd.array([None] * len(rows), "Int16"),
        }
    )
    return sample, frame.strata.assign(sampled=sampled)


def judged_relevant(pairs: Pairs, grades: np.ndarray, levels: Sequence[int]) -> pd.DataFrame:
    """query_id, level, judged_relevant: judged documents with a grade of at least each level."""
    import pandas as pd

    counts = [np.bincount(pairs.query[grades >= k], minlength=len(pairs.query_ids)) for k in levels]
    return pd.DataFrame(
        {
            "query_id": np.tile(np.array(pairs.query_ids, object), len(levels)),
            "level": np.repeat(np.asarray(levels, np.int64), len(pairs.query_ids)),
            "judged_relevant": np.concatenate([*counts, np.empty(0, np.int64)]),
        }
    )


def estimate(
    sample: pd.DataFrame,
    strata: pd.DataFrame,
    judged: pd.DataFrame,
    *,
    alpha: float = 0.05,
    truth: np.ndarray | None = None,
) -> pd.DataFrame:
    """Estimate the relevant documents that were missed, and how complete the judgments are.

    The estimate is the sum over strata of N x / n, with x relevant among n judged of N. Rows of the
    sample without a grade are left out: their stratum's n is smaller. That assumes that they were
    skipped for reasons that have nothing to do with their relevance (`skipped` says it).

    Args:
        sample: stratum and relevance, as `draw` gave them, with grades filled in.
        strata: stratum, query_id, population, sampled, fraction, as `draw` gave them.
        judged: as `judged_relevant` gave it, for the levels to estimate.
        alpha: 1 - confidence.
        truth: int64[levels, strata], relevant documents of each stratum, where known
            (`Frame.count`).

    Returns:
        One row for each level and each of: the total (`scope` "total"), the strata ("stratum"), and
        the queries of a sample drawn by query ("query"). Columns: scope, name, level, population,
        sampled, judged, relevant (found in the sample), estimate, low, high, method, not_covered
        (documents of strata of which nothing was judged: none of them in the estimate, all in
        `high`), judged_relevant, completeness = judged_relevant / (judged_relevant + estimate),
        completeness_low, completeness_high (from `high` and `low`; null for strata and for queries
        with fewer than 20 judged), truth.
    """
    import pandas as pd

    levels = judged["level"].unique()
    place = pd.Index(strata["stratum"]).get_indexer(sample["stratum"])
    grade = sample["relevance"].to_numpy(np.float64, na_value=np.nan)
    counts = _Counts(
        population=strata["population"].to_numpy(),
        sampled=strata["sampled"].to_numpy(),
        judged=np.bincount(place[~np.isnan(grade)], minlength=len(strata)),
        fraction=strata["fraction"].to_numpy(),
        alpha=alpha,
    )
    by_level = judged.groupby("level")["judged_relevant"].sum()
    by_query = judged.set_index(["level", "query_id"])["judged_relevant"]
    rows = []
    for i, level in enumerate(levels):
        relevant = np.bincount(place[grade >= level], minlength=len(strata))
        for scope, name, among in _scopes(strata):
            judged_relevant = None
            if scope == "total":
                judged_relevant = by_level[level]
            elif scope == "query" and counts.judged[among].sum() >= ENOUGH_FOR_A_QUERY:
                judged_relevant = by_query[level, name]
            found = counts.estimate(among, relevant, judged_relevant)
            known = None if truth is None else int(truth[i][among].sum())
            rows.append({"scope": scope, "name": name, "level": level, **found, "truth": known})
    whole = ("level", "population", "sampled", "judged", "relevant", "low", "high")
    optional = ("not_covered", "judged_relevant", "truth")
    kinds = dict.fromkeys(whole, "int64") | dict.fromkeys(optional, "Int64")
    ratios = ("estimate", "completeness", "completeness_low", "completeness_high")
    return pd.DataFrame(rows).astype(kinds | dict.fromkeys(ratios, "float64"))


def _scopes(strata: pd.DataFrame) -> Iterator[tuple[str, str, np.ndarray]]:
    """What is estimated: scope, name, and which strata it takes (bool[strata])."""
    yield "total", "", np.ones(len(strata), bool)
    for name in strata["stratum"]:
        yield "stratum", name, (strata["stratum"] == name).to_numpy()
    for query in strata["query_id"].dropna().unique():
        yield "query", query, (strata["query_id"] == query).to_numpy()


@dataclass(frozen=True)
class _Counts:
    """What the strata hold and how much of them was judged, int64[strata]."""

    population: np.ndarray
    sampled: np.ndarray
    judged: np.ndarray
    fraction: np.ndarray
    alpha: float

    def estimate(self, among: np.ndarray, relevant: np.ndarray, judged_relevant: int | None):
        """The estimate for some of the strata, as a row of the table."""
        held, n, x = self.population[among], self.judged[among], relevant[among]
        as_meant = np.where(n == self.sampled[among], self.fraction[among], n / held)
        found = intervals.total(held, n, x, as_meant, self.alpha)
        seen = n > 0
        known = seen.any() or not len(held)
        missed = float((held[seen] * x[seen] / n[seen]).sum()) if known else np.nan
        # Rounding to whole documents can put the sum of N x / n just outside the interval of the
        # pooled sample; the interval is then widened to hold it.
        low, high = found.low, found.high
        if seen.any():
            low, high = min(low, int(missed)), max(high, int(np.ceil(missed - 1e-9)))
        share = [_completeness(judged_relevant, value) for value in (missed, high, low)]
        return {
            "population": held.sum(),
            "sampled": self.sampled[among].sum(),
            "judged": n.sum(),
            "relevant": x.sum(),
            "estimate": missed,
            "low": low,
            "high": high,
            "method": found.method,
            "not_covered": held[~seen].sum(),
            "judged_relevant": judged_relevant,
            "completeness": share[0],
            "completeness_low": share[1],
            "completeness_high": share[2],
        }


def _completeness(judged_relevant: int | None, missed: float) -> float:
    """judged / (judged + missed); NaN where none is known of and none is missed."""
    if judged_relevant is None or not judged_relevant + missed:
        return np.nan
    return judged_relevant / (judged_relevant + missed)


def skipped(sample: pd.DataFrame, strata: pd.DataFrame) -> list[str]:
    """What was skipped in a partly filled-in sample and what the estimate then assumes, in words.

    Returns:
        Sentences; none when every row has a grade.
    """
    missing = sample["relevance"].isna()
    if not missing.any():
        return []
    said = [
        f"{missing.sum():,} of {len(sample):,} sampled documents have no grade; the estimate "
        "assumes that they were skipped for reasons that have nothing to do with their relevance."
    ]
    by_query = missing.groupby(sample["query_id"], sort=True).all()
    if by_query.any():
        said.append(
            f"Nothing was judged for {by_query.sum():,} of {len(by_query):,} sampled queries ("
            + first_of(map(str, by_query.index[by_query]), 10)
            + "): they are taken to be like the others."
        )
    by_stratum = missing.groupby(sample["stratum"], sort=True).all()
    if by_stratum.any():
        empty = strata[strata["stratum"].isin(by_stratum.index[by_stratum])]
        said.append(
            f"Nothing was judged in {len(empty):,} strata of {empty['population'].sum():,} "
            "documents: none of these is in the estimate, and the upper end of the interval takes "
            "them all to be relevant."
        )
    return said
