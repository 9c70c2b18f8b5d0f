"""The command line: what it lists, what it imports, how it answers a user's mistake."""

import subprocess
import sys
from pathlib import Path

import pytest

from kvcourse import cli, model_file


def run(*arguments: str, env: dict | None = None) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "kvcourse.cli", *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=env)


def test_help_lists_every_command():
    done = run("--help")
    assert done.returncode == 0
    for name in cli.COMMANDS:
        assert name in done.stdout


@pytest.mark.parametrize("command", sorted(cli.COMMANDS))
def test_each_command_has_its_own_help(command):
    done = run(command, "--help")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"usage: kvcourse {command}")


def test_help_loads_no_torch_and_no_numpy():
    code = "import sys, kvcourse.cli as c\ntry: c.main(['--help'])\nexcept SystemExit: pass\n"
    code += "print('heavy:', sorted({'torch', 'numpy', 'nbgrader'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.endswith("heavy: []\n")


def test_an_unknown_command_is_refused_with_the_known_ones():
    done = run("frobnicate")
    assert done.returncode == 2
    assert "frobnicate" in done.stderr and "model" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_user_error_is_one_sentence_and_exit_2(monkeypatch, capsys):
    def fail(progress=True):
        raise model_file.ModelFileError("no network, say.")

    monkeypatch.setattr(model_file, "fetch", fail)
    assert cli.main(["model"]) == 2
    assert capsys.readouterr().err == "kvcourse model: no network, say.\n"


def test_model_check_says_what_is_missing(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("KVCOURSE_CACHE", str(tmp_path))
    assert cli.main(["model", "--check"]) == 1
    assert str(tmp_path) in capsys.readouterr().err
    (tmp_path / model_file.NAME).write_bytes(b"GGUF")
    assert cli.main(["model", "--check"]) == 1
    assert "damaged" in capsys.readouterr().err


def test_a_full_disk_is_one_sentence():
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full here")
    with open("/dev/full", "w") as full:
        run = subprocess.run(
            [sys.executable, "-m", "kvcourse.cli", "size", "Llama-2-7B"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
        )
    assert (run.returncode, run.stderr) == (2, "kvcourse size: no space left where the answer goes.\n")
