"""The sample of the tail and its estimate: populations, strata, draws, tables."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from literal import grades, tables
from poolaudit.errors import AuditError
from poolaudit.reading.documents import DocumentFile
from poolaudit.tail import intervals, sampling


def named(pairs, rows):
    docs = pairs.doc_id.to_pylist()
    return [f"{pairs.query_ids[pairs.query[row]]} {docs[row]}" for row in rows]


@pytest.fixture
def small():
    """Two pooled runs and a new one; d is judged and returned by no run, c is not judged (-1)."""
    return tables(
        "q1: a=1 b=0 c=-1 d=2",
        {"A": "q1: a b c e", "B": "q1: b f", "New": "q1: g a h"},
        unpooled=["New"],
    )


def synthetic(queries=4, runs=12, depth=60, seed=5):
    """Overlapping runs over numbered documents; only each run's first three are judged."""
    rng = np.random.default_rng(seed)
    rankings, judged = {}, {}
    for r in range(runs):
        lines = []
        for q in range(queries):
            order = np.argsort(np.arange(200) + rng.normal(0, 30, 200))[:depth]
            lines.append(f"q{q}: " + " ".join(f"d{d:03d}" for d in order))
            judged.setdefault(q, set()).update(order[:3])
        rankings[f"r{r:02d}"] = "\n".join(lines)
    qrels = "\n".join(
        f"q{q}: " + " ".join(f"d{d:03d}={int(d < 20)}" for d in sorted(docs))
        for q, docs in judged.items()
    )
    families = {run: "odd" if i % 2 else "even" for i, run in enumerate(rankings)}
    return tables(qrels, rankings, families=families)[0]


class TestPopulation:
    def test_what_runs_returned_and_nobody_judged(self, small):
        pairs, _ = small
        rows = sampling.population(pairs, pairs.relevance)
        assert named(pairs, rows) == ["q1 c", "q1 e", "q1 f", "q1 g", "q1 h"]

    def test_reaches_to_the_stated_depth_of_any_audited_run(self, small):
        pairs, _ = small
        rows = sampling.population(pairs, pairs.relevance, depth=2)
        assert named(pairs, rows) == ["q1 f", "q1 g"]

    def test_is_larger_for_a_smaller_judgment_set(self, small):
        pairs, _ = small
        rows = sampling.population(pairs, grades(pairs, "q1: a=1"), depth=2)
        assert named(pairs, rows) == ["q1 b", "q1 f", "q1 g"]


