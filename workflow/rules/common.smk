# What every stage shares: the collection's settings and small named functions of them.
# Takes config["collection"]; gives AUDIT, RUNS, BATCHES, POOLED, DEPTHS and the functions below.

import os
import re
import sys
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

import yaml
from snakemake.logging import logger

SCRIPTS = Path(workflow.basedir).resolve().parent / "scripts"
sys.path.insert(0, str(SCRIPTS))

from poolaudit import files, joblogs, owner, provenance
from poolaudit.archive import contents
from poolaudit.batches import batches
from poolaudit.config import (
    DOCUMENT_STORE,
    SCHEMAS,
    check_settings,
    find,
    load_collection,
    read_sheet,
)
from poolaudit.errors import AuditError
from poolaudit.scores.measure_names import levels_of, parse_measures

CAMPAIGN = "results/campaign"
# What is made from the traces of all other jobs.
LAST = ["record_provenance", "render_report", "describe_crate"]


@contextmanager
def plainly():
    """Tell what stops the audit by its message alone."""
    try:
        yield
    except AuditError as error:
        raise WorkflowError(str(error)) from None


def is_comparison():
    """Whether another audit is named, or asked for: Snakemake knows its targets only later."""
    made = {str(RESULTS / name) for name in ("compare.html", "compare.json")}
    folders = {"-d", "--directory"}
    words = {word for before, word in pairwise(sys.argv) if before not in folders}
    return "against" in config or not words.isdisjoint({"compare", "compare_audits"} | made)


with plainly():
    check_settings(config, SCHEMAS / "config.schema.yaml", where="config/config.yaml or --config")
    AUDIT = load_collection(config["collection"], made=[CAMPAIGN])
    RESULTS = Path("results", AUDIT.name)
    owner.refuse_other(RESULTS, AUDIT.file)
    # The jobs of a cluster load this too, while others are at work.
    if workflow.is_main_process:
        provenance.refuse_changed([RESULTS, Path(CAMPAIGN)])
        # The input function below would tell the same with a traceback.
        if is_comparison():
            contents.audit_files(config.get("against"))


def is_news(record):
    """Jobs say themselves what they do: that the scheduler looks for the next one is no news."""
    return not re.match(r"Select jobs to execute|Execute \d+ jobs", record.getMessage())


logger.addFilter(is_news)

SETTINGS = AUDIT.settings
LOGS = RESULTS / "logs"
LOGS_BEFORE = joblogs.written(LOGS)
RUNS = {row.run: row for row in AUDIT.rows}
BATCHES = batches(RUNS, SETTINGS["batches"]["runs"])
POOLED = [row.run for row in AUDIT.rows if row.pooled]
# Without pooled runs there is no pool to cut to another depth.
DEPTHS = SETTINGS["pool"]["depths"] if POOLED else []


wildcard_constraints:
    collection=re.escape(AUDIT.name),


onstart:
    with plainly():
        files.refuse_future([*map(find, read_files()), AUDIT.file])
        # Where the clock was set back.
        for folder in (RESULTS, Path(CAMPAIGN)):
            files.date_back(folder)
        owner.sign(RESULTS, AUDIT.file)
        for path in provenance.remove_leftovers(RESULTS, wanted()):
            logger.info(f"taken away, for the settings ask for it no longer: {path}")


def code_of(script):
    """Digest of a script, the library modules that it imports and the packages these use."""
    return provenance.code_of(SCRIPTS / f"{script}.py")["digest"]


def tell_failures():
    """Say at the end again what stopped jobs; those that were killed had no time for a word."""
    if not LOGS.is_dir():
        return
    for log, message in joblogs.failures(LOGS, LOGS_BEFORE):
        logger.error(f"\nFailed, as its log says ({log}):\n{message}")
    for job in joblogs.killed(LOGS):
        found = AuditError(
            "A job was ended from outside before it was done.",
            where=job,
            found="no word in its log: killed by somebody, or by a system without memory left",
            todo=f"run the same command again; if memory ran out, {joblogs.LESS_MEMORY}",
        )
        logger.error(f"\n{found}")


