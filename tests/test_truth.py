"""The truth of a simulated campaign, over the queries that were judged."""

import pyarrow as pa

from poolaudit.reading.qrels import truth_of


def test_the_truth_covers_a_judged_query_without_a_relevant_document():
    def table(*rows):
        columns = zip(*rows, strict=True)
        types = (pa.string(), pa.string(), pa.int16())
        arrays = [pa.array(c, t) for c, t in zip(columns, types, strict=True)]
        return pa.table(arrays, names=["query_id", "doc_id", "relevance"])

    judged = table(("q1", "a", 1), ("q1", "b", 1), ("q2", "c", 0))
    truth = table(("q1", "a", 2), ("q1", "z", 3), ("q9", "x", 1))
    assert truth_of(judged, truth).to_pylist() == [
        {"query_id": "q1", "doc_id": "a", "relevance": 2},
        {"query_id": "q1", "doc_id": "b", "relevance": 0},
        {"query_id": "q1", "doc_id": "z", "relevance": 3},
        {"query_id": "q2", "doc_id": "c", "relevance": 0},
    ]
