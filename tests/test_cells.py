"""Arrays with named axes as tables."""

import numpy as np

from poolaudit.cells import cells


def test_one_row_a_cell_the_last_axis_running_fastest():
    table = cells(
        {"run": ["a", "b"], "depth": [5, None], "query_id": ["q1"]},
        {"value": np.array([[[0.5], [np.nan]], [[1.0], [0.25]]]), "n": np.ones((2, 2, 1), int)},
    )
    assert table.to_pylist() == [
        {"run": "a", "depth": 5, "query_id": "q1", "value": 0.5, "n": 1},
        {"run": "a", "depth": None, "query_id": "q1", "value": None, "n": 1},
        {"run": "b", "depth": 5, "query_id": "q1", "value": 1.0, "n": 1},
        {"run": "b", "depth": None, "query_id": "q1", "value": 0.25, "n": 1},
    ]


def test_an_axis_without_labels_gives_no_rows():
    assert cells({"run": [], "depth": [None]}, {"value": np.empty((0, 1))}).num_rows == 0
