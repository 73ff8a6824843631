# `make demo` and `make test` do all their own set-up in .venv.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test check clean

demo: .venv/run.stamp
	$(BIN)/law-ray run nml:sachs --evals 120

test: .venv/dev.stamp
	$(BIN)/pytest

check: .venv/dev.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

clean:
	rm -rf .venv

.venv/run.stamp: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --constraint constraints.txt --editable .
	touch $@

.venv/dev.stamp: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $@
