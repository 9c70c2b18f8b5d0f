"""Which model a command is about: a published one by name, a `config.json`, or the folder that holds one.

A name may have its organization before it, as in meta-llama/Llama-2-7B, and then looks like a path. It is a
path if it starts with `.`, `/` or `~`, ends in `.json`, has more than one slash, or if it or the folder it
lies in exists.
"""

import argparse
import contextlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kvcourse import registry
from kvcourse.commands import assumed, hub
from kvcourse.configs import read_json
from kvcourse.errors import ConfigError, UserError, shown
from kvcourse.memory import CacheModel, CrossAttention, count_parameters, from_config


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
        "model",
        metavar="MODEL",
        nargs="?",
        help="a published model's name, a config.json, or its folder (ORG/NAME is a name unless ORG exists)",
    )


def add_assumptions(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--assume",
        metavar="FIELD=VALUE",
        action="append",
        default=[],
        help="set a field of the configuration; null drops one that was not understood; may be repeated",
    )
    parser.add_argument(
        "--hub", action="store_true", help="MODEL is ORG/NAME on a hub: fetch its config.json"
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
    digits = (without_separators(text) or "").replace("_", "")
    if not (digits.isascii() and digits.isdigit() and len(digits) <= 15):
        raise argparse.ArgumentTypeError(f"{shown(text)} is no whole number of 0 or more, such as 4096")
    return int(digits)


def without_separators(text: str) -> str | None:
    """`text` without the commas between thousands; None where one stands elsewhere, as in "1,6"."""
    plain = re.sub(r"(?<![\d.,])(\d{1,3}(?:,\d{3})+)(?![\d,])", lambda run: run[1].replace(",", ""), text)
    return None if "," in plain else plain


def find(
    text: str | None,
    parameters: int | None = None,
    source_tokens: int | None = None,
    assume: Sequence[str] = (),
    from_hub: bool = False,
) -> Subject:
    """The model that `text` names. Raises UserError in one sentence.

    `source_tokens` is the length of an encoder-decoder's source, where the model does not fix it. `assume`
    sets fields of the configuration, each "FIELD=VALUE". `from_hub` asks the hub for it.
    """
    if text is None:
        raise UserError("which model? Expected a name such as Llama-2-7B, a config.json, or its folder.")
    given = assumed.parse(assume)
    path = None if from_hub else _file(text)
    if from_hub:
        raw, source = hub.fetch(text)
        name, count, origin = text, None, ""
    elif path is None:
        known = registry.find(text)
        count, origin = known.parameters, "counted from the model's class"
        name, source, raw = known.name, f"{known.source} ({known.source_kind})", known.config
    else:
        name, source, raw = _named(path), "this file", read_json(path)
        count, origin = None, ""
    try:
        raw = assumed.apply(raw, given)
        model = assumed.mark(from_config(raw, source_tokens), given)
    except ConfigError as error:
        raise ConfigError(f"{name}: {error}") from None
    if given:
        count, origin = None, ""  # a published number may rest on what the assumption replaces
        source += f", with {', '.join(given)} assumed"
    if source_tokens is not None:
        _require_source(name, model)
    if parameters is not None:
        count, origin = parameters, "as given"
    elif count is None:
        with contextlib.suppress(ConfigError):  # a kind whose parameters are not counted here
            count, origin = count_parameters(raw).total, "counted from the configuration"
    return Subject(name, source, model, count, origin)


def _require_source(name: str, model: CacheModel) -> None:
    """UserError where a given length of the source changes nothing."""
    if not any(isinstance(layer, CrossAttention) for layer in model.layers):
        raise UserError(f"{name} has no cross-attention; expected no --source.")
    origin = next(fact for fact in model.facts if fact.name == "source_tokens")
    if origin.source != "as given":
        raise UserError(f"{name} has a source of {origin.value} tokens by its design; expected no --source.")


def _file(text: str) -> Path | None:
    """The configuration file that `text` is a path of; None where it can only be a name."""
    if not text.strip():
        return None
    path, is_path = Path(text), text.startswith((".", "/", "~")) or text.count("/") > 1
    # A name too long for a path or with a null byte, a folder one may not look into, a home nobody has.
    with contextlib.suppress(OSError, ValueError, RuntimeError):
        path = path.expanduser()
        if path.is_dir() and (path / "config.json").exists():
            return path / "config.json"
        if path.exists() and not path.is_dir():
            return path
        is_path = is_path or ("/" in text and path.parent.exists())
    if is_path and path.is_dir():
        raise UserError(f"{_named(path)}: a folder without a config.json; expected one in it.")
    return path if is_path or text.endswith(".json") else None


def _named(path: Path) -> str:
    return shown(str(path), 120)[1:-1]
