"""What the contributors share: the bias that removal cannot see.

Removal asks the contributors about each other. In 2005 a pool of fifty diverse runs passed every
such check, and one run that used other words showed that a whole kind of relevant document was
missing (Buckley, Dimmick, Soboroff and Voorhees 2007). So the pool itself is asked: how alike are
its contributors, what do families of them find that others do not, where do runs outside the pool
look, and which judgments are missing, at random or not? One sentence says what follows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from poolaudit.errors import AuditError
from poolaudit.pairs import Contributor, Pairs, Rankings
from poolaudit.removal.leave_out import CANNOT_SEE
from poolaudit.scores.measure_names import levels_of, parse_measure
from poolaudit.scores.policies import POLICIES
from poolaudit.sharing import figures, overlap, thinning
from poolaudit.sharing import titlestat as ts
from poolaudit.sharing.figures import LEFT_OUT, Pool
from poolaudit.sharing.signs import Sign, Thresholds, decide

# Relevant pairs over judged pairs, counted in the published judgments.
REFERENCE_SHARES = {
    "TREC-8 ad hoc, pooled to depth 100": 4728 / 86830,
    "TREC 2005 robust (AQUAINT), known to be too shallow": 6561 / 37798,
    "TREC 2004 terabyte": 10617 / 58077,
    "TREC 2005 terabyte": 10407 / 45291,
    "TREC 2006 terabyte": 5893 / 31984,
}
# An outsider alone brought this share of the pool's relevant documents (sab05ror1: 6%), and so many
# times what the others brought alone.
OUTSIDER_SHARE, OUTSIDER_TIMES = 0.02, 3


def looks_to(primary: str, depth: int, depths: Sequence[int]) -> int:
    """How far down the rankings `probe` looks at documents that nobody judged."""
    cutoff = parse_measure(primary).cutoff or figures.CUTOFF
    return max(overlap.DEPTH, cutoff, depth, *depths)


def probe(
    pairs: Pairs,
    rankings: Rankings,
    contributors: Sequence[Contributor],
    *,
    measures: Sequence[str],
    policies: Sequence[str] = POLICIES[:3],
    primary: tuple[str, str],
    depth: int,
    depths: Sequence[int] = (),
    titles: Mapping[str, str] | None = None,
    documents: pa.Table | Iterable[pa.RecordBatch] | None = None,
    rates: Sequence[float] = thinning.RATES,
    draws: int = thinning.DRAWS,
    seed: int = 0,
    thresholds: Thresholds | None = None,
) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Look for what the contributors of a pool share.

    Args:
        pairs, rankings: the two tables.
        contributors: the audited runs, with what the run sheet says of them. Where it names no
            family, families are found by clustering.
        measures, policies: what orders runs in the thinning.
        primary: the measure and policy of all other scores. Relevant is what the highest relevance
            level among the measures says.
        depth: of the pool that the judgments came from.
        depths: of shallower pools.
        titles: the title of each query by its id.
        documents: doc_id and text of every document of the collection (see `titlestat`).
        rates, draws, seed: of the thinning.
        thresholds: of the verdict.

    Returns:
        The figures, one row each (`figures.COLUMNS`): value, low, high, and n, the number
        of things that the value is a mean, share or count of; the other columns say what it is
        about. By section:

        * overlap: `rbo` and `jaccard` of subject and other, two contributors of kind.
        * families: `place` in the heat map of run subject of family other; n is 1 if it is pooled.
        * independence: `effective_number` of the n pooled contributors of kind.
        * removal: `relative_change` of run subject without contributor other of kind; n relevant
          documents were its alone.
        * steps: `without_run`, `without_group`, `without_family`: mean, smallest and largest
          relative change of the n pooled runs of family subject. What the family shares is the step
          from one to the next.
        * relevant: `share` of the n judged pairs that is relevant, to depth (null: all);
          `new_share` of those that the step from the depth before brought in.
        * routes: `relevant_documents` that as many contributors of kind as subject says reached;
          `relevant` and `unique_relevant` of each contributor; `score` of each pooled run.
        * outside: `unjudged` share of each run's documents to depth, `unjudged_without_own` (had
          its group not been pooled), `condensed_score`; other says whether the run is pooled.
        * titlestat: `titlestat` of subject, mean over n queries: the relevant documents, a run, a
          band of best rank of the pool or of its relevant documents; `difference` of a run from the
          pooled runs' mean on the same queries.
        * thinning: `tau` of the cut subject of kind, with the band of the random draws, other says
          where it lies; `judged_share`, what the cut leaves.

        And a summary for JSON: verdict, sentence, reasons, signs (see `signs.decide`), thresholds,
        cannot_see, primary, families, effective_number, relevant_share, reference_shares, routes,
        outsider, titlestat, thinning.

    Raises:
        AuditError: no run is pooled; an unknown measure or policy; documents are missing.
    """
    if not any(c.pooled for c in contributors):
        raise AuditError(
            "No run is marked as pooled, so nothing can be said of what contributors share.",
            expected="`yes` in the column pooled of the run sheet for at least one run",
            todo="mark the runs whose first documents were judged",
        )
    thresholds = thresholds or Thresholds()
    levels = levels_of(measures)
    pool = figures.prepare(pairs, rankings, contributors, primary, depth, depths, max(levels))
    given = documents is not None and titles is not None
    words = ts.find_title_words(pairs, titles, documents) if given else None
    removal = figures.removal_rows(pool)
    sections = [
        figures.overlap_rows(pool),
        figures.independence_rows(pool),
        removal,
        figures.steps_rows(pool, removal),
        figures.relevant_rows(pool, levels),
        figures.routes_rows(pool),
        figures.outside_rows(pool),
        figures.titlestat_rows(pool, words) if words else figures.rows("titlestat"),
        figures.thinning_rows(pool, measures, policies, rates, draws, seed),
    ]
    table = pd.concat([section for section in sections if len(section)], ignore_index=True)
    signs = list(find_signs(pool, table, thresholds))
    verdict = decide(signs, _blind(pool, table, thresholds), _complete(pool, words))
    summary = {
        **verdict,
        "thresholds": asdict(thresholds),
        "cannot_see": CANNOT_SEE,
        "primary": {"measure": pool.measure.name, "policy": pool.policy},
        "families": _families(pool),
        "effective_number": _by(table, "independence", "effective_number", "kind"),
        "relevant_share": _relevant_share(table, levels),
        "reference_shares": REFERENCE_SHARES,
        "routes": _single_routes(table),
        "outsider": find_outsider(table),
        "titlestat": _titlestat(words, titles, documents),
        "thinning": _thinning(table, rates, draws, seed),
    }
    return table, summary


