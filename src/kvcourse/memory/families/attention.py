"""Model types whose layers attend: MHA, GQA and MQA, over every token or over a window.

Each entry repeats what Transformers' configuration class of that type (v5.24, `configuration_*.py`) means by
a field that the file leaves out.
"""

from collections.abc import Callable
from dataclasses import dataclass

from kvcourse.errors import ConfigError, shown
from kvcourse.memory.fields import CLASS_DEFAULT, Fields
from kvcourse.memory.layers import FullAttention, Layer, SlidingAttention

Windows = Callable[[Fields, int], list[int | None]]  # the window of each layer; None attends to every token


def full(fields: Fields, layers: int) -> list[int | None]:
    return _windows(fields, layers, {"full_attention": None, "attention": None}, ["full_attention"] * layers)


def minimax(fields: Fields, layers: int) -> list[int | None]:
    """MiniMax-M2's files say 1 for each layer of softmax attention; 0 was the older models' linear kind."""
    kinds = fields.get("attn_type_list")
    if kinds is not None and kinds != [1] * layers:
        raise ConfigError(
            f"field 'attn_type_list' is {shown(kinds)}; expected 1 for each of {layers} layers."
        )
    return full(fields, layers)


def _sliding(
    fields: Fields, layers: int, window: int | None, slides: Callable[[int], bool]
) -> list[int | None]:
    """Windows of a family in which some layers slide; the file's own `layer_types` come before `slides`."""
    meaning = {"full_attention": None, "attention": None, "sliding_attention": window}
    kinds = ["sliding_attention" if slides(layer) else "full_attention" for layer in range(layers)]
    if window is None and "sliding_attention" in (fields.names("layer_types", layers) or ()):
        raise ConfigError(
            "field 'layer_types' has sliding layers, but no 'sliding_window' tells their window."
        )
    return _windows(fields, layers, meaning, kinds)


def _windows(fields: Fields, layers: int, meaning: dict, kinds: list[str]) -> list[int | None]:
    kinds = fields.names("layer_types", layers) or kinds
    for kind in kinds:
        if kind not in meaning:
            raise ConfigError(
                f"field 'layer_types' has a layer of kind {shown(kind)}, not covered for this model_type."
            )
    return [meaning[kind] for kind in kinds]


