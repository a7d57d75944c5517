# Faithline on one machine. Needs git, make and Python 3.11 with venv; everything else is installed into this folder.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

PYTHON ?= $(shell command -v python3.11 || command -v python3)
UV_VERSION := 0.13.9
UV := .tools/bin/uv
BIN := .venv/bin
# The CPU build of torch: from a local folder of wheels if pip is told of one that has it, else from PyTorch's CPU index.
WHEELS := $(firstword $(foreach d,$(PIP_FIND_LINKS),$(if $(wildcard $(d)/torch-*),$(d))))
TORCH := $(if $(WHEELS),--find-links $(WHEELS),--torch-backend cpu)
PYTEST ?= -n 2 --dist loadfile

# No model hub, no telemetry, no look-ups: every run below works offline once packages are installed.
HF_HUB_OFFLINE ?= 1
export HF_HUB_OFFLINE
export DVC_NO_ANALYTICS := 1
export GX_ANALYTICS_ENABLED := false
export TOKENIZERS_PARALLELISM := false
export UV_LINK_MODE := $(or $(UV_LINK_MODE),hardlink)
export PATH := $(CURDIR)/.venv/bin:$(PATH)

IMAGES ?= runtime airflow
.PHONY: help setup demo test check format lock images clean

help:  ## Show this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  make \1\t/' | expand -t 18

setup: .venv/.ready .venv-airflow/.ready  ## Install the runtime (.venv) and Airflow (.venv-airflow) environments

demo: .venv/.ready  ## Run the whole pipeline on the embedded sample and show its metrics
	@echo "demo: running the pipeline (dvc repro)"
	@dvc repro report
	@faithline summary
	@code=0; faithline promote verdict >/dev/null || code=$$?; \
	case $$code in \
	  0) echo "demo: promoting the candidate"; dvc repro promote;; \
	  10) echo "demo: the champion stays, nothing is promoted";; \
	  *) exit $$code;; \
	esac

test: setup  ## Run the whole test suite
	@echo "test: running pytest"
	@$(BIN)/python -m pytest $(PYTEST)
	@echo "test: all tests passed"

check: .venv/.ready  ## Format, lint, types, settings
	@ruff format --check . && ruff check .
	@mypy
	@faithline params check
	@echo "check: format, lint, types and settings are clean"

format: .venv/.ready  ## Format the code and fix what the linter can
	@ruff format . && ruff check --fix .

lock: $(UV)  ## Compile the lock of each dependency world
	@for world in runtime airflow; do \
	  $(UV) pip compile -q --upgrade --generate-hashes --no-header --python-version 3.11 $(TORCH) \
	    --group $$world -o containers/$$world/requirements.lock; done
	@$(UV) pip compile -q --upgrade --generate-hashes --no-header --python-version 3.11 $(TORCH) \
	  --group dev -c containers/runtime/requirements.lock -o containers/runtime/dev.lock
	@$(UV) pip compile -q --upgrade --generate-hashes --no-header --python-version 3.12 \
	  --python-platform x86_64-unknown-linux-gnu --group gpu -o containers/gpu/requirements.lock
	@sed -i -E 's/^(torch==[0-9.]+)\+cpu/\1/; /^--find-links|^--index-url|^--extra-index-url/d' containers/*/*.lock
	@echo "lock: wrote $$(ls containers/*/*.lock | tr '\n' ' ')"

images:  ## Build the container images (IMAGES="runtime airflow gpu") and print their sizes
	@"$(PYTHON)" containers/build.py $(IMAGES)

clean:  ## Remove the environments and every output of the pipeline
	rm -rf .venv .venv-airflow .tools data models metrics plots reports logs

$(UV):
	@echo "setup: installing uv $(UV_VERSION) into .tools"
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' \
	  || { echo "setup: Python 3.11 is needed; set PYTHON=/path/to/python3.11" >&2; exit 40; }
	@"$(PYTHON)" -m venv .tools && .tools/bin/python -m pip install -q --disable-pip-version-check uv==$(UV_VERSION)

.venv/.ready: containers/runtime/requirements.lock containers/runtime/dev.lock pyproject.toml | $(UV)
	@echo "setup: installing $$(cat $(wordlist 1,2,$^) | grep -c '==') packages (torch CPU, transformers, dvc, kfp, verl, ...) into .venv"
	@test -x $(BIN)/python || $(UV) venv -q --python "$(PYTHON)" .venv
	@$(UV) pip sync -q --python $(BIN)/python $(TORCH) $(wordlist 1,2,$^)
	@$(UV) pip install -q --python $(BIN)/python --no-deps --no-build-isolation --offline -e .
	@touch $@
	@echo "setup: .venv is ready"

.venv-airflow/.ready: containers/airflow/requirements.lock pyproject.toml | .venv/.ready
	@echo "setup: installing $$(grep -c '==' $<) packages (Airflow, Kubernetes provider) into .venv-airflow"
	@test -x .venv-airflow/bin/python || $(UV) venv -q --python "$(PYTHON)" .venv-airflow
	@$(UV) pip sync -q --python .venv-airflow/bin/python $<
	@echo "$(CURDIR)" > "$$(.venv-airflow/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/faithline.pth"
	@touch $@
	@echo "setup: .venv-airflow is ready"