def find_signs(pool: Pool, table: pd.DataFrame, thresholds: Thresholds) -> Iterator[Sign]:
    """Every sign that these data allow to look for, whether it is there or not."""
    yield from _losses(pool, table, thresholds)
    if not pool.pooled.all():
        share, run = _most_unjudged(pool, table)
        text = (
            f"of the first {pool.cutoff} documents of runs outside the pool, as good as its own in "
            f"what is judged, up to {share:.0%} are unjudged ({run})"
            if run
            else "no run outside the pool is as good as its own in what is judged"
        )
        yield Sign.of(thresholds, "unjudged", share, text)
    relevant = table[(table["section"] == "relevant") & (table["level"] == pool.level)]
    share = relevant.loc[(relevant["statistic"] == "share") & relevant["depth"].isna(), "value"]
    relevant_at = f"relevant (grade {pool.level} or above)"
    text = f"{share.iloc[0]:.0%} of the judged documents are {relevant_at}"
    yield Sign.of(thresholds, "relevant_share", share.iloc[0], text)
    steps = relevant[relevant["statistic"] == "new_share"].dropna(subset=["value"])
    if len(steps) > 1:
        above, last = steps["depth"].iloc[-2], steps["value"].iloc[-1]
        text = f"of what the ranks {above + 1} to {pool.depth} brought, {last:.0%} is {relevant_at}"
        yield Sign.of(thresholds, "bottom_share", last, text)
    yield from _fewer_title_words(pool, table, thresholds)
    yield from _broken_order(pool, table, thresholds)


def _losses(pool: Pool, table: pd.DataFrame, thresholds: Thresholds) -> Iterator[Sign]:
    """What contributors lose when they are left out of the pool."""
    removal = _pick(table, "removal", "relative_change").dropna(subset=["value"])
    losses = removal.groupby(["kind", "other"])["value"].mean()
    kinds = sorted(losses.index.unique("kind"), key=LEFT_OUT.index)
    name = pool.measure.name
    if kinds:
        of_kind = losses[kinds[-1]]
        text = (
            f"runs lose {_percent(of_kind.mean())} of {name} when their {kinds[-1]} is left out of "
            f"the pool, on average over {len(of_kind)} "
            f"(most: {of_kind.idxmax()}, {_percent(of_kind.max())})"
        )
        yield Sign.of(thresholds, "expected_loss", of_kind.mean(), text)
    alone = losses[losses.index.get_level_values("kind") != "family"]
    if len(alone):
        kind, left_out = alone.idxmax()
        text = (
            f"without the documents that only the {kind} {left_out} brought, its own runs lose "
            f"{_percent(alone.max())} of {name}"
        )
        yield Sign.of(thresholds, "largest_loss", alone.max(), text)


