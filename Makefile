# `make run` shows it working, `make test` proves it. Both set up what they need on a machine with Python 3.11 or newer.

PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11 python; do \
	"$$p" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 && echo "$$p" && break; done)
WORKERS ?= 2
BIN := .venv/bin
SPREAD := -n $(WORKERS) --dist loadgroup
CODE := src tests tools $(wildcard bench) prove

export PATH := $(CURDIR)/.venv/bin:$(PATH)
# Compiled modules are kept: tests start hundreds of interpreters, and each would compile the package and the tests anew.
unexport PYTHONDONTWRITEBYTECODE

.NOTPARALLEL:
.PHONY: help run page page-dev page-test browser test check bench prove demands format lint imports types fast map lock clis clean distclean

help:
	@echo "make run      the hub with its page; prints the link   (ARGS=--sim: no account needed)"
	@echo "make page     the page from web/, into the package; quick when nothing changed   (make page-dev: hot reload on port 5173)"
	@echo "make test     everything that CI runs: check, real CLIs (offline), demands"
	@echo "make check    format, lint, imports, types, fast tests; under a minute"
	@echo "make bench    speed beside the official SDK, measured in one run"
	@echo "make prove    kill, stop, fill, flood, and compare ledgers: up to an hour; goes on where it was stopped"
	@echo "              (COUNT=full, ARGS='--only F1 --count 20 --seed 7')"
	@echo "make demands  what is proven, explained and open      (ARGS='--open --only 002')"
	@echo "make format   rewrite the code in the house's format  make map   the module map in docs/architecture.md"
	@echo "make lock     resolve requirements/ anew (needs uv)   make clean, distclean"

# The hub with its page on loopback; it prints the link. ARGS="--sim" runs every session on the scripted stand-in.
run: .venv/.ready
	@$(MAKE) --no-print-directory page || echo "The page could not be built (see above): the hub shows a sentence in its place, all else works."
	@$(BIN)/ropewalk serve $(ARGS)

page: .venv/.ready
	@$(BIN)/python tools/set_up.py node
	@$(BIN)/python tools/build_page.py

# The page with hot reload, in front of a hub that runs already (ROPEWALK_HUB=http://127.0.0.1:7077).
page-dev: page
	@$(BIN)/python tools/build_page.py dev

page-test: page
	@echo "== page"
	@$(BIN)/python tools/build_page.py test

browser: .venv/.ready
	@$(BIN)/python tools/set_up.py browser

# `tests.real` is pytest inside a network namespace without a network, where the real CLIs run.
test: .venv/.ready lint imports types page-test browser clis demands
	@echo "== all tests"
	@$(BIN)/python -m tests.real $(SPREAD) tests

check: .venv/.ready lint imports types fast

fast: .venv/.ready page
	@echo "== fast tests"
	@HYPOTHESIS_PROFILE=quick $(BIN)/python -m pytest $(SPREAD) -q -m "not real and not slow"

lint: .venv/.ready
	@echo "== format and lint"
	@$(BIN)/ruff format --check --quiet $(CODE) || { echo "make format puts this right:"; $(BIN)/ruff format --check $(CODE); exit 1; }
	@$(BIN)/ruff check $(CODE)

imports: .venv/.ready
	@echo "== imports"
	@$(BIN)/lint-imports --no-logo

types: .venv/.ready
	@echo "== types"
	@$(BIN)/mypy src tests tools prove

demands: .venv/.ready
	@echo "== demands"
	@$(BIN)/python -m tests.demands_report $(ARGS)

bench: .venv/.ready
	@$(BIN)/python -m bench $(ARGS)

prove: .venv/.ready
	@$(BIN)/python -m prove $(if $(filter full,$(COUNT)),--full) $(ARGS)

format: .venv/.ready
	@$(BIN)/ruff check --fix --quiet $(CODE) || true
	@$(BIN)/ruff format $(CODE)

map: .venv/.ready
	@$(BIN)/python tools/module_map.py
	@$(BIN)/python tools/reference.py
	@$(BIN)/python tools/page_types.py

# The real CLIs that the tests drive, in the user's cache folder, shared by all clones; quick when they are there.
clis: .venv/.ready
	@$(BIN)/python tools/set_up.py node
	@$(BIN)/python tools/install_clis.py

.venv/.ready: requirements/dev.txt pyproject.toml tools/set_up.py
	@test -n "$(PYTHON)" || { echo "set-up: no Python 3.11 or newer with venv found (Debian, Ubuntu: apt install python3-venv);" \
		"name one with: make PYTHON=/path/to/python3"; exit 1; }
	@$(PYTHON) tools/set_up.py

UV := uv pip compile --quiet --no-config --universal --python-version 3.11 --generate-hashes --no-header
lock:
	$(UV) $(ARGS) pyproject.toml --group dev --extra hub --extra mcp --extra fast -o requirements/dev.txt
	$(UV) $(ARGS) --group node -o requirements/node.txt

clean:
	rm -rf build dist src/ropewalk/servers/web/built* .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find $(CODE) -name __pycache__ -prune -exec rm -rf {} +

distclean: clean
	rm -rf .venv web/node_modules
