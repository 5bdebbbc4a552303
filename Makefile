# make demo: a private synthetic table from a bundled one, core install only.
# make test: style, types, import contracts and the fast tests.   make test-all: everything CI checks.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

.PHONY: demo test test-all slow check lint types unit docs bench dist clean

# Tests start the command often: keep its bytecode whatever the shell says.
export PYTHONDONTWRITEBYTECODE :=
export OMP_NUM_THREADS := 1
export OPENBLAS_NUM_THREADS := 1

# Bytecode of what is never imported is not compiled at installation: that would take as long as the download.
$(VENV)/.core: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(PIP) --no-compile --editable .
	touch $@

$(VENV)/.installed: $(VENV)/.core
	$(PIP) --no-compile --editable ".[dev]"
	touch $@

demo: $(VENV)/.core
	$(BIN)/sklar demo

check: lint types

lint: $(VENV)/.installed
	$(BIN)/ruff check src tests benchmarks examples
	$(BIN)/ruff format --check src tests benchmarks examples
	$(BIN)/lint-imports

types: $(VENV)/.installed
	$(BIN)/pyright --project pyproject.toml --pythonpath $(BIN)/python

# Loops are compiled once, by a small demo, and not by each process of the tests.
build/compiled: $(VENV)/.installed
	$(BIN)/sklar demo $@ --rows 500 >/dev/null

# Noise is never seeded, so each promise about noisy numbers is broken by chance once in many thousand runs: what failed
# runs once more, alone. The first failure stays in the output; what fails twice is a failure, and so is a crash.
AGAIN := { [ $$? = 1 ] && echo "Once more, alone:" && $(BIN)/python -m pytest --last-failed --slow; }

unit: build/compiled
	$(BIN)/python -m pytest -n 2 || $(AGAIN)

# Three processes for two cores, since some tests wait for pages and servers.
slow: build/compiled
	$(BIN)/python -m pytest -n 3 --slow -m "slow or hypothesis" || $(AGAIN)

docs: $(VENV)/.installed
	NO_MKDOCS_2_WARNING=1 PYTHONPATH=src $(BIN)/mkdocs build --quiet --strict

# The type checker uses one core: beside the tests it costs half of its time.
test: lint build/compiled
	$(MAKE) -j 2 types unit

test-all: test
	$(MAKE) -j 2 docs slow

bench: $(VENV)/.installed
	$(BIN)/python -m benchmarks.all

# Builds wheel and sdist, checks their metadata, and runs the demo from the wheel under every Python that is installed.
# A pyenv shim exists also for versions that are not selected, and fails: the versions themselves are tried next.
dist: $(VENV)/.installed
	rm -rf dist build/wheel
	SOURCE_DATE_EPOCH=$${SOURCE_DATE_EPOCH:-$$(git log -1 --format=%ct)} $(BIN)/python -m build --outdir dist .
	$(BIN)/twine check --strict dist/*
	for version in 3.11 3.12 3.13; do \
	    for python in python$$version $(HOME)/.pyenv/versions/$$version.*/bin/python ""; do \
	        "$$python" --version >/dev/null 2>&1 && break; \
	    done; \
	    [ -n "$$python" ] || { echo "Python $$version is not installed here: not tested."; continue; }; \
	    "$$python" -m venv build/wheel/$$version && \
	    build/wheel/$$version/bin/python -m pip install --quiet --disable-pip-version-check --no-compile dist/sklar-*.whl && \
	    (cd build/wheel/$$version && bin/sklar --version && bin/sklar demo demo --rows 2000) || exit 1; \
	done

clean:
	rm -rf $(VENV) build dist .pytest_cache .ruff_cache .import_linter_cache