def _percent(share: float) -> str:
    return f"{round(share, 3) + 0.0:.1%}"  # adding zero turns -0.0 into 0.0


def _good_enough(pool: Pool, table: pd.DataFrame) -> pd.Series:
    """bool by run: in what is judged of it, no worse than the lowest quarter of the pooled runs.

    A poor run has unjudged documents because they are off the topic.
    """
    condensed = _pick(table, "outside", "condensed_score").set_index("subject")["value"]
    return condensed >= condensed[pool.pooled].quantile(0.25)


def _most_unjudged(pool: Pool, table: pd.DataFrame) -> tuple[float, str]:
    """The largest unjudged share of a good run outside the pool, and the run."""
    unjudged = _pick(table, "outside", "unjudged").set_index("subject")["value"]
    unjudged = unjudged[~pool.pooled & _good_enough(pool, table)]
    return (unjudged.max(), unjudged.idxmax()) if len(unjudged) else (0.0, "")


def _fewer_title_words(pool: Pool, table: pd.DataFrame, thresholds: Thresholds) -> Iterator[Sign]:
    """titlestat of the runs that the pool serves badly, against that of the pool's runs."""
    difference = _pick(table, "titlestat", "difference").set_index("subject")["value"]
    unjudged = _pick(table, "outside", "unjudged").set_index("subject")["value"]
    removal = _pick(table, "removal", "relative_change")
    alone = removal[removal["kind"] == "run"].set_index("subject")["value"]
    served_badly = unjudged >= thresholds.unjudged[0]
    served_badly |= alone.reindex(unjudged.index) >= thresholds.largest_loss[0]
    lower = -difference[served_badly & _good_enough(pool, table)] if len(difference) else difference
    if lower.notna().any():
        text = (
            f"{lower.idxmax()}, which this pool serves badly, returns documents with fewer of the "
            f"title's words than the pool's runs do (titlestat {lower.max():.2f} lower)"
        )
        yield Sign.of(thresholds, "title_words", lower.max(), text)


def _broken_order(pool: Pool, table: pd.DataFrame, thresholds: Thresholds) -> Iterator[Sign]:
    """What the loss of a family does to the order of runs beyond what chance does."""
    taus = _pick(table, "thinning", "tau")
    taus = taus[(taus["measure"] == pool.measure.name) & (taus["policy"] == pool.policy)]
    taus = taus[taus["kind"] == "family"].dropna(subset=["value"])
    if taus.empty:
        return
    broken = taus[taus["other"] == "below"]
    if broken.empty:
        text = "without any one family the order of the runs is disturbed no more than by chance"
        yield Sign.of(thresholds, "order", 0.0, text)
        return
    worst = broken.loc[broken["value"].idxmin()]
    text = (
        f"without the family {worst['subject']} the order of the runs agrees with the full one by "
        f"tau = {worst['value']:.2f}, less than with as many judgments missing at random "
        f"({worst['low']:.2f} to {worst['high']:.2f})"
    )
    yield Sign.of(thresholds, "order", 1 - worst["value"], text)


def _blind(pool: Pool, table: pd.DataFrame, thresholds: Thresholds) -> str:
    """Why the contributors cannot tell about each other; empty if they can."""
    families = pool.pairs.holders["family"].names
    if len(families) < 2:
        named = families[0] if pool.families_from == "sheet" else "their rankings overlap"
        return f"all contributors are of one family ({named}), and share what it does not look for"
    n, effective = pool.pooled.sum(), _by(table, "independence", "effective_number", "kind")["run"]
    if effective < thresholds.contributors:
        return f"the {n} contributors overlap so much that they count as {effective:.1f}"
    return ""


def _complete(pool: Pool, words: ts.TitleWords | None) -> str:
    """Why no judgment can be missing; empty if some can."""
    judged = thinning.n_judged(pool.pairs, pool.pairs.relevance)
    if words is not None and (judged == words.documents).all():
        return f"every one of the {words.documents} documents is judged for every query"
    return ""


