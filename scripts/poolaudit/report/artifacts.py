"""What the workflow made, read for the report: one table or record a stage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from poolaudit.files import read_json, sha256
from poolaudit.scores.measure_names import parse_measure

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow.compute as pc


@dataclass(frozen=True)
class Artifacts:
    """Everything that the report is made from.

    Attributes:
        source: judgments.json. topics: query_id, text, judged.
        notes: runs/<run>.json, by run. answered: notes on the queries of each run.
        pairs: query_id and relevance of every judged pair.
        evaluations: evaluation/<policy>.parquet, by policy.
        coverage, bounds: the tables of these names.
        bands, judged_to: coverage-bands.parquet and judged-to.parquet.
        ties, ties_crossed, queries, means: the tables of these names.
        labels, explanation, verdicts, provenance: the records of these names.
        read_first, read_first_documents: tail/read-first.json and tail/read-first.parquet.
        contributions, growth: pools.parquet and pools/growth.parquet; None without pooled runs, and
            so for all that follow.
        removal, routes: the tables of these names.
        removal_queries: query_id, run and change of the primary measure and policy where that run
            alone was left out of all the judgments.
        strata: tail/strata.parquet, what the judging sheet was drawn from.
        estimate, by_run, calibration, losses: the tables of tail/; the last two None without pooled
            runs.
        versions, compared: judgments-compared.json and judgments-compared.parquet; None where there
            is one version of the judgments.
        sharing, sharing_figures: sharing.json and sharing.parquet; None without pooled runs.
        sparse_labels: RR over a second, sparse set of labels; None where there is none.
        truth: measure, run, query_id, value on the true relevance; None where nobody knows it.
        digests: SHA-256 of the single files, by the names above.
    """

    source: dict[str, Any]
    topics: pd.DataFrame
    notes: dict[str, dict[str, Any]]
    answered: dict[str, list[dict[str, Any]]]
    pairs: pd.DataFrame
    evaluations: dict[str, pd.DataFrame]
    coverage: pd.DataFrame
    bands: pd.DataFrame
    judged_to: pd.DataFrame
    bounds: pd.DataFrame
    ties: pd.DataFrame
    ties_crossed: pd.DataFrame
    labels: dict[str, Any]
    queries: pd.DataFrame
    means: pd.DataFrame
    explanation: dict[str, Any]
    verdicts: dict[str, Any]
    read_first: dict[str, Any]
    read_first_documents: pd.DataFrame
    provenance: dict[str, Any]
    contributions: pd.DataFrame | None = None
    growth: pd.DataFrame | None = None
    removal: pd.DataFrame | None = None
    removal_queries: pd.DataFrame | None = None
    routes: pd.DataFrame | None = None
    strata: pd.DataFrame | None = None
    estimate: pd.DataFrame | None = None
    by_run: pd.DataFrame | None = None
    calibration: pd.DataFrame | None = None
    losses: pd.DataFrame | None = None
    sharing: dict[str, Any] | None = None
    sharing_figures: pd.DataFrame | None = None
    sparse_labels: pd.DataFrame | None = None
    truth: pd.DataFrame | None = None
    versions: dict[str, Any] | None = None
    compared: pd.DataFrame | None = None
    digests: Mapping[str, str] = field(default_factory=dict)


def taken(primary: Mapping[str, str]) -> dict[str, tuple[list[str], pc.Expression]]:
    """What the report takes of the tables that grow with every document: columns, and which rows.

    Args:
        primary: the measure and the policy that come first in the audit.
    """
    import pyarrow.compute as pc

    depth, kind = pc.field("depth"), pc.field("kind")
    of_primary = (pc.field("measure") == parse_measure(primary["measure"]).name) & (
        pc.field("policy") == primary["policy"]
    )
    return {
        "pairs": (["query_id", "relevance"], pc.field("relevance").is_valid()),
        "removal_queries": (
            ["query_id", "run", "change"],
            (kind == "run") & depth.is_null() & of_primary,
        ),
    }


def read(paths: Mapping[str, str | Sequence[str]], primary: Mapping[str, str]) -> Artifacts:
    """Read the files under the names of `Artifacts`; several files become a mapping by stem.

    Args:
        paths: the files.
        primary: the measure and the policy that come first in the audit.
    """
    parts = taken(primary)
    single = {key: path for key, path in paths.items() if isinstance(path, str)}
    several = {key: each for key, each in paths.items() if key not in single}
    return Artifacts(
        **{key: _read(path, *parts.get(key, ())) for key, path in single.items()},
        **{key: {Path(p).stem: _read(p) for p in each} for key, each in several.items()},
        digests={key: sha256(path) for key, path in single.items()},
    )


def _read(path: str, columns: list[str] | None = None, rows: Any = None) -> Any:
    if path.endswith(".json"):
        return read_json(path)
    import pandas as pd

    return pd.read_parquet(path, columns=columns, filters=rows)
