"""The charts of the report: Vega-Lite specifications, and SVG for readers without scripts.

Each chart says what it shows in a sentence with its figures. Colours are the page's own variables,
so that one drawing serves light, dark and paper. The parameter `chosen` names the run to bring out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import altair as alt
import vl_convert

WIDTH = 680
MOST_RUNS = 130
"""In a heat map: more squares are neither seen nor light to load."""
POOLED, OUTSIDE, CHOSEN = "var(--pooled)", "var(--outside)", "var(--chosen)"
INK, QUIET, LINE = "var(--ink)", "var(--quiet)", "var(--line)"
CATEGORIES = tuple(f"var(--c{i})" for i in range(1, 8))
VEGA_LITE = ".".join(alt.SCHEMA_VERSION.removeprefix("v").split(".")[:2])
_IN_POOL = alt.Scale(domain=["pooled", "outside the pool"], range=[POOLED, OUTSIDE])


@dataclass(frozen=True)
class Chart:
    """One chart.

    Attributes:
        name: unique in the page.
        title: a sentence that says what it shows.
        note: how to read it.
        spec: a Vega-Lite specification.
    """

    name: str
    title: str
    note: str
    spec: dict[str, Any]

    @property
    def json(self) -> str:
        """The specification as text that may stand inside a script element."""
        text = json.dumps(self.spec, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        return text.replace("<", "\\u003c")

    def svg(self) -> str:
        """The chart drawn, for eyes alone: the page says its title to others.

        Identifiers in it begin with the chart's name.
        """
        drawn = vl_convert.vegalite_to_svg(self.spec, vl_version=VEGA_LITE)
        drawn = drawn.replace("<svg ", '<svg aria-hidden="true" ', 1)
        return _with_own_identifiers(drawn, self.name)


def javascript() -> str:
    """Vega, Vega-Lite and Vega-Embed as one script that needs nothing else."""
    bundle = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;", vl_version=VEGA_LITE)
    # A block keeps the bundle's names to itself.
    return "{" + bundle.replace("</script", "<\\/script") + "}"


def charts(audit: Mapping[str, Any]) -> dict[str, Chart]:
    """All charts that this audit has data for, by name."""
    return {chart.name: chart for chart in _all(audit)}


def _all(audit: Mapping[str, Any]) -> Iterator[Chart]:
    primary = audit["collection"]["primary"]["measure"]
    depth, lost = audit["depth"], audit["removal"]
    yield coverage(audit)
    if depth and _found(depth):
        yield found_by_depth(audit)
    if depth and any(row["tau"] is not None for row in _of(primary, depth["order"])):
        yield scores_by_depth(audit)
    if lost and any(kind["largest"] is not None for kind in _of(primary, lost["kinds"])):
        yield removal(audit)
    if audit["sharing"] and 1 < len(audit["sharing"]["overlap"]["runs"]) <= MOST_RUNS:
        yield overlap(audit)
    taus = audit["sharing"]["taus"] if audit["sharing"] else []
    if any(row["kind"] == "random" and row["tau"] is not None for row in taus):
        yield thinning(audit)
    if _of(primary, audit["tail"]["proportional"] or []):
        yield losses(audit)
    if audit["truth"]:
        yield truth(audit)


def coverage(audit: Mapping[str, Any]) -> Chart:
    """The judged share of each run's list, by how far down one looks."""
    rows = [
        {
            "run": run["run"],
            "place": _place(run["pooled"]),
            "rank": int(cutoff),
            "judged": 1 - unjudged,
        }
        for run in audit["runs"]
        for cutoff, unjudged in run["unjudged"].items()
        if unjudged is not None
    ]
    deepest = max(row["rank"] for row in rows)
    at_deepest = sorted(row["judged"] for row in rows if row["rank"] == deepest)
    title = (
        f"Judgments thin out down the lists: of the first {deepest:,} documents, the middle run "
        f"has {at_deepest[len(at_deepest) // 2]:.0%} judged."
    )
    lines = (
        alt.Chart(alt.NamedData(name="rows"))
        .mark_line(opacity=0.45, strokeWidth=1.2)
        .encode(
            x=alt.X(
                "rank:Q",
                title="first k documents of each list",
                scale=_span(rows, "rank", type="log"),
            ).axis(values=sorted({row["rank"] for row in rows}), grid=False),
            y=alt.Y("judged:Q", title="judged share", scale=alt.Scale(domain=[0, 1])).axis(
                format="%"
            ),
            color=alt.Color("place:N", scale=_IN_POOL, title=None),
            detail="run:N",
            tooltip=_tips("run", rank="first k", judged="judged share|.1%"),
        )
    )
    return Chart("coverage", title, "One line a run.", _spec(_bring_out(lines), 260, rows=rows))


