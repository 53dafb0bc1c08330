# `make demo` and `make test` work in a fresh clone; each makes what it needs first and is quick when nothing changed.
# `make help` lists the rest.

.DEFAULT_GOAL := help
.PHONY: help demo test lint format check campaign conformance bench peers packages clients inspector typescript suite axe real fastmcp screenshots docs lock clean

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
CONSTRAINTS := .ci/constraints.txt
INSPECTOR := build/inspector
TYPESCRIPT := build/typescript
SUITE := build/conformance
AXE := build/axe
REAL := build/real
FASTMCP := build/fastmcp
PEERS := build/peers
TESTS ?= tests
FACTOR ?= 50
# Most tests wait for another process, or for a person that is one: two a processor.
WORKERS ?= $(shell $(if $(wildcard $(BIN)/python),$(BIN)/python,python3) -c 'import os; print(min(8, 2 * (os.cpu_count() or 2)))')
RUNS ?= 400

# Some machines are set not to keep compiled code. Each of the hundreds of processes that the tests start would compile all of it anew.
export PYTHONDONTWRITEBYTECODE :=

# An environment that was moved, or whose Python is gone, is made anew.
ifneq ($(shell $(BIN)/python -c 'print("fit")' 2>/dev/null),fit)
.PHONY: $(VENV)/.made
endif

help:
	@echo 'make demo       a client, a server and two agents on a sample workspace, with a scripted model'
	@echo 'make test       all tests (TESTS=tests/policy: some of them)'
	@echo 'make lint       ruff and pyright'
	@echo 'make check      what continuous integration runs: lint, then test, nothing skipped'
	@echo 'make conformance the official suite against the server, into docs/conformance.md'
	@echo 'make campaign   the random searches with FACTOR=50 times as many examples, fresh ones; 20,000 lines of shell, RUNS=400 servers that die, 10,000 visits and 200 servers behind that are lost, into docs/campaigns.md'
	@echo 'make bench      what Remit costs beside its peers, into docs/benchmarks.md'
	@echo 'make peers      the gateways that it is measured beside, each in an environment of its own, into build/'
	@echo 'make format     put the layout of the code right'
	@echo 'make inspector  MCP Inspector, which some tests drive, into build/'
	@echo 'make typescript what the TypeScript client needs, into build/'
	@echo 'make suite      the official conformance suite, into build/'
	@echo 'make axe        what looks for barriers in the pages of the console, into build/'
	@echo 'make real       MCP servers that others wrote, into build/'
	@echo 'make fastmcp    FastMCP, in an environment of its own, into build/'
	@echo 'make clients    all six'
	@echo 'make screenshots pictures of the pages of the console, into docs/images'
	@echo 'make docs       the documents as a site, into build/docs/site'
	@echo 'make lock       take the newest versions that pyproject.toml allows into $(CONSTRAINTS)'
	@echo 'make clean      remove what these commands made'

demo: $(VENV)/.installed
	@$(BIN)/remit demo

test: $(VENV)/.dev
	@.ci/packages
	@$(MAKE) --no-print-directory --keep-going clients || echo 'remit: not every client could be installed; the tests that drive them are skipped' >&2
	@$(BIN)/python -m pytest -n $(WORKERS) --dist loadgroup -rs --no-fold-skipped $(TESTS)

lint: $(VENV)/.dev
	@$(BIN)/ruff check --quiet .
	@$(BIN)/ruff format --quiet --check .
	@$(BIN)/pyright

format: $(VENV)/.dev
	@$(BIN)/ruff check --quiet --fix .
	@$(BIN)/ruff format .

check:
	@.ci/run

campaign: $(VENV)/.dev
	@$(BIN)/python -m tests.shell.test_differential 20000
	@$(BIN)/python -m tests.faults $(RUNS)
	@$(BIN)/python -m tests.crowds 10000
	@$(BIN)/python -m tests.losses 200 1000
	@REMIT_CAMPAIGN=$(FACTOR) $(BIN)/python -m pytest -n auto --maxprocesses 8 $(TESTS)

bench: $(VENV)/.dev peers
	@$(PIP) install --group bench
	@$(BIN)/python -m benchmarks

packages:
	@.ci/packages

peers: $(PEERS)/.installed

clients: inspector typescript suite axe real fastmcp

inspector: $(INSPECTOR)/.installed