def memory(least, per_mb, of_batch=None, kept=2):
    """MB of memory that a job asks for: a floor, and so much for each MB that it reads.

    A job that reads batch after batch of queries reaches `of_batch` with ten million rows, and of
    the rest keeps so many MB for each MB (more than 2 only where judgments are many). All was
    measured (docs/scale.md) and is asked for with a half more; each retry doubles it.
    """

    def of_job(wildcards, input, attempt):
        need = per_mb * input.size_mb
        if of_batch:
            of_rows = of_batch * SETTINGS["batches"]["rows"] / 10_000_000
            need = min(need, of_rows + kept * input.size_mb)
        return round(1.5 * (least + need) * 2 ** (attempt - 1))

    return of_job


def minutes(wildcards, input, attempt):
    """Minutes that a job asks for: ten times what the slowest of them was measured to take."""
    return round((10 + input.size_mb) * attempt)


def is_made(path):
    """Whether the workflow makes this file itself."""
    return Path(os.path.normpath(path)).is_relative_to(CAMPAIGN)


def local_file(path):
    """A file of the user's: only its content counts, which a digest among the params tells."""
    return str(path) if is_made(path) else ancient(str(find(path)))


def digest_of(path):
    """SHA-256 of a file of the user's; a file that the workflow makes is traced by its own rule."""
    with plainly():
        return "made by the workflow" if is_made(path) else files.sha256(find(path))


def contributors():
    """Who made each run and whether it was pooled, as rows that build_pairs takes."""
    return [
        {
            "run": row.run,
            "pooled": row.pooled,
            "group": row.group,
            "family": row.family,
            "type": row.type,
            "subtask": row.subtask,
        }
        for row in AUDIT.rows
    ]


# As functions, for Snakemake takes braces in a plain string for wildcards.
def title(wildcards):
    return SETTINGS.get("title", AUDIT.name)


def assessors(wildcards):
    return SETTINGS["assessors"]


def archive_settings(wildcards):
    return SETTINGS["archive"]


def cutoffs():
    """How far down the lists coverage is counted: standard depths, and those of the measures."""
    deepest = SETTINGS["bounds"]["depth"]
    return sorted(
        {5, 10, 20, 100, 1000} | {m.cutoff or deepest for m in parse_measures(SETTINGS["measures"])}
    )


def audit_settings():
    """The settings that numbers depend on; not what only names the report or its archive."""
    return {key: value for key, value in SETTINGS.items() if key not in {"title", "archive"}}


def kept_inputs():
    """The files of the user's that the archive keeps, by their names in it."""
    collection = f"config/collections/{AUDIT.name}.yaml"
    kept = {collection: str(AUDIT.file), SETTINGS["runs"]: str(find(SETTINGS["runs"]))}
    if SETTINGS["archive"]["inputs"] == "files":
        paths = user_files().values()
        kept |= {path: str(find(path)) for path in paths if not is_made(path)}
    return {contents.below(name): path for name, path in kept.items()}


def against(wildcards):
    """The files of the audit that the target compare sets this one beside."""
    with plainly():
        return [ancient(str(path)) for path in contents.audit_files(config.get("against"))]


def against_digests(wildcards):
    return [files.sha256(path) for path in against(wildcards)]


def user_files():
    """Every file of the user's that the audit reads, by what names it."""
    keys = ("file", "topics", "truth", "routes", "sparse_labels", "compare_with")
    keys += () if document_store() else ("documents",)
    named = {f"judgments.{key}": SETTINGS["judgments"].get(key) for key in keys}
    named |= {f"tail.{key}": SETTINGS["tail"].get(key) for key in ("sheet", "targeted")}
    named["check.declared"] = SETTINGS["check"].get("declared")
    named |= {f"run {run}": str(row.path) for run, row in RUNS.items()}
    return {name: path for name, path in named.items() if path}


def read_files():
    """The same, and the run sheet, without what the workflow makes."""
    paths = [*user_files().values(), SETTINGS["runs"]]
    return [path for path in paths if not is_made(path)]