def found_by_depth(audit: Mapping[str, Any]) -> Chart:
    """The relevant share of what each step of depth newly brings."""
    level = audit["collection"]["primary"]["level"]
    rows = [
        {
            "depth": step["depth"],
            "share": step["new_relevant"] / step["new_judged"],
            "new": step["new_judged"],
            "relevant": step["new_relevant"],
        }
        for step in _found(audit["depth"])
    ]
    at = rows[-1]
    title = (
        f"At rank {at['depth']} of the pool, {at['share']:.0%} of the newly judged documents "
        f"({at['relevant']:,} of {at['new']:,}) are still relevant."
    )
    base = alt.Chart(alt.NamedData(name="rows")).encode(
        x=alt.X("depth:Q", title="pool depth (rank)").axis(grid=False, tickMinStep=1),
        y=alt.Y("share:Q", title=f"relevant (grade ≥ {level}) among newly judged").axis(format="%"),
        tooltip=_tips(
            depth="depth", share="relevant share|.1%", relevant="relevant", new="newly judged"
        ),
    )
    chart = base.mark_line(color=POOLED) + base.mark_point(color=POOLED, filled=True, size=24)
    note = "A document counts at the best rank that any pooled run gave it."
    return Chart("found", title, note, _spec(chart, 220, rows=rows))


def scores_by_depth(audit: Mapping[str, Any]) -> Chart:
    """Each run's score as the judgments of deeper pools come in."""
    depth, primary = audit["depth"], audit["collection"]["primary"]
    places = {run["run"]: _place(run["pooled"]) for run in audit["runs"]}
    labels = [str(d) for d in depth["depths"]] + ["all"]
    rows = [
        {"run": s["run"], "place": places[s["run"]], "depth": str(s["depth"]), "value": s["value"]}
        for s in depth["scores"]
        if s["value"] is not None
    ]
    rows += [
        {"run": r["run"], "place": places[r["run"]], "depth": "all", "value": r["value"]}
        for r in audit["runs"]
        if r["value"] is not None
    ]
    first = _of(primary["measure"], depth["order"])[0]
    title = (
        f"A pool of depth {first['depth']} orders the runs as all judgments do with Kendall's tau "
        f"{_tau(first['tau'])}; scores change by {first['mean_change']:+.3f} on average."
    )
    lines = (
        alt.Chart(alt.NamedData(name="rows"))
        .mark_line(opacity=0.45, strokeWidth=1.2)
        .encode(
            x=alt.X("depth:O", sort=labels, title="judgments of a pool of this depth").axis(
                labelAngle=0
            ),
            y=alt.Y("value:Q", title=primary["measure"], scale=_span(rows, "value", nice=True)),
            color=alt.Color("place:N", scale=_IN_POOL, title=None),
            detail="run:N",
            tooltip=_tips("run", depth="depth", value=f"{primary['measure']}|.4f"),
        )
    )
    return Chart("depth", title, "One line a run.", _spec(_bring_out(lines), 300, rows=rows))


def removal(audit: Mapping[str, Any]) -> Chart:
    """What each run loses when its run, group, family or type is left out of the pool."""
    primary = audit["collection"]["primary"]["measure"]
    rows = [
        {
            "run": row["run"],
            "kind": row["kind"],
            "left_out": row["left_out"],
            "change": row["relative_change"],
            "place": _place(row["pooled"]),
        }
        for row in audit["removal"]["contributors"]
        if row["relative_change"] is not None and row["pooled"]
    ]
    kinds = _of(primary, audit["removal"]["kinds"])
    worst = max(kinds, key=lambda k: abs(k["largest"] or 0))
    verb = "gains" if worst["largest"] < 0 else "loses"
    whose = f"the {worst['kind']} {worst['largest_left_out']}"
    title = (
        f"{worst['largest_run']} {verb} {abs(worst['largest']):.1%} of its {primary} when "
        f"{whose} is left out; left out by {kinds[0]['kind']}, runs change by "
        f"{kinds[0]['mean_absolute']:.1%} on average."
    )
    ticks = (
        alt.Chart(alt.NamedData(name="rows"))
        .mark_tick(thickness=2, opacity=0.55, size=26, color=POOLED)
        .encode(
            x=alt.X(
                "change:Q",
                title=f"change of a run's {primary}, relative",
                scale=_span(rows, "change", nice=True),
            ).axis(format="%"),
            y=alt.Y("kind:N", sort=[k["kind"] for k in kinds], title="left out: its").axis(
                grid=False, domain=False, ticks=False
            ),
            tooltip=_tips("run", left_out="left out", change="relative change|+.1%"),
        )
    )
    chosen = _only_chosen(ticks).mark_tick(thickness=4, size=32, color=CHOSEN)
    chart = (ticks + chosen).add_params(_CHOSEN)
    note = "One tick for each pooled run. To the right: it loses without its own contribution."
    return Chart("removal", title, note, _spec(chart, 48 * len(kinds) + 20, rows=rows))


