# make report    set up and audit the collection that config/config.yaml names
# make test      set up and run the tests
# make lint      check the form of code and workflow
# make tables    count anew what a change makes run again, for docs/rerunning.md
# make bench     measure the project beside other tools (benchmarks/README.md)
# make cluster   run the demo on a SLURM of one node, where slurm-wlm and munge are installed
# make locks     pin the packages that pyproject.toml asks for, after a change there
# make clean     remove the environments; results stay

PYTHON ?= python3
BIN := .venv/bin

.PHONY: report test lint tables bench cluster locks clean

report: .venv/run.done
	$(BIN)/python -m compileall -q scripts
	$(BIN)/snakemake --cores all report

test: .venv/test.done
	$(BIN)/python -m pytest

lint: .venv/test.done
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/snakefmt --check workflow
	$(BIN)/snakemake --lint

tables: .venv/test.done
	$(BIN)/python -m pytest tests/test_rerun.py --write-tables

bench: .bench/done
	.bench/bin/python -m compileall -q scripts
	PYTHONPATH=scripts .bench/bin/python benchmarks/bench.py --workflow 1

cluster: .cluster/done
	.cluster/bin/python -m pytest -n 0 tests/test_slurm.py

$(BIN)/uv:
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --require-hashes --only-binary :all: -r requirements/uv.txt

# Every job is a process of its own, and loads its packages: compiled, in a quarter of the time.
# Neither uv nor a shell with PYTHONDONTWRITEBYTECODE leaves them compiled unless asked to.
# The groups build on each other: test holds all of run, so a synced test environment serves both.
.venv/run.done: requirements/run.txt | $(BIN)/uv
	test -e .venv/test.done || $(BIN)/uv pip sync --quiet --compile-bytecode --require-hashes --python $(BIN)/python $<
	touch $@

.venv/test.done: requirements/test.txt | $(BIN)/uv
	$(BIN)/uv pip sync --quiet --compile-bytecode --require-hashes --python $(BIN)/python $<
	touch .venv/run.done $@

.bench/done .cluster/done: %/done: | $(BIN)/uv
	$(BIN)/uv venv --quiet --clear --python $(BIN)/python $*
	$(BIN)/uv pip sync --quiet --compile-bytecode --require-hashes --python $*/bin/python $<
	touch $@

.bench/done: requirements/bench.txt
.cluster/done: requirements/cluster.txt

COMPILE := $(BIN)/uv pip compile --quiet --universal --generate-hashes --python-version 3.11

locks: | $(BIN)/uv
	$(COMPILE) pyproject.toml -o requirements/run.txt
	$(COMPILE) pyproject.toml --group test -o requirements/test.txt
	$(COMPILE) pyproject.toml --group test --group browser -o requirements/browser.txt
	$(COMPILE) pyproject.toml --group test --group cluster -o requirements/cluster.txt
	$(COMPILE) pyproject.toml --group bench -o requirements/bench.txt
	$(COMPILE) --no-annotate requirements/uv.in -o requirements/uv.txt
	$(BIN)/python requirements/write_environment.py

clean:
	rm -rf .venv .bench .cluster
