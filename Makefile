# make demo: a private synthetic table from a bundled one.   make test: everything CI checks.   make docs: the site.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test check lint types docs unit bench dist clean

# Bytecode is kept whatever the shell says: tests start the command hundreds of times.
export PYTHONDONTWRITEBYTECODE :=

$(VENV)/.installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade pip
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[dev]"
	touch $@

demo: $(VENV)/.installed
	$(BIN)/sklar demo

check: lint types

lint: $(VENV)/.installed
	$(BIN)/ruff check src tests benchmarks examples
	$(BIN)/ruff format --check src tests benchmarks examples
	$(BIN)/lint-imports

types: $(VENV)/.installed
	$(BIN)/pyright --project pyproject.toml --pythonpath $(BIN)/python

# Three processes for two cores, since some wait for pages and servers; files in the order of tests/conftest.py.
# A small demo first: loops are compiled once, and not by all three and what they start.
unit: $(VENV)/.installed
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/sklar demo build/compiled --rows 500 --no-report >/dev/null
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n 3

docs: $(VENV)/.installed
	NO_MKDOCS_2_WARNING=1 PYTHONPATH=src $(BIN)/mkdocs build --quiet --strict

# What is quickly told comes first; the rest goes on side by side, since no part of it keeps all cores busy.
test: lint
	$(MAKE) -j 3 types docs unit

bench: $(VENV)/.installed
	$(BIN)/python -m benchmarks.all

# A wheel, in an environment of its own: it installs, says its version, and makes a small synthetic table.
dist:
	rm -rf dist build/wheel
	$(PYTHON) -m venv build/wheel
	build/wheel/bin/python -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir dist .
	build/wheel/bin/python -m pip install --quiet --disable-pip-version-check dist/sklar-*.whl
	cd build/wheel && bin/sklar --version && bin/sklar demo demo --rows 2000 --no-report --method independent

clean:
	rm -rf $(VENV) build dist .pytest_cache .ruff_cache .import_linter_cache
