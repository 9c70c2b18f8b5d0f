# make course   set up, build the site, release the exercises, grade the sample class
# make test     the tests (FULL=1: the long ones too)
# make help     the rest

PYTHON ?= python3
VENV   ?= .venv
FULL   ?=
PORT   ?= 8000
LAB    ?=
BIN    := $(VENV)/bin
PY     := $(BIN)/python
READY  := $(VENV)/.ready
SITE   := build/_build/html
MAKEFLAGS += --no-print-directory
export JUPYTER_PLATFORM_DIRS = 1
export PYDEVD_DISABLE_FILE_VALIDATION = 1

.PHONY: help course model book serve lab exercises grade test lint bench student-bundle screenshots clean-build

help:
	@echo "make course          set up, build the site, release the exercises, grade the sample class"
	@echo "make lab             open JupyterLab on your own copy of the exercises and chapters (work/);"
	@echo "                     LAB='--no-browser --port=8890' and the like are passed on"
	@echo "make book            build the site into $(SITE)"
	@echo "make serve           serve the built site on 127.0.0.1 (PORT=8000)"
	@echo "make test            ruff and the tests; FULL=1 adds the long ones and allows no skip"
	@echo "make exercises       make the releases in exercises/ from solutions/"
	@echo "make grade           grade the sample class and print its scores"
	@echo "make bench           benchmarks, side by side with the peers"
	@echo "make student-bundle  zip of what students get, into build/"
	@echo "make screenshots     every page, light and dark, 1280 and 390 px, into build/screenshots/"
	@echo "make clean-build     delete what was built; .venv and the model stay"

$(READY): pyproject.toml constraints.txt
	@command -v $(PYTHON) >/dev/null || { echo "kvcourse: no '$(PYTHON)' on this machine; expected Python 3.11 or newer (name one with make PYTHON=...)." >&2; exit 2; }
	@$(PYTHON) -c 'import sys; v = sys.version_info; v >= (3, 11) or sys.exit("kvcourse: %s is Python %d.%d; expected 3.11 or newer (name one with make PYTHON=python3.12)." % (sys.executable, v[0], v[1]))' || exit 2
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { echo "kvcourse: $(PYTHON) has no venv module; install it (Debian, Ubuntu: apt install python3-venv) and run make again." >&2; exit 2; }
	@echo "Setting up $(VENV) (about 2 GB; minutes the first time) ..."
	@test -x $(BIN)/pip || $(PYTHON) -m venv --clear $(VENV)
	@$(PY) -m pip install --disable-pip-version-check -c constraints.txt -e '.[lab,book,test]' || { echo "kvcourse: the packages could not be installed (pip says why above); this first run needs the package index." >&2; exit 2; }
	@touch $@

course: $(READY) model
	@$(MAKE) book
	@$(MAKE) grade
	@echo
	@echo "The site: $(CURDIR)/$(SITE)/index.html   (make serve: http://127.0.0.1:$(PORT)/)"
	@echo "The exercises: make lab"

# Everything but the measurements on the real model works without it, so a failed fetch does not stop the course.
model: $(READY)
	@$(BIN)/kvcourse model || echo "Going on without the model: pages that measure it use a small random one and say so."

book: $(READY)
	@$(PY) book/build.py

serve: book
	@echo "http://127.0.0.1:$(PORT)/   (Ctrl-C stops it)"
	@$(PY) -m http.server --bind 127.0.0.1 --directory $(SITE) $(PORT)

exercises: $(READY)
	@$(PY) -m kvcourse.course release

lab: $(READY) model
	@test -d solutions && $(PY) -m kvcourse.course release || true
	@$(PY) -m kvcourse.course work
	@$(BIN)/jupyter lab --ServerApp.root_dir=work $(LAB)

grade: exercises
	@$(PY) -m kvcourse.course sample-class

test: $(READY) model lint
	@KVCOURSE_FULL=$(FULL) OMP_NUM_THREADS=1 $(PY) -m pytest

lint: $(READY)
	@$(BIN)/ruff check . && $(BIN)/ruff format --check .

bench: $(READY) model
	@for b in benchmarks/*.py; do echo "== $$b"; $(PY) $$b || exit 1; done

student-bundle: exercises
	@$(PY) -m kvcourse.course bundle

screenshots: book
	@$(PY) tests/site/screenshots.py

clean-build:
	@rm -rf build solutions/*/*.ipynb
	@echo "Deleted build/ and the notebooks made from solutions/; .venv and the model stay."