def overlap(audit: Mapping[str, Any]) -> Chart:
    """How alike every two runs are, as a heat map ordered by family."""
    found = audit["sharing"]["overlap"]
    runs, families, alike = found["runs"], found["families"], found["jaccard"]
    cells = [
        {
            "run": runs[i],
            "other": runs[j],
            "x": j,
            "x2": j + 1,
            "y": i,
            "y2": i + 1,
            "overlap": round(alike[i][j], 3),
        }
        for i in range(len(runs))
        for j in range(i)
    ]
    inside, across = (
        [cell["overlap"] for cell in cells if (families[cell["x"]] == families[cell["y"]]) == same]
        for same in (True, False)
    )
    means = [
        f"{sum(part) / len(part):.0%} {where}"
        for part, where in (
            (inside, "with others of their family"),
            (across, "with runs of other families"),
        )
        if part
    ]
    title = f"Runs share on average {' and '.join(means)} of their first documents."
    edges = [i for i in range(len(runs)) if not i or families[i] != families[i - 1]]
    names = [
        {"family": families[start], "y": (start + end) / 2, "start": start}
        for start, end in zip(edges, [*edges[1:], len(runs)], strict=True)
    ]
    span = alt.Scale(domain=[0, len(runs)], nice=False, zero=False)
    downwards = alt.Scale(domain=[0, len(runs)], nice=False, zero=False, reverse=True)
    squares = (
        alt.Chart(alt.NamedData(name="cells"))
        .mark_rect(color=POOLED)
        .encode(
            x=alt.X("x:Q", scale=span, axis=None),
            x2="x2:Q",
            y=alt.Y("y:Q", scale=downwards, axis=None),
            y2="y2:Q",
            opacity=alt.Opacity(
                "overlap:Q", scale=alt.Scale(domain=[0, 1], range=[0.02, 1]), legend=None
            ),
            tooltip=_tips("run", "other", overlap="overlap of the first documents|.0%"),
        )
    )
    chosen = squares.transform_filter("datum.run === chosen || datum.other === chosen")
    chosen = chosen.mark_rect(color=CHOSEN)
    beside = alt.Chart(alt.NamedData(name="names"))
    labels = beside.mark_text(align="right", dx=-6, color=INK, fontSize=11).encode(
        x=alt.value(0), y=alt.Y("y:Q", scale=downwards, axis=None), text="family:N"
    )
    borders = beside.mark_rule(color=LINE).encode(y=alt.Y("start:Q", scale=downwards, axis=None))
    chart = (borders + squares + chosen + labels).add_params(_CHOSEN)
    note = (
        "One square for two runs, the darker the more of their first 100 documents are the same "
        "(Jaccard). Runs stand in the same order from left to right as from top to bottom, by "
        "family, and those alike side by side."
    )
    return Chart("overlap", title, note, _spec(chart, 420, cells=cells, names=names))


