"""The questions that a reader opens the report with, answered in sentences of its figures."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from statistics import median
from typing import Any

from poolaudit.scores.measure_names import parse_measures
from poolaudit.sharing.signs import Thresholds
from poolaudit.verdicts.findings import counted, listed, policy_phrase

FINDINGS = {
    "assessors": "who made the judgments",
    "bounds": "wide bounds",
    "contributors": "few contributors",
    "depth": "deeper than the pool",
    "flip": "an order can turn around",
    "number": "a score is unsafe by itself",
    "policies": "policies disagree on the order",
    "pool": "not in the pool",
    "queries": "no queries to compare on",
    "range": "an order can turn around",
    "removal": "carried by its own contribution",
    "significance": "not told apart by these queries",
    "sparse": "queries with few relevant documents",
    "spread": "policies differ",
    "unanswered": "queries not answered",
    "unjudged": "unjudged documents",
    "value": "no value",
}
"""What a finding of `judge_numbers` or `judge_pairs` is called in a table."""


def answers(audit: Mapping[str, Any]) -> list[dict[str, str]]:
    """For each question: `question`, `answer` and the section to `see`."""
    found = [
        ("Is a run's score safe?", _safe(audit), "runs"),
        ("Does one run beat another?", _better(audit), "pairs"),
        ("Was the pool deep enough?", _deep(audit), "depth"),
        ("Does any contributor carry the judgments?", _carried(audit), "removal"),
        ("What is missing?", _missing(audit), "tail"),
        ("Were the judgments right?", _right(audit), "truth"),
        ("Where do the judgments come from?", _origin(audit), "judgments"),
    ]
    return [
        {"question": question, "answer": " ".join(sentences), "see": see}
        for question, texts, see in found
        if (sentences := list(texts))
    ]


def citation(audit: Mapping[str, Any]) -> str:
    """What a paper says of this audit."""
    collection, digest = audit["collection"], audit["provenance"]["sha256"]
    source = audit["judgments"]["source"] or "local files"
    policy = policy_phrase(collection["primary"]["policy"])
    return (
        f"The judgments ({collection['title']}; {source}; {collection['judgments']:,} judgments of "
        f"{collection['queries']:,} queries) were audited with poolaudit for "
        f"{collection['runs']:,} runs, {collection['pooled_runs']:,} of them pooled; "
        f"{collection['primary']['measure']}, {policy}"
    ) + (f"; provenance.json has SHA-256 {digest}." if digest else ".")


def reasons(audit: Mapping[str, Any]) -> dict[str, str]:
    """For each measure, and for `pairs`, the finding that most often made it less than ok."""
    found: dict[str, Counter] = defaultdict(Counter)
    for number in audit["verdicts"]["numbers"]:
        found[number["measure"]].update(_behind(number))
    for pair in audit["verdicts"]["pairs"]:
        found["pairs"].update(_behind(pair))
    names = {*found, *(n["measure"] for n in audit["verdicts"]["numbers"]), "pairs"}
    return {
        name: ", ".join(f"{FINDINGS[what]} ({n:,})" for what, n in _most(found[name]))
        for name in sorted(names)
    }


def _most(counts: Mapping[str, int]) -> list[tuple[str, int]]:
    """The two most frequent, equal ones by name."""
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:2]


def _behind(judged: Mapping[str, Any]) -> set[str]:
    """What the verdict rests on: the findings of its level, where that is worse than ok."""
    if judged["verdict"] == "ok":
        return set()
    return {f["name"] for f in judged["findings"] if f["level"] == judged["level"]}


def percent(value: float) -> str:
    """0.1234 as 12.3%; small shares keep a digit that is not 0."""
    return f"{value:.2%}" if 0 < abs(value) < 0.0005 else f"{value:.1%}"


def _safe(audit: Mapping[str, Any]) -> Iterator[str]:
    primary = audit["collection"]["primary"]
    cutoff = str(primary["cutoff"])
    for pooled, whose in ((True, "pooled"), (False, "not pooled")):
        runs = [r for r in audit["runs"] if r["pooled"] == pooled]
        shares = {run["run"]: run["unjudged"][cutoff] for run in runs}
        shares = {run: value for run, value in shares.items() if value is not None}
        if not shares:
            continue
        worst = max(shares, key=shares.__getitem__)
        who = f"For the {len(runs)} {whose} runs" if len(runs) > 1 else f"For the {whose} run"
        if not shares[worst]:
            yield f"{who} no document in the first {cutoff} is unjudged."
        else:
            yield (
                f"{who} the median is {percent(median(shares.values()))} unjudged in the first "
                f"{cutoff} documents; {worst} has most, {percent(shares[worst])}."
            )
    measure = primary["measure"]
    ends = {run["run"]: run["bounds"].get(measure) for run in audit["runs"]}
    widths = {run: e["high"] - e["low"] for run, e in ends.items() if e and e["low"] is not None}
    if widths:
        widest = max(widths, key=widths.__getitem__)
        yield (
            f"Judging the rest of the first {cutoff} could move {measure} of {widest} most: "
            f"anywhere from {ends[widest]['low']:.4f} to {ends[widest]['high']:.4f}."
        )


def _better(audit: Mapping[str, Any]) -> Iterator[str]:
    verdicts = audit["verdicts"]
    pairs = verdicts["pairs"]
    if not pairs:
        return
    claimed = [pair for pair in pairs if pair["claimed"]]
    whose = f"with {verdicts['baseline']}" if verdicts["baseline"] else "among the first runs"
    alpha = verdicts["thresholds"]["significance"]
    yield (
        f"{len(claimed) or 'None'} of {len(pairs)} comparisons {whose} "
        f"{'show' if len(claimed) > 1 else 'shows'} a difference that these queries tell from "
        f"chance (p below {alpha} after Holm's correction)."
    )
    turning = sum(map(_can_turn, pairs))
    if turning:
        yield (
            f"Judging the rest could turn {turning} of the orders around, "
            f"{sum(map(_can_turn, claimed)) or 'none'} of them with such a difference."
        )
        yield from _to_settle(audit["reading"])
    else:
        reach = audit["verdicts"]["pairs"][0]["figures"]["open_to"]
        yield (
            f"However the first {reach} documents of the audited runs are judged, no order turns "
            "around."
        )


def _can_turn(pair: Mapping[str, Any]) -> bool:
    return pair["figures"]["can_turn"] is True


def _to_settle(reading: Mapping[str, Any]) -> Iterator[str]:
    listed = len(reading["documents"])
    if not listed:
        return
    settling = reading["settling"]
    sentence = (
        f"To settle all of them {counted(settling, 'document', 'documents')} would have to be read "
        "and be found nonrelevant; the most useful to read come first in tail/read-first.tsv"
    )
    if listed < settling:
        sentence += f", which names {listed:,} of them (tail.read_first in the settings)"
    yield f"{sentence}."


def _deep(audit: Mapping[str, Any]) -> Iterator[str]:
    depth, primary = audit["depth"], audit["collection"]["primary"]
    if depth is None:
        yield (
            "No run of the sheet was pooled, so the pool cannot be rebuilt. What the audited runs "
            "return unjudged is counted all the same."
        )
        return
    nominal = depth["nominal"]
    steps = [s for s in depth["steps"] if s["depth"] <= nominal and s["new_judged"]]
    if steps:
        yield _last_step(steps[-1], primary["level"])
    deeper = [measure for measure, cutoff in _cutoffs(audit) if cutoff > nominal]
    if deeper:
        s = "s" if len(deeper) == 1 else ""
        yield (
            f"{listed(deeper)} look{s} deeper than the pool's {nominal}, and so measure{s} the "
            "pool as well as the run."
        )
    further = depth["to_judge_for_twice_the_depth"]
    yield f"One twice as deep would take {counted(further, 'more judgment', 'more judgments')}."
    yield from _reached(audit)
    row = next(r for r in depth["order"] if r["measure"] == primary["measure"])
    if row["tau"] is not None:
        yield (
            f"The pool cut to depth {row['depth']} orders the runs by {primary['measure']} as all "
            f"the judgments do with Kendall's tau {row['tau']:.2f}."
        )


def _last_step(step: Mapping[str, int], level: int) -> str:
    """Whether the pool's last rank still found what another rank might find too."""
    share = step["new_relevant"] / step["new_judged"]
    plain = "No" if share >= Thresholds().bottom_share[0] else "Not quite" if share else "Yes"
    more = {
        "No": "there was more to find",
        "Not quite": "a little more was to be found",
        "Yes": "as far as the pooled runs can tell",
    }[plain]
    found = counted(step["new_relevant"], "document", "documents") if share else "no document"
    return (
        f"{plain}, {more}: rank {step['depth']} of the pooled runs brought {found} with grade "
        f"{level} or above among {step['new_judged']:,} newly judged ({percent(share)})."
    )


