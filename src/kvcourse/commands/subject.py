"""Which model a command is about: a published one by name, a `config.json`, or the folder that holds one."""

import argparse
import contextlib
from dataclasses import dataclass
from pathlib import Path

from kvcourse import registry
from kvcourse.configs import read_json
from kvcourse.errors import ConfigError, UnitError, UserError, shown
from kvcourse.memory import CacheModel, count_parameters, from_config


@dataclass(frozen=True)
class Subject:
    """A model and where its facts come from. `parameters` is None where nobody gave or counted them."""

    name: str
    source: str
    model: CacheModel
    parameters: int | None
    parameters_source: str


def add_model(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "model", metavar="MODEL", nargs="?", help="a published model's name, a config.json, or its folder"
    )


def add_lengths(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--tokens", type=count, metavar="N", help="tokens a sequence (default: the model's most)"
    )
    parser.add_argument(
        "--batch", type=count, metavar="N", default=1, help="sequences at a time (default: 1)"
    )
    parser.add_argument(
        "--dtype",
        metavar="D",
        help="of the cache: fp16, bf16, fp32, fp8, q8_0, or keys/values such as q8_0/f16",
    )


def count(text: str) -> int:
    """A whole number as people write it: 4096, 4_096 or 4,096. For argparse."""
    digits = text.replace(",", "").replace("_", "")
    if not (digits.isascii() and digits.isdigit() and len(digits) <= 15):
        raise argparse.ArgumentTypeError(f"{shown(text)} is no whole number of 0 or more, such as 4096")
    return int(digits)


def find(text: str | None, parameters: int | None = None) -> Subject:
    """The model that `text` names. Raises UserError in one sentence."""
    if text is None:
        raise UserError("which model? Expected a name such as Llama-2-7B, a config.json, or its folder.")
    path = _file(text)
    if path is not None:
        raw = read_json(path)
        try:
            return _subject(str(path), "this file", raw, parameters)
        except (ConfigError, UnitError) as error:
            raise ConfigError(f"{shown(str(path), 120)[1:-1]}: {error}") from None
    known = registry.find(text)
    source = f"{known.source} ({known.source_kind})"
    counted = parameters is None and known.parameters is not None
    return _subject(known.name, source, known.config, parameters or known.parameters, counted)


def _file(text: str) -> Path | None:
    """The configuration file that `text` is a path of; None where it can only be a name."""
    path = Path(text)
    with contextlib.suppress(OSError, ValueError):  # a name too long for a path, or with a null byte
        if path.is_dir() and (path / "config.json").exists():
            return path / "config.json"
        if path.exists() and not path.is_dir():
            return path
    return path if text.endswith(".json") else None


def _subject(name: str, source: str, raw: dict, parameters: int | None, counted: bool = False) -> Subject:
    model = from_config(raw)
    if parameters is not None:
        origin = "counted from the model's class" if counted else "as given"
        return Subject(name, source, model, parameters, origin)
    with contextlib.suppress(ConfigError):  # a kind of layer whose parameters are not counted here
        return Subject(name, source, model, count_parameters(raw).total, "counted from the configuration")
    return Subject(name, source, model, None, "unknown")
