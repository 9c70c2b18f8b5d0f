"""The recurrent states of published types: Mamba, gated delta nets, linear attention, short convolutions.

Transformers keeps Mamba's and the delta nets' states in fp32 whatever the dtype of the weights, and so do
their publishers' kernels; a file may say otherwise. The convolution's inputs have the dtype of the cache.
"""

from kvcourse.errors import ConfigError, UnitError, shown
from kvcourse.memory.fields import Fields
from kvcourse.memory.formats import parse_format
from kvcourse.memory.recurrent import RecurrentState


def state_dtype(fields: Fields) -> str:
    """The format of a state: as the file says, or fp32."""
    for name in ("mamba_ssm_dtype", "mamba_ssm_cache_dtype", "ssm_dtype"):
        told = fields.text(name)
        if told in (None, "auto"):
            continue
        try:
            return fields.note("state_dtype", parse_format(told).name, name)
        except UnitError:
            raise ConfigError(f"field '{name}' is {shown(told)}; expected a dtype such as float32.") from None
    return fields.note("state_dtype", "fp32", "Transformers keeps recurrent states in fp32")


def gated_delta_net(fields: Fields) -> RecurrentState:
    """A matrix of key width x value width for each value head (Qwen3-Next, arXiv:2412.06464)."""
    keys, key = fields.given("linear_num_key_heads"), fields.given("linear_key_head_dim")
    values, value = fields.given("linear_num_value_heads"), fields.given("linear_value_head_dim")
    kernel = fields.given("linear_conv_kernel_dim")
    channels = 2 * keys * key + values * value
    return RecurrentState(values, key * value, channels, kernel - 1, state_dtype(fields))


def olmo_delta_net(fields: Fields) -> RecurrentState:
    fields.ignore(*(f"linear_{name}" for name in ("a_log_min", "a_log_max", "dt_min", "dt_max",
                  "dt_init_floor", "allow_neg_eigval")))  # fmt: skip
    return gated_delta_net(fields)


def kimi_delta(fields: Fields) -> RecurrentState:
    """Kimi Delta Attention (arXiv:2510.26692): square states; a short convolution over Q, K and V."""
    fields.ignore("linear_lower_bound")
    nested = fields.get("linear_attn_config")
    if nested is not None and not isinstance(nested, dict):
        raise ConfigError(f"field 'linear_attn_config' is {shown(nested)}; expected a JSON object.")
    inner = Fields(nested or {})
    heads, width, kernel = (
        inner.count(name, name, default=fields.given(usual))
        for name, usual in (
            ("num_heads", "linear_num_heads"),
            ("head_dim", "linear_head_dim"),
            ("short_conv_kernel_size", "linear_conv_kernel_dim"),
        )
    )
    return RecurrentState(heads, width * width, 3 * heads * width, kernel - 1, state_dtype(fields))


def bailing_delta(fields: Fields) -> RecurrentState:
    """Ring-2.5: as Kimi's, with the query heads and their `head_dim`."""
    heads, width = fields.count("num_heads", "num_attention_heads"), fields.given("head_dim", default=128)
    kernel = fields.given("short_conv_kernel_size", default=4)
    width = fields.given("linear_head_dim", default=width)  # a saved file's head_dim is that of its latents
    heads, kernel = (
        fields.given("linear_num_heads", default=heads),
        fields.given("linear_conv_kernel_dim", default=kernel),
    )
    return RecurrentState(heads, width * width, 3 * heads * width, kernel - 1, state_dtype(fields))


def lightning(fields: Fields) -> RecurrentState:
    """MiniMax-Text-01's lightning attention (arXiv:2501.08313): a square state a head, no convolution."""
    heads, hidden = (
        fields.count("num_heads", "num_attention_heads"),
        fields.count("hidden_size", "hidden_size"),
    )
    width = fields.optional("head_dim", "head_dim") or hidden // heads
    return RecurrentState(heads, width * width)


def mamba(fields: Fields) -> RecurrentState:
    """d_state numbers for each inner channel (arXiv:2312.00752)."""
    inner = fields.count("hidden_size", "hidden_size") * fields.given("expand")
    inner = fields.count("inner", "intermediate_size", default=inner, why="expand x hidden_size")
    return RecurrentState(
        inner, fields.given("state_size"), inner, fields.given("conv_kernel") - 1, state_dtype(fields)
    )


def jamba(fields: Fields) -> RecurrentState:
    inner = fields.count("hidden_size", "hidden_size") * fields.given("mamba_expand")
    kept, kernel = fields.given("mamba_d_state"), fields.given("mamba_d_conv")
    return RecurrentState(inner, kept, inner, kernel - 1, state_dtype(fields))


def mamba2(fields: Fields) -> RecurrentState:
    heads, width = fields.given("num_heads"), fields.given("head_dim")
    fields.ignore("chunk_size")
    return _mamba2(fields, heads, width, "state_size", "n_groups", "conv_kernel")


