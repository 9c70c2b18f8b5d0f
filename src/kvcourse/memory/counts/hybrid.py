"""Parameters of models that mix attention with recurrent layers."""

from kvcourse.memory.counts.tally import Shape, Tally, tables, widths
from kvcourse.memory.families.kinds import spelled
from kvcourse.memory.fields import Fields


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
    dense = layers if fields.default("num_experts") is None else 0
    if fields.default("decoder_sparse_step") is not None:
        step, kept = fields.given("decoder_sparse_step"), fields.indices("mlp_only_layers", layers) or set()
        dense = sum(layer in kept or (layer + 1) % step > 0 for layer in range(layers))
    tally.mlp = dense * 3 * hidden * fields.given("intermediate_size") if dense else 0
    if dense < layers:
        experts, each = fields.given("num_experts"), fields.given("moe_intermediate_size")
        shared = fields.given("shared_expert_intermediate_size")
        tally.mlp += (layers - dense) * (3 * hidden * (experts * each + shared) + hidden * experts + hidden)
    return tables(tally, fields, hidden)


def nemotron_h(fields: Fields, shape: Shape) -> Tally:
    """One mixer a layer: Mamba-2, attention, an MLP of two matrices or experts, perhaps in a latent."""
    kinds, hidden, (queries, keys) = spelled(fields), shape["hidden_size"], widths(shape)
    bias, mlp_bias = fields.flag("use_bias"), fields.flag("mlp_bias")
    heads, state = fields.given("mamba_num_heads"), fields.given("ssm_state_size")
    inner, groups = heads * fields.given("mamba_head_dim"), fields.given("n_groups")
    conv = inner + 2 * groups * state
    mamba = conv * (fields.given("conv_kernel") + fields.flag("use_conv_bias", True)) + 3 * heads + inner
    mamba += (hidden + bias) * (inner + conv + heads) + (inner + bias) * hidden
    attends = hidden * (queries + 2 * keys) + queries * hidden
    tally = Tally(
        attention=kinds.count("linear_attention") * mamba + kinds.count("full_attention") * attends,
        mlp=kinds.count("mlp") * _two(hidden, fields.given("intermediate_size"), mlp_bias),
        norms=len(kinds) * hidden + hidden,
    )
    if "moe" in kinds:
        experts, each = fields.given("n_routed_experts"), fields.given("moe_intermediate_size")
        latent = fields.optional("moe_latent_size", "moe_latent_size")
        sparse = experts * 2 * (latent or hidden) * each + hidden * experts
        sparse += _two(hidden, fields.given("moe_shared_expert_intermediate_size"), mlp_bias)
        sparse += 2 * latent * hidden + mlp_bias * (latent + hidden) if latent else 0
        tally.mlp += kinds.count("moe") * sparse
    tally = tables(tally, fields, hidden)
    tally.output = tally.embeddings  # the class never ties them
    return tally


def _two(hidden: int, width: int, bias: bool) -> int:
    return (hidden + bias) * width + (width + bias) * hidden
