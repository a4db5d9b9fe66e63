# make demo    install optsched and compare schedulers on the bundled sample trace
# make test    install the development tools and run the fast tests
# make check   lint, types, and the fast tests of what changed since the last commit (BASE=main: since main)
#
# Everything is installed into the virtual environment VENV. PYTHON names the interpreter that creates it.

PYTHON ?= python3
VENV ?= .venv
BASE ?= HEAD
PYTEST = $(VENV)/bin/python -m pytest -n auto --maxprocesses 8

.PHONY: demo test check

demo: $(VENV)/.user
	$(VENV)/bin/optsched ratio sample --time-limit 60 --plot pictures

test: $(VENV)/.dev
	$(PYTEST)

check: $(VENV)/.dev
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/mypy
	$(PYTEST) $$($(VENV)/bin/python tests/changed.py $(BASE))

$(VENV)/.user: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/pip install --quiet --editable .
	touch $@

$(VENV)/.dev: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/pip install --quiet --editable ".[dev]"
	touch $@