def project_digest():
    """One digest of all files of the project that the archive keeps."""
    names = contents.project_files(SCRIPTS.parent)
    return files.digest({name: files.sha256(SCRIPTS.parent / name) for name in names})


def form_digests():
    """SHA-256 of each template, style sheet and script that the report is made with."""
    folder = Path(workflow.basedir) / "report"
    paths = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    return {str(path.relative_to(folder)): files.sha256(path) for path in paths}


def run_files(runs):
    return [local_file(RUNS[run].path) for run in runs]


def run_digests(runs):
    return [digest_of(RUNS[run].path) for run in runs]


def run_formats(runs):
    return [RUNS[run].format for run in runs]


def local_judgments():
    """The collection's own files of judgments and topics; none when ir_datasets has them."""
    keys = [key for key in ("file", "topics") if key in SETTINGS["judgments"]]
    return {key: local_file(SETTINGS["judgments"][key]) for key in keys}


def judgment_settings():
    """Where the judgments come from; what they are compared with is another matter."""
    return {key: value for key, value in SETTINGS["judgments"].items() if key != "compare_with"}


def local_judgment_digests():
    return {key: digest_of(path) for key, path in local_judgments().items()}


def truth_file():
    """The file that tells every relevant document; none where nobody knows them."""
    return judgments_file("truth")


def documents_file():
    """The file of the documents' text; none where it is not at hand, or in a store."""
    return [] if document_store() else judgments_file("documents")


def document_store():
    """The id whose documents ir_datasets' own store has; None where the store is not asked for."""
    judgments = SETTINGS["judgments"]
    return judgments["ir_datasets"] if judgments.get("documents") == DOCUMENT_STORE else None


def sparse_labels_file():
    """A second, sparse set of labels, such as MS MARCO's; none where there is none."""
    return judgments_file("sparse_labels")


def filled_in_sheet():
    """The judging sheet as the assessors filled it in; none before they did."""
    return [local_file(path) for path in [SETTINGS["tail"].get("sheet")] if path]


def declared_file():
    """The table of the numbers that a paper declares; none where every run is checked."""
    return [local_file(path) for path in [SETTINGS["check"].get("declared")] if path]


def targeted_sheet():
    """The sheet of what to read first as somebody filled it in; none before."""
    return [local_file(path) for path in [SETTINGS["tail"].get("targeted")] if path]


def other_judgments():
    """Another version of the judgments to compare with; none where none is named."""
    return judgments_file("compare_with")


def folded_judgments():
    """The judgments with what assessors read; none before they did."""
    name = "results/{collection}/judgments-folded.parquet"
    return [name] if filled_in_sheet() or targeted_sheet() else []


def comparison_policy():
    """The primary policy, where it evaluates all versions of the judgments to the same depths."""
    policy = SETTINGS["primary"]["policy"]
    return policy if policy in ("nonrelevant", "condense") else "nonrelevant"


def has_known_tail():
    """Whether grades are known beyond some judgments: a pool to cut, a judged sample, a truth."""
    return bool(POOLED or truth_file() or filled_in_sheet())


def tail_settings():
    """How the tail is sampled; what assessors made of it, and what is targeted, is another matter."""
    others = {"sheet", "targeted", "read_first"}
    return {key: value for key, value in SETTINGS["tail"].items() if key not in others}


def explanation_where_needed():
    """What explains the judgments; nobody waits for it where the settings name the pool's depth."""
    known = SETTINGS["pool"].get("depth")
    return [] if known else ["results/{collection}/explanation.json"]


def routes_file():
    """The routes to the documents of a key made by hand; none where nobody wrote them down."""
    return judgments_file("routes")


def judgments_file(key):
    return [local_file(path) for path in [SETTINGS["judgments"].get(key)] if path]


def campaign_settings():
    """What config/campaign.yaml says."""
    return yaml.safe_load(find("config/campaign.yaml").read_text(encoding="utf-8"))


