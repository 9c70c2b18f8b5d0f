"""Parameters of families that are not Llama's layer with a few extras: one function a family.

Each counts the tensors of Transformers' class in the order in which the class makes them.
"""

from collections.abc import Callable
from dataclasses import dataclass

from kvcourse.memory.families.latent import own_indexers
from kvcourse.memory.fields import Fields


@dataclass
class Tally:
    """Numbers collected by what they are for."""

    embeddings: int = 0
    attention: int = 0
    mlp: int = 0
    norms: int = 0
    output: int = 0


Shape = dict[str, object]


def latent(fields: Fields, shape: Shape) -> Tally:
    """DeepSeek-V2, V3 and their like: low-rank projections, dense layers first, then experts."""
    layers, hidden, heads = shape["num_layers"], shape["hidden_size"], shape["num_heads"]
    nope, rope, value, rank = (
        fields.given(name, least=0)
        for name in ("qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim", "kv_lora_rank")
    )
    bias, low = fields.flag("attention_bias"), fields.optional("q_lora_rank", "q_lora_rank")
    queries = heads * (nope + rope)
    one = low * (hidden + 1 + queries + bias) if low else hidden * queries
    one += (hidden + bias) * (rank + rope) + rank + rank * heads * (nope + value)
    one += heads * value * hidden + bias * hidden
    tally = Tally(attention=layers * one, norms=layers * 2 * hidden + hidden)
    if fields.default("index_head_dim") is not None:
        width, many = fields.given("index_head_dim"), fields.given("index_n_heads")
        each = low * many * width + hidden * width + 2 * width + hidden * many
        tally.attention += sum(own_indexers(fields, layers)) * each
    dense = min(fields.given("first_k_dense_replace", least=0, default=0), layers)
    tally.mlp = dense * 3 * hidden * fields.given("intermediate_size")
    experts, width = fields.given("n_routed_experts"), fields.given("moe_intermediate_size")
    shared = fields.optional("n_shared_experts", "n_shared_experts", least=0) or 0
    tally.mlp += (layers - dense) * (3 * hidden * width * (experts + shared) + hidden * experts)
    return _tables(tally, fields, hidden)


def gpt_oss(fields: Fields, shape: Shape) -> Tally:
    """Biases everywhere, experts too, and an attention sink for each query head."""
    layers, hidden, heads = shape["num_layers"], shape["hidden_size"], shape["num_heads"]
    queries, keys = heads * shape["head_dim"], shape["num_kv_heads"] * shape["head_dim"]
    bias = fields.flag("attention_bias", True)
    one = (hidden + bias) * (queries + 2 * keys) + (queries + bias) * hidden + heads
    experts, width = fields.given("num_local_experts"), fields.given("intermediate_size")
    mlp = experts * ((hidden + 1) * 2 * width + (width + 1) * hidden) + (hidden + 1) * experts
    tally = Tally(attention=layers * one, mlp=layers * mlp, norms=layers * 2 * hidden + hidden)
    return _tables(tally, fields, hidden)


def gpt2(fields: Fields, shape: Shape) -> Tally:
    layers, hidden = shape["num_layers"], shape["hidden_size"]
    inner = fields.optional("n_inner", "n_inner") or 4 * hidden
    table = fields.given("vocab_size") * hidden
    return Tally(
        embeddings=table + fields.given("n_positions") * hidden,
        attention=layers * ((hidden + 1) * 3 * hidden + (hidden + 1) * hidden),
        mlp=layers * ((hidden + 1) * inner + (inner + 1) * hidden),
        norms=(2 * layers + 1) * 2 * hidden,
        output=0 if fields.flag("tie_word_embeddings", True) else table,
    )