class TestStratify:
    @pytest.mark.parametrize(("design", "size"), [("total", 30), ("by-query", 60)])
    def test_strata_are_large_enough_for_one_draw(self, design, size):
        pairs = synthetic()
        frame = sampling.stratify(pairs, sampling.population(pairs, pairs.relevance), size, design)
        held = frame.strata["population"].to_numpy()
        assert held.sum() == len(frame)
        assert len(held) > 4
        assert (held * size / len(frame) >= 1 - 1e-9).all()
        assert (np.bincount(frame.stratum) == held).all()

    def test_strata_are_bands_of_best_rank_by_number_of_runs_and_family(self):
        pairs = synthetic()
        rows = sampling.population(pairs, pairs.relevance)
        # Every document is drawn, so no cell is too small to stand alone.
        strata = sampling.stratify(pairs, rows, len(rows)).strata
        bands = np.searchsorted(sampling.RANK_BANDS, strata[["best_rank_from", "best_rank_to"]])
        assert (bands[:, 0] == bands[:, 1]).all()
        bands = np.searchsorted(sampling.RUN_BANDS, strata[["returned_by_from", "returned_by_to"]])
        assert (bands[:, 0] == bands[:, 1]).all()
        assert set(strata["families"]) == {"even", "odd"}

    def test_by_query_no_stratum_spans_queries(self):
        pairs = synthetic()
        rows = sampling.population(pairs, pairs.relevance)
        frame = sampling.stratify(pairs, rows, 60, "by-query")
        spans = pd.Series(pairs.query[frame.rows]).groupby(frame.stratum).nunique()
        assert (spans == 1).all()
        of_query = frame.strata["query_id"].to_numpy()[frame.stratum]
        assert (of_query == np.array(pairs.query_ids)[pairs.query[frame.rows]]).all()

    @pytest.mark.parametrize("design", sampling.DESIGNS)
    def test_what_is_text_is_text_also_where_nothing_is_known(self, design):
        pairs = synthetic()
        rows = sampling.population(pairs, pairs.relevance)
        frame = sampling.stratify(pairs, rows, 60, design)
        without_topics = dict.fromkeys(pairs.query_ids)
        for table in sampling.draw(pairs, frame, queries=without_topics):
            kinds = {field.name: str(field.type) for field in pa.Table.from_pandas(table).schema}
            for name in {"query_id", "query", "families", "stratum"} & set(kinds):
                assert kinds[name] in ("string", "large_string"), name

    def test_by_query_a_small_query_is_a_stratum_of_its_own_fraction(self):
        pairs, _ = tables("q1: a=1\nq2: a=1", {"A": "q1: a b c d e f g h i j k\nq2: a b"})
        frame = sampling.stratify(pairs, sampling.population(pairs, pairs.relevance), 3, "by-query")
        small = frame.strata[frame.strata["query_id"] == "q2"]
        assert small["population"].tolist() == [1]
        assert small["fraction"].tolist() == [1.0]
        assert frame.strata["fraction"].min() == pytest.approx(2 / 10)

    @pytest.mark.parametrize("design", sampling.DESIGNS)
    def test_an_empty_tail_has_an_empty_sample_and_misses_nothing(self, design):
        pairs, _ = tables("q1: a=1", {"A": "q1: a"})
        frame = sampling.stratify(pairs, sampling.population(pairs, pairs.relevance), 5, design)
        sample, strata = sampling.draw(pairs, frame)
        assert (len(frame), len(sample), len(strata)) == (0, 0, 0)
        judged = sampling.judged_relevant(pairs, pairs.relevance, [1])
        (total,) = sampling.estimate(sample, strata, judged).to_dict("records")
        assert (total["estimate"], total["low"], total["high"]) == (0, 0, 0)
        assert total["completeness"] == 1

    def test_fewer_documents_than_queries_are_refused_by_query(self):
        pairs = synthetic()
        with pytest.raises(AuditError, match="at least 4, one document for each query"):
            sampling.stratify(pairs, sampling.population(pairs, pairs.relevance), 3, "by-query")

    def test_an_unknown_design_is_refused(self, small):
        with pytest.raises(AuditError, match="total or by-query"):
            sampling.stratify(small[0], np.arange(3), 2, "per-query")


class TestAllocate:
    @pytest.mark.parametrize(("design", "size"), [("total", 37), ("by-query", 61)])
    def test_the_same_fraction_up_to_whole_documents(self, design, size):
        pairs = synthetic()
        frame = sampling.stratify(pairs, sampling.population(pairs, pairs.relevance), size, design)
        sampled = sampling.allocate(frame, np.random.default_rng(1), draws=500)
        meant = frame.strata["population"].to_numpy() * size / len(frame)
        assert (sampled.sum(axis=1) == size).all()
        assert (np.abs(sampled - meant) < 1).all()
        assert (sampled >= 1).all()

    def test_rounding_favours_no_stratum(self):
        pairs = synthetic()
        frame = sampling.stratify(pairs, sampling.population(pairs, pairs.relevance), 37)
        sampled = sampling.allocate(frame, np.random.default_rng(1), draws=4000)
        meant = frame.strata["population"].to_numpy() * 37 / len(frame)
        assert np.abs(sampled.mean(axis=0) - meant).max() < 0.04  # 5 standard errors

    def test_small_queries_give_one_document(self):
        pairs, _ = tables("q1: a=1\nq2: a=1", {"A": "q1: a b c d e f g h i j k\nq2: a b"})
        frame = sampling.stratify(pairs, sampling.population(pairs, pairs.relevance), 3, "by-query")
        sampled = sampling.allocate(frame, np.random.default_rng(1))[0]
        assert sampled.sum() == 3
        assert sampled[(frame.strata["query_id"] == "q2").to_numpy()].tolist() == [1]