typescript: $(TYPESCRIPT)/.installed

suite: $(SUITE)/.installed

axe: $(AXE)/.installed

real: $(REAL)/.installed

fastmcp: $(FASTMCP)/.installed

screenshots: $(VENV)/.dev
	@.ci/packages
	@$(BIN)/python -m tests.browser.pictures

conformance: suite
	@$(BIN)/python -m tests.conformance

docs: $(VENV)/.dev
	@$(BIN)/python docs/site/build.py build/docs
	@echo 'build/docs/site/index.html'

# On the oldest Python that is promised, Debian 12's 3.11.2: newer ones are offered versions that do not install there.
lock: $(VENV)/.dev
	@$(PIP) install --upgrade --upgrade-strategy eager --editable '.[all-models]' --group dev
	@{ echo '# What the tests last passed with. Written by: make lock'; $(BIN)/python -m pip freeze --exclude-editable; } > $(CONSTRAINTS)

clean:
	rm -rf $(VENV) build dist .pytest_cache .ruff_cache .hypothesis .coverage

$(VENV)/.made: .ci/environment
	@.ci/environment
	@$(PIP) install --upgrade 'pip>=25.1'
	@touch $@

$(VENV)/.installed: $(VENV)/.made pyproject.toml $(CONSTRAINTS)
	@echo 'remit: installing what it needs, which takes a minute or so' >&2
	@$(PIP) install --constraint $(CONSTRAINTS) --editable .
	@touch $@

$(VENV)/.dev: $(VENV)/.made pyproject.toml $(CONSTRAINTS)
	@echo 'remit: installing what it and its tests need, which takes a minute or two' >&2
	@$(PIP) install --constraint $(CONSTRAINTS) --editable '.[all-models]' --group dev
	@touch $(VENV)/.installed $@

$(INSPECTOR)/.installed: $(VENV)/.dev
	@mkdir -p $(INSPECTOR)
	@PATH="$(CURDIR)/$(BIN):$$PATH" npm install --silent --no-save --no-audit --no-fund --ignore-scripts --prefix $(INSPECTOR) '@modelcontextprotocol/inspector@2.12'
	@touch $@

$(TYPESCRIPT)/.installed: $(VENV)/.dev client_examples/typescript/package.json
	@mkdir -p $(TYPESCRIPT)
	@cp client_examples/typescript/package.json $(TYPESCRIPT)
	@PATH="$(CURDIR)/$(BIN):$$PATH" npm install --silent --no-package-lock --no-audit --no-fund --ignore-scripts --prefix $(TYPESCRIPT)
	@touch $@

$(SUITE)/.installed: $(VENV)/.dev
	@mkdir -p $(SUITE)
	@PATH="$(CURDIR)/$(BIN):$$PATH" npm install --silent --no-save --no-audit --no-fund --ignore-scripts --prefix $(SUITE) '@modelcontextprotocol/conformance@0.2.0-alpha.12'
	@touch $@

$(AXE)/.installed: $(VENV)/.dev
	@mkdir -p $(AXE)
	@PATH="$(CURDIR)/$(BIN):$$PATH" npm install --silent --no-save --no-audit --no-fund --ignore-scripts --prefix $(AXE) 'axe-core@4.14'
	@touch $@

$(REAL)/.installed: $(VENV)/.dev
	@mkdir -p $(REAL)
	@PATH="$(CURDIR)/$(BIN):$$PATH" npm install --silent --no-save --no-audit --no-fund --ignore-scripts --prefix $(REAL) \
		'@modelcontextprotocol/server-everything@2026.8.31' '@modelcontextprotocol/server-filesystem@2026.8.31' \
		'@modelcontextprotocol/server-memory@2026.8.31'
	@touch $@

# What these need must not be what Remit gets.
$(FASTMCP)/.installed: $(VENV)/.dev
	@$(BIN)/python -m venv $(FASTMCP)
	@$(FASTMCP)/bin/python -m pip --disable-pip-version-check --quiet install 'fastmcp==4.2.3'
	@touch $@

$(PEERS)/.installed: $(VENV)/.dev $(FASTMCP)/.installed
	@$(BIN)/python -m venv $(PEERS)/contextforge
	@$(PEERS)/contextforge/bin/python -m pip --disable-pip-version-check --quiet install 'mcp-contextforge-gateway==1.0.7.post20260921'
	@touch $@
