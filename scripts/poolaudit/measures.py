"""The measures: their names, what they look at, and their values for all lists at once.

A measure looks at a `View`: the judged lists, one judgment set, and whether the unjudged documents
are still in their places. The formulas are in `formulas`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from poolaudit import formulas
from poolaudit.errors import AuditError, nearest
from poolaudit.formulas import Depth, discounts
from poolaudit.lists import JudgedLists

UNCUT = np.iinfo(np.int64).max


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

    def judged_within(self, depth: int) -> np.ndarray:
        """int64[lists]: the judged documents among the first `depth` of each list as returned."""
        counted = running((self.grade >= 0) & (self.lists.rank <= depth))
        return np.diff(counted[self.lists.offsets])

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


def running(values: np.ndarray) -> np.ndarray:
    """[n + 1]: the sum of the values before each place, and of all; of a mask, the count."""
    total = np.zeros(len(values) + 1, np.float64 if values.dtype.kind == "f" else np.int64)
    np.cumsum(values, out=total[1:])
    return total


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
    "nDCG": _Definition(formulas.ndcg, "optional", _JUDGED_ONLY),
    "NCG": _Definition(formulas.ncg, "required", {}),
    "P": _Definition(formulas.precision, "required", _REL | _JUDGED_ONLY),
    "R": _Definition(formulas.recall, "required", _REL | _JUDGED_ONLY),
    "AP": _Definition(formulas.average_precision, "optional", _REL | _JUDGED_ONLY),
    "RR": _Definition(formulas.reciprocal_rank, "optional", _REL | _JUDGED_ONLY),
    "Success": _Definition(formulas.success, "required", _REL | _JUDGED_ONLY),
    "RBP": _Definition(formulas.rank_biased_precision, "optional", {"p": 0.8, "rel": _REQUIRED}),
    "Bpref": _Definition(formulas.bpref, "none", _REL),
    "infAP": _Definition(formulas.inferred_average_precision, "none", _REL),
    "Judged": _Definition(formulas.judged_share, "optional", {}),
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