class TestDraw:
    @pytest.fixture
    def drawn(self):
        pairs = synthetic()
        frame = sampling.stratify(pairs, sampling.population(pairs, pairs.relevance), 40)
        return pairs, frame, *sampling.draw(pairs, frame, seed=7, queries={"q0": "tall trees"})

    def test_gives_each_stratum_its_share_without_repeats(self, drawn):
        _, frame, sample, strata = drawn
        assert len(sample) == 40 == len(sample.drop_duplicates(["query_id", "doc_id"]))
        counts = sample["stratum"].value_counts().reindex(strata["stratum"]).to_numpy()
        assert (counts == strata["sampled"]).all()
        assert strata.drop(columns="sampled").equals(frame.strata)

    def test_inclusion_probability_is_drawn_over_held(self, drawn):
        _, _, sample, strata = drawn
        table = sample.merge(strata, on="stratum")
        expected = table["sampled"] / table["population"]
        assert (table["inclusion_probability"] == expected).all()

    def test_every_document_is_in_its_stratum(self, drawn):
        pairs, frame, sample, _ = drawn
        stratum = dict(
            zip(
                named(pairs, frame.rows),
                frame.strata["stratum"].to_numpy()[frame.stratum],
                strict=True,
            )
        )
        keys = sample["query_id"] + " " + sample["doc_id"]
        assert keys.map(stratum).tolist() == sample["stratum"].tolist()

    def test_carries_the_text_of_queries_and_documents(self, drawn, tmp_path):
        pairs, frame, sample, _ = drawn
        assert set(sample.loc[sample["query_id"] == "q0", "query"]) == {"tall trees"}
        assert "text" not in sample
        doc = sample["doc_id"].iloc[0]
        (tmp_path / "documents.tsv").write_text(f"{doc}\tleaves\n")
        documents = DocumentFile(tmp_path / "documents.tsv")
        with_text, _ = sampling.draw(pairs, frame, seed=7, documents=documents)
        assert with_text["text"].tolist()[:2] == ["leaves", ""]

    def test_the_same_seed_gives_the_same_sample(self, drawn):
        pairs, frame, sample, _ = drawn
        again, _ = sampling.draw(pairs, frame, seed=7, queries={"q0": "tall trees"})
        other, _ = sampling.draw(pairs, frame, seed=8)
        assert again.equals(sample)
        assert other["doc_id"].tolist() != sample["doc_id"].tolist()

    def test_every_document_is_drawn_equally_often(self):
        pairs = synthetic(queries=1, runs=3, depth=20)
        frame = sampling.stratify(pairs, sampling.population(pairs, pairs.relevance), 7)
        times = pd.Series(0, index=pairs.doc_id.take(frame.rows).to_pylist())
        for seed in range(500):
            sample, _ = sampling.draw(pairs, frame, seed=seed)
            times[sample["doc_id"].to_numpy()] += 1
        share = 7 / len(frame)
        error = np.sqrt(share * (1 - share) / 500)
        assert np.abs(times / 500 - share).max() < 4.5 * error

    def test_a_larger_size_than_the_population_is_all_of_it(self, small):
        pairs, _ = small
        frame = sampling.stratify(pairs, sampling.population(pairs, pairs.relevance), 100)
        sample, _ = sampling.draw(pairs, frame)
        assert sorted(sample["doc_id"]) == ["c", "e", "f", "g", "h"]
        assert set(sample["inclusion_probability"]) == {1.0}


