"""`kvcourse plan --model Llama-3.1-8B --gpu 80GiB`: how many sequences each engine holds beside the weights.

Exits 1 where a listed engine cannot hold a single sequence of the context: vLLM, for one, refuses to start.
"""

import argparse
import json
from dataclasses import dataclass
from pathlib import Path

from kvcourse.commands.subject import Subject, count, find
from kvcourse.engines import ENGINES, Device, Engine, Gpu, Pool, find_engine, find_gpu, pool
from kvcourse.errors import UserError
from kvcourse.memory import (
    CacheModel,
    Storage,
    decode_seconds,
    parse_storage,
    sequences_to_exceed,
    weight_bytes,
)
from kvcourse.units import both, format_size, parse_size


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--model", metavar="MODEL", required=True, help="a name, a config.json, or its folder"
    )
    parser.add_argument("--gpu", metavar="GPU", required=True, help='its memory, "80GiB", or a name, "H100"')
    parser.add_argument("--tp", type=count, default=1, metavar="N", help="tensor-parallel GPUs (default: 1)")
    parser.add_argument(
        "--engine", metavar="E", help=f"one of {', '.join(e.name for e in ENGINES)} (default: all)"
    )
    parser.add_argument(
        "--fraction", type=float, metavar="F", help="the flag's value (default: each engine's own)"
    )
    parser.add_argument("--context", type=count, metavar="N", help="tokens a sequence (default: the most)")
    parser.add_argument("--dtype", metavar="D", help="of the cache: fp16, bf16, fp8, q8_0/f16, ...")
    parser.add_argument("--weights", metavar="D", help='of the weights: a dtype, or their size, "4.1GiB"')
    parser.add_argument("--params", type=count, metavar="N", help="parameters, where they are not known")
    parser.add_argument(
        "--other", default="1GiB", metavar="SIZE", help="activations, graphs and libraries (default: 1GiB)"
    )
    output = parser.add_mutually_exclusive_group()
    output.add_argument("--json", action="store_true", help="exact figures as JSON")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="also draw sequences against context")


@dataclass(frozen=True)
class Plan:
    """One model on one kind of GPU: what is there, what it takes, and each engine's pool, by device."""

    subject: Subject
    gpu: Gpu
    ranks: int
    device: Device
    model: CacheModel  # one device's share
    storage: Storage
    context: int
    sequence: int  # bytes of one sequence on one device
    weights: str  # as what the weights are counted
    fraction: float | None  # of the one engine asked for; None is each engine's default
    pools: tuple[Pool, ...]

    @property
    def fits(self) -> bool:
        return all(p.sequences for p in self.pools)

    @property
    def most(self) -> int:
        return max(p.sequences for p in self.pools)

    def step_seconds(self, sequences: int) -> float | None:
        """Bandwidth bound of a decode step; None where the GPU's bandwidth is not known."""
        if self.gpu.bandwidth is None:
            return None
        return decode_seconds(self.device.weights, sequences * self.sequence, self.gpu.bandwidth)


