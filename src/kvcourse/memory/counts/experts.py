"""Parameters of models whose layers are like Llama's but for their experts."""

from kvcourse.memory.counts.tally import Shape, Tally, tables, widths
from kvcourse.memory.fields import Fields


def gpt_oss(fields: Fields, shape: Shape) -> Tally:
    """Biases everywhere, experts too, and an attention sink for each query head."""
    layers, hidden, heads = shape["num_layers"], shape["hidden_size"], shape["num_heads"]
    queries, keys = heads * shape["head_dim"], shape["num_kv_heads"] * shape["head_dim"]
    bias = fields.flag("attention_bias", True)
    one = (hidden + bias) * (queries + 2 * keys) + (queries + bias) * hidden + heads
    experts, width = fields.given("num_local_experts"), fields.given("intermediate_size")
    mlp = experts * ((hidden + 1) * 2 * width + (width + 1) * hidden) + (hidden + 1) * experts
    tally = Tally(attention=layers * one, mlp=layers * mlp, norms=layers * 2 * hidden + hidden)
    return tables(tally, fields, hidden)


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
    return tables(tally, fields, hidden)


def glm4_moe(fields: Fields, shape: Shape) -> Tally:
    """Dense layers first, then experts with a shared one."""
    layers, hidden, (queries, keys) = shape["num_layers"], shape["hidden_size"], widths(shape)
    bias, norms = fields.flag("attention_bias"), fields.flag("use_qk_norm")
    tally = Tally(
        attention=layers * ((hidden + bias) * (queries + 2 * keys) + queries * hidden),
        norms=layers * (2 * hidden + norms * 2 * shape["head_dim"]) + hidden,
    )
    dense = min(fields.given("first_k_dense_replace", least=0), layers)
    experts = fields.given("n_routed_experts")
    each, shared = fields.given("moe_intermediate_size"), fields.given("n_shared_experts", least=0)
    tally.mlp = dense * 3 * hidden * fields.given("intermediate_size")
    tally.mlp += (layers - dense) * (3 * hidden * each * (experts + shared) + hidden * experts)
    return tables(tally, fields, hidden)


def qwen2_moe(fields: Fields, shape: Shape) -> Tally:
    """Experts with a gated shared one, in every `decoder_sparse_step`th layer."""
    layers, hidden, (queries, keys) = shape["num_layers"], shape["hidden_size"], widths(shape)
    bias = fields.flag("qkv_bias", True)
    tally = Tally(
        attention=layers * ((hidden + bias) * (queries + 2 * keys) + queries * hidden),
        norms=layers * 2 * hidden + hidden,
    )
    step, kept = fields.given("decoder_sparse_step"), fields.indices("mlp_only_layers", layers) or set()
    dense = sum(layer in kept or (layer + 1) % step > 0 for layer in range(layers))
    experts, each = fields.given("num_experts"), fields.given("moe_intermediate_size")
    shared = fields.given("shared_expert_intermediate_size")
    tally.mlp = dense * 3 * hidden * fields.given("intermediate_size")
    tally.mlp += (layers - dense) * (3 * hidden * (experts * each + shared) + hidden * experts + hidden)
    return tables(tally, fields, hidden)


def llama4(fields: Fields, shape: Shape) -> Tally:
    """Experts with a shared one in every `interleave_moe_layer_step`th layer, wider MLPs in the others."""
    layers, hidden, (queries, keys) = shape["num_layers"], shape["hidden_size"], widths(shape)
    bias = fields.flag("attention_bias")
    step = fields.given("interleave_moe_layer_step", default=1)
    named = fields.indices("moe_layers", layers)
    sparse = len(range(step - 1, layers, step) if named is None else named)
    experts, each = fields.given("num_local_experts"), fields.given("intermediate_size")
    tally = Tally(
        attention=layers * ((hidden + bias) * (queries + 2 * keys) + (queries + bias) * hidden),
        mlp=sparse * (3 * hidden * each * (experts + 1) + hidden * experts),
        norms=layers * 2 * hidden + hidden,
    )
    tally.mlp += (layers - sparse) * 3 * hidden * fields.given("intermediate_size_mlp")
    return tables(tally, fields, hidden)
