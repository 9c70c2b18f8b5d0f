"""Model types whose attention layers differ among themselves: chunks, shared caches, compressed pasts."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace

from kvcourse.errors import ConfigError, shown
from kvcourse.memory.compressed import CompressedAttention
from kvcourse.memory.families.attention import Attention
from kvcourse.memory.fields import Fields
from kvcourse.memory.layers import (
    ChunkedAttention,
    CrossAttention,
    FullAttention,
    IndexKeys,
    Layer,
    SharedCache,
    SlidingAttention,
    Together,
)


@dataclass(frozen=True)
class Mixed(ABC):
    """Layers of two kinds over one set of heads; every `period`th is full where no list names them."""

    attention: Attention
    period: int

    def __call__(self, fields: Fields) -> tuple[Layer, ...]:
        layers = fields.count("num_layers", "num_hidden_layers")
        full = self.attention.full_attention(fields)
        return self.build(fields, full, layers)

    @abstractmethod
    def build(self, fields: Fields, full: FullAttention, layers: int) -> tuple[Layer, ...]:
        """The layers in order; `full` has the heads that the file gives."""

    def kinds(self, fields: Fields, layers: int, other: str) -> list[str]:
        named = fields.names("layer_types", layers)
        usual = [other if (i + 1) % self.period else "full_attention" for i in range(layers)]
        kinds = list(named or usual)  # a copy: the caller's file stays as it is
        for kind in kinds:
            if kind not in ("full_attention", other):
                raise ConfigError(f"field 'layer_types' has a layer of kind {shown(kind)}, not covered here.")
        return kinds


class Llama4(Mixed):
    """Three chunked layers, then one that attends to everything."""

    def build(self, fields: Fields, full: FullAttention, layers: int) -> tuple[Layer, ...]:
        chunk = fields.given("attention_chunk_size")
        period = fields.given("no_rope_layer_interval", default=4)
        uses_rope = fields.get("no_rope_layers") or [(i + 1) % period for i in range(layers)]
        if not isinstance(uses_rope, list) or len(uses_rope) != layers:
            raise ConfigError(f"field 'no_rope_layers' is {shown(uses_rope)}; expected one for each layer.")
        if not all(type(rope) is int and rope >= 0 for rope in uses_rope):
            raise ConfigError(
                f"field 'no_rope_layers' is {shown(uses_rope)}; expected 0 or 1 for each layer."
            )
        named = self.kinds(fields, layers, "chunked_attention") if fields.get("layer_types") else None
        kinds = named or ["chunked_attention" if rope else "full_attention" for rope in uses_rope]
        chunked = ChunkedAttention(chunk, full)
        return tuple(full if kind == "full_attention" else chunked for kind in kinds)


@dataclass(frozen=True)
class Gemma(Mixed):
    """The last `num_kv_shared_layers` read the caches of earlier ones; full layers may have wider heads."""

    global_head_dim: int | None = None  # where the file names none; None: as wide as the others

    def build(self, fields: Fields, full: FullAttention, layers: int) -> tuple[Layer, ...]:
        kinds = self.kinds(fields, layers, "sliding_attention")
        shared = fields.given("num_kv_shared_layers", least=0, default=0)
        if shared > layers:
            raise ConfigError(f"field 'num_kv_shared_layers' is {shared}; expected at most {layers}.")
        sliding = SlidingAttention(fields.given("sliding_window"), full)
        if self.global_head_dim is not None:
            if fields.get("per_layer_config") is None:
                full = self.wide(fields, full)
            fields.ignore("attention_k_eq_v")
            kinds[-1] = "full_attention"  # the class makes it so whatever the list says
        kept = [full if kind == "full_attention" else sliding for kind in kinds[: layers - shared]]
        return (*kept, *[SharedCache()] * shared)

    def wide(self, fields: Fields, full: FullAttention) -> FullAttention:
        width = fields.given("global_head_dim", default=self.global_head_dim)
        # A class that knows the flag asks for it before it gives full layers heads of their own.
        same = fields.flag("attention_k_eq_v") if fields.default("attention_k_eq_v") is not None else True
        heads = fields.optional("num_global_kv_heads", "num_global_key_value_heads") if same else None
        fields.ignore("num_global_key_value_heads", "attention_k_eq_v")
        return replace(full, head_dim=width, kv_heads=heads or full.kv_heads)


_ABOUT_PROJECTIONS = (
    "num_key_value_heads", "num_attention_heads", "q_lora_rank", "o_lora_rank", "index_n_heads", "index_topk",
    "qk_rope_head_dim", "compress_rope_theta",
)  # fmt: skip


def _is_ratio(value: object) -> bool:
    return type(value) is int and 0 <= value <= 10**6


@dataclass(frozen=True)
class DeepSeekV4:
    """`compress_ratios` has one for each layer: 0 keeps the window alone, the finest has an indexer."""

    def __call__(self, fields: Fields) -> tuple[Layer, ...]:
        layers = fields.count("num_layers", "num_hidden_layers")
        fields.ignore(*_ABOUT_PROJECTIONS)
        window, width = fields.given("sliding_window"), fields.given("head_dim")
        index = fields.given("index_head_dim")
        ratios = self.ratios(fields, layers)
        finest = min((ratio for ratio in ratios if ratio), default=0)
        return tuple(
            CompressedAttention(window, ratio, width, index if ratio and ratio == finest else 0)
            for ratio in ratios
        )

    def ratios(self, fields: Fields, layers: int) -> list[int]:
        """As listed for each layer, or by the names of kinds, whose rates `compress_rates` may give."""
        ratios, kinds = fields.get("compress_ratios"), fields.names("layer_types", layers)
        if ratios is None and kinds is not None:
            rates = fields.get("compress_rates") or {}
            if not isinstance(rates, dict):
                raise ConfigError(f"field 'compress_rates' is {shown(rates)}; expected a JSON object.")
            if not all(map(_is_ratio, rates.values())):
                raise ConfigError(f"field 'compress_rates' is {shown(rates)}; expected whole numbers.")
            rates = {"sliding_attention": 0, "compressed_sparse_attention": 4,
                     "heavily_compressed_attention": 128} | rates  # fmt: skip
            ratios = [rates.get(kind) for kind in kinds]
        fields.ignore("layer_types", "compress_rates")
        if not isinstance(ratios, list) or not all(map(_is_ratio, ratios)) or len(ratios) < layers:
            raise ConfigError(
                f"field 'compress_ratios' is {shown(ratios)}; expected a whole number for each layer."
            )
        return ratios[:layers]  # what follows belongs to multi-token prediction


def deepseek_v41(fields: Fields) -> tuple[Layer, ...]:
    """Every layer keeps a window; only `kv_source_layer_ids` compress a past, which later layers read.

    `compress_ratios` says of the others what they read. The indexers of all layers read the keys of the
    sources, which are made from the compressed vectors: entries do not overlap and only they wait (ROCm/ATOM
    006fa47a, v41_pool_geometry.py). What waits has the cache's format here, fp32 on servers; the few token
    ids that Engram hashes are left out.
    """
    layers = fields.count("num_layers", "num_hidden_layers")
    fields.ignore(*_ABOUT_PROJECTIONS, "engram_compressed_vocab_size")
    window, width = fields.given("sliding_window"), fields.given("head_dim")
    index, ratios = fields.given("index_head_dim"), DeepSeekV4().ratios(fields, layers)
    sources = fields.indices("kv_source_layer_ids", layers)
    fields.indices("index_source_layer_ids", layers)
    reading = [layer for layer, ratio in enumerate(ratios) if ratio]
    if sources is None:
        raise ConfigError("field 'kv_source_layer_ids' is missing; expected the layers that compress a past.")
    if not sources <= set(reading) or (reading and reading[0] not in sources):
        raise ConfigError(
            f"field 'kv_source_layer_ids' is {shown(fields.get('kv_source_layer_ids'))}; expected layers "
            "that have a ratio in compress_ratios, the first of these among them."
        )
    return tuple(
        Together((CompressedAttention(window, ratio, width), IndexKeys(index, ratio)))
        if layer in sources
        else CompressedAttention(window, 0, width)
        for layer, ratio in enumerate(ratios)
    )


@dataclass(frozen=True)
class CrossLayers:
    """Llama 3.2 Vision: the layers that `cross_attention_layers` names read an image, and only that."""

    def __call__(self, fields: Fields) -> tuple[Layer, ...]:
        layers = fields.count("num_layers", "num_hidden_layers")
        full = Attention().full_attention(fields)
        usual = range(3, layers, 5)
        crossing = fields.indices("cross_attention_layers", layers)
        crossing = set(usual) if crossing is None else crossing
        cross = CrossAttention(self.source(fields), full)
        return tuple(cross if i in crossing else full for i in range(layers))

    def source(self, fields: Fields) -> int:
        """Tokens of what the cross-attention reads: as given, or those of one image in its most tiles."""
        if fields.source_tokens is not None:
            return fields.note("source_tokens", fields.source_tokens, "as given")
        vision = fields.outer.get("vision_config")
        if not isinstance(vision, dict):
            raise ConfigError(
                "the configuration does not tell how many tokens an image has; give source_tokens (--source)."
            )
        inner = Fields(vision)
        size, patch = (
            inner.count("image_size", "image_size", default=448),
            inner.count("patch_size", "patch_size", default=14),
        )
        tiles = inner.count("max_num_tiles", "max_num_tiles", default=4)
        tokens = tiles * ((size // patch) ** 2 + 1)
        return fields.note(
            "source_tokens", tokens, f"one image of {tiles} tiles, {size} pixels, patches of {patch}"
        )


FAMILIES = {
    "deepseek_v4": DeepSeekV4(),
    "deepseek_v41_text": deepseek_v41,
    "diffusion_gemma_text": Gemma(Attention(), 6, global_head_dim=512),
    "gemma3n_text": Gemma(Attention(), 5),
    "gemma4_text": Gemma(Attention(), 6, global_head_dim=512),
    "gemma4_unified_text": Gemma(Attention(), 6, global_head_dim=512),
    "llama4_text": Llama4(Attention(), 4),
    "mllama_text_model": CrossLayers(),
}
