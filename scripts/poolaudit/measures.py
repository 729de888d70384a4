"""The measures, as functions of the judged rows of all lists at once.

A measure looks at a `View`: the judged lists, one judgment set, and whether the unjudged documents
are still in their places. It returns one value a list. Sums run down each list in rank order and
in double precision, as trec_eval's do, so that the values are equal to the last bit.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, Literal

import numpy as np

from poolaudit.errors import AuditError, nearest
from poolaudit.lists import JudgedLists

UNCUT = np.iinfo(np.int64).max
INFAP_EPSILON = 1e-5


@dataclass(frozen=True)
class Measure:
    """One measure with its parameters.

    Attributes:
        name: its canonical name in ir_measures' notation, such as `RBP(p=0.5,rel=2)`.
        base: the name without parameters.
        cutoff: the rank it stops at, or None.
        rel: the lowest grade that counts as relevant; None where grades are gains.
        p: the persistence of RBP.
        judged_only: unjudged documents are deleted before it is computed.
        ours: computed here; else by ir_measures.
    """

    name: str
    base: str
    cutoff: int | None = None
    rel: int | None = None
    p: float | None = None
    judged_only: bool = False
    ours: bool = True

    @property
    def own_policy(self) -> str | None:
        """What it does with unjudged documents, if it does that whatever the policy is."""
        return "condense" if self.judged_only else _OWN_POLICY.get(self.base)


class Graded:
    """The judged lists with the grades of one judgment set.

    Attributes:
        lists: the judged lists.
        grades: int16[pairs], the judgment set.
    """

    def __init__(self, lists: JudgedLists, grades: np.ndarray) -> None:
        self.lists = lists
        self.grades = grades
        self._rows: dict[int, np.ndarray] = {}

    @cached_property
    def grade(self) -> np.ndarray:
        """int16[rows]."""
        return self.grades[self.lists.pair]

    def regraded(self, grade: np.ndarray) -> Graded:
        """The same with other grades in the lists; R, N and the ideal ranking stay as they are."""
        other = Graded(self.lists, self.grades)
        other.grade = grade
        return other

    @cached_property
    def judged_before(self) -> np.ndarray:
        """int64[rows + 1]: the number of judged rows before each row, over all lists."""
        return running(self.grade >= 0)

    @cached_property
    def pooled_before(self) -> np.ndarray:
        """int64[rows + 1]: the same with the rows of grade -1: in the pool, not judged."""
        return running(self.grade >= -1)

    def relevant_rows(self, rel: int) -> np.ndarray:
        """int64: the rows with grade `rel` or above."""
        if rel not in self._rows:
            if rel == 1:
                self._rows[rel] = np.flatnonzero(self.grade >= 1)
            else:
                rows = self.relevant_rows(1)
                self._rows[rel] = rows[self.grade[rows] >= rel]
        return self._rows[rel]

    @cached_property
    def fully_judged(self) -> np.ndarray:
        """int64[lists]: how many documents at the head of each list are judged without a gap."""
        gaps = np.flatnonzero(~(self.lists.unbroken & (self.grade >= 0)))
        starts, stops = self.lists.offsets[:-1], self.lists.offsets[1:]
        first_gap = np.append(gaps, len(self.lists))[np.searchsorted(gaps, starts)]
        return np.minimum(first_gap, stops) - starts

    def relevant(self, rel: int) -> np.ndarray:
        """R, int64[queries]: judged documents with grade `rel` or above, returned or not."""
        return self._count(self._judged_grades >= rel)

    def nonrelevant(self, rel: int) -> np.ndarray:
        """N, int64[queries]: judged documents with a grade below `rel`, returned or not."""
        return self._count((self._judged_grades >= 0) & (self._judged_grades < rel))

    @cached_property
    def _judged_grades(self) -> np.ndarray:
        return self.grades[self.lists.judged_pair]

    def _count(self, among: np.ndarray) -> np.ndarray:
        queries = self.lists.judged_query[among]
        return np.bincount(queries, minlength=len(self.lists.query_ids))

    def ideal(self, discounted: bool) -> np.ndarray:
        """float64[queries, 1 + most]: the (discounted) gain of the best ranking to each depth."""
        positive = self._judged_grades >= 1
        query, grade = self.lists.judged_query[positive], self._judged_grades[positive]
        order = np.lexsort((-grade, query))
        count = np.bincount(query, minlength=len(self.lists.query_ids))
        place = np.arange(1, len(query) + 1) - np.repeat(np.cumsum(count) - count, count)
        gain = grade[order].astype(np.float64)
        if discounted:
            gain /= discounts(len(place))[place]
        gains = np.zeros((len(count), 1 + count.max(initial=0)))
        gains[query, place] = gain
        return np.cumsum(gains, axis=1)


class View:
    """Where the judged documents stand under a policy.

    Attributes:
        graded: the judged lists with their grades.
        condensed: unjudged documents are deleted and the rest move up (trec_eval -J); else they
            stay, and count as nonrelevant.
    """

    def __init__(self, graded: Graded, *, condensed: bool) -> None:
        self.graded = graded
        self.condensed = condensed
        self._hits: dict[int, Hits] = {}

    @property
    def query(self) -> np.ndarray:
        """int32[lists]: the query of each list."""
        return self.graded.lists.list_query

    def hits(self, rel: int) -> Hits:
        """The rows of relevant documents: those with grade `rel` or above."""
        if rel not in self._hits:
            self._hits[rel] = self._find_hits(rel)
        return self._hits[rel]

    def _find_hits(self, rel: int) -> Hits:
        lists = self.graded.lists
        row = self.graded.relevant_rows(rel)
        of = lists.list_of[row]
        rank = self.judged_above(row, of) + 1 if self.condensed else lists.rank[row]
        count = np.bincount(of, minlength=lists.n_lists)
        first = np.cumsum(count) - count
        return Hits(
            row=row,
            of=of,
            rank=rank,
            grade=self.graded.grade[row],
            count=np.arange(1, len(row) + 1) - first[of],
        )

    def judged_above(self, row: np.ndarray, of: np.ndarray) -> np.ndarray:
        """int64: the judged documents above each given row in its list."""
        return self.graded.lists.above(self.graded.judged_before, row, of)

    def pooled_above(self, row: np.ndarray, of: np.ndarray) -> np.ndarray:
        """int64: those and the documents in the pool that were not judged (grade -1)."""
        before = self.graded.judged_before if self.condensed else self.graded.pooled_before
        return self.graded.lists.above(before, row, of)

    def sum(self, hits: Hits, values: np.ndarray) -> np.ndarray:
        """float64[lists]: the sum over each list, in rank order and in double precision."""
        return np.bincount(hits.of, values, minlength=self.graded.lists.n_lists)


@dataclass(frozen=True)
class Hits:
    """The rows of relevant documents, in rank order within each list.

    Attributes:
        row: int64[hits], row number in the judged lists.
        of: int64[hits], the list.
        rank: int64[hits], the rank in the view.
        grade: int16[hits].
        count: int64[hits], the relevant documents of the list down to this one.
    """

    row: np.ndarray
    of: np.ndarray
    rank: np.ndarray
    grade: np.ndarray
    count: np.ndarray


@cache
def discounts(depth: int) -> np.ndarray:
    """log2(rank + 1) for the ranks 0 to `depth`."""
    # numpy's own log2 may differ from C's, which trec_eval calls, in the last bit.
    return np.array([math.log2(rank + 1) for rank in range(depth + 1)])


def running(values: np.ndarray) -> np.ndarray:
    """[n + 1]: the sum of the values before each place, and of all; of a mask, the count."""
    total = np.zeros(len(values) + 1, np.float64 if values.dtype.kind == "f" else np.int64)
    np.cumsum(values, out=total[1:])
    return total


# One function a measure. `depth` is where to stop: one number, the measure's own cutoff (or UNCUT),
# or one number a list, the depth that the list is restricted to.
Depth = int | np.ndarray


def _ndcg(view: View, measure: Measure, depth: Depth) -> np.ndarray:
    """nDCG (Järvelin and Kekäläinen 2002), gain = grade: sum g_i / log2(i + 1) over its ideal."""
    hits = view.hits(1)
    within = _within(hits, depth)
    gain = hits.grade / discounts(hits.rank.max(initial=0))[hits.rank]
    return _over_ideal(view, np.where(within, gain, 0), depth, discounted=True)


def _ncg(view: View, measure: Measure, depth: Depth) -> np.ndarray:
    """NCG@k: the sum of the grades to rank k over the sum of the k highest grades judged."""
    hits = view.hits(1)
    within = _within(hits, depth)
    return _over_ideal(view, np.where(within, hits.grade, 0), depth, discounted=False)


def _over_ideal(view: View, gain: np.ndarray, depth: Depth, *, discounted: bool) -> np.ndarray:
    ideal = view.graded.ideal(discounted)
    at = np.minimum(depth, ideal.shape[1] - 1)
    total = view.sum(view.hits(1), gain)
    return ratio(total, ideal[view.query, at])


def _precision(view: View, measure: Measure, depth: Depth) -> np.ndarray:
    """P@k: relevant documents to rank k, over k, also when the list is shorter."""
    hits = view.hits(measure.rel)
    return ratio(view.sum(hits, _within(hits, depth)), depth)


def _recall(view: View, measure: Measure, depth: Depth) -> np.ndarray:
    """R@k: relevant documents to rank k, over R."""
    hits = view.hits(measure.rel)
    found = view.sum(hits, _within(hits, depth))
    return ratio(found, _to_find(view, measure, depth))


def _average_precision(view: View, measure: Measure, depth: Depth) -> np.ndarray:
    """AP: the sum over retrieved relevant documents of the precision at their ranks, over R."""
    hits = view.hits(measure.rel)
    within = _within(hits, depth)
    total = view.sum(hits, np.where(within, hits.count / hits.rank, 0))
    return ratio(total, _to_find(view, measure, depth))


def _to_find(view: View, measure: Measure, depth: Depth) -> np.ndarray:
    """R for each list; min(R, depth) where lists are restricted to a depth."""
    relevant = view.graded.relevant(measure.rel)[view.query]
    return np.minimum(relevant, depth) if np.ndim(depth) else relevant


def _reciprocal_rank(view: View, measure: Measure, depth: Depth) -> np.ndarray:
    """RR: 1 / rank of the first relevant document, or 0."""
    hits = view.hits(measure.rel)
    within = _within(hits, depth)
    return view.sum(hits, np.where(within & (hits.count == 1), 1 / hits.rank, 0))


def _success(view: View, measure: Measure, depth: Depth) -> np.ndarray:
    """Success@k: 1 if any of the first k documents is relevant, else 0."""
    hits = view.hits(measure.rel)
    within = _within(hits, depth)
    return view.sum(hits, within & (hits.count == 1))


def _rank_biased_precision(view: View, measure: Measure, depth: Depth) -> np.ndarray:
    """RBP (Moffat and Zobel 2008): (1 - p) sum of p^(i - 1) over the relevant documents' ranks i.

    The value is the low end; what unjudged documents and the end of the list leave open is the
    residual (`bounds.residuals`).
    """
    hits = view.hits(measure.rel)
    within = _within(hits, depth)
    weights = measure.p ** np.arange(hits.rank.max(initial=1))
    return (1 - measure.p) * view.sum(hits, np.where(within, weights[hits.rank - 1], 0))


def _bpref(view: View, measure: Measure, depth: Depth) -> np.ndarray:
    """Bpref (Buckley and Voorhees 2004), as trec_eval has it since version 8.

    (1 / R) sum over the retrieved relevant documents of 1 - min(n, R) / min(N, R), with n judged
    nonrelevant documents above; 1 where n = 0.
    """
    hits = view.hits(measure.rel)
    relevant = view.graded.relevant(measure.rel)[view.query]
    nonrelevant = view.graded.nonrelevant(measure.rel)[view.query]
    above = view.judged_above(hits.row, hits.of) - (hits.count - 1)
    lost = ratio(np.minimum(above, relevant[hits.of]), np.minimum(nonrelevant, relevant)[hits.of])
    return ratio(view.sum(hits, 1 - lost), relevant)


def _inferred_average_precision(view: View, measure: Measure, depth: Depth) -> np.ndarray:
    """infAP (Yilmaz and Aslam 2006), as trec_eval has it.

    Documents of grade -1 are in the pool and were not sampled for judging: the share of relevant
    documents among the judged ones above is taken to hold for them. Other unjudged documents,
    those of grade -2 included, are nonrelevant.
    """
    hits = view.hits(measure.rel)
    judged = view.judged_above(hits.row, hits.of)
    pooled = view.pooled_above(hits.row, hits.of)
    relevant = hits.count - 1
    above = np.maximum(hits.rank - 1, 1).astype(np.float64)
    expected = 1 / (above + 1) + (above / (above + 1)) * (pooled / above) * (
        (relevant + INFAP_EPSILON) / (judged + 2 * INFAP_EPSILON)
    )
    total = view.sum(hits, np.where(hits.rank == 1, 1, expected))
    return ratio(total, view.graded.relevant(measure.rel)[view.query])


def _judged(view: View, measure: Measure, depth: Depth) -> np.ndarray:
    """Judged@k: the judged share of the first min(k, retrieved) documents of the list as returned.

    No policy changes it.
    """
    return judged_within(view.graded, depth) / np.minimum(depth, view.graded.lists.length)


def judged_within(graded: Graded, depth: int) -> np.ndarray:
    """int64[lists]: the judged documents among the first `depth` of each list as returned."""
    lists = graded.lists
    counted = running((graded.grade >= 0) & (lists.rank <= depth))
    return np.diff(counted[lists.offsets])


def _within(hits: Hits, depth: Depth) -> np.ndarray:
    """Which hits are within the depth."""
    return hits.rank <= (depth[hits.of] if np.ndim(depth) else depth)


def ratio(above: np.ndarray, below: np.ndarray | int) -> np.ndarray:
    """above / below; 0 where below is 0."""
    quotient = np.zeros(np.broadcast_shapes(np.shape(above), np.shape(below)))
    return np.divide(above, below, out=quotient, where=np.asarray(below) != 0)


@dataclass(frozen=True)
class _Definition:
    """A measure of our own: its function, whether it has a cutoff, its parameters' defaults."""

    function: Callable[[View, Measure, Depth], np.ndarray]
    cutoff: Literal["required", "optional", "none"]
    defaults: Mapping[str, Any]


