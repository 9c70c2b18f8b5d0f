"""Model types whose attention layers differ among themselves: chunks, shared caches, compressed pasts."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace

from kvcourse.errors import ConfigError, shown
from kvcourse.memory.compressed import CompressedAttention
from kvcourse.memory.families.attention import Attention
from kvcourse.memory.fields import Fields
from kvcourse.memory.layers import ChunkedAttention, FullAttention, Layer, SharedCache, SlidingAttention


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
        chunk = fields.given("attention_chunk_size", 8192)
        period = fields.given("no_rope_layer_interval", 4)
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

    shared: int = 0
    global_head_dim: int | None = None  # class default; None: full layers are as wide as the others

    def build(self, fields: Fields, full: FullAttention, layers: int) -> tuple[Layer, ...]:
        kinds = self.kinds(fields, layers, "sliding_attention")
        shared = fields.given("num_kv_shared_layers", self.shared, least=0)
        if shared > layers:
            raise ConfigError(f"field 'num_kv_shared_layers' is {shared}; expected at most {layers}.")
        sliding = SlidingAttention(fields.given("sliding_window", 512), full)
        if self.global_head_dim is not None:
            full = self.wide(fields, full)
            kinds[-1] = "full_attention"  # the class makes it so whatever the list says
        kept = [full if kind == "full_attention" else sliding for kind in kinds[: layers - shared]]
        return (*kept, *[SharedCache()] * shared)

    def wide(self, fields: Fields, full: FullAttention) -> FullAttention:
        width = fields.given("global_head_dim", self.global_head_dim)
        same = fields.flag("attention_k_eq_v", False)
        heads = fields.get("num_global_key_value_heads") if same else None
        fields.get("num_global_key_value_heads")
        if heads is not None:
            heads = fields.count("num_global_kv_heads", "num_global_key_value_heads")
        return replace(full, head_dim=width, kv_heads=heads or full.kv_heads)


_ABOUT_PROJECTIONS = (
    "num_key_value_heads", "num_attention_heads", "q_lora_rank", "o_lora_rank", "index_n_heads", "index_topk",
    "qk_rope_head_dim", "compress_rope_theta", "layer_types",
)  # fmt: skip


@dataclass(frozen=True)
class DeepSeekV4:
    """`compress_ratios` has one for each layer: 0 keeps the window alone, the finest has an indexer."""

    def __call__(self, fields: Fields) -> tuple[Layer, ...]:
        layers = fields.count("num_layers", "num_hidden_layers")
        for unused in _ABOUT_PROJECTIONS:
            fields.get(unused)
        window, width = fields.given("sliding_window", 128), fields.given("head_dim", 512)
        index = fields.given("index_head_dim", 128)
        ratios = fields.get("compress_ratios")
        whole_numbers = isinstance(ratios, list) and all(
            type(ratio) is int and ratio >= 0 for ratio in ratios
        )
        if not whole_numbers or len(ratios) < layers:
            raise ConfigError(
                f"field 'compress_ratios' is {shown(ratios)}; expected a whole number for each layer."
            )
        ratios = ratios[:layers]  # what follows belongs to multi-token prediction
        finest = min((ratio for ratio in ratios if ratio), default=0)
        return tuple(
            CompressedAttention(window, ratio, width, index if ratio and ratio == finest else 0)
            for ratio in ratios
        )


FAMILIES = {
    "deepseek_v4": DeepSeekV4(),
    "gemma3n_text": Gemma(Attention(absent_kv_heads=2, absent_head_dim=256), 5, shared=15),
    "gemma4_text": Gemma(Attention(absent_kv_heads=4, absent_head_dim=256), 6, global_head_dim=512),
    "llama4_text": Llama4(Attention(absent_kv_heads=8, absent_head_dim=128), 4),
}
