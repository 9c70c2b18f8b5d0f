"""`kvcourse diagnose MODEL --got "1.6 GB" --tokens 2048`: which known mistake gives somebody's figure?

The mistakes are those that the exercises' hints know (`kvcourse.checks.catalog`), and for windows, latents,
recurrent states and the like those of `kvcourse.checks.kind_mistakes`.
"""

import argparse
import re
from dataclasses import dataclass
from fractions import Fraction

from kvcourse.checks import kind_mistakes
from kvcourse.checks.mistakes import Match, diagnose
from kvcourse.commands.subject import (
    Subject,
    add_assumptions,
    add_lengths,
    add_model,
    find,
    without_separators,
)
from kvcourse.errors import UnitError, UserError, shown
from kvcourse.memory import FullAttention, Storage, parse_storage
from kvcourse.units import both, parse_size

_UNITS = {"": "B", "b": "B", "byte": "B", "bytes": "B",
          "kib": "KiB", "mib": "MiB", "gib": "GiB", "tib": "TiB",
          "kb": "kB", "mb": "MB", "gb": "GB", "tb": "TB"}  # fmt: skip
_FIGURE = re.compile(r"\s*([0-9]{1,18}(?:\.([0-9]{1,12}))?)\s*([A-Za-z]+)?\s*(?:(?:/|per)\s*(token))?\s*")


@dataclass(frozen=True)
class Figure:
    """Somebody's number in its unit. `within`: half of its last printed digit."""

    number: Fraction
    unit: str
    within: Fraction
    per_token: bool

    @classmethod
    def parse(cls, text: str) -> "Figure":
        """ "1.6 GB", "512 KiB/token" or "819200". Raises UnitError for a unit without one meaning."""
        plain = without_separators(text)
        if plain is None:
            raise UnitError(
                f"cannot read the commas in {shown(text)}; expected one before every three digits, as in "
                '"1,600 MB", and a point before decimals, as in "1.6 GB".'
            )
        found = _FIGURE.fullmatch(plain)
        number, decimals, unit, per_token = found.groups() if found else (plain, None, None, None)
        parse_size(f"{number} {unit or ''}")  # raises for what is no size or has no single meaning
        within = Fraction(1, 2 * 10 ** len(decimals or ""))
        return cls(Fraction(number), _UNITS[(unit or "").lower()], within, per_token is not None)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_model(parser)
    parser.add_argument("--got", metavar="FIGURE", required=True, help='such as "1.6 GB" or "512 KiB/token"')
    add_assumptions(parser)
    add_lengths(parser)


def run(args: argparse.Namespace) -> int:
    figure = Figure.parse(args.got)
    subject = find(args.model, assume=args.assume, from_hub=args.hub)
    storage = parse_storage(args.dtype or subject.model.dtype or "fp16")
    if figure.per_token:
        args.tokens, args.batch = 1, 1
    if not args.tokens or not args.batch:
        raise UserError(
            "a figure for how many tokens? Give --tokens (1 for one token) and a --batch of 1 or more."
        )
    alike = shape(subject, storage)
    size = subject.model.bytes(args.tokens, args.batch, storage)
    print(f"{subject.name}, {_asked(args)} in {storage.name}: {size:,} bytes = {both(size)}.")
    right = Fraction(size, parse_size(f"1 {figure.unit}"))
    if abs(figure.number - right) <= figure.within:
        print(f"{args.got.strip()} is right.")
        return 0
    number, within = float(figure.number), float(figure.within)
    if alike is not None:
        asked = {"tokens": args.tokens, "batch": args.batch, "unit": figure.unit}
        matches = diagnose("kv_bytes", number, within=within, **alike, **asked)
    else:
        matches = kind_mistakes.diagnose(
            subject.model, number, storage, args.tokens, args.batch, figure.unit, within
        )
    print("\n".join(_explained(args.got.strip(), figure, right, matches)))
    return 1


def shape(subject: Subject, storage: Storage) -> dict | None:
    """What the catalog of mistakes asks for, from a model whose layers are all alike; None for others."""
    layer = subject.model.layers[0]
    alike = len(subject.model.groups()) == 1 and isinstance(layer, FullAttention) and layer.value_dim is None
    if not alike or storage.key != storage.value:
        return None
    facts = {fact.name: fact.value for fact in subject.model.facts}
    return {
        "num_layers": len(subject.model.layers),
        "num_kv_heads": layer.kv_heads,
        "head_dim": layer.head_dim,
        # Of a whole row, as it is stored: a scale for each head (q8_kv) or a last group part empty counts.
        "dtype_bytes": storage.key.bytes(row := layer.kv_heads * layer.head_dim, layer.kv_heads) / row,
        "num_heads": facts.get("num_heads"),
        "hidden_size": facts.get("hidden_size"),
    }


def _asked(args: argparse.Namespace) -> str:
    tokens = "one token" if args.tokens == 1 else f"{args.tokens:,} tokens"
    return tokens if args.batch == 1 else f"{args.batch:,} sequences of {tokens}"


def _explained(text: str, figure: Figure, right: Fraction, matches: list[Match]) -> list[str]:
    factor = float(figure.number / right)
    if not matches and abs(factor - 1) < 0.005:
        return [f"{text} is close, but off by more than half of its last digit: {abs(factor - 1):.2%}."]
    lines = [f"{text} is {factor:.3g} times that."]
    if not matches:
        return [*lines, "No known mistake gives it."]
    several = "" if len(matches) == 1 else f" ({len(matches)} give it, so it may be any of them)"
    lines.append(f"What gives it{several}:")
    return lines + [f"  - {match.name}. {match.hint}" for match in matches]