_REL = {"rel": 1}
_JUDGED_ONLY = {"judged_only": False}
_REQUIRED = None
_OURS = {
    "nDCG": _Definition(_ndcg, "optional", _JUDGED_ONLY),
    "NCG": _Definition(_ncg, "required", {}),
    "P": _Definition(_precision, "required", _REL | _JUDGED_ONLY),
    "R": _Definition(_recall, "required", _REL | _JUDGED_ONLY),
    "AP": _Definition(_average_precision, "optional", _REL | _JUDGED_ONLY),
    "RR": _Definition(_reciprocal_rank, "optional", _REL | _JUDGED_ONLY),
    "Success": _Definition(_success, "required", _REL | _JUDGED_ONLY),
    "RBP": _Definition(_rank_biased_precision, "optional", {"p": 0.8, "rel": _REQUIRED}),
    "Bpref": _Definition(_bpref, "none", _REL),
    "infAP": _Definition(_inferred_average_precision, "none", _REL),
    "Judged": _Definition(_judged, "optional", {}),
}
_ALIASES = {
    "NDCG": "nDCG",
    "MAP": "AP",
    "MRR": "RR",
    "Precision": "P",
    "Recall": "R",
    "BPref": "Bpref",
}
_TREC_EVAL = {
    "ndcg": "nDCG",
    "ndcg_cut": "nDCG",
    "map": "AP",
    "map_cut": "AP",
    "recip_rank": "RR",
    "recall": "R",
    "bpref": "Bpref",
    "success": "Success",
}
_OWN_POLICY = {
    "Bpref": "reads judged documents only",
    "infAP": "infers unjudged documents of the pool",
    "Judged": "counts judged documents",
}


