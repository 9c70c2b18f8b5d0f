"""`kvcourse size MODEL`: what its cache costs, for a token, a sequence and a batch, beside its weights."""

import argparse
import json
from dataclasses import dataclass

from kvcourse import registry
from kvcourse.commands import explain
from kvcourse.commands.subject import Subject, add_assumptions, add_lengths, add_model, count, find
from kvcourse.errors import UserError
from kvcourse.memory import (
    CacheModel,
    Storage,
    beam_bytes,
    blocks_for,
    expanded,
    parse_storage,
    refuse_context_parallel,
    sequences_to_exceed,
    tokens_to_reach,
    weight_bytes,
)
from kvcourse.memory.reserved import reserved
from kvcourse.units import format_size


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_model(parser)
    add_assumptions(parser)
    add_lengths(parser)
    parser.add_argument(
        "--weights", metavar="D", help="dtype of the weights, or q4_k, int4_g128, ... (default: as published)"
    )
    parser.add_argument(
        "--params", type=count, metavar="N", help="number of parameters, where it is not known"
    )
    parser.add_argument("--source", type=count, metavar="N", help="tokens of an encoder-decoder's source")
    parser.add_argument(
        "--tp", type=count, metavar="N", default=1, help="on each of N tensor-parallel devices"
    )
    parser.add_argument(
        "--dcp", type=count, metavar="N", default=1, help="of which N share the tokens (context parallel)"
    )
    parser.add_argument("--block", type=count, metavar="N", default=1, help="in whole blocks of N tokens")
    parser.add_argument("--beams", type=count, metavar="N", default=1, help="beams a sequence")
    parser.add_argument(
        "--reserved", action="store_true", help="windowed layers as long as the others, as some servers keep"
    )
    parser.add_argument(
        "--expanded", action="store_true", help="latents as the keys and values of every head that they give"
    )
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="exact bytes, for programs")
    form.add_argument("--explain", action="store_true", help="every factor, and where it came from")
    form.add_argument("--list", action="store_true", help="the published models that are known by name")


@dataclass(frozen=True)
class Sizes:
    """Exact bytes of one model's cache. What rests on the weights is None where their number is unknown."""

    subject: Subject
    model: CacheModel  # one device's share
    storage: Storage
    tokens: int
    batch: int
    ranks: int
    first_token: int
    next_token: int  # what a token adds once `tokens` are held: less, where windows are full
    sequence: int
    total: int
    weights_dtype: str
    weights: int | None
    sequences_to_exceed: int | None
    tokens_to_reach: int | None
    stored: int  # tokens of a sequence on this device, in whole blocks
    beams: int


def measure(args: argparse.Namespace) -> Sizes:
    """The sizes that the arguments ask for. Raises UserError."""
    subject = find(args.model, args.params, args.source, args.assume, args.hub)
    storage = parse_storage(args.dtype or subject.model.dtype or "fp16")
    tokens = subject.model.max_tokens if args.tokens is None else args.tokens
    if tokens is None:
        raise UserError("the configuration does not tell the longest context; give --tokens.")
    model, stored = share(subject.model, args, tokens)
    sequence = beam_bytes(model, stored, args.beams, storage)
    first = model.bytes_per_token(storage)
    later = model.bytes_per_token(storage, held=stored, over=model.period())
    dtype = args.weights or subject.model.dtype or "fp16"
    weights = None if subject.parameters is None else weight_bytes(subject.parameters, dtype) // args.tp
    even = stored == tokens and sequence == tokens * first  # every token adds as much
    return Sizes(
        subject, model, storage, tokens, args.batch, args.tp, first, later, sequence, args.batch * sequence,
        dtype, weights,
        sequences_to_exceed(sequence, weights) if weights and sequence else None,
        tokens_to_reach(weights, first) if weights and first and even else None,
        stored, args.beams,
    )  # fmt: skip


def share(model: CacheModel, args: argparse.Namespace, tokens: int) -> tuple[CacheModel, int]:
    """What one device holds of every layer, and how many tokens of a sequence, in whole blocks."""
    if args.expanded:
        model = expanded(model)
    if args.reserved:
        model = reserved(model)
    if args.dcp != 1:
        refuse_context_parallel(model, args.tp, args.dcp)
    each = blocks_for(tokens, max(args.dcp, 1))  # the largest share, where the tokens do not divide
    stored = blocks_for(each, args.block) * args.block
    return model if args.tp == 1 else model.shard(args.tp), stored


