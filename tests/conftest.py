"""Two depths, one rule for skips, and what several test files share.

`KVCOURSE_FULL=1` runs the tests marked `full` too, and turns into a failure every skip whose reason starts
with "install: ", because an installed package or a fetched model would lift it.
"""

import os
from pathlib import Path

import pytest

# Before anything imports torch: with other work on the machine, more threads are slower, not faster.
for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")
os.environ.setdefault("HF_HUB_OFFLINE", "1")

FULL = os.environ.get("KVCOURSE_FULL", "") not in ("", "0")
ROOT = Path(__file__).resolve().parent.parent


def pytest_collection_modifyitems(config, items):
    if FULL or config.option.markexpr:
        return
    long = [item for item in items if item.get_closest_marker("full")]
    if long:
        config.hook.pytest_deselected(items=long)
        items[:] = [item for item in items if not item.get_closest_marker("full")]


def pytest_runtest_setup(item):
    if item.get_closest_marker("gpu"):
        from kvcourse.device import has_gpu

        if not has_gpu():
            pytest.skip("no CUDA device here")


def _fail_if_installable(report):
    if FULL and report.skipped and isinstance(report.longrepr, tuple):
        reason = report.longrepr[2].removeprefix("Skipped: ")
        if reason.startswith("install: "):
            report.outcome = "failed"
            report.longrepr = f"skipped, but KVCOURSE_FULL=1 asks for all that can be installed: {reason}"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    return _fail_if_installable((yield))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    return _fail_if_installable((yield))


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Folder of the published cases, configurations and traces, which are not part of the repository."""
    folder = Path(os.environ.get("KVCOURSE_DATA", ROOT.parent / "shared"))
    if not folder.is_dir():
        pytest.skip(f"no shared data at {folder} (set KVCOURSE_DATA)")
    return folder


@pytest.fixture(scope="session")
def model_path() -> Path:
    """SmolLM2's GGUF file in the user's cache."""
    from kvcourse import model_file

    path = model_file.find()
    if path is None:
        pytest.skip("install: make model")
    return path


@pytest.fixture(scope="session")
def smollm2(model_path):
    """SmolLM2-135M-Instruct in float32: (Decoder, tokenizer). Loaded once; reset counters before counting."""
    from kvcourse import weights

    return weights.smollm2()


@pytest.fixture(scope="session")
def hf_smollm2(model_path):
    """The same file loaded by Transformers on its own path."""
    pytest.importorskip("transformers", reason="install: transformers")
    from kvcourse import hf

    return hf.load_model(model_path)
