"""Parameters of families from before Llama: biases, LayerNorms, positions learned."""

from kvcourse.memory.counts.tally import Shape, Tally, tables, widths
from kvcourse.memory.fields import Fields


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


def gpt_neox(fields: Fields, shape: Shape) -> Tally:
    layers, hidden, inner = shape["num_layers"], shape["hidden_size"], fields.given("intermediate_size")
    bias = fields.flag("attention_bias", True)
    tally = Tally(
        attention=layers * ((hidden + bias) * 3 * hidden + (hidden + bias) * hidden),
        mlp=layers * ((hidden + 1) * inner + (inner + 1) * hidden),
        norms=(2 * layers + 1) * 2 * hidden,
    )
    return tables(tally, fields, hidden)


def falcon(fields: Fields, shape: Shape) -> Tally:
    """One norm a layer where attention and MLP run side by side, two in the newer architecture."""
    layers, hidden, (queries, keys) = shape["num_layers"], shape["hidden_size"], widths(shape)
    bias, newer = fields.flag("bias"), fields.flag("new_decoder_architecture")
    inner = fields.optional("ffn_hidden_size", "ffn_hidden_size") or 4 * hidden
    norms = 2 if newer or not fields.flag("parallel_attn", True) else 1
    if newer and fields.optional("num_ln_in_parallel_attn", "num_ln_in_parallel_attn") == 1:
        norms = 1
    tally = Tally(
        attention=layers * ((hidden + bias) * (queries + 2 * keys) + (queries + bias) * hidden),
        mlp=layers * ((hidden + bias) * inner + (inner + bias) * hidden),
        norms=(norms * layers + 1) * 2 * hidden,
    )
    return tables(tally, fields, hidden)


def phi(fields: Fields, shape: Shape) -> Tally:
    layers, hidden, (queries, keys) = shape["num_layers"], shape["hidden_size"], widths(shape)
    inner, norms = fields.given("intermediate_size"), fields.flag("qk_layernorm")
    tally = Tally(
        attention=layers * ((hidden + 1) * (queries + 2 * keys) + (queries + 1) * hidden),
        mlp=layers * ((hidden + 1) * inner + (inner + 1) * hidden),
        norms=(layers + 1) * 2 * hidden + layers * norms * 4 * shape["head_dim"],
    )
    tally = tables(tally, fields, hidden)
    tally.output += fields.given("vocab_size")  # a bias of the output projection
    return tally
