# Every command does its own set-up in .venv.
PYTHON ?= python3
BIN := .venv/bin
INSTALL := $(BIN)/pip install --quiet --constraint constraints.txt --editable

.PHONY: demo docs test test-all check mutants wheel clean

demo: .venv/run.stamp
	$(BIN)/law-ray run tsp:plane30 --evals 240 --batch-size 6

test: .venv/dev.stamp
	$(BIN)/pytest -n 2 --dist loadgroup --durations=10

test-all: .venv/oracles.stamp
	$(BIN)/pytest --durations=10 -m ""

docs: .venv/docs.stamp
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

check: .venv/dev.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

mutants: .venv/mutants.stamp
	$(BIN)/python tools/mutants.py $(MODULES)

wheel: .venv/dev.stamp
	$(BIN)/pip wheel --quiet --no-deps --wheel-dir dist .

clean:
	rm -rf .venv dist site

.venv/run.stamp: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(INSTALL) .
	touch $@

.venv/dev.stamp: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(INSTALL) '.[dev]'
	touch $@

.venv/docs.stamp: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(INSTALL) '.[docs]'
	touch $@

.venv/oracles.stamp: .venv/dev.stamp
	$(INSTALL) '.[dev,docs,oracles]'
	touch $@

.venv/mutants.stamp: .venv/dev.stamp
	$(INSTALL) '.[dev,mutants]'
	touch $@
