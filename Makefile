# Every target says in one line what it is for; `make help` prints them.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PREFECT := .venv-prefect
# That of Debian 12 is the oldest that is promised, and no version manager's.
SYSTEM := .venv-system
# Another n8n that is installed already may be named instead.
N8N_DIR ?= $(CURDIR)/.n8n
# Data of `make up` stays beside the code, unless the environment or `.env` names another folder.
ifeq ($(shell grep -s '^ *\(export  *\)\{0,1\}CATCHMENT_HOME *= *["'\'']\{0,1\}[[:alnum:]./~_$$]' .env),)
export CATCHMENT_HOME ?= $(CURDIR)/data
endif

.DEFAULT_GOAL := help
.PHONY: help setup up demo test test-fuzz test-browser test-docs test-readers test-captures test-system test-prefect test-n8n test-slow check format bench soak screenshots coverage-map acceptance-e reference docs package clean

help: ## Show what can be made
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  \033[1m%-14s\033[0m %s\n", $$1, $$2}'

setup: $(VENV)/.ready ## Make the virtual environment with pinned versions

$(VENV)/.ready: pyproject.toml constraints.txt
	@# One that is there stays with its own Python, which need not be the one that comes first.
	[ -x $(BIN)/python ] || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@# Commands start a quarter sooner, even where Python is told to write no bytecode.
	$(BIN)/python -m compileall -q src
	@touch $@

up: setup ## Collect, serve and show the dashboard, on SQLite in ./data
	$(BIN)/catchment up

demo: setup ## The whole product against a simulated web, offline
	@env -u CATCHMENT_HOME $(BIN)/catchment demo

# What was rewritten for one run of the tests is there for the next, even where Python is told to write no bytecode.
PYTEST := PYTHONDONTWRITEBYTECODE= $(BIN)/pytest

# Tests wait now and then, for a process or a socket: one worker more than there are cores keeps them all busy.
WORKERS = $(shell $(PYTHON) -c 'import os; print(1 + (os.cpu_count() or 1))')

APART := slow or captures or fuzz or browser or readers or docs or package

test: setup ## Run the tests, on SQLite and PostgreSQL; nothing needs to be installed or started
	$(PYTEST) -n $(WORKERS) --dist worksteal -m 'not ($(APART))'

test-system: ## Test what reads and judges documents on the Python of the system, which may be an older one
	$(MAKE) setup VENV=$(SYSTEM) PYTHON=/usr/bin/python3
	PYTHONDONTWRITEBYTECODE= $(SYSTEM)/bin/pytest -n $(WORKERS) tests/domain tests/engine tests/parse tests/sources -m 'not ($(APART))'

test-fuzz: setup ## Feed every route and every rule made-up input, much of it
	$(PYTEST) -n auto --hypothesis-profile many -m 'fuzz or hypothesis'

test-browser: setup ## Use the pages in Chromium, where there is one
	$(PYTEST) tests/web -m browser

test-docs: setup ## Run what the documents tell to run: the demo, every command of README, tutorial and guides, an agent, a plug-in, the site
	$(PYTEST) -n auto tests/cli tests/test_plugins.py tests/test_site.py -m docs

test-readers: setup ## Read what is published with newsboat and rss-parser, where there is npm
	$(PYTEST) tests/publish tests/web -m readers

test-captures: setup ## Break every captured feed in every way and heal it
	$(PYTEST) -n auto tests/engine tests/parse -m captures

test-prefect: $(PREFECT)/.ready ## Run the flows under a real Prefect, in an environment of its own
	@# Prefect leaves its sockets to the garbage collector, which may come when no test runs any more.
	$(PREFECT)/bin/pytest -W 'ignore:unclosed:ResourceWarning' tests/flows

# Prefect's server breaks with the FastAPI of the product and wants an older python-dateutil: it has its own versions.
$(PREFECT)/.ready: pyproject.toml constraints-prefect.txt
	[ -x $(PREFECT)/bin/python ] || $(PYTHON) -m venv $(PREFECT)
	$(PREFECT)/bin/python -m pip install --quiet --disable-pip-version-check -c constraints-prefect.txt -e '.[prefect,test]'
	@touch $@

test-n8n: setup $(N8N_DIR)/node_modules/.bin/n8n ## Run the workflow files in a real n8n, which is installed once (2.4 GB, ten minutes)
	N8N_DIR='$(N8N_DIR)' $(BIN)/pytest tests/n8n

$(N8N_DIR)/node_modules/.bin/n8n:
	mkdir -p '$(N8N_DIR)'
	cp tests/n8n/package.json '$(N8N_DIR)'
	npm install --prefix '$(N8N_DIR)' --no-package-lock --no-audit --no-fund --loglevel=error

test-slow: setup ## Soak and kill -9 storms; SLOW=short makes them brief
	SLOW=$(SLOW) $(PYTEST) tests/crash tests/platforms -m slow

check: setup ## Format, lint, types and architecture
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/pytest -q tests/test_architecture.py

format: setup ## Format the code
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: setup ## Measure against peers and a bare loop in one run; prints ratios
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[bench]'
	$(BIN)/python -m bench

soak: setup ## Three minutes of 10,000 sources, a third of them faulty
	$(BIN)/python -m bench.soak --minutes 3

screenshots: setup ## Pictures of every page, of the demo, an empty store and 10,000 sources, into build/screenshots; ARGS=--readme for the README's
	$(BIN)/python scripts/screenshots.py $(ARGS)

coverage-map: setup ## Which requirement is proven by which tests, and which by none
	@$(BIN)/python scripts/coverage_map.py

acceptance-e: setup ## The acceptance checklist of the crawler, line by line, each with pass or fail
	@$(BIN)/python scripts/acceptance_e.py

reference: setup ## Write the reference pages of the documents anew, from the code
	$(BIN)/python scripts/reference.py

docs: setup ## Make the documents a site, in site/, without a dead link
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

package: setup ## Build the package, check it, and try the wheel in empty environments
	rm -rf dist
	$(BIN)/python -m build
	$(BIN)/twine check --strict dist/*
	$(PYTEST) tests/test_package.py

clean: ## Remove what was made, but not the data
	rm -rf $(VENV) $(PREFECT) $(SYSTEM) .n8n .pytest_cache .mypy_cache .ruff_cache .hypothesis dist site
