"""Model types that mix attention with recurrent layers: Mamba, gated delta nets, short convolutions.

Layers that are only an MLP or experts keep nothing and are left out.
"""

from collections.abc import Callable
from dataclasses import dataclass

from kvcourse.errors import ConfigError, shown
from kvcourse.memory.families import kinds, states
from kvcourse.memory.families.attention import Attention
from kvcourse.memory.families.latent import EXPANDED, latent, own_indexers
from kvcourse.memory.fields import Fields
from kvcourse.memory.layers import IndexKeys, Layer, SlidingAttention, Together
from kvcourse.memory.recurrent import RecurrentState

_RECURRENT = {"linear_attention", "conv", "hybrid"}
_NOTHING = {"mlp", "moe"}


@dataclass(frozen=True)
class Hybrid:
    """One family: its recurrent state, which layers are what, and what those that attend keep.

    A "hybrid" layer keeps both.
    """

    state: Callable[[Fields], RecurrentState]
    kinds: Callable[[Fields], list[str]]
    attention: Callable[[Fields], Layer] | None = None

    def __call__(self, fields: Fields) -> tuple[Layer, ...]:
        named = self.kinds(fields)
        for kind in named:
            attends = kind in ("full_attention", "sliding_attention", "hybrid", "indexed_attention")
            if not ((attends and self.attention is not None) or kind in (_RECURRENT - {"hybrid"}) | _NOTHING):
                raise ConfigError(f"a layer of kind {shown(kind)} is not covered for this model_type.")
        fields.note("num_layers", len(named), "the list of layer kinds")
        recurrent = self.state(fields)
        full = None if self.attention is None else self.attention(fields)
        keeps = {"full_attention": full, "indexed_attention": full, "linear_attention": recurrent,
                 "conv": recurrent}  # fmt: skip
        if "hybrid" in named:
            keeps["hybrid"] = Together((full, recurrent))
        if "sliding_attention" in named:
            keeps["sliding_attention"] = SlidingAttention(_window(fields), full)
        return tuple(keeps[kind] for kind in named if kind not in _NOTHING)


def _window(fields: Fields) -> int:
    window = fields.optional("window", "sliding_window")
    if window is None:
        raise ConfigError(
            "field 'layer_types' has sliding layers, but no 'sliding_window' tells their window."
        )
    return window


HEADS = Attention().full_attention


def mla(fields: Fields) -> Layer:
    fields.ignore(*EXPANDED)
    fields.count("num_heads", "num_attention_heads")
    fields.count("hidden_size", "hidden_size")
    return latent(fields)


def twice_as_wide(fields: Fields) -> Layer:
    """Zamba's shared attention reads its input beside the first layer's: heads of twice the width."""
    hidden, heads = (
        fields.count("hidden_size", "hidden_size"),
        fields.count("num_heads", "num_attention_heads"),
    )
    fields.ignore(
        "kv_channels", "num_query_groups", "attention_hidden_size", "adapter_rank", "num_mem_blocks"
    )
    fields.ignore("use_shared_attention_adapter", "use_shared_mlp_adapter", "hybrid_layer_ids")
    kept, told = HEADS(fields), fields.get("attention_head_dim")
    width = 2 * hidden // heads if told is None else fields.count("attention_head_dim", "attention_head_dim")
    return type(kept)(kept.kv_heads, fields.note("head_dim", width, "2 x hidden_size / num_attention_heads"))


def griffin_heads(fields: Fields) -> Layer:
    fields.raw = fields.raw | {"sliding_window": fields.given("attention_window_size")}
    return HEADS(fields)


# ---- families whose layers need more than a kind ---------------------------------------------------


def kimi_like_indexed(fields: Fields) -> tuple[Layer, ...]:
    """GLM-5-Next: Kimi's delta attention, and every fourth layer a latent with an indexer, some shared.

    `index_kpool` tokens make one key of the indexer; those that do not fill a pool wait as a key and what
    weighs it. (Transformers pools anew at every step and keeps all that for every token, and a number more.)
    """
    named = kinds.named_or(lambda i, n: "linear_attention" if i % 4 != 3 else "indexed_attention")(fields)
    state, plain = states.kimi_delta(fields), mla(fields)
    width = fields.given("index_head_dim")
    indexed = Together((plain, IndexKeys(width, fields.given("index_kpool"), 2 * width)))
    own = own_indexers(fields, len(named))
    for kind in named:
        if kind not in ("linear_attention", "full_attention", "indexed_attention"):
            raise ConfigError(f"a layer of kind {shown(kind)} is not covered for this model_type.")
    return tuple(
        state if kind == "linear_attention" else indexed if has else plain
        for kind, has in zip(named, own, strict=True)
    )


