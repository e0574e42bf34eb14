# Every target sets up what it needs: Python 3.11 or newer, and the network once, are all a fresh machine has to have.
#   make demo                     the whole road on the embedded model
#   make test                     all notebooks, then pytest
#   make PY=python3.12 VENV=/else/where test      another interpreter, another place
#   make TORCH="torch --index-url URL" test       another build of torch (same version)

PY    ?= python3
VENV  ?= venv
TORCH ?= torch
NB    ?=
FLAGS ?=
NAMES ?=
TRAINER_STATE ?=
OUT   ?=
LABEL ?=

bin     := $(abspath $(VENV))/bin
runtime := $(VENV)/.runtime
dev     := $(VENV)/.dev
pip     := $(bin)/python -m pip install -qq -c constraints.txt
export PATH := $(bin):$(PATH)
export OMP_WAIT_POLICY ?= PASSIVE
unexport VIRTUAL_ENV PYTHONHOME

.PHONY: help demo test smoke-train plots mcp-smoke mcp-health mcp-config docs check run hooks bench notebooks

help:
	@echo 'make demo         train, evaluate, compare and audit the embedded model in demo/'
	@echo 'make test         run every notebook and every test'
	@echo 'make smoke-train  a dry run of GRPO with every self-learning source but no training'
	@echo 'make plots TRAINER_STATE=RUN/trainer_state.json [OUT=folder] [LABEL=text]'
	@echo 'make mcp-smoke | mcp-health | mcp-config      the server: self-test, preflight, client config'
	@echo 'make docs         build the site into _docs/, check its links, and README.md and commands.md against what they are made from'
	@echo 'make check        notebooks clean, modules in sync with them'
	@echo 'make run [NB=nbs/08_metrics.ipynb] [FLAGS=slow]   run notebooks and keep their outputs'
	@echo 'make hooks        git hooks: clean notebooks, refuse a commit that is out of sync'
	@echo 'make bench [NAMES="generation training"]   measure, and write docs_src/benchmarks.md (to stdout if only some)'
	@echo '                  HONEST_BENCH_MODEL=MODEL [HONEST_BENCH_ADAPTER=folder] measures that model too'
	@echo 'make notebooks [NB=nbs/08_metrics.ipynb]   run every notebook top to bottom in a plain Jupyter kernel'

$(runtime): settings.ini setup.py constraints.txt
	@$(PY) -c 'import sys; v = sys.version_info; sys.exit(None if v >= (3, 11) else "Python %d.%d is too old: HONEST needs 3.11 or newer (make PY=python3.12)" % v[:2])'
	test -x $(bin)/python || $(PY) -m venv $(VENV)
	$(pip) $(TORCH)
	$(pip) -e .
	@touch $@

$(dev): $(runtime)
	$(pip) -e '.[dev]'
	@touch $@

demo: $(runtime)
	honest demo

smoke-train: $(runtime)
	honest train-grpo --dry-run --hindsight --replay-priority --self-mutate --self-play

plots: $(runtime)
	@test -n '$(TRAINER_STATE)' || { echo 'say which run: make plots TRAINER_STATE=RUN/trainer_state.json' >&2; exit 2; }
	honest plot-training-curves --trainer-state '$(TRAINER_STATE)' $(if $(OUT),--out '$(OUT)') $(if $(LABEL),--label '$(LABEL)')

mcp-smoke: $(runtime)
	honest mcp-server --smoke-test

mcp-health: $(runtime)
	honest mcp-server --health

mcp-config: $(runtime)
	@honest mcp-server --print-config

test: $(dev)
	nbdev_test --n_workers 2
	python -m pytest -q tests

check: $(dev)
	nbdev_export
	nbdev_clean
	git diff --exit-code --stat -- nbs honest
	@new=$$(git ls-files --others --exclude-standard -- nbs honest); \
	test -z "$$new" || { printf 'not in git yet:\n%s\n' "$$new" >&2; exit 1; }

docs: $(dev)
	python docs_src/build.py
	smalldocs check _proc
	git diff --exit-code --stat -- README.md docs_src/commands.md

run: $(dev)
	python docs_src/run.py $(if $(NB),--path '$(NB)') $(if $(FLAGS),--flags '$(FLAGS)')

hooks: $(dev)
	nbdev_install_hooks
	hook=$$(git rev-parse --git-path hooks/pre-commit) && printf '#!/bin/sh\nexec make -s check VENV=%s\n' '$(abspath $(VENV))' > "$$hook" && chmod +x "$$hook"

bench: $(dev)
	python docs_src/bench.py $(NAMES)

notebooks: $(dev)
	python docs_src/notebooks.py $(if $(NB),--path '$(NB)') $(if $(FLAGS),--flags '$(FLAGS)')
