"""The numbers of an audit, as a user of pytrec_eval would compute them in one script.

    python benchmarks/plain_pytrec_eval.py QRELS SHEET

SHEET is a TSV with a header: run, path (from the sheet's folder), group, pooled. Six measures of
every run under three policies, on the judgments of pools of depth 5 to 100 and on all of them; and
the score of each pooled run without the documents that only it, or only its group, put into the
pool of each depth. Nothing of the project is used.
"""

import csv
import gzip
import sys
from pathlib import Path

import pytrec_eval

MEASURES = {"ndcg_cut_10", "map", "recip_rank", "P_10", "recall_1000", "bpref"}
DEPTHS = [5, 10, 20, 50, 100]


def read_runs(sheet, qrels):
    runs = {}
    for row in sheet:
        with gzip.open(row["path"], "rt") as file:
            parsed = pytrec_eval.parse_run(file)
        runs[row["run"]] = {query: parsed[query] for query in parsed if query in qrels}
    return runs


def in_order(run):
    """The documents of each query, as trec_eval orders them."""
    return {
        query: sorted(scores, key=lambda doc: (scores[doc], doc), reverse=True)
        for query, scores in run.items()
    }


def pool(rankings, names, depth):
    """Who returned each document of each query to this depth."""
    found = {}
    for name in names:
        for query, docs in rankings[name].items():
            of_query = found.setdefault(query, {})
            for doc in docs[:depth]:
                of_query.setdefault(doc, []).append(name)
    return found


def within(qrels, pooled):
    return {
        query: {doc: grade for doc, grade in judged.items() if doc in pooled.get(query, {})}
        for query, judged in qrels.items()
    }


def cut(run, ranking, judged):
    """Each list down to its first unjudged document."""
    short = {}
    for query, docs in ranking.items():
        known = judged.get(query, {})
        kept = {}
        for doc in docs:
            if doc not in known:
                break
            kept[doc] = run[query][doc]
        short[query] = kept
    return short


def mean(values, queries):
    return {
        measure: sum(values[query][measure] for query in values) / queries for measure in MEASURES
    }


def all_scores(qrels, runs, rankings, pools):
    scores = {}
    for depth in [*DEPTHS, None]:
        judged = qrels if depth is None else within(qrels, pools[depth])
        plain = pytrec_eval.RelevanceEvaluator(judged, MEASURES)
        condensed = pytrec_eval.RelevanceEvaluator(judged, MEASURES, judged_docs_only_flag=True)
        for name, run in runs.items():
            short = cut(run, rankings[name], judged)
            scores[depth, "nonrelevant", name] = mean(plain.evaluate(run), len(qrels))
            scores[depth, "condense", name] = mean(condensed.evaluate(run), len(qrels))
            scores[depth, "restrict", name] = mean(plain.evaluate(short), len(qrels))
    return scores


def all_removals(qrels, runs, sheet, pools):
    group = {row["run"]: row["group"] for row in sheet}
    owners = [{row["run"]: row["run"] for row in sheet}, group]
    scores = {}
    for depth in DEPTHS:
        judged = within(qrels, pools[depth])
        for owner in owners:
            unique = {}
            for query, docs in pools[depth].items():
                for doc, names in docs.items():
                    who = {owner[name] for name in names}
                    if len(who) == 1:
                        unique.setdefault(who.pop(), set()).add((query, doc))
            for left_out, documents in unique.items():
                reduced = {
                    query: {
                        doc: grade for doc, grade in docs.items() if (query, doc) not in documents
                    }
                    for query, docs in judged.items()
                }
                evaluator = pytrec_eval.RelevanceEvaluator(reduced, MEASURES)
                for name, run in runs.items():
                    if owner[name] == left_out:
                        values = evaluator.evaluate(run)
                        scores[depth, left_out, name] = mean(values, len(qrels))
    return scores


def numbers(qrels, sheet):
    runs = read_runs(sheet, qrels)
    rankings = {name: in_order(run) for name, run in runs.items()}
    pooled = [row["run"] for row in sheet if row["pooled"] == "yes"]
    pools = {depth: pool(rankings, pooled, depth) for depth in DEPTHS}
    scores = all_scores(qrels, runs, rankings, pools)
    return scores, all_removals(qrels, runs, sheet, pools)


def main(qrels_path, sheet_path):
    with Path(qrels_path).open() as file:
        qrels = pytrec_eval.parse_qrel(file)
    with Path(sheet_path).open() as file:
        sheet = list(csv.DictReader(file, delimiter="\t"))
    for row in sheet:
        row["path"] = Path(sheet_path).parent / row["path"]
    scores, removals = numbers(qrels, sheet)
    for (depth, policy, name), values in scores.items():
        print("all" if depth is None else depth, policy, name, values)
    for (depth, left_out, name), values in removals.items():
        print(depth, f"without {left_out}", name, values)


if __name__ == "__main__":
    main(*sys.argv[1:])
