# The only two commands a new machine needs: `make run` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
INSTALLED_DEV := $(VENV)/.installed-dev
JOBS ?= $(shell nproc 2>/dev/null || echo 2)

.PHONY: run test browser bench clean
.DEFAULT_GOAL := run

# What running needs; testing and benchmarking need more (`dev`).
$(INSTALLED): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "changeproof needs Python 3.11 or newer; $(PYTHON) is $$($(PYTHON) -V 2>&1)."; \
	    echo "Name another one: make $(MAKECMDGOALS) PYTHON=python3.12"; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable .
	@touch $@

$(INSTALLED_DEV): $(INSTALLED)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev]'
	@touch $@

run: $(INSTALLED)  ## the quick protocol on embedded data, ending with a report to open
	$(BIN)/changeproof run --preset quick --jobs $(JOBS) --out runs/quick

test: $(INSTALLED_DEV) browser  ## style, types and all tests
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	@# Kernels are compiled once, before every worker would; one thread each, as there are workers.
	$(BIN)/python -c 'from changeproof.protocol.warm_up import *; warm_up(COMPILED_METHODS, jobs=$(JOBS), backend="loky")'
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n $(JOBS) --dist loadfile

browser:  ## Debian's Chromium for the tests of the page; they are skipped where it cannot be had
	@command -v chromium >/dev/null || { \
	  if [ "$$(id -u)" = 0 ]; then root=; else root="sudo -n"; fi; \
	  $$root apt-get update -qq && $$root apt-get install -y -qq chromium chromium-driver; } || \
	  echo "No chromium, and none could be installed: the tests of the page will be skipped."

bench: $(INSTALLED_DEV)  ## speed as ratios, all measured in one run, and benchmarks/results/README.md
	$(BIN)/python -m benchmarks.all

clean:
	rm -rf $(VENV) runs .mypy_cache .ruff_cache .pytest_cache .hypothesis