def test_a_budget_buys_whole_judgments():
    assert sampling.TailSettings(size=30).documents == 30
    assert sampling.TailSettings(budget=80).documents == 80
    assert sampling.TailSettings(budget=60, cost=0.75).documents == 80
    assert sampling.size_within(budget=60, cost=0.75) == 80
    with pytest.raises(AuditError, match="does not pay for one judgment"):
        sampling.size_within(budget=0.5, cost=0.75)


def filled(rows):
    """A sample from `stratum: grades`, - where skipped."""
    table = [(s, None if g == "-" else int(g)) for s, gs in rows.items() for g in gs.split()]
    return pd.DataFrame(
        {
            "query_id": "q1",
            "stratum": [stratum for stratum, _ in table],
            "relevance": pd.array([grade for _, grade in table], "Int16"),
        }
    )


def two_strata(sampled=(4, 2), fraction=(0.1, 0.1), query_id=(None, None)):
    return pd.DataFrame(
        {
            "stratum": ["s1", "s2"],
            "query_id": query_id,
            "population": [40, 20],
            "sampled": sampled,
            "fraction": fraction,
        }
    )


def known(*counts):
    """Judged relevant documents of q1 at levels 1, 2, ..."""
    return pd.DataFrame(
        {"query_id": "q1", "level": range(1, len(counts) + 1), "judged_relevant": counts}
    )


def total_of(sample, judged):
    return sampling.estimate(sample, two_strata(), judged).iloc[0]