def thinning(audit: Mapping[str, Any]) -> Chart:
    """What is left of the order of the runs when judgments are missing, at random or not."""
    measure = audit["collection"]["primary"]["measure"]
    rows = [row for row in audit["sharing"]["taus"] if row["tau"] is not None]
    random = [row for row in rows if row["kind"] == "random"]
    cuts = [
        {**row, "name": f"{row['kind']} {row['cut']}", "apart": row["beyond"] == "below"}
        for row in rows
        if row["kind"] != "random"
    ]
    below = sorted((row for row in cuts if row["apart"]), key=lambda row: row["tau"])
    title = (
        f"Without the {below[0]['name']} the order of the runs keeps a tau of "
        f"{below[0]['tau']:.2f}; as many judgments missing at random leave {below[0]['low']:.2f} "
        "or more."
        if below
        else "No cut disturbs the order of the runs more than judgments missing at random do."
    )
    x = alt.X("share:Q", title="judgments left", scale=alt.Scale(domain=[0, 1])).axis(format="%")
    lowest = min(0.0, *(row["low"] if row["low"] is not None else row["tau"] for row in rows))
    scale = alt.Scale(domain=[lowest, 1], nice=False)
    y_title = f"Kendall's tau of the order by {measure}"
    band = (
        alt.Chart(alt.NamedData(name="random"))
        .mark_area(color=POOLED, opacity=0.18)
        .encode(x=x, y=alt.Y("low:Q", title=y_title, scale=scale), y2="high:Q")
    )
    mean = (
        alt.Chart(alt.NamedData(name="random"))
        .mark_line(color=POOLED, point=True)
        .encode(
            x=x,
            y=alt.Y("tau:Q", title=y_title),
            tooltip=_tips(
                cut="left at random", tau="mean tau|.3f", low="lowest|.3f", high="highest|.3f"
            ),
        )
    )
    points = alt.Chart(alt.NamedData(name="cuts")).encode(x=x, y=alt.Y("tau:Q", title=y_title))
    marks = points.mark_point(filled=True, size=70, opacity=1).encode(
        shape=alt.Shape("kind:N", title=None),
        color=alt.condition("datum.apart", alt.value(OUTSIDE), alt.value(INK)),
        tooltip=_tips(name="left out", share="judgments left|.1%", tau="tau|.3f"),
    )
    labels = points.mark_text(align="right", dx=-9, color=INK, fontSize=11).encode(text="cut:N")
    note = (
        "Band: lowest to highest of random draws. Points: a shallower pool, or one contributor's "
        "documents missing; in vermilion those that chance does not explain."
    )
    return Chart(
        "thinning", title, note, _spec(band + mean + marks + labels, 300, random=random, cuts=cuts)
    )


def losses(audit: Mapping[str, Any]) -> Chart:
    """Relevant documents lost against score lost, when the judgments are cut to the pool."""
    measure, depth = audit["collection"]["primary"]["measure"], audit["tail"]["beyond"]
    places = {run["run"]: _place(run["pooled"]) for run in audit["runs"]}
    rows = [
        {**row, "place": places[row["run"]]}
        for row in audit["tail"]["losses"]
        if row["share_lost"] is not None and row["score_lost"] is not None
    ]
    summed = _of(measure, audit["tail"]["proportional"])[0]
    moved = summed["median_score_lost"]
    title = (
        f"Cut to the depth-{depth} pool the median run loses {summed['median_share_lost']:.0%} of "
        f"its relevant documents, and its {measure} {'falls' if moved > 0 else 'rises'} by "
        f"{abs(moved):.1%}."
    )
    points = (
        alt.Chart(alt.NamedData(name="rows"))
        .mark_point(filled=True, size=50, opacity=0.75)
        .encode(
            x=alt.X(
                "share_lost:Q",
                title="relevant documents lost",
                scale=_span(rows, "share_lost", nice=True),
            ).axis(format="%"),
            y=alt.Y(
                "score_lost:Q",
                title=f"{measure} lost (below 0: it rose)",
                scale=_span(rows, "score_lost", nice=True),
            ).axis(format="%"),
            color=alt.Color("place:N", scale=_IN_POOL, title=None),
            tooltip=_tips(
                "run", share_lost="documents lost|.1%", score_lost=f"{measure} lost|+.1%"
            ),
        )
    )
    chart = (points + _ringed(points)).add_params(_CHOSEN)
    return Chart("losses", title, "One point a run.", _spec(chart, 240, rows=rows))


