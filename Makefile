# The only two commands a new machine needs: `make run` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
INSTALLED_DEV := $(VENV)/.installed-dev
JOBS ?= $(shell env -u OMP_NUM_THREADS nproc 2>/dev/null || echo 2)

# What is imported is compiled to bytecode when it first is, and kept; the rest never is.
INSTALL := $(BIN)/python -m pip install --quiet --no-compile --constraint constraints.txt --editable
unexport PYTHONDONTWRITEBYTECODE

.PHONY: run test all-tests quick browser style types kernels docs links bench torture clean
.DEFAULT_GOAL := run

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "changeproof needs Python 3.11 or newer; $(PYTHON) is $$($(PYTHON) -V 2>&1)."; \
	    echo "Name another one, as in: make run PYTHON=python3.12"; exit 1; }
	$(PYTHON) -m venv $(VENV)

# What running needs; testing and benchmarking need more (`dev`).
$(INSTALLED): pyproject.toml constraints.txt | $(BIN)/python
	$(INSTALL) .
	@touch $@

# After the other, so that kernels can be compiled meanwhile.
$(INSTALLED_DEV): $(INSTALLED)
	$(INSTALL) '.[dev]'
	@touch $@

run: $(INSTALLED)  ## the quick protocol on embedded data, ending with a report to open
	$(BIN)/changeproof run --preset quick --jobs $(JOBS) --out runs/quick

test:  ## style, types and all tests
	@$(MAKE) --no-print-directory -j3 browser kernels style types all-tests

# Tests wait for browsers and processes now and then; types are checked meanwhile.
all-tests: $(INSTALLED_DEV) | browser kernels style
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n $(JOBS) --dist worksteal

# Fast tests of every room; `tests/test_rooms.py` checks that none is left out. Those of commands go
# from a table of data to the tables and the page of an audit.
QUICK := \
  adapters/test_dice.py adapters/test_scores.py \
  arithmetic/test_functions.py \
  board/test_differences.py \
  certificates/test_bounds.py certificates/test_programme.py \
  changes/test_later_data.py changes/test_outputs.py changes/test_successors.py \
  checks/test_check.py \
  commands/test_constraints.py commands/test_explaining.py commands/test_help.py \
  commands/test_options.py commands/test_progress.py \
  datasets \
  evaluation/test_factuals.py evaluation/test_life.py evaluation/test_metrics.py \
  evaluation/test_uncertainty.py \
  feasible/test_actions.py feasible/test_expressions.py \
  feasible/test_feature.py feasible/test_search.py feasible/test_takes.py \
  fingerprints \
  gating/test_rules.py \
  letters/test_render.py \
  methods/test_betarce.py methods/test_given.py methods/test_method.py methods/test_rnce.py \
  methods/test_robx.py \
  models/test_estimator.py models/test_find.py models/test_thresholds.py \
  networks/test_flat.py networks/test_network.py networks/test_stack.py \
  paper/test_claims.py \
  report/test_charts.py report/test_constraints.py report/test_letters.py report/test_life.py \
  report/test_recommendation.py report/test_workbook.py \
  runs/test_content.py runs/test_manifest.py runs/test_pieces.py runs/test_plan.py \
  runs/test_store.py \
  tables/test_advice.py tables/test_groups.py tables/test_names.py \
  workers/test_payloads.py workers/test_threads.py \
  test_errors.py test_explanation.py test_names.py test_plugins.py test_rooms.py

quick: $(INSTALLED_DEV)  ## style, types and fast tests, for the daily round; `make test` checks all
	@$(MAKE) --no-print-directory -j2 style types
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n $(JOBS) --dist loadfile $(addprefix tests/,$(QUICK))

browser:  ## Debian's Chromium for the tests of the page; they are skipped where it cannot be had
	@command -v chromium >/dev/null || { \
	  if [ "$$(id -u)" = 0 ]; then root=; else root="sudo -n"; fi; \
	  $$root apt-get update -qq && $$root apt-get install -y -qq chromium chromium-driver; } || \
	  echo "No chromium, and none could be installed: the tests of the page will be skipped."

style: $(INSTALLED_DEV)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(INSTALLED_DEV)
	$(BIN)/mypy

# In one process, while the other core installs what tests need and checks types. It reads the
# sources themselves: installing takes the package away for a moment.
kernels: $(INSTALLED)  ## compiled once, before every test worker would
	@PYTHONPATH=src $(BIN)/python -c 'from changeproof.methods import usual_method_names; from changeproof.workers.warm_up import *; [compile_kernels(part) for both in (False, True) for part in kernels_for(usual_method_names(), feasible=both, limit=both, forests=both)]'

docs: $(INSTALLED_DEV)  ## the documentation site, in site/index.html; `make test` builds it too
	$(BIN)/python tools/build_docs.py --out site

links: $(INSTALLED_DEV)  ## whether the site's links to other sites still lead somewhere
	$(BIN)/python tools/build_docs.py --links --out site-links

bench: $(INSTALLED_DEV)  ## speed as ratios, all measured in one run, and benchmarks/results/README.md
	$(BIN)/python -m benchmarks.all

torture: $(INSTALLED_DEV)  ## kills, faults, tampering and odd calls; counts in benchmarks/results
	$(BIN)/python -m benchmarks.reliability

clean:
	rm -rf $(VENV) runs site site-links dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