def find_outsider(table: pd.DataFrame) -> dict[str, Any] | None:
    """The run that brought relevant documents as no other did, as sab05ror1 in 2005.

    It has the most relevant documents that no other run brought: at least OUTSIDER_SHARE of all
    that the pool reached, and OUTSIDER_TIMES the mean of the others. Its score and place among the
    pooled runs stand beside them: an outsider need not be good.

    Returns:
        run, unique_relevant, mean_of_others, score, place, runs; None if no run stands out.
    """
    of_runs = table[table["kind"] == "run"]
    unique = _by(of_runs, "routes", "unique_relevant", "subject")
    scores = _by(of_runs, "routes", "score", "subject")
    by_number = _by(of_runs, "routes", "relevant_documents", "subject")
    reached = sum(by_number.values()) - by_number["0"]
    run = max(unique, key=unique.get)
    others = [count for name, count in unique.items() if name != run]
    mean = float(np.mean(others)) if others else np.inf
    if unique[run] == 0 or unique[run] < max(OUTSIDER_SHARE * reached, OUTSIDER_TIMES * mean):
        return None
    return {
        "run": run,
        "unique_relevant": int(unique[run]),
        "mean_of_others": mean,
        "score": scores[run],
        "place": 1 + sum(score > scores[run] for score in scores.values()),
        "runs": len(scores),
    }


def _pick(table: pd.DataFrame, section: str, statistic: str) -> pd.DataFrame:
    return table[(table["section"] == section) & (table["statistic"] == statistic)]


def _by(table: pd.DataFrame, section: str, statistic: str, key: str) -> dict[str, float]:
    found = _pick(table, section, statistic)
    return dict(zip(found[key], found["value"].astype(float), strict=True))


def _families(pool: Pool) -> dict[str, Any]:
    """Where the families come from, and the pooled runs of each."""
    members: dict[str, list[str]] = {}
    for run, family, pooled in zip(pool.rankings.runs, pool.families, pool.pooled, strict=True):
        if pooled:
            members.setdefault(family, []).append(run)
    found = {"from": pool.families_from, "pooled_runs": members}
    if pool.families_from == "clusters":
        how = f"average linkage of Jaccard overlap to depth {overlap.DEPTH}"
        found |= {"how": how, "least_overlap": overlap.SAME_FAMILY}
    return found


def _relevant_share(table: pd.DataFrame, levels: Sequence[int]) -> dict[str, float]:
    """The relevant share of all judged documents, by relevance level."""
    share = _pick(table, "relevant", "share")
    share = share[share["depth"].isna()].set_index("level")["value"]
    return {str(level): float(share[level]) for level in levels}


def _single_routes(table: pd.DataFrame) -> dict[str, dict[str, float]]:
    """How many relevant documents depend on one contributor only, by kind."""
    found = {}
    counts = _pick(table, "routes", "relevant_documents")
    for kind, rows in counts.groupby("kind", sort=False):
        by_number = rows.set_index("subject")["value"]
        reached = by_number.sum() - by_number["0"]
        found[kind] = {
            "relevant": float(by_number.sum()),
            "by_none": float(by_number["0"]),
            "by_one": float(by_number["1"]),
            "share_by_one": float(by_number["1"] / reached) if reached else 0.0,
        }
    return found


def _titlestat(words: ts.TitleWords | None, titles: object, documents: object) -> dict[str, Any]:
    """How words were chosen, or why there is no titlestat."""
    if words is None:
        missing = [n for n, given in (("titles", titles), ("texts", documents)) if given is None]
        return {"computed": False, "why": f"no {' and no '.join(missing)} at hand"}
    return {
        "computed": True,
        "documents": words.documents,
        "queries_without_words": int(np.count_nonzero(words.counted == 0)),
        **ts.Analyser().described,
    }


def _thinning(table: pd.DataFrame, rates: Sequence[float], draws: int, seed: int) -> dict[str, Any]:
    """How judgments were thinned, and which cuts the order survives less well than chance."""
    taus = _pick(table, "thinning", "tau")
    below = taus[taus["other"] == "below"]
    columns = ["kind", "subject", "measure", "policy", "value", "low", "high"]
    return {
        "rates": list(rates),
        "draws": draws,
        "seed": seed,
        "chance_of_one_below": 1 / (draws + 1),
        "cuts_compared": int(taus["other"].notna().sum()),
        "below_random": below[columns].to_dict("records"),
    }
