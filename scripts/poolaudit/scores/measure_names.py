"""The names of measures, as ir_measures writes them, and what they say.

This module is light: settings are checked with it before any work is planned. ir_measures itself is
imported only for a name that is not among the project's own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from poolaudit.errors import AuditError, close, nearest


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


@dataclass(frozen=True)
class _Definition:
    """What the name of a measure of our own takes: a cutoff, parameters and their defaults."""

    cutoff: Literal["required", "optional", "none"]
    defaults: Mapping[str, Any]


_REL = {"rel": 1}
_JUDGED_ONLY = {"judged_only": False}
_REQUIRED = None
_OURS = {
    "nDCG": _Definition("optional", _JUDGED_ONLY),
    "NCG": _Definition("required", {}),
    "P": _Definition("required", _REL | _JUDGED_ONLY),
    "R": _Definition("required", _REL | _JUDGED_ONLY),
    "AP": _Definition("optional", _REL | _JUDGED_ONLY),
    "RR": _Definition("optional", _REL | _JUDGED_ONLY),
    "Success": _Definition("required", _REL | _JUDGED_ONLY),
    "RBP": _Definition("optional", {"p": 0.8, "rel": _REQUIRED}),
    "Bpref": _Definition("none", _REL),
    "infAP": _Definition("none", _REL),
    "Judged": _Definition("optional", {}),
}
DEEPEST = 1_000_000
"""The largest cutoff: no list is longer, and a cutoff like it is a slip."""
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
# A name, and then a cutoff and parameters in any place that people write them.
_SLIP = re.compile(r"([^\W\d]+?)_?(\d*)(\([^()]*\))?(?:@(\d+))?(\([^()]*\))?")
_OWN_POLICY = {
    "Bpref": "reads judged documents only",
    "infAP": "infers unjudged documents of the pool",
    "Judged": "counts judged documents",
}


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
    match = re.fullmatch(r"(\w+)(?:\((.*)\))?(?:@([\d.]+))?", name.replace(" ", ""))
    if not match:
        raise AuditError(
            "a measure's name cannot be read",
            found=name or "an empty name",
            expected=_EXAMPLES,
            todo=_suggest(name),
        )
    base = _ALIASES.get(match[1], match[1])
    parameters = _parameters(name, match[2] or "")
    if base not in _OURS or not parameters.keys() <= _OURS[base].defaults.keys():
        return _of_ir_measures(name)
    return _own(name, base, parameters, _cutoff(name, match[3]))


_EXAMPLES = "a name as ir_measures writes them, such as nDCG@10, AP(rel=2) or RBP(p=0.5,rel=2)"


def _cutoff(name: str, text: str | None) -> int | None:
    if text is None:
        return None
    if not text.isdigit() or int(text) > DEEPEST:
        expected = f"a rank from 1 to {DEEPEST:,}"
        raise AuditError(
            "a measure's cutoff is wrong or missing",
            found=name,
            expected=expected,
            todo="write the rank as a whole number behind the @",
        )
    return int(text)


def _parameters(name: str, text: str) -> dict[str, str]:
    words = [word.split("=") for word in text.split(",") if word]
    if any(len(word) != 2 for word in words):
        raise AuditError(
            "a measure's parameters cannot be read",
            found=name,
            expected=_EXAMPLES,
            todo="write each as name=value, separated by commas",
        )
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
            todo="leave the cutoff out" if definition.cutoff == "none" else "give a rank from 1 on",
        )
    values = {**definition.defaults, **{key: _value(name, key, given[key]) for key in given}}
    if missing := [key for key in values if values[key] is _REQUIRED]:
        raise AuditError(
            f"{base} needs {missing[0]}=",
            found=name,
            expected=f"{base}(rel=1)",
            todo=f"say from which grade on a document is relevant: {missing[0]}= and the grade",
        )
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
    raise AuditError(
        f"{key} cannot have this value",
        found=name,
        expected=expected[key],
        todo=f"correct {key}, or leave it out where it has a default",
    )


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
        named = ir_measures.measures.registry.get(re.split(r"[@(]", name)[0])
        if named is None:
            raise AuditError(
                "no such measure", found=name, expected=_EXAMPLES, todo=_suggest(name)
            ) from error
        known = named.SUPPORTED_PARAMS
        raise AuditError(
            "the parameters of this measure are wrong or missing",
            found=name,
            expected="values of its parameters " + ", ".join(known),
            todo=next(filter(None, (nearest(key, known) for key in _keys(name))), "")
            or "its parameters are explained in the documentation of ir_measures",
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
        cutoff=cutoff if isinstance(cutoff := measure.params.get("cutoff"), int) else None,
        rel=values["rel"] if isinstance(values.get("rel"), int) else None,
        judged_only=values.get("judged_only") is True,
        ours=False,
    )


def _keys(name: str) -> list[str]:
    """The parameters that a name gives values to."""
    return re.findall(r"(\w+)=", name)


def _suggest(name: str) -> str:
    """What was probably meant by a name that cannot be read; else which names there are."""
    import ir_measures

    ours = {known: known for known in _OURS} | _ALIASES | _TREC_EVAL
    slip = _SLIP.fullmatch(name.replace(" ", ""))
    base, cutoff = (slip[1], slip[2] or slip[4]) if slip else (re.split(r"[@(]", name)[0], "")
    parameters = (slip[3] or slip[5] or "") if slip else ""
    others = ir_measures.measures.registry
    meant = [base] if base in others else close(base, ours) or close(base, others)
    names = dict.fromkeys(ours.get(one, one) for one in meant)
    written = [_readable(one, f"{parameters}{f'@{cutoff}' if cutoff else ''}") for one in names]
    if written:
        return f"did you mean {' or '.join(written)}?"
    return f"take one of {', '.join(_OURS)}, or another that ir_measures computes"


def _readable(base: str, rest: str) -> str:
    """The name with its parameters and cutoff, where it takes them; else the name alone."""
    try:
        return parse_measure(base + rest).name
    except AuditError:
        return base