def truth(audit: Mapping[str, Any]) -> Chart:
    """Measured against true scores."""
    measure = audit["collection"]["primary"]["measure"]
    rows = [
        {**row, "family": row["family"] or "not stated"}
        for row in audit["truth"]["runs"]
        if row["measured"] is not None and row["true"] is not None
    ]
    far = max(rows, key=lambda row: abs(row["relative"]))
    families = sorted({row["family"] for row in rows})
    highest = max(max(row["measured"], row["true"]) for row in rows)
    title = (
        f"Measured and true scores differ most for {far['run']} ({far['family']}): "
        f"{far['measured']:.3f} measured, {far['true']:.3f} true ({far['relative']:+.0%})."
    )
    scale = alt.Scale(domain=[0, highest], nice=True)
    points = (
        alt.Chart(alt.NamedData(name="rows"))
        .mark_point(filled=True, size=70, opacity=0.85)
        .encode(
            x=alt.X("true:Q", title=f"true {measure} (every relevant document known)", scale=scale),
            y=alt.Y("measured:Q", title=f"{measure} on these judgments", scale=scale),
            color=alt.Color(
                "family:N", scale=alt.Scale(domain=families, range=list(CATEGORIES)), title=None
            ),
            shape=alt.Shape("family:N", scale=alt.Scale(domain=families), title=None),
            tooltip=_tips(
                "run",
                family="family",
                measured="measured|.4f",
                true="true|.4f",
                relative="relative|+.1%",
            ),
        )
    )
    corner = [{"true": 0, "measured": 0}, {"true": highest, "measured": highest}]
    diagonal = (
        alt.Chart(alt.NamedData(name="corner"))
        .mark_line(color=QUIET, strokeDash=[4, 4], strokeWidth=1)
        .encode(x="true:Q", y="measured:Q")
    )
    chart = (diagonal + points + _ringed(points)).add_params(_CHOSEN)
    note = "Above the dashed line a run is overstated by the judgments, below it understated."
    return Chart("truth", title, note, _spec(chart, 340, rows=rows, corner=corner))


_CHOSEN = alt.param(name="chosen", value="")


def _of(measure: str, rows: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The rows of one measure."""
    return [row for row in rows if row["measure"] == measure]


def _found(depth: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The steps down to the depth that was judged, where any document was judged.

    What is judged below came by another route, often because it looked relevant.
    """
    return [s for s in depth["steps"] if s["new_judged"] and s["depth"] <= depth["nominal"]]


def _place(pooled: bool) -> str:
    return "pooled" if pooled else "outside the pool"


def _tau(value: float | None) -> str:
    return "undefined" if value is None else f"{value:.2f}"


def _span(rows: list[dict[str, Any]], field: str, **more: Any) -> alt.Scale:
    """A scale over all values, also where a layer of the chosen run alone has none."""
    values = [row[field] for row in rows]
    return alt.Scale(domain=[min(values), max(values)], **more)


def _only_chosen(chart: alt.Chart) -> alt.Chart:
    return chart.transform_filter("datum.run === chosen")


def _bring_out(lines: alt.Chart) -> alt.LayerChart:
    """Lines, and the chosen run's once more on top."""
    chosen = _only_chosen(lines).mark_line(strokeWidth=3.5, point=alt.OverlayMarkDef(size=50))
    return (lines + chosen.encode(color=alt.value(CHOSEN))).add_params(_CHOSEN)


def _ringed(points: alt.Chart) -> alt.Chart:
    """The chosen run's point with a ring around it."""
    ring = _only_chosen(points).mark_point(filled=False, size=260, strokeWidth=2.5)
    return ring.encode(color=alt.value(CHOSEN), shape=alt.value("circle"))


def _tips(*plain: str, **titled: str) -> list[alt.Tooltip]:
    """Tooltips: field names, and field="title|format"."""
    tips = [alt.Tooltip(f"{name}:N", title=name) for name in plain]
    for field, text in titled.items():
        title, _, form = text.partition("|")
        kind = "Q" if form else "N"
        tips.append(alt.Tooltip(f"{field}:{kind}", title=title, format=form or alt.Undefined))
    return tips


def _spec(chart: alt.Chart | alt.LayerChart, height: int, **data: list[dict]) -> dict[str, Any]:
    """The chart with its named data, which Altair would copy and check value by value."""
    chart = chart.properties(width=WIDTH, height=height).configure(
        background="transparent",
        aria=False,
        font="system-ui, sans-serif",
        view=alt.ViewConfig(stroke=None),
        axis=alt.AxisConfig(
            labelColor=QUIET,
            titleColor=INK,
            titleFontWeight="normal",
            titleFontSize=12,
            labelFontSize=11,
            gridColor=LINE,
            domainColor=LINE,
            tickColor=LINE,
        ),
        legend=alt.LegendConfig(labelColor=INK, labelFontSize=12, orient="top", symbolOpacity=1),
    )
    return chart.to_dict() | {"datasets": data}


def _with_own_identifiers(svg: str, name: str) -> str:
    """Number the identifiers anew: Vega's count on from one drawing to the next."""
    found = dict.fromkeys(re.findall(r' id="([^"]+)"', svg))
    for i, identifier in enumerate(found):
        svg = re.sub(rf'(id="|#){re.escape(identifier)}(?=["\')])', rf"\g<1>{name}-{i}", svg)
    return svg