def _reached(audit: Mapping[str, Any]) -> Iterator[str]:
    """How far down new runs are judged, beside pooled ones without their group's documents."""
    means = {(r["pooled"], r["without"]): r for r in audit["reach"]["fully_judged_to"]}
    new, old = means.get((False, "run")), means.get((True, "group"), means.get((True, "run")))
    if new and old:
        yield (
            f"Runs outside the pool are fully judged to rank {new['mean']:.1f} on average; pooled "
            f"ones, without what only their {old['without']} brought, to rank "
            f"{old['mean_without']:.1f}."
        )


def _cutoffs(audit: Mapping[str, Any]) -> list[tuple[str, int]]:
    """Each measure with a cutoff, and how deep it looks."""
    found = [(m.name, m.cutoff) for m in parse_measures(audit["settings"]["measures"])]
    return [(name, cutoff) for name, cutoff in found if cutoff]


def _carried(audit: Mapping[str, Any]) -> Iterator[str]:
    if audit["removal"] is None:
        return
    primary = audit["collection"]["primary"]["measure"]
    for kind in audit["removal"]["kinds"]:
        if kind["measure"] == primary and kind["largest"] is not None:
            yield (
                f"Left out by {kind['kind']}, runs change by {percent(kind['mean_absolute'])} of "
                f"their {primary} on average and by {percent(abs(kind['largest']))} at most "
                f"({kind['largest_run']})."
            )


