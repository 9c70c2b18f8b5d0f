"""How much memory a server keeps for its KV cache: one rule an engine, from the engine's own flag.

The flags look alike and mean different things: a share of the whole device, a share of what the weights leave
free, or a number of tokens. Rules and defaults as the projects' documentation gave them in November 2026.
"""

from collections.abc import Callable
from dataclasses import dataclass

from kvcourse.errors import UserError, shown
from kvcourse.memory import CacheModel, Storage, blocks_for


@dataclass(frozen=True)
class Device:
    """One device as a server finds it: all its memory, its share of the weights, and everything else."""

    total: int
    weights: int
    other: int  # activations, CUDA graphs and context, libraries

    @property
    def left(self) -> int:
        return self.total - self.weights - self.other


@dataclass(frozen=True)
class Engine:
    """What one engine's flag means. `block` is the number of tokens it hands out at a time."""

    name: str
    flag: str
    fraction: float | None  # the flag's default; None where the flag counts tokens
    block: int
    meaning: str
    rule: Callable[[Device, float], float]
    source: str
    rounds_up: bool = False  # counts tokens first and gives the last of them a whole block

    def pool_bytes(self, device: Device, fraction: float | None = None) -> int:
        """Bytes for the cache; 0 where the weights and the rest leave none. Raises UserError."""
        share = self.fraction if fraction is None else fraction
        if self.fraction is None:
            share = 1.0
        elif isinstance(share, bool) or not isinstance(share, (int, float)) or not 0 < share <= 1:
            raise UserError(f"{self.flag} is a fraction above 0 and at most 1; got {shown(share)}.")
        return max(int(self.rule(device, share)), 0)

    def blocks(self, room: int, block_bytes: int) -> int:
        """Blocks that the engine makes of `room` bytes."""
        if self.rounds_up:
            return -(-(room * self.block // block_bytes) // self.block)
        return room // block_bytes


# vLLM and SGLang take a share of the whole device and pay the weights from it. SGLang's share does not pay
# for activations: those must fit into the rest, so whatever exceeds the rest is missing.
ENGINES = (
    Engine(
        "vLLM", "--gpu-memory-utilization", 0.92, 16,
        "share of the whole device, weights and activations included",
        lambda device, share: share * device.total - device.weights - device.other,
        "vllm/config/cache.py; 0.9 in releases before 2026",
    ),
    Engine(
        "SGLang", "--mem-fraction-static", 0.83, 1,
        "share of the whole device for weights and cache; the rest is for activations",
        lambda device, share: min(share * device.total - device.weights, device.left),
        "hyperparameter_tuning; the default is computed at the start, and about 0.83 has been seen",
    ),
    Engine(
        "TensorRT-LLM", "free_gpu_memory_fraction", 0.9, 32,
        "share of what is free once the model is loaded",
        lambda device, share: share * device.left,
        "KvCacheConfig; blocks as in NVIDIA/TensorRT-LLM issues 224 and 2268",
        rounds_up=True,
    ),
    Engine(
        "llama.cpp", "--ctx-size", None, 256,
        "tokens of all slots together, not bytes; whatever is left could hold these",
        lambda device, _: device.left,
        "tools/server/README; cells are rounded up to 256",
    ),
)  # fmt: skip


def find_engine(name: str) -> Engine:
    """The engine called `name`, in any case and with or without punctuation. Raises UserError."""
    plain = "".join(c for c in name.lower() if c.isalnum())
    aliases = {"trtllm": "tensorrtllm", "trt": "tensorrtllm", "llama": "llamacpp"}
    for engine in ENGINES:
        if "".join(c for c in engine.name.lower() if c.isalnum()) == aliases.get(plain, plain):
            return engine
    raise UserError(f"no engine {shown(name)} here; expected one of {', '.join(e.name for e in ENGINES)}.")


@dataclass(frozen=True)
class Pool:
    """What fits into a pool: whole sequences of one length, and tokens if all sequences are that long."""

    engine: Engine
    bytes: int
    sequences: int
    concurrency: float  # with a fraction, as vLLM prints it
    tokens: int  # in sequences of that length


def pool(
    engine: Engine, device: Device, model: CacheModel, storage: Storage, context: int, fraction: float | None
) -> Pool:
    """The pool of one device that holds its share of `model`. A sequence takes whole blocks.

    Layers that keep a window count at what they use: engines that give every layer the same blocks need more.
    """
    room = engine.pool_bytes(device, fraction)
    padded = blocks_for(context, engine.block) * engine.block
    one, block = model.bytes(padded, dtype=storage), model.bytes(engine.block, dtype=storage)
    if not one:
        raise UserError(f"a sequence of {context:,} tokens takes no memory in this model: no limit to plan.")
    if one != padded // engine.block * block:  # windows, states: a token has no single price
        return Pool(engine, room, room // one, room / one, room * context // one)
    tokens = engine.blocks(room, block) * engine.block
    return Pool(engine, room, tokens // padded, tokens / padded, tokens)
