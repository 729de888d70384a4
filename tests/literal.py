"""Build the two tables from text that fits in a test."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np
import pyarrow as pa

from poolaudit.pairs import Contributor, Pairs, Rankings, build


def judgments(text: str) -> pa.Table:
    """Judgments from lines such as `q1: a=2 b=0 c=-1`."""
    rows = [(query, *word.split("=")) for query, words in _lines(text) for word in words]
    return pa.table(
        {
            "query_id": pa.array([row[0] for row in rows], pa.string()),
            "doc_id": pa.array([row[1] for row in rows], pa.string()),
            "relevance": pa.array([int(row[2]) for row in rows], pa.int16()),
        }
    )


def run(text: str) -> pa.Table:
    """One run from lines such as `q1: a b c`, best document first.

    Scores fall by one from rank to rank; `b~` gives a document the score of the one before it.
    """
    columns = {"query_id": [], "doc_id": [], "rank": [], "score": []}
    for query, words in _lines(text):
        score = 1000.0
        for rank, word in enumerate(words, start=1):
            score -= not word.endswith("~")
            columns["query_id"].append(query)
            columns["doc_id"].append(word.removesuffix("~"))
            columns["rank"].append(rank)
            columns["score"].append(score)
    types = (pa.string(), pa.string(), pa.int32(), pa.float64())
    return pa.table(
        {name: pa.array(columns[name], kind) for name, kind in zip(columns, types, strict=True)}
    )


def tables(
    qrels: str,
    runs: Mapping[str, str],
    *,
    unpooled: Collection[str] = (),
    groups: Mapping[str, str] | None = None,
    families: Mapping[str, str] | None = None,
) -> tuple[Pairs, Rankings]:
    """The pairs and the rankings of literal judgments and runs; all runs pooled unless said."""
    contributors = [
        (
            Contributor(
                run=name,
                pooled=name not in unpooled,
                group=(groups or {}).get(name),
                family=(families or {}).get(name),
            ),
            run(text),
        )
        for name, text in runs.items()
    ]
    return build(judgments(qrels), contributors)


def grades(pairs: Pairs, text: str) -> np.ndarray:
    """A judgment set over the pairs from the same text as `judgments`; all else is unjudged."""
    table = judgments(text).to_pydict()
    places = {
        (pairs.query_ids[query], doc): row
        for row, (query, doc) in enumerate(zip(pairs.query, pairs.doc_id.to_pylist(), strict=True))
    }
    vector = np.full(len(pairs), np.iinfo(np.int16).min, np.int16)
    for query, doc, grade in zip(*table.values(), strict=True):
        vector[places[query, doc]] = grade
    return vector


def _lines(text: str) -> list[tuple[str, list[str]]]:
    lines = [line.split(":") for line in text.strip().splitlines()]
    return [(query.strip(), words.split()) for query, words in lines]


def assert_equal(found: tuple[Pairs, Rankings], expected: tuple[Pairs, Rankings]) -> None:
    """The two tables are the same in every cell."""
    for table, other in zip(found, expected, strict=True):
        for name, values in vars(table).items():
            wanted = getattr(other, name)
            if name == "doc_id":
                assert values.to_pylist() == wanted.to_pylist()
            elif name == "holders":
                assert values.keys() == wanted.keys()
                for kind, holders in values.items():
                    assert holders.names == wanted[kind].names
                    assert holders.best.tolist() == wanted[kind].best.tolist()
                    assert holders.next_best.tolist() == wanted[kind].next_best.tolist()
            elif name != "list_of":  # worked out, and only where somebody asked
                assert np.array_equal(values, wanted), name