class TestEstimate:
    def test_sum_of_what_each_sampled_document_stands_for(self):
        # 2 of 4 in s1 stand for 20 of 40, 1 of 2 in s2 for 10 of 20; at level 2: 1 of 4 for 10.
        sample = filled({"s1": "1 2 0 0", "s2": "1 0"})
        table = sampling.estimate(sample, two_strata(), known(30, 10))
        assert table[["scope", "name", "level", "estimate"]].values.tolist() == [
            ["total", "", 1, 30],
            ["stratum", "s1", 1, 20],
            ["stratum", "s2", 1, 10],
            ["total", "", 2, 10],
            ["stratum", "s1", 2, 10],
            ["stratum", "s2", 2, 0],
        ]
        total = table.iloc[0]
        assert (total["low"], total["high"]) == intervals.hypergeometric(60, 6, 3)
        assert total["method"] == "hypergeometric"

    def test_completeness_and_its_interval_turned_round(self):
        sample = filled({"s1": "1 2 0 0", "s2": "1 0"})
        total = total_of(sample, known(30))
        assert total["completeness"] == 0.5
        assert total["completeness_low"] == 30 / (30 + total["high"])
        assert total["completeness_high"] == 30 / (30 + total["low"])

    def test_none_relevant_in_the_sample_is_an_upper_bound_and_not_zero(self):
        total = sampling.estimate(
            filled({"s1": "0 0 0 0", "s2": "0 0"}), two_strata(), known(30)
        ).iloc[0]
        assert (total["estimate"], total["low"]) == (0, 0)
        assert total["high"] == intervals.hypergeometric(60, 6, 0)[1] > 0
        assert total["completeness"] == 1 > total["completeness_low"]

    def test_truth_stands_beside_the_estimate_where_it_is_known(self):
        sample = filled({"s1": "1 2 0 0", "s2": "1 0"})
        truth = np.array([[18, 9]])
        table = sampling.estimate(sample, two_strata(), known(30), truth=truth)
        assert table["truth"].tolist() == [27, 18, 9]
        assert sampling.estimate(sample, two_strata(), known(30))["truth"].isna().all()

    def test_skipped_documents_leave_a_smaller_sample_of_their_stratum(self):
        sample = filled({"s1": "1 - 0 -", "s2": "1 0"})
        total = total_of(sample, known(30))
        # 1 of 2 judged stands for 20 of 40, 1 of 2 for 10 of 20.
        assert (total["sampled"], total["judged"], total["estimate"]) == (6, 4, 30)
        assert total["method"] == "weighted"
        assert (total["low"], total["high"]) == intervals.weighted([40, 20], [2, 2], [1, 1])[:2]

    def test_a_stratum_of_which_nothing_was_judged_is_not_covered(self):
        sample = filled({"s1": "1 0 0 0", "s2": "- -"})
        total = total_of(sample, known(30))
        assert (total["estimate"], total["not_covered"]) == (10, 20)
        assert total["high"] == intervals.hypergeometric(40, 4, 1)[1] + 20

    def test_an_empty_sheet_estimates_nothing(self):
        total = sampling.estimate(
            filled({"s1": "- - - -", "s2": "- -"}), two_strata(), known(3)
        ).iloc[0]
        assert np.isnan(total["estimate"])
        assert (total["low"], total["high"], total["not_covered"]) == (0, 60, 60)

    def test_by_query_only_where_the_sample_is_drawn_by_query(self):
        strata = two_strata(query_id=("q1", "q2"))
        judged = pd.DataFrame({"query_id": ["q1", "q2"], "level": 1, "judged_relevant": [3, 4]})
        sample = filled({"s1": "1 0 0 0", "s2": "1 0"})
        table = sampling.estimate(sample, strata, judged)
        by_query = table[table["scope"] == "query"]
        assert by_query[["name", "estimate"]].values.tolist() == [["q1", 10], ["q2", 10]]
        assert by_query["completeness"].isna().all()  # fewer than 20 sampled

    def test_completeness_of_a_query_from_twenty_sampled_on(self):
        strata = two_strata(sampled=(20, 19), fraction=(0.5, 0.5), query_id=("q1", "q2"))
        judged = pd.DataFrame({"query_id": ["q1", "q2"], "level": 1, "judged_relevant": [6, 6]})
        sample = filled({"s1": "1 1 1 " + "0 " * 17, "s2": "0 " * 19})
        table = sampling.estimate(sample, strata, judged).set_index("name")
        assert table.loc["q1", "completeness"] == 0.5
        assert np.isnan(table.loc["q2", "completeness"])

    def test_no_relevant_documents_at_all_leave_no_completeness(self):
        total = sampling.estimate(
            filled({"s1": "0 0 0 0", "s2": "0 0"}), two_strata(), known(0)
        ).iloc[0]
        assert np.isnan(total["completeness"])

    def test_the_interval_holds_the_estimate(self):
        # Rounding gave s1 one document for 40 and s2 five for 20: 40 estimated from the one found.
        strata = two_strata(sampled=(1, 5), fraction=(0.1, 0.1))
        total = sampling.estimate(filled({"s1": "1", "s2": "0 0 0 0 0"}), strata, known(9)).iloc[0]
        assert total["low"] <= total["estimate"] == 40 <= total["high"]


class TestSkipped:
    def test_nothing_to_say_of_a_full_sheet(self):
        assert sampling.skipped(filled({"s1": "1 0"}), two_strata()) == []

    def test_says_what_the_estimate_assumes(self):
        said = sampling.skipped(filled({"s1": "1 -"}), two_strata())
        assert len(said) == 1
        assert "1 of 2 sampled documents have no grade" in said[0]
        assert "nothing to do with their relevance" in said[0]

    def test_names_queries_and_strata_without_any_grade(self):
        sample = filled({"s1": "1", "s2": "- -"}).assign(query_id=["q1", "q2", "q2"])
        said = sampling.skipped(sample, two_strata())
        assert "1 of 2 sampled queries (q2)" in said[1]
        assert "1 strata of 20 documents" in said[2]


def test_judged_relevant_counts_each_level_by_query():
    pairs, _ = tables("q1: a=2 b=1 c=0 d=-1\nq2: a=1", {"A": "q1: a"})
    table = sampling.judged_relevant(pairs, pairs.relevance, [1, 2])
    assert table.values.tolist() == [["q1", 1, 2], ["q2", 1, 1], ["q1", 2, 1], ["q2", 2, 0]]
