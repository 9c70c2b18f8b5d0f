"""How many parameters a model has, counted from its configuration, and their bytes.

Counts the matrices as Transformers' classes build them, embeddings tied or not, with the biases and norms
that the family has; the tests build each class and compare.
"""

from dataclasses import dataclass

from kvcourse.errors import ConfigError, shown
from kvcourse.memory.checked import whole
from kvcourse.memory.counts import COUNTERS
from kvcourse.memory.families import reader_of
from kvcourse.memory.fields import Fields
from kvcourse.memory.formats import parse_weight_format
from kvcourse.memory.gguf_names import as_config
from kvcourse.memory.reading import from_config


@dataclass(frozen=True)
class ParameterCount:
    """Parameters by what they are for."""

    embeddings: int
    attention: int
    mlp: int
    norms: int
    output: int  # 0 where the output projection is the embedding table itself

    @property
    def total(self) -> int:
        return self.embeddings + self.attention + self.mlp + self.norms + self.output


@dataclass(frozen=True)
class Recipe:
    """What a family adds to the plain Llama layer: RMSNorm, Q K V O, RMSNorm, gated MLP."""

    qkv_bias: bool | str = False  # a str names the field that decides, false where it is absent
    output_bias: bool | str = False
    mlp_bias: bool | str = False
    norms: int = 2  # of hidden size, a layer
    qk_norms: bool = False  # one of head_dim for Q and one for K
    wide_norms: bool = False  # one over all of Q and one over all of K
    tied: bool = False  # where tie_word_embeddings is absent
    experts: tuple[str, ...] = ()  # field of the count, field of the width; empty is dense
    some_dense: bool = False  # whether decoder_sparse_step and mlp_only_layers keep layers dense


_MIXTRAL = ("num_local_experts", "intermediate_size")
_QWEN_MOE = ("num_experts", "moe_intermediate_size")

RECIPES = {
    "llama": Recipe("attention_bias", "attention_bias", "mlp_bias"),
    "mistral": Recipe(),
    "mixtral": Recipe(experts=_MIXTRAL),
    "qwen2": Recipe(qkv_bias=True),
    "qwen3": Recipe("attention_bias", "attention_bias", qk_norms=True),
    "qwen3_moe": Recipe(
        "attention_bias", "attention_bias", qk_norms=True, experts=_QWEN_MOE, some_dense=True
    ),
    "gemma": Recipe("attention_bias", "attention_bias", tied=True),
    "gemma2": Recipe("attention_bias", "attention_bias", norms=4, tied=True),
    "gemma3_text": Recipe("attention_bias", "attention_bias", norms=4, qk_norms=True, tied=True),
    "olmo2": Recipe("attention_bias", "attention_bias", wide_norms=True),
    "phi3": Recipe(),
    "smollm3": Recipe("attention_bias", "attention_bias", "mlp_bias", tied=True),
    "granite": Recipe("attention_bias", "attention_bias", "mlp_bias"),
}


def count_parameters(config: dict) -> ParameterCount:
    """Parameters of a model of a type in `RECIPES` or `COUNTERS`. Raises ConfigError naming the field."""
    shape = {fact.name: fact.value for fact in from_config(config).facts}
    fields = Fields(as_config(config))
    model_type = fields.get("model_type")
    if fields.raw is not fields.outer:
        raise ConfigError("this model has parts beside its decoder, whose parameters are not counted here.")
    known = reader_of(model_type) if isinstance(model_type, str) else None
    fields.read_as(model_type)
    if known in COUNTERS:
        return ParameterCount(**vars(COUNTERS[known](fields, shape)))
    if model_type not in RECIPES:
        raise ConfigError(
            f"parameters of model_type {shown(model_type)} are not counted here; give their number instead."
        )
    recipe = RECIPES[model_type]
    layers, hidden = shape["num_layers"], shape["hidden_size"]
    queries = shape["num_heads"] * shape["head_dim"]
    keys = shape["num_kv_heads"] * shape["head_dim"]
    attention = hidden * (queries + 2 * keys) + queries * hidden
    attention += _flag(fields, recipe.qkv_bias) * (queries + 2 * keys)
    attention += _flag(fields, recipe.output_bias) * hidden
    norms = recipe.norms * hidden + recipe.qk_norms * 2 * shape["head_dim"]
    norms += recipe.wide_norms * (queries + keys)
    table = fields.count("vocab_size", "vocab_size") * hidden
    return ParameterCount(
        embeddings=table,
        attention=layers * attention,
        mlp=_mlp(fields, recipe, layers, hidden),
        norms=layers * norms + hidden,
        output=0 if fields.flag("tie_word_embeddings", recipe.tied) else table,
    )


def weight_bytes(parameters: int, dtype: str = "fp16") -> int:
    """Bytes of `parameters` weights in one dtype. A float count, such as 8.03e9, is taken as written."""
    if isinstance(parameters, float) and parameters.is_integer():
        parameters = int(parameters)
    return parse_weight_format(dtype).bytes(whole("parameters", parameters, least=1))


def _mlp(fields: Fields, recipe: Recipe, layers: int, hidden: int) -> int:
    if not recipe.experts:
        return layers * _dense_mlp(fields, recipe, hidden)
    experts = fields.count("num_experts", recipe.experts[0])
    sparse = experts * 3 * hidden * fields.count("expert_width", recipe.experts[1]) + experts * hidden
    if not recipe.some_dense:
        return layers * sparse
    step = fields.count("step", "decoder_sparse_step", default=1)
    kept_dense = fields.indices("mlp_only_layers", layers) or set()
    is_dense = [i in kept_dense or (i + 1) % step > 0 for i in range(layers)]
    dense = _dense_mlp(fields, recipe, hidden) if any(is_dense) else 0
    return sum(dense if d else sparse for d in is_dense)


def _dense_mlp(fields: Fields, recipe: Recipe, hidden: int) -> int:
    width = fields.count("intermediate_size", "intermediate_size")
    return 3 * hidden * width + _flag(fields, recipe.mlp_bias) * (2 * width + hidden)


def _flag(fields: Fields, rule: bool | str) -> bool:
    return fields.flag(rule, False) if isinstance(rule, str) else rule
