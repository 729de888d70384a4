"""What is audited: its settings, its artifacts, and the means that every section starts from."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pandas as pd

from poolaudit.report.artifacts import Artifacts
from poolaudit.scores.measure_names import Measure, parse_measure, parse_measures


@dataclass(frozen=True)
class Subject:
    """What is audited.

    Attributes:
        collection, title: its name, and what it is called in headings.
        settings: its settings, with all defaults.
        contributors: run, pooled, group, family, type of each run.
        made: the artifacts.
    """

    collection: str
    title: str
    settings: Mapping[str, Any]
    contributors: Sequence[Mapping[str, Any]]
    made: Artifacts

    @cached_property
    def measures(self) -> tuple[str, ...]:
        return tuple(m.name for m in parse_measures(self.settings["measures"]))

    @cached_property
    def primary(self) -> Measure:
        return parse_measure(self.settings["primary"]["measure"])

    @property
    def policy(self) -> str:
        return self.settings["primary"]["policy"]

    @property
    def cutoff(self) -> int:
        """How far down a list the primary measure looks.

        For one without a cutoff the deepest that coverage was counted at within bounds.depth.
        """
        counted = self.made.coverage["cutoff"].unique()
        deepest = max(self.settings["bounds"]["depth"], counted.min())
        return self.primary.cutoff or int(counted[counted <= deepest].max())

    @property
    def level(self) -> int:
        """The lowest grade that the primary measure takes for relevant."""
        return self.primary.rel or 1

    @cached_property
    def means(self) -> pd.DataFrame:
        """policy, depth, measure, run, mean (NaN without values), queries (with a value)."""
        return pd.concat(
            mean_over_queries(table).assign(policy=policy)
            for policy, table in self.made.evaluations.items()
        )

    @cached_property
    def primary_means(self) -> pd.DataFrame:
        """float64[run, depth] under the primary measure and policy; depth NaN: all judgments."""
        table = self.means
        chosen = table[(table["policy"] == self.policy) & (table["measure"] == self.primary.name)]
        return chosen.pivot(index="run", columns="depth", values="mean")


def mean_over_queries(table: pd.DataFrame) -> pd.DataFrame:
    keys = [key for key in ("depth", "measure", "run") if key in table]
    grouped = table.groupby(keys, observed=True, dropna=False, sort=False)["value"]
    found = grouped.agg(mean="mean", queries="count").reset_index()
    return found.astype(dict.fromkeys(("measure", "run"), str))


def number(value: Any) -> float | None:
    """A float for JSON; None for NaN, which JSON has not."""
    return None if value is None or math.isnan(value) else float(value)


def share(part: float, whole: float) -> float | None:
    """part / whole; None of nothing."""
    return float(part / whole) if whole else None


def records(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Rows as dictionaries of plain Python values; missing ones are None."""
    columns = {
        name: [None if value is pd.NA or value != value else value for value in column.tolist()]
        for name, column in table.items()
    }
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def primary_removal(subject: Subject) -> pd.DataFrame:
    """The rows of the primary measure and policy that reduce all of the judgments."""
    table = subject.made.removal
    return table[
        table["depth"].isna()
        & (table["measure"] == subject.primary.name)
        & (table["policy"] == subject.policy)
    ]
