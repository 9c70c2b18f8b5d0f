"""Which model a command is about: a published one by name, a `config.json`, or the folder that holds one."""

import argparse
import contextlib
from dataclasses import dataclass
from pathlib import Path

from kvcourse import registry
from kvcourse.configs import read_json
from kvcourse.errors import ConfigError, UserError, shown
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


def find(text: str | None, parameters: int | None = None, source_tokens: int | None = None) -> Subject:
    """The model that `text` names. Raises UserError in one sentence.

    `source_tokens` is the length of an encoder-decoder's source, where the model does not fix it.
    """
    if text is None:
        raise UserError("which model? Expected a name such as Llama-2-7B, a config.json, or its folder.")
    path = _file(text)
    if path is None:
        known = registry.find(text)
        count, origin = known.parameters, "counted from the model's class"
        name, source, raw = known.name, f"{known.source} ({known.source_kind})", known.config
    else:
        name, source, raw = shown(str(path), 120)[1:-1], "this file", read_json(path)
        count, origin = None, ""
    try:
        model = from_config(raw, source_tokens)
    except ConfigError as error:
        raise ConfigError(f"{name}: {error}") from None
    if parameters is not None:
        count, origin = parameters, "as given"
    elif count is None:
        with contextlib.suppress(ConfigError):  # a kind whose parameters are not counted here
            count, origin = count_parameters(raw).total, "counted from the configuration"
    return Subject(name, source, model, count, origin)


def _file(text: str) -> Path | None:
    """The configuration file that `text` is a path of; None where it can only be a name."""
    path = Path(text)
    with contextlib.suppress(OSError, ValueError):  # a name too long for a path, or with a null byte
        if path.is_dir() and (path / "config.json").exists():
            return path / "config.json"
        if path.exists() and not path.is_dir():
            return path
    return path if text.endswith(".json") else None