def nemotron(fields: Fields) -> RecurrentState:
    heads, width = fields.given("mamba_num_heads"), fields.given("mamba_head_dim")
    fields.ignore("chunk_size", "use_mamba_kernels", "mamba_hidden_act", "mamba_proj_bias", "use_conv_bias",
                  "mamba_conv_bias", "mamba_chunk_size", "mamba_expand")  # fmt: skip
    groups = "mamba_n_groups" if fields.get("mamba_n_groups") is not None else "n_groups"
    kernel = "mamba_d_conv" if fields.get("mamba_d_conv") is not None else "conv_kernel"
    return _mamba2(fields, heads, width, "ssm_state_size", groups, kernel)


def bamba(fields: Fields) -> RecurrentState:
    hidden, heads = fields.count("hidden_size", "hidden_size"), fields.given("mamba_n_heads")
    inner = hidden * fields.given("mamba_expand")
    if fields.default("mamba_d_ssm") is not None:  # Falcon-H1: null means expand x hidden
        inner = fields.optional("mamba_d_ssm", "mamba_d_ssm") or inner
    fields.ignore("mamba_d_head", "mamba_chunk_size", "mamba_conv_bias", "mamba_proj_bias",
                  "mamba_norm_before_gate", "mamba_rms_norm", "mamba_use_mlp", "ssm_multipliers",
                  "ssm_in_multiplier", "ssm_out_multiplier")  # fmt: skip
    if inner % heads:
        raise ConfigError(f"mamba_n_heads = {heads} does not divide the inner width {inner}.")
    return _mamba2(fields, heads, inner // heads, "mamba_d_state", "mamba_n_groups", "mamba_d_conv")


def zamba(fields: Fields) -> RecurrentState:
    fields.ignore("mamba_dt_rank", "use_mamba_kernels", "mamba_conv_bias", "mamba_proj_bias",
                  "hidden_mamba_act")  # fmt: skip
    fields.ignore("n_mamba_heads")
    return jamba(fields)


def zamba2(fields: Fields) -> RecurrentState:
    inner = fields.count("hidden_size", "hidden_size") * fields.given("mamba_expand")
    heads = fields.given("n_mamba_heads")
    fields.ignore("mamba_headdim", "chunk_size", "use_conv_bias", "use_mamba_kernels")
    if inner % heads:
        raise ConfigError(f"n_mamba_heads = {heads} does not divide the inner width {inner}.")
    return _mamba2(fields, heads, inner // heads, "mamba_d_state", "mamba_ngroups", "mamba_d_conv")


def _mamba2(fields: Fields, heads: int, width: int, state: str, groups: str, kernel: str) -> RecurrentState:
    """A matrix of head width x d_state for each head; the convolution also carries each group's B and C."""
    kept, channels = fields.given(state), heads * width
    channels += 2 * fields.given(groups) * kept
    return RecurrentState(heads, width * kept, channels, fields.given(kernel) - 1, state_dtype(fields))


def short_convolution(fields: Fields) -> RecurrentState:
    """LFM2: no state but the newest inputs of a convolution."""
    fields.ignore("conv_bias")
    return RecurrentState(0, 0, fields.count("hidden_size", "hidden_size"), fields.given("conv_L_cache") - 1)


def griffin(fields: Fields) -> RecurrentState:
    """RecurrentGemma's RG-LRU (arXiv:2402.19427): one fp32 number a channel, and a short convolution."""
    width = fields.optional("lru_width", "lru_width") or fields.count("hidden_size", "hidden_size")
    return RecurrentState(1, width, width, fields.given("conv1d_width") - 1, "fp32")


def xlstm(fields: Fields) -> RecurrentState:
    """mLSTM (arXiv:2405.04517): a matrix, a vector and a number for each head, in fp32 by default."""
    hidden, heads = fields.count("hidden_size", "hidden_size", "embedding_dim"), fields.given("num_heads")
    fields.ignore("chunkwise_kernel", "chunk_size", "return_last_states", "max_inference_chunksize")
    sizes = []
    for name, usual in (("qk_dim_factor", 0.5), ("v_dim_factor", 1.0)):
        factor = fields.get(name)
        factor = usual if factor is None else factor
        if isinstance(factor, bool) or not isinstance(factor, (int, float)) or not 0 < factor <= 64:
            raise ConfigError(f"field '{name}' is {shown(factor)}; expected a positive number.")
        sizes.append(-(-int(hidden * factor) // 64) * 64 // heads)
    told = fields.text("inference_state_dtype")
    key, value = sizes
    try:
        return RecurrentState(heads, key * value + key + 1, dtype=parse_format(told or "float32").name)
    except UnitError:
        raise ConfigError(
            f"field 'inference_state_dtype' is {shown(told)}; expected a dtype such as float32."
        ) from None


def rwkv(fields: Fields) -> RecurrentState:
    """RWKV-4 (arXiv:2305.13048): three fp32 sums a channel, and the newest input of each half of a layer."""
    hidden = fields.count("hidden_size", "hidden_size")
    width = fields.optional("attention_hidden_size", "attention_hidden_size") or hidden
    return RecurrentState(1, 3 * width, hidden, 2, "fp32")
