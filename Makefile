# Everything a person or CI runs. `make` lists it.
PYTHON ?= python3
# An index with CPU builds of PyTorch, asked besides your own where there is no GPU (see CONTRIBUTING.md).
TORCH_INDEX ?=

export PIP_DISABLE_PIP_VERSION_CHECK := 1

VENV := .venv
PY := $(VENV)/bin/python
GPU := $(shell command -v nvidia-smi 2>/dev/null)
INDEX := $(if $(GPU),,$(if $(TORCH_INDEX),--extra-index-url $(TORCH_INDEX)))
PIP := $(PY) -m pip install -c constraints.txt $(INDEX)
SELECT := $(if $(GPU),,-m "not gpu")

.DEFAULT_GOAL := help
.PHONY: help demo test check fix bench clean fetch

help: ## list the targets
	@sed -n 's/^\([a-z]*\):.*## /\1\t/p' $(MAKEFILE_LIST)

demo: $(VENV)/.installed fetch ## install, fetch the base model, start the app and print its address
	$(PY) app.py

test: $(VENV)/.installed-dev fetch ## run every test (browser tests need Chromium)
	@test -n "$$CLLM_CHROMIUM" || command -v chromium || command -v chromium-browser || command -v google-chrome \
		|| echo "Chromium is missing, so the browser tests will fail: install it, or set CLLM_CHROMIUM to its path."
	$(PY) -m pytest $(SELECT)

check: $(VENV)/.installed-dev ## format, lint, types and the quick tests
	$(PY) -m ruff format --check .
	$(PY) -m ruff check .
	$(PY) -m mypy
	$(PY) -m pytest -m "not slow and not browser and not gpu"

fix: $(VENV)/.installed-dev ## format and mend what the linter can
	$(PY) -m ruff format .
	$(PY) -m ruff check --fix .

bench: $(VENV)/.installed fetch ## measure recorder overhead, speed against generate, and pass times
	$(PY) -m cllm_core bench --json bench.json

clean: ## remove the environment and every cache in this folder (fetched models stay)
	rm -rf $(VENV) bench.json .pytest_cache .mypy_cache .ruff_cache .gradio
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

fetch: | $(VENV)/.installed
	$(PY) -m cllm_core fetch smollm2

$(VENV)/.made:
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("Python 3.11 or newer is needed, and $(PYTHON) is %d.%d: try make PYTHON=python3.12" % sys.version_info[:2])'
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.installed: requirements.txt constraints.txt $(VENV)/.made
	$(PIP) -r requirements.txt
	@touch $@

$(VENV)/.installed-dev: requirements-dev.txt $(VENV)/.installed
	$(PIP) -r requirements-dev.txt
	@touch $@
