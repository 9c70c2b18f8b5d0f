"""How the cells run: widgets for a static page, a cache that knows our sources, notebooks to download."""

import dataclasses
import functools
import hashlib
import os
import shutil
from importlib.metadata import version
from pathlib import Path

import nbformat
from jupyter_cache.executors import utils as executors
from myst_nb.core import read
from myst_nb.core.execute.cache import NotebookClientCache

from kvcourse.widgets import STATIC_ENV

KEPT_CACHES = 4
MEASURING = ("torch", "numpy", "matplotlib", "transformers")  # a page's numbers may change with these


def cache_key(source: Path) -> str:
    """Return a key for everything but the cells themselves that a cell's output depends on.

    jupyter-cache keys on the text of the cells alone: an edit of the package would keep every old output.
    """
    from kvcourse import model_file

    digest = hashlib.sha256()
    for file in sorted((source / "src").rglob("*.py")):
        digest.update(file.relative_to(source).as_posix().encode() + b"\0" + file.read_bytes())
    digest.update("".join(f"{name} {version(name)}\n" for name in MEASURING).encode())
    digest.update(
        b"model" if model_file.find() else b"no model"
    )  # without it pages measure a small random one
    return digest.hexdigest()[:12]


def _place_cache(app, config) -> None:
    caches = (
        Path(app.outdir).parents[1] / ".jupyter_cache"
    )  # beside _build: its database changes at every build
    if caches.is_dir():
        for old in sorted(caches.iterdir(), key=lambda path: path.stat().st_mtime)[:-KEPT_CACHES]:
            shutil.rmtree(old)
    config.nb_execution_cache_path = str(caches / cache_key(Path(app.srcdir)))


def _number_cells(app, exception) -> None:
    """Give the cells of notebooks to download the same ids at every build; they come with random ones."""
    if exception is not None:
        return
    for path in (Path(app.outdir) / "_downloads").rglob("*.ipynb"):
        notebook = nbformat.read(path, as_version=4)
        for number, cell in enumerate(notebook.cells, start=1):
            cell["id"] = f"cell-{number}"
        nbformat.write(notebook, path)


def _find_cells_without_tick_boxes() -> None:
    """myst-nb 1.4 looks for cells with inline syntax off; the tick-box plugin then fails on `- [ ]`."""
    create = read.create_md_parser

    def create_without(config, renderer):
        return create(
            dataclasses.replace(config, enable_extensions=config.enable_extensions - {"tasklist"}), renderer
        )

    read.create_md_parser = create_without


def _give_cached_outputs_to_downloads() -> None:
    """myst-nb 1.4 writes the download from the notebook it was given, which cached outputs never reach."""
    start = NotebookClientCache.start_client

    def start_and_hand_back(client):
        given = client.notebook
        start(client)
        given.update(client.notebook)

    NotebookClientCache.start_client = start_and_hand_back


def _start_kernels_quietly() -> None:
    """ipykernel 7 warns at every start that a local kernel talks over TCP; errors are still shown."""
    quiet = ["--IPKernelApp.log_level=ERROR"]
    executors.executenb = functools.partial(executors.executenb, extra_arguments=quiet)


def setup(app) -> None:
    _give_cached_outputs_to_downloads()
    _start_kernels_quietly()
    _find_cells_without_tick_boxes()
    os.environ[STATIC_ENV] = "1"  # the kernels inherit it
    app.connect("config-inited", _place_cache, priority=1)  # before myst-nb reads the path
    app.connect("build-finished", _number_cells)