def qwen4(fields: Fields) -> Layer:
    """K and V with the indexer's keys, which are pooled only when they are read."""
    kept, width = HEADS(fields), fields.optional("indexer_head_dim", "indexer_head_dim")
    heads = fields.optional("indexer_kv_heads", "indexer_kv_heads")
    fields.ignore("indexer_n_heads", "indexer_budget", "indexer_compress_ratio", "ple_conv_kernel_size")
    if width is None or heads is None:
        raise ConfigError("field 'indexer_head_dim' or 'indexer_kv_heads' is missing; expected both.")
    if fields.get("ple_layer_ids"):
        raise ConfigError("field 'ple_layer_ids' names layers whose n-gram states are not covered here.")
    return Together((kept, IndexKeys(heads * width)))


_LARA = ("linear_attention", "sliding_attention", "linear_attention", "full_attention", "sliding_attention")
_LFM3 = ("sliding_attention", "conv", "full_attention", "conv")

FAMILIES = {
    "bailing_hybrid": Hybrid(states.bailing_delta, kinds.grouped, mla),
    "bamba": Hybrid(states.bamba, kinds.listed, HEADS),
    "falcon_h1": Hybrid(states.bamba, kinds.all_both, HEADS),
    "falcon_mamba": Hybrid(states.mamba, kinds.all_recurrent),
    "glm5_next_text": kimi_like_indexed,
    "granitemoehybrid": Hybrid(states.bamba, kinds.named_or(lambda i, n: "linear_attention"), HEADS),
    "jamba": Hybrid(states.jamba, kinds.period_and_offset, HEADS),
    "kimi_linear": Hybrid(states.kimi_delta, kinds.kda_listed, mla),
    "lara_mini": Hybrid(
        states.gated_delta_net,
        kinds.named_or(lambda i, n: _LARA[i % 5]),
        HEADS,
    ),
    "lfm2": Hybrid(states.short_convolution, kinds.types_or_indices, HEADS),
    "lfm2_moe": Hybrid(states.short_convolution, kinds.types_or_indices, HEADS),
    "lfm3": Hybrid(
        states.short_convolution,
        kinds.named_or(lambda i, n: _LFM3[i % 4] if i else "conv"),
        HEADS,
    ),
    "mamba": Hybrid(states.mamba, kinds.all_recurrent),
    "mamba2": Hybrid(states.mamba2, kinds.all_recurrent),
    "minimax": Hybrid(states.lightning, kinds.minimax_kinds, HEADS),
    "nemotron_h": Hybrid(states.nemotron, kinds.spelled, HEADS),
    "olmo_hybrid": Hybrid(
        states.olmo_delta_net,
        kinds.named_or(lambda i, n: "full_attention" if i % 4 == 3 else "linear_attention"),
        HEADS,
    ),
    "qwen3_5_moe_text": Hybrid(states.gated_delta_net, kinds.every_nth_attends, HEADS),
    "qwen3_5_text": Hybrid(states.gated_delta_net, kinds.every_nth_attends, HEADS),
    "qwen3_next": Hybrid(states.gated_delta_net, kinds.every_nth_attends, HEADS),
    "qwen4_exp_text": Hybrid(states.gated_delta_net, kinds.every_nth_attends, qwen4),
    "recurrent_gemma": Hybrid(states.griffin, kinds.griffin_blocks, griffin_heads),
    "rwkv": Hybrid(states.rwkv, kinds.all_recurrent),
    "xlstm": Hybrid(states.xlstm, kinds.all_recurrent),
    "zamba": Hybrid(states.zamba, kinds.zamba_blocks, twice_as_wide),
    "zamba2": Hybrid(states.zamba2, kinds.zamba2_blocks, twice_as_wide),
}  # fmt: skip