def compute(view: View, measure: Measure, depth: Depth | None = None) -> np.ndarray:
    """The values of one of the project's own measures.

    Args:
        view: the judged lists under one judgment set.
        measure: a measure with `ours` true.
        depth: where to stop instead of at the measure's cutoff; one number a list restricts each
            list to a depth of its own.

    Returns:
        float64[lists].
    """
    if depth is None:
        depth = measure.cutoff or UNCUT
    return _OURS[measure.base].function(view, measure, depth)


def parse_measures(measures: Iterable[str | Measure]) -> tuple[Measure, ...]:
    """Parse several names; those that are parsed already are passed on."""
    return tuple(m if isinstance(m, Measure) else parse_measure(m) for m in measures)


def levels_of(measures: Iterable[str | Measure]) -> list[int]:
    """The relevance levels that the measures use, ascending; 1 is always among them."""
    return sorted({1} | {m.rel for m in parse_measures(measures) if m.rel is not None})


def parse_measure(name: str) -> Measure:
    """Parse a measure's name in ir_measures' notation.

    Args:
        name: such as `nDCG@10`, `AP(rel=2)`, `RBP(p=0.5,rel=2)` or `NCG@1000`. Spaces and
            parameters at their default are dropped, aliases such as `MAP` replaced.

    Returns:
        The measure. Names that are not among the project's own are looked up in ir_measures.

    Raises:
        AuditError: the name is not known, or its parameters are not.
    """
    match = re.fullmatch(r"(\w+)(?:\((.*)\))?(?:@(\d+))?", name.replace(" ", ""))
    if not match:
        raise AuditError("a measure's name cannot be read", found=name, expected=_EXAMPLES)
    base = _ALIASES.get(match[1], match[1])
    parameters = _parameters(name, match[2] or "")
    if base not in _OURS or not parameters.keys() <= _OURS[base].defaults.keys():
        return _of_ir_measures(name)
    return _own(name, base, parameters, int(match[3]) if match[3] else None)