def run(args: argparse.Namespace) -> int:
    if args.list:
        print("\n".join(f"{model.name:24} {model.organization}" for model in registry.models()))
        return 0
    sizes = measure(args)
    if args.json:
        print(json.dumps(as_json(sizes), indent=2))
    else:
        print(explain.text(sizes) if args.explain else table(sizes))
    return 0


def table(sizes: Sizes) -> str:
    """The answer for people: GiB (1024) with GB (1000) beside it."""
    rows = [(f"{sizes.subject.name}, cache in {sizes.storage.name}", "", "")]
    even = sizes.next_token == sizes.first_token
    rows += [("  each token" if even else "  the first token", *_both(sizes.first_token))]
    if not even:
        rows += [(f"  one more after {sizes.tokens:,}", *_both(sizes.next_token))]
    kept = "" if sizes.stored == sizes.tokens else f", {sizes.stored:,} stored"
    kept += "" if sizes.beams == 1 else f", {sizes.beams:,} beams"
    rows += [(f"  one sequence of {sizes.tokens:,} tokens{kept}", *_both(sizes.sequence))]
    if sizes.batch != 1:
        rows += [(f"  {sizes.batch:,} such sequences", *_both(sizes.total))]
    if sizes.weights is not None:
        rows += [
            (f"  weights, {_short(sizes.subject.parameters)} in {sizes.weights_dtype}", *_both(sizes.weights))
        ]
    width = max(len(label) for label, *_ in rows) + 2
    lines = [f"{label:{width}}{binary:>12}  {decimal:>12}".rstrip() for label, binary, decimal in rows]
    if sizes.ranks != 1:
        lines[0] += f", on each of {sizes.ranks} devices"
    return "\n".join(lines + crossover(sizes) + layers(sizes))


def crossover(sizes: Sizes) -> list[str]:
    """Where the caches pass the weights, in words; or what is missing for saying it."""
    if sizes.weights is None:
        return ["  weights: the number of parameters is unknown here; give it with --params"]
    if sizes.sequences_to_exceed is None:
        return []
    line = f"  The caches pass the weights with sequence number {sizes.sequences_to_exceed:,}"
    if sizes.tokens_to_reach is not None:
        line += f" ({sizes.tokens_to_reach:,} tokens in all)"
    return [line + "."]


def layers(sizes: Sizes) -> list[str]:
    kinds = [f"{number} x {layer.describe()}" for layer, number in sizes.model.groups()]
    return [f"  Layers: {'; '.join(kinds)}."]


def as_json(sizes: Sizes) -> dict:
    """The same in exact numbers: bytes are whole, and nothing is rounded."""
    return {
        "model": sizes.subject.name,
        "source": sizes.subject.source,
        "model_type": sizes.model.model_type,
        "tokens": sizes.tokens,
        "batch": sizes.batch,
        "devices": sizes.ranks,
        "stored_tokens": sizes.stored,
        "beams": sizes.beams,
        "cache_dtype": {"keys": sizes.storage.key.name, "values": sizes.storage.value.name},
        "bytes_per_token": sizes.first_token,
        "bytes_per_token_after": sizes.next_token,
        "bytes_per_sequence": sizes.sequence,
        "bytes": sizes.total,
        "parameters": sizes.subject.parameters,
        "weights_dtype": sizes.weights_dtype,
        "weight_bytes": sizes.weights,
        "sequences_to_exceed_weights": sizes.sequences_to_exceed,
        "tokens_to_reach_weights": sizes.tokens_to_reach,
        "layers": [{"count": n, "kind": layer.describe()} for layer, n in sizes.model.groups()],
        "facts": [{"name": f.name, "value": f.value, "source": f.source} for f in sizes.model.facts],
    }


def _both(size: int) -> tuple[str, str]:
    return format_size(size), format_size(size, base=10)


def _short(parameters: int) -> str:
    """6,738,415,616 as "6.74 B parameters"."""
    for size, letter in ((10**12, "T"), (10**9, "B"), (10**6, "M")):
        if parameters >= size:
            return f"{parameters / size:.3g} {letter} parameters"
    return f"{parameters:,} parameters"