def measure(args: argparse.Namespace) -> Plan:
    """The plan that the arguments ask for. Raises UserError."""
    gpu, subject = find_gpu(args.gpu), find(args.model, args.params)
    engines = ENGINES if args.engine is None else (find_engine(args.engine),)
    if args.fraction is not None and args.engine is None:
        raise UserError("--fraction means something else to each engine; expected an --engine with it.")
    if args.fraction is not None and engines[0].fraction is None:
        raise UserError(f"{engines[0].flag} of {engines[0].name} counts tokens; expected no --fraction.")
    context = subject.model.max_tokens if args.context is None else args.context
    if not context:
        raise UserError("a sequence of how many tokens? Expected --context with 1 or more.")
    if not args.tp:
        raise UserError("--tp is 0; expected 1 GPU or more.")
    storage = parse_storage(args.dtype or subject.model.dtype or "fp16")
    model = subject.model if args.tp == 1 else subject.model.shard(args.tp)
    size, named = _weights(subject, args.weights)
    device = Device(gpu.memory, -(-size // args.tp), parse_size(args.other))
    return Plan(
        subject, gpu, args.tp, device, model, storage, context, model.bytes(context, dtype=storage), named,
        args.fraction,
        tuple(pool(engine, device, model, storage, context, args.fraction) for engine in engines),
    )  # fmt: skip


def _weights(subject: Subject, text: str | None) -> tuple[int, str]:
    """Bytes of all weights and how they were counted. A size is taken as it is, a dtype is multiplied out."""
    if text is not None and text.strip()[:1].isdigit():
        return parse_size(text), "as given"
    if subject.parameters is None:
        raise UserError(
            f"{subject.name}: the number of parameters is unknown here; expected --params, or the weights' "
            "size with --weights."
        )
    dtype = text or subject.model.dtype or "fp16"
    return weight_bytes(subject.parameters, dtype), f"{subject.parameters:,} in {dtype}"


def run(args: argparse.Namespace) -> int:
    plan = measure(args)
    if args.plot:
        from kvcourse.commands.plan_plot import draw

        draw(plan, args.plot)
    print(json.dumps(as_json(plan), indent=2) if args.json else table(plan))
    return 0 if plan.fits else 1


def table(plan: Plan) -> str:
    """The plan for people: GiB (1024), with GB (1000) beside the sizes that others print."""
    each = f" (each of {plan.ranks})" if plan.ranks != 1 else ""
    rows = [
        (f"{plan.gpu.name}{each}", both(plan.device.total)),
        (f"weights, {plan.weights}", both(plan.device.weights)),
        ("activations, graphs, libraries (--other)", both(plan.device.other)),
        (f"one sequence of {plan.context:,} tokens in {plan.storage.name}", both(plan.sequence)),
    ]
    width = max(len(label) for label, _ in rows) + 2
    lines = [plan.subject.name] + [f"  {label:{width}}{size}" for label, size in rows] + [""]
    lines.append(f"  {'engine':13}{'setting':29} {'KV cache':>9} {'tokens':>9} {'sequences':>9}")
    lines += [_row(plan, found) for found in plan.pools]
    return "\n".join(lines + _conclusions(plan))


def _row(plan: Plan, found: Pool) -> str:
    engine: Engine = found.engine
    value = found.tokens if engine.fraction is None else plan.fraction or engine.fraction
    number = f"{value:g}" if isinstance(value, float) else value
    setting = f"{engine.flag.lstrip('-')} {number}"
    return (
        f"  {engine.name:13}{setting:29} {format_size(found.bytes):>9} {found.tokens:>9,} "
        f"{found.concurrency:>9.2f}"
    )


def _conclusions(plan: Plan) -> list[str]:
    lines = [""]
    none = [found.engine.name for found in plan.pools if not found.sequences]
    if none:
        lines.append(f"  No room for one sequence of {plan.context:,} tokens: {', '.join(none)}.")
    crossing = sequences_to_exceed(plan.sequence, plan.device.weights)
    lines.append(f"  The caches pass the weights with sequence number {crossing:,}.")
    if plan.gpu.bandwidth is not None and plan.most:
        one, full = plan.step_seconds(1), plan.step_seconds(plan.most)
        rates = f"{1 / one:,.0f} and {plan.most / full:,.0f} tokens a second at best."
        lines += [
            f"  Reading all weights and caches takes {1000 * one:.1f} ms a step for 1 sequence,",
            f"  {1000 * full:.1f} ms for {plan.most:,}: {rates}",
            "  (A mixture of experts may read fewer weights.)",
        ]
    return lines


def as_json(plan: Plan) -> dict:
    """The same in exact numbers: bytes are whole, and nothing is rounded."""
    return {
        "model": plan.subject.name,
        "gpu": {"name": plan.gpu.name, "bytes": plan.gpu.memory, "bytes_per_second": plan.gpu.bandwidth,
                "source": plan.gpu.source},
        "devices": plan.ranks,
        "context": plan.context,
        "cache_dtype": {"keys": plan.storage.key.name, "values": plan.storage.value.name},
        "weight_bytes": plan.device.weights,
        "other_bytes": plan.device.other,
        "bytes_per_sequence": plan.sequence,
        "sequences_to_exceed_weights": sequences_to_exceed(plan.sequence, plan.device.weights),
        "step_seconds": {"one_sequence": plan.step_seconds(1), "full": plan.step_seconds(plan.most)},
        "engines": [
            {"engine": found.engine.name, "flag": found.engine.flag, "meaning": found.engine.meaning,
             "pool_bytes": found.bytes, "pool_tokens": found.tokens, "sequences": found.sequences,
             "concurrency": round(found.concurrency, 4)}
            for found in plan.pools
        ],
    }  # fmt: skip
