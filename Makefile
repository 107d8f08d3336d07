# make demo    a real result on a bare machine: environment, install, run
# make test    the tests (needs nothing but Python)
# make test-heavy  the tests that take long; fast ones cover the same code
# make check   format, lint, types, imports
# make docs    the documentation site in build/site; fails on broken links
# make bench   side-by-side with lm-evaluation-harness and minicons (hours; needs BOXPEN_MIRROR)
# make bench-quick  the same on a few texts, in minutes
# make results the tables in docs/results (needs BOXPEN_MIRROR and the models named there)

PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
MINICONS := $(VENV)-minicons
PIP    := $(BIN)/python -m pip install --disable-pip-version-check --quiet -c constraints.txt

.PHONY: demo test test-heavy check docs bench bench-quick results clean

demo: $(VENV)/demo.stamp
	$(BIN)/boxpen run

test: $(VENV)/dev.stamp
	@$(BIN)/boxpen model get smollm2 || echo "smollm2 is not available: its tests will be skipped"
	@$(BIN)/python -c 'from boxpen.english.wordnet_files import find_wordnet; find_wordnet()' || \
		echo "WordNet is not available: its tests will be skipped"
	@# A thread for each process; the files in the order of tests/conftest.py, the longest first.
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -m "not heavy" -n auto --dist loadfile --no-loadscope-reorder

test-heavy: $(VENV)/dev.stamp
	$(BIN)/python -m pytest -m heavy

check: $(VENV)/dev.stamp
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

docs: $(VENV)/dev.stamp
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build

bench: $(VENV)/bench.stamp $(MINICONS)/bench.stamp
	$(BIN)/python -m pytest benchmarks -rP
	$(BIN)/python benchmarks/speed.py --minicons $(MINICONS)/bin/python
	$(BIN)/python benchmarks/time_profile.py
	$(BIN)/python benchmarks/report.py

bench-quick: $(VENV)/bench.stamp $(MINICONS)/bench.stamp
	$(BIN)/python benchmarks/speed.py --minicons $(MINICONS)/bin/python --out build/quick.json \
		--limit 128 --share 0.5 --trial 32 --rounds 1 --sizes 16 32 64 128

results: $(VENV)/dev.stamp
	$(BIN)/python scripts/results.py
	$(BIN)/python scripts/starter_figures.py
	$(BIN)/python scripts/audit.py
	$(BIN)/python scripts/learned.py

$(VENV)/bin/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "boxpen needs Python 3.11 or newer")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/demo.stamp: $(VENV)/bin/python pyproject.toml constraints.txt
	$(PIP) -e '.[hf]'
	@touch $@

$(VENV)/dev.stamp: $(VENV)/bin/python pyproject.toml constraints.txt
	$(PIP) -e '.[dev]'
	@touch $@ $(VENV)/demo.stamp

$(VENV)/bench.stamp: $(VENV)/dev.stamp
	$(PIP) -e '.[bench]'
	@touch $@

$(MINICONS)/bench.stamp: benchmarks/minicons.txt
	$(PYTHON) -m venv $(MINICONS)
	$(MINICONS)/bin/python -m pip install --disable-pip-version-check --quiet -r $<
	@touch $@

clean:
	rm -rf $(VENV) $(MINICONS) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