@dataclass(frozen=True)
class Attention:
    """One family: where its files keep the numbers, and what their absence means."""

    layers: tuple[str, ...] = ("num_hidden_layers",)
    heads: tuple[str, ...] = ("num_attention_heads",)
    hidden: tuple[str, ...] = ("hidden_size",)
    kv_heads: tuple[str, ...] = ("num_key_value_heads",)  # () where the type knows MHA only
    absent_kv_heads: int | None = None  # None: one per query head
    absent_head_dim: int | None = None  # None: hidden size / query heads
    windows: Windows = full

    def __call__(self, fields: Fields) -> tuple[Layer, ...]:
        num_layers = fields.count("num_layers", *self.layers)
        attention = self.full_attention(fields)
        windows = self.windows(fields, num_layers)
        return tuple(
            attention if window is None else SlidingAttention(window, attention) for window in windows
        )

    def full_attention(self, fields: Fields) -> FullAttention:
        """The KV heads of a layer, which must share the query heads evenly."""
        heads = fields.count("num_heads", *self.heads)
        attention = FullAttention(self.count_kv_heads(fields, heads), self.width(fields, heads))
        if heads % attention.kv_heads:
            raise ConfigError(
                f"num_key_value_heads = {attention.kv_heads} does not divide num_attention_heads = {heads}; "
                "expected the same number of query heads for every KV head."
            )
        return attention

    def count_kv_heads(self, fields: Fields, heads: int) -> int:
        if not self.kv_heads:
            return fields.note(
                "num_kv_heads", heads, "one KV head per query head: this model type knows only MHA"
            )
        # The class default applies to an absent field; an explicit null means one per query head.
        if self.absent_kv_heads is None or any(name in fields.raw for name in self.kv_heads):
            default, why = heads, "one KV head per query head (MHA)"
        else:
            default, why = self.absent_kv_heads, CLASS_DEFAULT
        return fields.count("num_kv_heads", *self.kv_heads, default=default, why=why)

    def width(self, fields: Fields, heads: int) -> int:
        hidden = fields.count("hidden_size", *self.hidden)
        if self.absent_head_dim is not None and "head_dim" not in fields.raw:
            return fields.note("head_dim", self.absent_head_dim, f"head_dim is absent: {CLASS_DEFAULT}")
        if fields.get("head_dim") is None and hidden % heads:
            raise ConfigError(
                f"field 'head_dim' is missing and {self.hidden[0]} = {hidden} is not a multiple of "
                f"{self.heads[0]} = {heads}; expected one of them to settle the width of a head."
            )
        why = f"{self.hidden[0]} / {self.heads[0]} = {hidden} / {heads}"
        return fields.count("head_dim", "head_dim", default=hidden // heads, why=why)


def _window(fields: Fields, absent: int | None) -> int | None:
    """`sliding_window`; an explicit null means none, an absent field the default of the type's class."""
    if absent is None or "sliding_window" in fields.raw:
        return None if fields.get("sliding_window") is None else fields.count("window", "sliding_window")
    return fields.note("window", absent, f"sliding_window is absent: {CLASS_DEFAULT}")


@dataclass(frozen=True)
class EveryLayer:
    """One window for all layers, where the file names one. `absent`: the class default."""

    absent: int | None = None

    def __call__(self, fields: Fields, layers: int) -> list[int | None]:
        return _sliding(fields, layers, _window(fields, self.absent), lambda layer: True)


@dataclass(frozen=True)
class EveryNthFull:
    """Windowed layers with every nth layer full. `period_fields` may say another n."""

    period: int
    period_fields: tuple[str, ...] = ("sliding_window_pattern", "_sliding_window_pattern")
    absent: int = 4096

    def __call__(self, fields: Fields, layers: int) -> list[int | None]:
        period, window = self.period, _window(fields, self.absent)
        if self.period_fields and window is not None:
            period = fields.count("period", *self.period_fields, default=period, why=CLASS_DEFAULT)
        return _sliding(fields, layers, window, lambda layer: (layer + 1) % period > 0)


@dataclass(frozen=True)
class IfUsed:
    """Qwen's files carry a window that `use_sliding_window: false`, the default, puts out of use.

    `slides(layer, max_window_layers)` tells which layers slide when it is in use; None leaves that to
    `layer_types`.
    """

    slides: Callable[[int, int], bool] | None

    def __call__(self, fields: Fields, layers: int) -> list[int | None]:
        fields.get("sliding_window")
        first = fields.count("max_window_layers", "max_window_layers", default=28, why=CLASS_DEFAULT, least=0)
        if not fields.flag("use_sliding_window", False):
            del fields.facts["max_window_layers"]
            fields.note("window", "none", "use_sliding_window is false or absent: the window is not in use")
            return full(fields, layers)
        if self.slides is None and fields.get("layer_types") is None:
            raise ConfigError("field 'layer_types' is missing, though use_sliding_window is true.")
        slides = self.slides or (lambda layer, first: False)
        return _sliding(fields, layers, _window(fields, 4096), lambda layer: slides(layer, first))


QWEN = IfUsed(lambda layer, first: layer >= first)
QWEN2_MOE = IfUsed(lambda layer, first: layer % 2 == 0 and layer < first)
QWEN3_MOE = IfUsed(lambda layer, first: True)


@dataclass(frozen=True)
class Falcon(Attention):
    """`multi_query` means one KV head unless `new_decoder_architecture` counts them in `num_kv_heads`."""

    def count_kv_heads(self, fields: Fields, heads: int) -> int:
        if fields.flag("new_decoder_architecture", False) or not fields.flag("multi_query", True):
            return fields.count("num_kv_heads", "num_kv_heads", default=heads, why="one per query head (MHA)")
        return fields.note("num_kv_heads", 1, "multi_query: one KV head for all query heads (MQA)")


@dataclass(frozen=True)
class StarCoder(Attention):
    """GPTBigCode: MQA unless `multi_query` is false."""

    def count_kv_heads(self, fields: Fields, heads: int) -> int:
        if fields.flag("multi_query", True):
            return fields.note("num_kv_heads", 1, "multi_query: one KV head for all query heads (MQA)")
        return fields.note("num_kv_heads", heads, "multi_query is false: one KV head per query head (MHA)")


@dataclass(frozen=True)
class Nested(Attention):
    """DBRX and MPT keep the attention's numbers in `attn_config`."""

    def count_kv_heads(self, fields: Fields, heads: int) -> int:
        nested = fields.get("attn_config")
        if nested is not None and not isinstance(nested, dict):
            raise ConfigError(f"field 'attn_config' is {shown(nested)}; expected a JSON object.")
        inner = Fields(nested or {})
        value = inner.count("num_kv_heads", "kv_n_heads", default=self.absent_kv_heads or heads)
        source = (
            "attn_config.kv_n_heads"
            if (nested or {}).get("kv_n_heads")
            else "attn_config.kv_n_heads is absent"
        )
        return fields.note("num_kv_heads", value, source)


_GPT2 = {"layers": ("n_layer", "num_hidden_layers"), "heads": ("n_head", "num_attention_heads"),
         "hidden": ("n_embd", "hidden_size"), "kv_heads": ()}  # fmt: skip

FAMILIES = {
    "apertus": Attention(),
    "arcee": Attention(),
    "bitnet": Attention(absent_kv_heads=5),
    "bloom": Attention(**{**_GPT2, "hidden": ("hidden_size", "n_embed")}),
    "codegen": Attention(**_GPT2),
    "cohere": Attention(),
    "cohere2": Attention(windows=EveryNthFull(4)),
    "dbrx": Nested(("n_layers",), ("n_heads",), ("d_model",), absent_kv_heads=1),
    "ernie4_5": Attention(absent_kv_heads=2, absent_head_dim=128),
    "exaone4": Attention(absent_kv_heads=32, windows=EveryNthFull(4)),
    "falcon": Falcon(
        ("num_hidden_layers", "n_layer"), ("num_attention_heads", "n_head"), ("hidden_size", "n_embed")
    ),
    "gemma": Attention(absent_kv_heads=16, absent_head_dim=256),
    "gemma2": Attention(absent_kv_heads=4, absent_head_dim=256, windows=EveryNthFull(2, ())),
    "gemma3_text": Attention(absent_kv_heads=4, absent_head_dim=256, windows=EveryNthFull(6)),
    "glm": Attention(absent_kv_heads=2, absent_head_dim=128),
    "glm4": Attention(absent_kv_heads=2, absent_head_dim=128),
    "glm4_moe": Attention(absent_kv_heads=8),
    "gpt2": Attention(**_GPT2),
    "gpt_bigcode": StarCoder(**_GPT2),
    "gpt_neox": Attention(kv_heads=()),
    "gpt_oss": Attention(absent_kv_heads=8, absent_head_dim=64, windows=EveryNthFull(2, (), absent=128)),
    "gptj": Attention(**_GPT2),
    "granite": Attention(),
    "granitemoe": Attention(),
    "helium": Attention(absent_kv_heads=20, absent_head_dim=128),
    "hunyuan_v1_dense": Attention(),
    "internlm2": Attention(),  # ships its own class: InternLM2Config
    "internlm3": Attention(absent_kv_heads=2, absent_head_dim=128),
    "llama": Attention(),
    "minimax_m2": Attention(absent_kv_heads=8, absent_head_dim=128, windows=minimax),
    "ministral3": Attention(absent_kv_heads=8, absent_head_dim=128, windows=EveryLayer()),
    "mistral": Attention(absent_kv_heads=8, windows=EveryLayer(4096)),
    "mixtral": Attention(absent_kv_heads=8, windows=EveryLayer()),
    "mpt": Nested(("n_layers",), ("n_heads",), ("d_model",)),
    "nemotron": Attention(),
    "olmo": Attention(),
    "olmo2": Attention(),
    "olmo3": Attention(windows=EveryNthFull(4, ())),
    "olmoe": Attention(),
    "opt": Attention(kv_heads=()),
    "persimmon": Attention(kv_heads=()),
    "phi": Attention(),
    "phi3": Attention(windows=EveryLayer()),
    "phimoe": Attention(absent_kv_heads=8, windows=EveryLayer()),
    "qwen2": Attention(absent_kv_heads=32, windows=QWEN),
    "qwen2_5_vl_text": Attention(absent_kv_heads=8, windows=QWEN),
    "qwen2_moe": Attention(absent_kv_heads=16, windows=QWEN2_MOE),
    "qwen2_vl_text": Attention(absent_kv_heads=8, windows=QWEN),
    "qwen3": Attention(absent_kv_heads=32, absent_head_dim=128, windows=QWEN),
    "qwen3_moe": Attention(absent_kv_heads=4, windows=QWEN3_MOE),
    "qwen3_vl_moe_text": Attention(absent_kv_heads=16),
    "qwen3_vl_text": Attention(absent_kv_heads=32, absent_head_dim=128),
    "seed_oss": Attention(absent_kv_heads=8, absent_head_dim=128),
    "smollm3": Attention(absent_kv_heads=4, windows=IfUsed(None)),
    "stablelm": Attention(absent_kv_heads=32),
    "starcoder2": Attention(absent_kv_heads=2, windows=EveryLayer()),
    "xglm": Attention(("num_layers",), ("attention_heads",), ("d_model",), ()),
}