def opt(fields: Fields, shape: Shape) -> Tally:
    """Two positions more than the longest text; OPT-350M's embeddings are narrower than its layers."""
    layers, hidden = shape["num_layers"], shape["hidden_size"]
    width, inner = fields.given("word_embed_proj_dim", default=hidden), fields.given("ffn_dim")
    table, bias = fields.given("vocab_size") * width, fields.flag("enable_bias", True)
    norm = 2 * hidden if fields.flag("layer_norm_elementwise_affine", True) else 0
    last = fields.flag("do_layer_norm_before", True) and not fields.flag("_remove_final_layer_norm")
    between = 2 * width * hidden if width != hidden else 0
    return Tally(
        embeddings=table + (fields.given("max_position_embeddings", default=2048) + 2) * hidden + between,
        attention=layers * 4 * (hidden + bias) * hidden,
        mlp=layers * ((hidden + bias) * inner + (inner + bias) * hidden),
        norms=(2 * layers + last) * norm,
        output=0 if fields.flag("tie_word_embeddings", True) else table,
    )


def minimax_m2(fields: Fields, shape: Shape) -> Tally:
    """Norms over all query heads together and over all KV heads together."""
    layers, hidden = shape["num_layers"], shape["hidden_size"]
    queries, keys = (shape[name] * shape["head_dim"] for name in ("num_heads", "num_kv_heads"))
    experts, width = fields.given("num_local_experts"), fields.given("intermediate_size")
    tally = Tally(
        attention=layers * (hidden * (queries + 2 * keys) + queries * hidden),
        mlp=layers * (experts * 3 * hidden * width + hidden * experts),
        norms=layers * (2 * hidden + queries + keys) + hidden,
    )
    return _tables(tally, fields, hidden)


def delta(fields: Fields, shape: Shape) -> Tally:
    """Qwen3-Next and Qwen3.5: gated attention, gated delta nets, and one MLP or many experts."""
    hidden, layers = shape["hidden_size"], shape["num_layers"]
    period = fields.given("full_attention_interval", default=4)
    kinds = fields.names("layer_types", layers) or [
        "linear_attention" if (i + 1) % period else "full_attention" for i in range(layers)
    ]
    full = kinds.count("full_attention")
    queries, keys = (shape[name] * shape["head_dim"] for name in ("num_heads", "num_kv_heads"))
    bias = fields.flag("attention_bias")
    attends = (hidden + bias) * (2 * queries + 2 * keys) + (queries + bias) * hidden
    value_heads, width = fields.given("linear_num_value_heads"), fields.given("linear_value_head_dim")
    key, value = (
        fields.given("linear_num_key_heads") * fields.given("linear_key_head_dim"),
        value_heads * width,
    )
    recurs = hidden * (2 * key + 2 * value + 2 * value_heads) + value * hidden + 2 * value_heads
    recurs += (2 * key + value) * fields.given("linear_conv_kernel_dim")
    norms = layers * 2 * hidden + full * 2 * shape["head_dim"] + (layers - full) * width + hidden
    tally = Tally(attention=full * attends + (layers - full) * recurs, norms=norms)
    if fields.default("num_experts") is None:
        tally.mlp = layers * 3 * hidden * fields.given("intermediate_size")
    else:
        experts, each = fields.given("num_experts"), fields.given("moe_intermediate_size")
        shared = fields.given("shared_expert_intermediate_size")
        tally.mlp = layers * (3 * hidden * (experts * each + shared) + hidden * experts + hidden)
    return _tables(tally, fields, hidden)


def _tables(tally: Tally, fields: Fields, hidden: int) -> Tally:
    """The embedding table, and the output projection where it is not the same one."""
    table = fields.count("vocab_size", "vocab_size") * hidden
    tally.embeddings, tally.output = table, 0 if fields.flag("tie_word_embeddings") else table
    return tally


COUNTERS: dict[str, Callable[[Fields, Shape], Tally]] = {
    **dict.fromkeys(("deepseek_v3", "deepseek_v32", "glm_moe_dsa"), latent),
    **dict.fromkeys(("qwen3_next", "qwen3_5_text", "qwen3_5_moe_text"), delta),
    "gpt2": gpt2,
    "gpt_oss": gpt_oss,
    "minimax_m2": minimax_m2,
    "opt": opt,
}
