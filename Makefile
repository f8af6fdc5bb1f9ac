## make bench | test | test-fast | lint | validate | doctor | sweep | perf
## Each needs nothing before it: .venv, the engine and the images are made on first use.
## make bench MODEL=provider/model [BENCHMARK= HARNESS= EFFORT= ORCH= SAMPLES= JOBS= ARGS=]

# Once it is there .venv's own: a version manager's python3 takes longer to start than all the checks.
PYTHON ?= $(or $(wildcard .venv/bin/python),python3)
SETUP := $(PYTHON) -m runner.setup
BIN := .venv/bin

# Without MODEL, two of them side by side: both controls, and a real agent on a small real model that needs no key.
MODEL ?= control/reference control/nop embedded/smollm2-135m
JOBS ?= $(if $(filter file,$(origin MODEL)),2,1)
BENCHMARK ?= stockroom-e2e
VALIDATE ?= stockroom-e2e courier-api
HARNESS ?=
EFFORT ?=
ORCH ?=
SAMPLES ?=
ARGS ?=
RUN_OPTIONS = $(foreach model,$(MODEL),--model $(model)) \
    $(if $(HARNESS),--harness $(HARNESS)) $(if $(EFFORT),--effort $(EFFORT)) \
    $(if $(ORCH),--orch $(ORCH)) $(if $(SAMPLES),--samples $(SAMPLES)) --jobs $(JOBS) $(ARGS)

.DEFAULT_GOAL := help
.PHONY: help setup bench test test-fast lint validate doctor sweep bakeoff reproduce board perf lock

help:
	@sed -n 's/^## //p' Makefile

setup:
	@$(SETUP) --with dev,embedded --engine

bench:
	@$(SETUP) --with embedded --engine -- $(BIN)/bench run $(BENCHMARK) $(RUN_OPTIONS)

test:
	@$(SETUP) --with dev,embedded --engine -- $(BIN)/python -m pytest $(ARGS)

test-fast:
	@$(SETUP) --with dev -- $(BIN)/python -m pytest tests/unit $(ARGS)

lint:
	@$(SETUP) --with dev -- sh -c '$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/mypy'

validate:
	@$(SETUP) --engine -- $(BIN)/bench validate $(VALIDATE) $(ARGS)

doctor:
	@$(SETUP) -- $(BIN)/bench doctor $(ARGS)

sweep:
	@$(SETUP) -- $(BIN)/bench sweep $(ARGS)

# Against the same requests sent directly, in the same run; half a minute on loopback.
perf:
	@$(SETUP) --engine -- $(BIN)/python -m perf $(ARGS)

bakeoff reproduce board:
	@echo "make $@ is not there yet." >&2; exit 2

lock:
	@requirements/lock.sh
