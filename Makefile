# Strop's developer commands. `make help` lists them; `make demo` is the shortest way to see the project work.
#
#   TORCH   what to install first, before anything can pull in a larger build    make demo TORCH='torch==2.12.0'
#           (another one than .venv was made with is exchanged; when left out, .venv keeps what it has)
#   PYTHON  the interpreter that creates .venv (3.11, 3.12 or 3.13)               make demo PYTHON=python3.12
#   PY      use this interpreter as it is: no .venv, nothing installed            make gpu PY=python3
#   JOBS    how many test processes run at once                                   make test JOBS=4
#   ARGS    more arguments for pytest                                             make test ARGS='-k floors -x'

SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

ifeq ($(origin TORCH),undefined)
TORCH := torch==2.13.0
else
TORCH_WAS_SAID := yes
endif
JOBS ?= 2
ARGS ?=
VENV := .venv
HELD_TO_100 := strop/records/*,strop/stats/*,strop/checks/*,strop/pipeline/*

ifeq ($(origin PY),undefined)
PY := $(VENV)/bin/python
BASE := $(VENV)/.installed-base
DEV := $(VENV)/.installed-dev
endif

PYTEST = $(PY) -m pytest -n $(JOBS) --dist loadgroup $(ARGS)

.PHONY: help demo install test slow gpu gallery gallery-gpu lint format types arch docs cov pages clean said-anew

help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 12

demo: $(BASE) ## optimise the two example workloads; leaves build/demo.json and build/demo.html
	@mkdir -p build
	$(PY) tools/demo.py

install: $(DEV) ## create .venv with everything a developer needs

test: $(DEV) ## every test that needs no accelerator and is not marked slow
	$(PYTEST)

slow: $(DEV) ## the tests marked slow
	$(PYTEST) -m "slow and not gpu"

gpu: $(DEV) ## the tests that need an accelerator, one at a time: they measure
	$(PY) -m pytest -m gpu $(ARGS)

gallery: $(DEV) ## the liars that must be caught and the honest kernels that must pass
	STROP_WHOLE_GALLERY=1 $(PYTEST) tests/gallery

gallery-gpu: $(DEV) ## what needs an accelerator: cheats and honest kernels on CUDA, and faults that end in one verdict
	$(PY) -m pytest -m gpu tests/gallery $(ARGS)

lint: $(DEV) ## ruff: rules and formatting
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .

format: $(DEV) ## let ruff repair what it can
	$(PY) -m ruff check --fix .
	$(PY) -m ruff format .

types: $(DEV) ## pyright: strict for records, stats, checks and pipeline
	$(PY) -m pyright

arch: $(DEV) ## the laws of the house
	$(PY) -c "from importlinter.cli import lint_imports_command as run; run()" --no-cache
	$(PYTEST) tests/architecture

docs: $(DEV) ## build the documentation into build/site; a broken link or a stale page is an error
	$(PY) tools/pages.py --check
	NO_MKDOCS_2_WARNING=1 $(PY) -m mkdocs build --strict --site-dir build/site

pages: $(DEV) ## rewrite the generated parts of the documentation
	$(PY) tools/pages.py

cov: $(DEV) ## coverage of the whole, then 100 % of the rooms that judge
	@mkdir -p build/coverage
	$(PY) -m coverage erase
	$(PY) -m coverage run -m pytest -n $(JOBS) --dist loadgroup $(ARGS)
	$(PY) -m coverage combine --quiet
	$(PY) -m coverage report
	$(PY) -m coverage report --include='$(HELD_TO_100)' --fail-under=100

clean: ## remove what was built; .venv stays
	rm -rf build dist .pytest_cache .ruff_cache .hypothesis .import_linter_cache

# The environment. torch goes first and is then held, so that no dependency can exchange it for a CUDA build of several GB.

$(VENV)/bin/python:
	@python=""; for each in $${PYTHON:-python3 python3.12 python3.11 python3.13}; do \
	  if "$$each" -c 'import sys, venv, ensurepip; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 14))' 2>/dev/null; \
	  then python="$$each"; break; fi; done; \
	if [ -z "$$python" ]; then \
	  echo "Strop needs Python 3.11, 3.12 or 3.13 with the venv module; name one with PYTHON=..." >&2; exit 2; fi; \
	"$$python" -m venv $(VENV)

# Changes only when another torch is named, so that naming the same one twice installs nothing.
ifdef TORCH_WAS_SAID
$(VENV)/torch.txt: $(VENV)/.torch-wanted
$(VENV)/.torch-wanted: said-anew | $(VENV)/bin/python
	@echo '$(TORCH)' | cmp --silent - $@ || echo '$(TORCH)' >$@
endif

# What Inductor writes is for one release of Triton; only CUDA builds of torch name it.
define HOLD
from importlib.metadata import version
torch = version("torch")
tritons = {"2.11": "3.6.0", "2.12": "3.7.0", "2.13": "3.7.1", "2.14": "3.8.0"}
print(f"torch=={torch}")
print(*(f"triton=={each}" for minor, each in tritons.items() if torch.startswith(minor)), sep="\n")
endef
export HOLD

$(VENV)/torch.txt: | $(VENV)/bin/python
	@echo '$(TORCH)' | cmp --silent - $(VENV)/.torch-wanted || echo '$(TORCH)' >$(VENV)/.torch-wanted
	$(PY) -m pip install --quiet '$(TORCH)'
	$(PY) -c "$$HOLD" >$@

$(BASE): pyproject.toml $(VENV)/torch.txt
	$(PY) -m pip install --quiet --constraint $(VENV)/torch.txt -e .
	@touch $@

$(DEV): pyproject.toml $(VENV)/torch.txt
	$(PY) -m pip install --quiet --constraint $(VENV)/torch.txt -e '.[dev,docs,models]'
	@touch $@ $(BASE)