_EXAMPLES = "a name as ir_measures writes them, such as nDCG@10, AP(rel=2) or RBP(p=0.5,rel=2)"


def _parameters(name: str, text: str) -> dict[str, str]:
    words = [word.split("=") for word in text.split(",") if word]
    if any(len(word) != 2 for word in words):
        raise AuditError("a measure's parameters cannot be read", found=name, expected=_EXAMPLES)
    return dict(words)


def _own(name: str, base: str, given: dict[str, str], cutoff: int | None) -> Measure:
    """Check the parameters of one of the project's own measures, and write its name anew."""
    definition = _OURS[base]
    if cutoff == 0 or (cutoff is None, definition.cutoff) in ((True, "required"), (False, "none")):
        expected = {"required": f"{base}@10", "optional": f"{base} or {base}@10", "none": base}
        raise AuditError(
            "a measure's cutoff is wrong or missing",
            found=name,
            expected=expected[definition.cutoff],
        )
    values = {**definition.defaults, **{key: _value(name, key, given[key]) for key in given}}
    if missing := [key for key in values if values[key] is _REQUIRED]:
        raise AuditError(f"{base} needs {missing[0]}=", found=name, expected=f"{base}(rel=1)")
    return _named(base, values, cutoff)


def _named(base: str, values: Mapping[str, Any], cutoff: int | None) -> Measure:
    """One of the project's own measures, with its canonical name."""
    defaults = _OURS[base].defaults
    shown = [f"{key}={values[key]!r}" for key in values if values[key] != defaults[key]]
    name = base + (f"({','.join(shown)})" if shown else "") + (f"@{cutoff}" if cutoff else "")
    return Measure(name=name, base=base, cutoff=cutoff, **values)