def campaign_runs():
    """The run files that the simulation writes: those of the demo's sheet."""
    rows, _ = read_sheet(find("config/runs/demo.tsv"), Path(CAMPAIGN))
    return [str(row.path) for row in rows]


def artifact_names():
    """What the report is made from: the artifacts of every stage that this collection can have."""
    names = {
        "source": "judgments.json",
        "topics": "topics.parquet",
        "notes": [f"runs/{run}.json" for run in RUNS],
        "answered": "answered.json",
        "pairs": "pairs.parquet",
        "evaluations": [f"evaluation/{policy}.parquet" for policy in SETTINGS["policies"]],
        "coverage": "coverage.parquet",
        "bands": "coverage-bands.parquet",
        "judged_to": "judged-to.parquet",
        "bounds": "bounds.parquet",
        "ties": "ties.parquet",
        "ties_crossed": "ties-crossed.parquet",
        "labels": "labels.json",
        "queries": "queries.parquet",
        "means": "means.parquet",
        "explanation": "explanation.json",
        "verdicts": "verdicts.json",
        "read_first": "tail/read-first.json",
        "read_first_documents": "tail/read-first.parquet",
        "strata": "tail/strata.parquet",
    }
    if POOLED:
        names |= {
            "contributions": "pools.parquet",
            "growth": "pools/growth.parquet",
            "removal": "removal.parquet",
            "removal_queries": "removal-queries.parquet",
            "routes": "routes.parquet",
            "sharing": "sharing.json",
            "sharing_figures": "sharing.parquet",
            "calibration": "tail/calibration.parquet",
            "losses": "tail/losses.parquet",
        }
    if has_known_tail():
        names |= {"estimate": "tail/estimate.parquet", "by_run": "tail/by-run.parquet"}
    if folded_judgments() or other_judgments():
        names |= {"versions": "judgments-compared.json", "compared": "judgments-compared.parquet"}
    if sparse_labels_file():
        names["sparse_labels"] = "sparse-labels.parquet"
    if truth_file():
        names["truth"] = "truth.parquet"
    return names


def artifacts(wildcards):
    """The same with the paths of this collection."""
    folder = f"results/{wildcards.collection}"
    return {
        key: [f"{folder}/{n}" for n in name] if isinstance(name, list) else f"{folder}/{name}"
        for key, name in artifact_names().items()
    }


def everything():
    """All that an audit makes, so that what was deleted is made again."""
    return made_by([*traces(), *(f"{RESULTS}/trace/{job}.json" for job in LAST)])


def wanted():
    """The same, with what is made only when asked for."""
    return everything() + made_by([f"{RESULTS}/trace/check_declared.json"])


def made_by(traces):
    """All outputs of the jobs that leave these traces."""
    outputs = [r.expand_output({"collection": AUDIT.name})[0] for r in workflow.rules]
    return [str(path) for paths in outputs if set(traces) & set(paths) for path in paths]


def traces(wildcards=None):
    """The traces of the jobs that made the artifacts."""
    jobs = ["fetch_judgments", *(f"normalize_runs/{n}" for n in BATCHES)]
    jobs += ["compare_topics", "build_pairs", "explain_judgments", "evaluate_runs"]
    jobs += ["draw_sample", "decide_verdicts", "read_first"]
    if POOLED:
        jobs += [
            "build_pools",
            "estimate_removal",
            "calibrate_tail",
            "probe_sharing",
        ]
    if has_known_tail():
        jobs += ["estimate_tail"]
    if folded_judgments():
        jobs += ["fold_assessments"]
    if folded_judgments() or other_judgments():
        jobs += ["compare_judgments"]
    if sparse_labels_file():
        jobs += ["evaluate_sparse_labels"]
    if truth_file():
        jobs += ["evaluate_truth"]
    folder = f"{RESULTS}/trace"
    made = map(is_made, user_files().values())
    campaign = [f"{CAMPAIGN}/trace/simulate_campaign.json"] if any(made) else []
    return campaign + [f"{folder}/{job}.json" for job in jobs]
