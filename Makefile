# Everything runs in .venv, which `make setup` creates. `make` alone lists what there is.
# Another Python than the first suitable one on the path: make setup PYTHON=/path/to/python3

VENV := .venv
BIN := $(VENV)/bin
PYTHON :=
PYTEST_WORKERS := 3
WEB := '**/*.{js,ts,css}'
MKDOCS := NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet --strict

# The matrices here are small: more than one BLAS thread makes everything slower.
export OPENBLAS_NUM_THREADS := 1
export OMP_NUM_THREADS := 1
export MKL_NUM_THREADS := 1

.PHONY: help setup chromium demo test check format docs reference screenshots vectors bench bench-papers clean

help:
	@echo "make setup    create $(VENV) and install Dither with everything that development needs"
	@echo "make demo     28,155 real wages, asked privately over HTTP: about a minute (KEEP=1: and the server stays)"
	@echo "make test     every test (installs Chromium first where it is missing, as root on Debian)"
	@echo "make check    formatting, lint, types, the documentation's links"
	@echo "make format   put the code into the format that make check wants"
	@echo "make docs     build the documentation as a site, in site/"
	@echo "make reference  write docs/reference, which the program describes itself in"
	@echo "make screenshots  take the pictures of the pages in docs/images"
	@echo "make vectors  write client/vectors, the cases that clients in other languages are tested with"
	@echo "make bench    the measurements of benchmarks/README.md"
	@echo "make bench-papers  the papers' experiments at their own sizes: hours, can be stopped and taken up"
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
	@echo "Installing Dither and what it needs into $(VENV)"
	@$(BIN)/python -m pip install --quiet --editable '.[dev]'
	@touch $@

chromium:
	@sh tests/browser/install_chromium.sh

demo: setup
	@$(BIN)/dither demo $(if $(KEEP),--keep)

test: setup chromium
	@$(BIN)/python -m pytest -n $(PYTEST_WORKERS) --dist worksteal

check: setup
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/oxfmt --check $(WEB)
	@$(BIN)/oxlint
	@$(BIN)/mypy
	@site=$$(mktemp -d) && { $(MKDOCS) --site-dir "$$site"; found=$$?; rm -rf "$$site"; exit $$found; }

docs: setup
	@$(MKDOCS) --site-dir site
	@echo "site/index.html"

reference: setup
	@$(BIN)/python -m docs_build.reference

screenshots: setup chromium
	@$(BIN)/python -m docs_build.screenshots

format: setup
	@$(BIN)/ruff format .
	@$(BIN)/ruff check --fix .
	@$(BIN)/oxfmt $(WEB)
	@$(BIN)/oxlint --fix

vectors: setup
	@$(BIN)/python tests/client/make_vectors.py

bench: setup
	@$(BIN)/python -m benchmarks

bench-papers: setup
	@$(BIN)/dither reproduce all --runs full --out docs/papers

clean:
	rm -rf $(VENV) demo site build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