def _missing(audit: Mapping[str, Any]) -> Iterator[str]:
    if audit["sharing"] and audit["sharing"]["verdict"] == "unlikely":
        yield audit["sharing"]["sentence"]
    sheet, depth = audit["tail"]["sheet"], audit["tail"]["depth"]
    if sheet and not sheet["population"]:
        yield f"Every document that the audited runs return among their first {depth} is judged."
    elif sheet:
        yield (
            f"Nobody judged {sheet['population']:,} of the documents that the audited runs return "
            f"among their first {depth}"
        ) + (_estimated(audit) or f"; a sample of {sheet['sampled']:,} is ready to be judged.")


def _estimated(audit: Mapping[str, Any]) -> str:
    """What the assessed sample says of them, at the primary measure's level; "" without one."""
    level = audit["collection"]["primary"]["level"]
    for found in audit["tail"]["estimates"]:
        if (found["tail"], found["level"]) == ("assessed", level) and found["judged"]:
            return _assessed(found)
    return ""


def _assessed(found: Mapping[str, Any]) -> str:
    sentence = (
        f": from {found['judged']:,} of them, an estimated {found['estimate']:,.0f} are "
        f"relevant ({found['low']:,} to {found['high']:,})"
    )
    if found["completeness"] is not None:
        sentence += (
            f", so that the judgments hold {percent(found['completeness'])} of what these runs "
            f"reach ({percent(found['completeness_low'])} to {percent(found['completeness_high'])})"
        )
    if found["judged"] < found["sampled"]:
        sentence += (
            f"; {found['sampled'] - found['judged']:,} of the sample have no grade, which is taken "
            "to have nothing to do with their relevance"
        )
    return sentence + "."


def _right(audit: Mapping[str, Any]) -> Iterator[str]:
    if audit["truth"] is None:
        return
    for family in audit["truth"]["families"]:
        name = family["family"] or "other"
        yield (
            f"{name.capitalize()} runs: {family['measured']:.3f} measured, {family['true']:.3f} "
            f"true on average, {family['lowest']:+.0%} to {family['highest']:+.0%} a run."
        )


def _origin(audit: Mapping[str, Any]) -> Iterator[str]:
    judgments, collection = audit["judgments"], audit["collection"]
    found = judgments["explanation"]
    source = judgments["source"] or "local files"
    yield (
        f"{collection['judgments']:,} judgments of "
        f"{counted(collection['queries'], 'query', 'queries')}, from {source}."
    )
    yield f"Assessors: {collection['assessors']}."
    if not collection["pooled_runs"]:
        yield "No run of the sheet was pooled, so how they were chosen is not known."
    elif found["depth"] and found["contributed"]:
        yield (
            f"A pool of depth {found['depth']} of "
            f"{counted(len(found['contributed']), 'audited run', 'audited runs')} explains "
            f"{found['explained']:,} of them; {found['judged_not_pooled']:,} came by another route."
        )
    else:
        yield "No pool of the audited runs explains them."
