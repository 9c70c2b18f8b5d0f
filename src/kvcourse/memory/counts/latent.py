"""Parameters of models that keep latents or compressed pasts: DeepSeek's, and those built like them."""

from kvcourse.memory.counts.tally import Shape, Tally, tables
from kvcourse.memory.families.latent import own_indexers
from kvcourse.memory.families.mixed import DeepSeekV4
from kvcourse.memory.fields import Fields


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
    return tables(tally, fields, hidden)


def deepseek_v2(fields: Fields, shape: Shape) -> Tally:
    """As V3; where the file asks for them, the MLPs have biases and the experts have none."""
    tally, layers, hidden = latent(fields, shape), shape["num_layers"], shape["hidden_size"]
    if fields.flag("mlp_bias"):
        dense = min(fields.given("first_k_dense_replace", least=0), layers)
        shared = fields.given("n_shared_experts") * fields.given("moe_intermediate_size")
        tally.mlp += dense * (2 * fields.given("intermediate_size") + hidden)
        tally.mlp += (layers - dense) * (2 * shared + hidden)
    return tally


def deepseek_v4(fields: Fields, shape: Shape) -> Tally:
    """Hyper-connections around attention and experts; a compressor, and in the finest layers an indexer."""
    layers, hidden, heads = (
        shape["num_layers"],
        fields.given("hidden_size"),
        fields.given("num_attention_heads"),
    )
    width, low = fields.given("head_dim"), fields.given("q_lora_rank")
    groups, out = fields.given("o_groups"), fields.given("o_lora_rank")
    attention = heads + low * (hidden + 1) + heads * width * low + width * (hidden + 1)
    attention += out * heads * width + hidden * groups * out
    tally = Tally(attention=layers * attention)
    index, many = fields.given("index_head_dim"), fields.given("index_n_heads")
    ratios = DeepSeekV4().ratios(fields, layers)
    finest = min((ratio for ratio in ratios if ratio), default=0)
    for ratio in filter(None, ratios):
        overlaps = 2 if ratio == finest else 1  # entries of the finest layers are made from two windows
        tally.attention += width + overlaps * width * (2 * hidden + ratio)
        if ratio == finest:
            tally.attention += index + 2 * index * (2 * hidden + ratio) + many * (index * low + hidden)
    experts, each = fields.given("n_routed_experts"), fields.given("moe_intermediate_size")
    tally.mlp = layers * (3 * hidden * each * (experts + fields.given("n_shared_experts")) + hidden * experts)
    tally.mlp += layers * fields.flag("mlp_bias") * (2 * each + hidden)  # of the shared expert
    copies = fields.given("hc_mult", default=4)
    mixes = (2 + copies) * copies
    tally.norms = layers * (2 * hidden + 2 * (mixes * copies * hidden + mixes + 3)) + hidden
    tally.norms += copies * copies * hidden + copies + 1
    return tables(tally, fields, hidden)
