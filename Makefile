# Everything runs in .venv, which `make setup` creates. `make` alone lists what there is.
# Another Python than the first suitable one on the path: make setup PYTHON=/path/to/python3

VENV := .venv
BIN := $(VENV)/bin
PYTHON :=
PYTEST_WORKERS := 4
WEB := '**/*.{js,mjs,ts,css}'
# Errors alone: pip warns of much that stops nothing, such as an index of its configuration that is away.
INSTALL := $(BIN)/python -m pip install --quiet --quiet --editable
LOCK := $(BIN)/uv pip compile --quiet --universal --python-version 3.13 --generate-hashes --no-header --no-annotate
VERSION = $(shell sed -n 's/^version = "\(.*\)"/\1/p' pyproject.toml)
# TypeScript's checker with the settings of tsconfig.json; as tsc --noEmit, and from the index that the rest comes from.
TSC := DENO_DIR=$(VENV)/deno DENO_NO_UPDATE_CHECK=1 $(BIN)/deno check --quiet --no-remote --no-npm --config tsconfig.json
# The JavaScript client, as the server serves it under /web/, and as the npm package has it.
MODULE := client/dither_client/web
DIST := dist
MKDOCS := NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet --strict

# The matrices here are small: more than one BLAS thread makes everything slower.
export OPENBLAS_NUM_THREADS := 1
export OMP_NUM_THREADS := 1
export MKL_NUM_THREADS := 1
# The tests start hundreds of processes: each would compile every module again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help setup tools demo test test-long check format docs screenshots vectors bench bench-papers lock npm-package release sbom clean

help:
	@echo "make setup    create $(VENV) and install Dither with everything that development needs"
	@echo "make demo     28,155 real wages, asked privately over HTTP: about a minute (KEEP=1: and the server stays)"
	@echo "make test     the tests (installs Chromium, nginx, Node and npm first where they are missing, as root on Debian)"
	@echo "make test-long  what takes hours: comparisons of methods, random sequences, faults, mutated requests, the client's audit"
	@echo "make check    formatting, lint, types of Python and JavaScript, the documentation's links"
	@echo "make format   put the code into the format that make check wants"
	@echo "make docs     build the documentation as a site, in site/"
	@echo "make screenshots  take the pictures of the pages in docs/images"
	@echo "make vectors  write client/vectors, the cases that clients in other languages are tested with"
	@echo "make bench    the measurements of benchmarks/README.md"
	@echo "make bench-papers  the papers' experiments at their own sizes: hours, can be stopped and taken up"
	@echo "make lock     write locks/, the packages that the image is built from, anew"
	@echo "make npm-package  the JavaScript client as an npm package, in dist/, and the hash of each of its files"
	@echo "make release  wheel, source, bill of materials and their SHA-256 sums, in dist/"
	@echo "make clean    remove $(VENV), demo/ and caches"

setup: $(VENV)/.installed

$(VENV)/.installed: pyproject.toml
	@test -x $(BIN)/python || { \
	    for python in $(PYTHON) $(if $(PYTHON),,python3 python3.14 python3.13 python3.12 python3.11 python); do \
	        if "$$python" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then \
	            echo "Creating $(VENV) with $$python"; exec "$$python" -m venv $(VENV); \
	        fi; \
	    done; \
	    echo "Dither needs Python 3.11 or newer, with its venv module: install it," \
	         "or say where it is with make setup PYTHON=/path/to/python3" >&2; \
	    exit 1; }
	@echo "Installing into $(VENV), 1 of 3: Dither with its server and statistics"
	@$(INSTALL) '.[server]'
	@echo "Installing into $(VENV), 2 of 3: databases, tables, plots, the demo's data"
	@$(INSTALL) '.[postgres,loadgen,papers,arviz,demo,warehouse,dask]'
	@echo "Installing into $(VENV), 3 of 3: what tests, checks and the documentation need"
	@$(INSTALL) '.[dev]'
	@touch $@

tools:
	@sh testing/install_tools.sh

demo: setup
	@$(BIN)/dither demo $(if $(KEEP),--keep)

test: setup tools
	@$(BIN)/python -m pytest -n $(PYTEST_WORKERS) --dist worksteal

test-long: setup tools
	@$(BIN)/python -m pytest -n $(PYTEST_WORKERS) --dist worksteal -m long
	@$(BIN)/python -m testing.long

check: setup
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/oxfmt --check $(WEB)
	@$(BIN)/oxlint
	@$(TSC) .
	@$(BIN)/mypy
	@site=$$(mktemp -d) && { $(MKDOCS) --site-dir "$$site"; found=$$?; rm -rf "$$site"; exit $$found; }

docs: setup
	@$(MKDOCS) --site-dir site
	@echo "site/index.html; with search and pictures: python3 -m http.server --directory site 8080"

screenshots: setup tools
	@$(BIN)/python -m docs_build.screenshots

format: setup
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .
	@$(BIN)/oxfmt $(WEB)
	@$(BIN)/oxlint --fix

vectors: setup
	@$(BIN)/python tests/vectors/make_vectors.py

bench: setup
	@$(BIN)/python -m benchmarks

bench-papers: setup
	@$(BIN)/dither reproduce all --runs full --out docs/papers

# A pin that still fits stays as it is; make lock UPGRADE=--upgrade takes the newest of all.
lock: setup
	@$(LOCK) $(UPGRADE) --extra server --extra postgres --output-file locks/image.txt pyproject.toml
	@sed -n 's/^requires = \["\(.*\)"\]/\1/p' pyproject.toml | $(LOCK) $(UPGRADE) --output-file locks/build.txt -

release: setup
	@$(MAKE) --no-print-directory lock
	@git diff --exit-code --stat locks || { echo "locks/ was out of date: look at it, and commit it" >&2; exit 1; }
	@rm -rf dist
	@$(BIN)/uv build --quiet --out-dir dist
	@$(MAKE) --no-print-directory sbom
	@$(MAKE) --no-print-directory npm-package
	@cd dist && rm -f .gitignore && sha256sum * > SHA256SUMS && cat SHA256SUMS

npm-package:
	@mkdir -p $(DIST)
	@stage=$$(mktemp -d) && trap 'rm -rf "$$stage"' EXIT \
	    && cp $(MODULE)/*.js $(MODULE)/*.ts $(MODULE)/package.json $(MODULE)/README.md LICENSE "$$stage" \
	    && (cd "$$stage" && sha256sum *.js *.ts > SHA256SUMS && cat SHA256SUMS) \
	    && npm pack --silent --pack-destination $(DIST) "$$stage" > "$$stage/packed" \
	    && cd $(DIST) && sha256sum "$$(cat "$$stage/packed")"

# In an environment of its own: what the tool needs is nothing that Dither needs.
sbom:
	@mkdir -p dist
	@$(BIN)/uv tool run --quiet --from 'cyclonedx-bom==7.*' cyclonedx-py requirements --pyproject pyproject.toml \
	    --mc-type application --output-reproducible --output-file dist/dither-$(VERSION).cdx.json locks/image.txt

clean:
	rm -rf $(VENV) demo site build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