def at_level(measure: Measure, rel: int) -> Measure:
    """The same measure of binary relevance, with grades from `rel` on as relevant."""
    if measure.ours:
        parameters = {key: getattr(measure, key) for key in _OURS[measure.base].defaults}
        return _named(measure.base, {**parameters, "rel": rel}, measure.cutoff)
    import ir_measures

    return parse_measure(str(ir_measures.parse_measure(measure.name)(rel=rel)))


def _value(name: str, key: str, text: str) -> int | float | bool:
    """One parameter's value, checked."""
    expected = {"rel": "a grade, 1 or more", "p": "0 < p < 1", "judged_only": "True or False"}
    try:
        if key == "rel" and (rel := int(text)) >= 1:
            return rel
        if key == "p" and 0 < (p := float(text)) < 1:
            return p
        if key == "judged_only" and text in ("True", "False"):
            return text == "True"
    except ValueError:
        pass
    raise AuditError(f"{key} cannot have this value", found=name, expected=expected[key])


def _of_ir_measures(name: str) -> Measure:
    """A measure that is left to ir_measures."""
    import ir_measures

    try:
        measure = ir_measures.parse_measure(name)
        measure.validate_params()
    except NameError as error:
        raise AuditError(
            "no such measure", found=name, expected=_EXAMPLES, todo=_suggest(name)
        ) from error
    except (AssertionError, TypeError, ValueError) as error:
        raise AuditError(
            "no such parameter of this measure", found=name, expected=_EXAMPLES, todo=str(error)
        ) from error
    if not ir_measures.DefaultPipeline.supports(measure):
        raise AuditError(
            "ir_measures knows this measure, but no provider that is installed computes it",
            found=name,
            todo="install a provider of it, or choose another measure",
        )
    defaults = {key: info.default for key, info in measure.SUPPORTED_PARAMS.items()}
    values = {**defaults, **measure.params}
    return Measure(
        name=str(measure),
        base=measure.NAME,
        cutoff=measure.params.get("cutoff"),
        rel=values["rel"] if isinstance(values.get("rel"), int) else None,
        judged_only=values.get("judged_only") is True,
        ours=False,
    )


def _suggest(name: str) -> str:
    """The nearest known names, also for those of trec_eval."""
    import ir_measures

    trec_eval = re.fullmatch(r"([A-Za-z_]+?)(?:_(\d+))?", name)
    if trec_eval and trec_eval[1] in _TREC_EVAL:
        cutoff = f"@{trec_eval[2]}" if trec_eval[2] else ""
        return f"did you mean {_TREC_EVAL[trec_eval[1]]}{cutoff}?"
    base = re.split(r"[@(]", name)[0]
    return nearest(base, {*_OURS, *ir_measures.measures.registry})
