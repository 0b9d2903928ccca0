# kernelweave: every command sets up what it needs, once.  `make help` lists them.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
BENCH := .bench
PIP_FLAGS := -qq --disable-pip-version-check
WORKERS ?= auto

SOURCES := src tests examples benchmarks
DEV := $(VENV)/.ready-dev
DOCS := $(VENV)/.ready-docs
PEERS := $(BENCH)/.ready

# One thread for BLAS in each test process: the processes themselves already fill the cores.
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-slow test-processors test-oldest test-bounds test-wheel test-browser dist campaign lint types imports format docs bench-env clean

help:  ## list the commands
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 17

setup: $(DEV)  ## create .venv with the package and the tools of development

demo: $(DEV)  ## simulate splice sites, train, report, write a model and a picture into demo/
	@$(BIN)/python examples/demo.py

test: lint types imports  ## lint, types, import rules and all fast tests
	@echo "tests"
	@$(ONE_THREAD) $(BIN)/python -m pytest -n $(WORKERS) --maxprocesses 8

test-slow: $(DEV)  ## the tests that take minutes
	@$(ONE_THREAD) $(BIN)/python -m pytest -n $(WORKERS) --maxprocesses 8 -m slow

test-processors: $(DEV)  ## tests that compare numbers, as other processors would run them (ALL=1: every fast test)
	@$(ONE_THREAD) $(BIN)/python tests/processors.py $(if $(ALL),--all) $(if $(ONLY),--only $(ONLY)) -- -n $(WORKERS) --maxprocesses 8

test-oldest:  ## the fast tests with the lowest versions that pyproject.toml allows, in .oldest (ONLY="tests/io ...")
	@$(ONE_THREAD) $(PYTHON) tests/oldest.py -- -n $(WORKERS) --maxprocesses 8 $(ONLY)

test-bounds: $(DEV)  ## the loops compiled anew with every index checked: fast tests (ONLY="tests/io ...") and campaign
	@NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=$(CURDIR)/.bounds $(ONE_THREAD) $(BIN)/python -m pytest -n $(WORKERS) --maxprocesses 8 $(ONLY)
	@NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=$(CURDIR)/.bounds $(ONE_THREAD) $(BIN)/python -m tests.campaign --minutes $(or $(MINUTES),5) $(CAMPAIGN)

test-browser: $(DEV)  ## the report, and the manual where it is built, in a headless Chromium where there is one
	@$(ONE_THREAD) $(BIN)/python -m pytest tests/report/test_report_browser.py tests/house/test_docs_browser.py -n 0 -rs -m ""

campaign: $(DEV)  ## an hour of damaged files, forged models, kills, extremes and soak (MINUTES=5: a slice)
	@$(ONE_THREAD) $(BIN)/python -m tests.campaign $(if $(MINUTES),--minutes $(MINUTES)) $(CAMPAIGN)

lint: $(DEV)  ## ruff: rules and layout
	@echo "lint"
	@$(BIN)/ruff check --quiet .
	@$(BIN)/ruff format --check --quiet . || \
	  { $(BIN)/ruff format --check .; echo "'make format' puts these files in shape."; exit 1; }

types: $(DEV)  ## mypy
	@echo "types"
	@$(BIN)/mypy --no-error-summary

imports: $(DEV)  ## import-linter: which room may import which
	@echo "imports"
	@$(BIN)/lint-imports > $(VENV)/imports.log 2>&1 || { cat $(VENV)/imports.log; exit 1; }

format: $(DEV)  ## let ruff rewrite the layout and the order of imports
	@$(BIN)/ruff check --quiet --fix .
	@$(BIN)/ruff format .

docs: $(DOCS)  ## build the manual into docs/_build/html and look at every link and picture in it
	@$(BIN)/python -m sphinx -q -W --keep-going -b html docs docs/_build/html
	@$(BIN)/python docs/crawl.py docs/_build/html
	@echo "docs/_build/html/index.html"

dist: $(DEV)  ## build the wheel and the source archive into dist/, the same bytes each time
	@rm -rf dist
	@SOURCE_DATE_EPOCH=$(shell git log -1 --format=%ct 2>/dev/null || echo 0) $(BIN)/python -m build -q --outdir dist .
	@ls dist

test-wheel: dist  ## install the wheel into an empty environment and run the README's examples there
	@$(BIN)/python tests/installed.py dist/*.whl

bench-env: $(PEERS)  ## create .bench with the peers that the benchmarks compare with

clean:  ## remove what was built; the environments stay
	@rm -rf build dist demo docs/_build docs/api docs/gallery .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	@find $(wildcard $(SOURCES)) -name __pycache__ -type d -prune -exec rm -rf {} +

# The stamps: an environment is touched again only when the requirements change.
$(DEV): pyproject.toml constraints.txt
	@$(call environment,$(VENV))
	@echo "installing kernelweave and its tools into $(VENV) (once)"
	@$(BIN)/python -m pip install $(PIP_FLAGS) -c constraints.txt -e '.[dev]'
	@touch $@

$(DOCS): $(DEV)
	@echo "installing the tools of the manual into $(VENV) (once)"
	@$(BIN)/python -m pip install $(PIP_FLAGS) -c constraints.txt -e '.[docs]'
	@touch $@

$(PEERS): pyproject.toml constraints.txt benchmarks/requirements.txt
	@$(call environment,$(BENCH))
	@echo "installing kernelweave and its peers into $(BENCH) (once, several minutes)"
	@$(BENCH)/bin/python -m pip install $(PIP_FLAGS) -c constraints.txt -r benchmarks/requirements.txt -e '.[plots]'
	@touch $@

# An environment that is there and works is kept, whoever made it.
define environment
$(PYTHON) -c 'import sys; v = sys.version.split()[0]; sys.exit(sys.version_info < (3, 11) and "kernelweave needs Python 3.11 or newer, and $(PYTHON) is Python " + v + "; name a newer one with: make PYTHON=python3.12")' && \
{ $(1)/bin/python -c 'import pip, sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || $(PYTHON) -m venv --clear $(1); }
endef
