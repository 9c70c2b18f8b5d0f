"""Reading a published config.json: what counts, what is refused, and that nothing crashes."""

import json
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvcourse.configs import ModelConfig
from kvcourse.errors import ConfigError
from kvcourse.memory import FullAttention, SlidingAttention, class_defaults, from_config
from kvcourse.memory.families import FAMILIES, wrapped

WRAPPERS = sorted(name for name in class_defaults.wrappers() if wrapped(name) in FAMILIES)

LLAMA = {"model_type": "llama", "num_hidden_layers": 32, "num_attention_heads": 32, "hidden_size": 4096}


def llama(**fields) -> dict:
    return LLAMA | fields


def source(model, name: str) -> str:
    return next(fact.source for fact in model.facts if fact.name == name)


def test_absent_kv_heads_of_llama_mean_mha():
    model = from_config(LLAMA)
    assert model.groups() == [(FullAttention(32, 128), 32)]
    assert source(model, "num_kv_heads") == "num_key_value_heads is absent: one KV head per query head (MHA)"
    assert source(model, "head_dim") == "head_dim is absent: hidden_size / num_attention_heads = 4096 / 32"


def test_head_dim_is_read_and_not_derived():
    """Qwen3-32B: 262,144 bytes a token; 163,840 with head_dim = 5120 / 64 = 80 (LMCache issue 688)."""
    qwen = {
        "model_type": "qwen3",
        "num_hidden_layers": 64,
        "num_attention_heads": 64,
        "num_key_value_heads": 8,
    }
    assert from_config(qwen | {"hidden_size": 5120, "head_dim": 128}).bytes_per_token("bf16") == 262_144


def test_a_window_out_of_use_is_no_window():
    qwen = llama(model_type="qwen2", num_key_value_heads=8, sliding_window=131_072, max_window_layers=70)
    for unused in ({"use_sliding_window": False}, {}):
        assert from_config(qwen | unused).groups() == [(FullAttention(8, 128), 32)]
    used = from_config(qwen | {"use_sliding_window": True, "max_window_layers": 28}).groups()
    assert used == [(FullAttention(8, 128), 28), (SlidingAttention(131_072, FullAttention(8, 128)), 4)]


def test_mistral_slides_unless_the_file_says_null():
    """Mistral-7B-v0.1's file names a window of 4,096 and v0.3's says null; leaving it out means 4,096."""
    mistral = llama(model_type="mistral", num_key_value_heads=8)
    sliding = [(SlidingAttention(4096, FullAttention(8, 128)), 32)]
    assert from_config(mistral).groups() == sliding
    assert from_config(mistral | {"sliding_window": 4096}).groups() == sliding
    assert from_config(mistral | {"sliding_window": None}).groups() == [(FullAttention(8, 128), 32)]


def test_null_and_absent_are_not_the_same_where_the_class_has_a_default():
    mistral = llama(model_type="mistral", sliding_window=None)
    assert from_config(mistral).layers[0].kv_heads == 8
    assert from_config(mistral | {"num_key_value_heads": None}).layers[0].kv_heads == 32


def test_falcon_multi_query():
    falcon = llama(model_type="falcon", hidden_size=4544, num_attention_heads=71)
    assert from_config(falcon).layers[0] == FullAttention(1, 64)
    assert from_config(falcon | {"multi_query": False}).layers[0] == FullAttention(71, 64)
    newer = falcon | {"new_decoder_architecture": True, "num_kv_heads": 71}
    assert from_config(newer).layers[0] == FullAttention(71, 64)


@pytest.mark.parametrize("outer", WRAPPERS)
def test_vision_models_keep_their_decoder_in_a_nested_part(outer):
    nested = llama(model_type="llama", num_key_value_heads=8)
    raw = {"model_type": outer, "text_config": nested, "vision_config": {"num_hidden_layers": 3}}
    assert from_config(raw | {"image_token_index": 7}).groups() == [(FullAttention(8, 128), 32)]
    assert raw["vision_config"] == {"num_hidden_layers": 3}


def test_a_shape_read_by_configs_is_full_attention():
    shape = ModelConfig.from_dict(
        llama(num_key_value_heads=8, max_position_embeddings=99, torch_dtype="bfloat16")
    )
    model = from_config(shape)
    assert model.groups() == [(FullAttention(8, 128), 32)]
    assert (model.max_tokens, model.model_type) == (99, "llama")


@pytest.mark.parametrize(
    ("fields", "dtype"),
    [({}, None), ({"torch_dtype": "float16"}, "fp16"), ({"dtype": "bfloat16"}, "bf16"),
     ({"torch_dtype": "float8_e4m3fn"}, None), ({"torch_dtype": "float32"}, "fp32")],
)  # fmt: skip
def test_dtype_of_the_published_weights(fields, dtype):
    assert from_config(llama(**fields)).dtype == dtype


# ---- refusals ------------------------------------------------------------------------------------

MARKERS = {
    "sliding_window": 4096, "layer_types": ["sliding_attention"] * 32, "kv_lora_rank": 512,
    "ssm_state_size": 16,
    "attention_chunk_size": 8192, "linear_num_value_heads": 32, "mamba_d_state": 16,
    "num_kv_shared_layers": 10,
    "index_topk": 2048, "compress_ratios": [4, 128], "cla_share_factor": 2, "hybrid_override_pattern": "M*M*",
    "attn_type_list": [0, 1], "conv_L_cache": 3, "block_configs": [{}], "swa_head_dim": 64,
    "recurrent_block": 1,
    "global_head_dim": 512,
    "sparse_attention_config": {"use_sparse_attention": True},
}  # fmt: skip


@pytest.mark.parametrize("field", MARKERS)
def test_fields_that_may_change_the_cache_are_refused_by_name(field):
    with pytest.raises(ConfigError, match=f"field '{field}'.*not covered"):
        from_config(llama(**{field: MARKERS[field]}))


@pytest.mark.parametrize("field", MARKERS)
def test_the_same_fields_switched_off_are_harmless(field):
    assert from_config(llama(**{field: None})) == from_config(LLAMA)


@pytest.mark.parametrize(
    "fields",
    [{"num_local_experts": 8, "moe_intermediate_size": 7, "shared_expert_intermediate_size": 9},
     {"rope_scaling": {"factor": 8}, "initializer_range": 0.02, "bos_token_id": 1, "use_cache": True},
     {"quantization_config": {"quant_method": "fp8"}, "num_nextn_predict_layers": 1,
     "output_hidden_states": True},
     {"is_encoder_decoder": False, "add_cross_attention": False, "chunk_size_feed_forward": 12}],
)  # fmt: skip
def test_fields_about_other_things_are_harmless(fields):
    assert from_config(llama(**fields)).layers == from_config(LLAMA).layers


@pytest.mark.parametrize(
    ("config", "sentence"),
    [
        ({}, "field 'model_type' is missing"),
        ({"model_type": None}, "field 'model_type' is missing"),
        ({"model_type": 7}, "field 'model_type' is 7"),
        ({"model_type": "novel_lm"} | {"num_hidden_layers": 2}, "model_type 'novel_lm' is not covered"),
        ({"model_type": "novel_lm", "kv_lora_rank": 512}, "Its cache depends on kv_lora_rank"),
        ({"model_type": "llama"}, "field 'num_hidden_layers' is missing"),
        (llama(num_hidden_layers=None), "field 'num_hidden_layers' is null"),
        (llama(num_hidden_layers=0), "field 'num_hidden_layers' is 0"),
        (llama(num_hidden_layers=-3), "field 'num_hidden_layers' is -3"),
        (llama(num_hidden_layers="32"), "field 'num_hidden_layers' is '32'"),
        (llama(num_hidden_layers=32.0), "field 'num_hidden_layers' is 32.0"),
        (llama(num_hidden_layers=True), "field 'num_hidden_layers' is True"),
        (llama(num_hidden_layers=10**10), "field 'num_hidden_layers' is 10000000000"),
        (llama(num_hidden_layers=[32]), "field 'num_hidden_layers' is [32]"),
        (llama(num_key_value_heads=5), "num_key_value_heads = 5 does not divide num_attention_heads = 32"),
        (llama(num_key_value_heads=64), "num_key_value_heads = 64 does not divide"),
        (llama(num_key_value_heads=0), "field 'num_key_value_heads' is 0"),
        (llama(hidden_size=4097), "field 'head_dim' is missing and hidden_size = 4097"),
        (llama(head_dim=-1), "field 'head_dim' is -1"),
        (llama(layer_types="full"), "field 'layer_types' is 'full'"),
        (llama(layer_types=["full_attention"]), "field 'layer_types' names 1 layers"),
        (llama(is_encoder_decoder=True), "field 'is_encoder_decoder' is True"),
        (llama(is_encoder_decoder="no"), "field 'is_encoder_decoder' is 'no'"),
        (llama(max_position_embeddings=-4), "field 'max_position_embeddings' is -4"),
        (llama(torch_dtype=16), "field 'torch_dtype' is 16"),
        ({"model_type": "llava", "text_config": 3}, "field 'text_config' is 3"),
        ({"model_type": "qwen9", "text_config": {}}, "model_type 'qwen9' is not covered"),
        ({"model_type": "mpt", "d_model": 8, "n_layers": 1, "n_heads": 1, "attn_config": 3},
        "field 'attn_config'"),
        (llama(model_type="qwen2", use_sliding_window="yes"), "field 'use_sliding_window' is 'yes'"),
        ({"model_type": "gpt2", "n_layer": 2, "num_hidden_layers": 3, "n_head": 1, "n_embd": 8}, "disagree"),
        ([], "a model configuration is a JSON object"), (None, "JSON object"), ("llama", "JSON object"),
    ],
)  # fmt: skip
def test_bad_configurations_are_one_sentence_that_names_the_field(config, sentence):
    with pytest.raises(ConfigError) as caught:
        from_config(config)
    message = str(caught.value)
    assert sentence in message and "\n" not in message and message.endswith(".")


# ---- nothing crashes -----------------------------------------------------------------------------

names = st.sampled_from([
    "num_hidden_layers", "num_attention_heads", "num_key_value_heads", "hidden_size", "head_dim",
    "sliding_window",
    "use_sliding_window", "layer_types", "n_layer", "n_head", "n_embd", "multi_query", "num_kv_heads",
    "attn_config",
    "max_window_layers", "sliding_window_pattern", "torch_dtype", "max_position_embeddings", "text_config",
    "new_decoder_architecture", "is_encoder_decoder", "d_model", "n_layers", "n_heads", "kv_lora_rank",
])  # fmt: skip
values = st.one_of(
    st.integers(-2, 130), st.none(), st.booleans(), st.text(max_size=3), st.floats(), st.integers(),
    st.lists(st.sampled_from(["full_attention", "sliding_attention", "mamba"]), max_size=4),
    st.dictionaries(names, st.integers(-1, 9), max_size=3), st.lists(st.integers(), max_size=2),
)  # fmt: skip
types = st.sampled_from([*FAMILIES, *WRAPPERS]) | values
plain = st.fixed_dictionaries(
    {
        "num_hidden_layers": st.integers(1, 5),
        "num_attention_heads": st.integers(1, 9),
        "hidden_size": st.integers(1, 99),
    }
)


@given(types, st.dictionaries(names, values, max_size=6), plain | st.just({}), st.integers(0, 40))
def test_any_configuration_gives_bytes_or_a_config_error(model_type, fields, base, tokens):
    raw = {"model_type": model_type, **base, **fields}
    before = json.dumps(raw, default=repr)
    try:
        model = from_config(raw)
    except ConfigError as error:
        assert "\n" not in str(error)
    else:
        size = model.bytes(tokens, dtype="fp16")
        assert isinstance(size, int) and 0 <= size <= model.bytes(tokens + 1, dtype="fp16")
        assert size > 0 or tokens == 0
    assert json.dumps(raw, default=repr) == before


def test_nothing_here_imports_torch():
    code = "import sys, kvcourse.memory, kvcourse.registry; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


LISTED = {
    "full_attn_idxs": {"model_type": "lfm2", "num_key_value_heads": 2},
    "attn_layer_indices": {"model_type": "bamba", "num_key_value_heads": 2, "mamba_n_heads": 4},
}


@pytest.mark.parametrize("name", LISTED)
@pytest.mark.parametrize("indices", [[0] * 5, [4], [-1], [1.0], [True], ["1"], [[0]], "01", {"0": 1}, 3])
def test_lists_of_layer_numbers_are_checked(name, indices):
    raw = {"num_hidden_layers": 4, "num_attention_heads": 4, "hidden_size": 64, **LISTED[name]}
    with pytest.raises(ConfigError, match=name):
        from_config(raw | {name: indices})
    assert len(from_config(raw | {name: [3, 0]}).layers) == 4


def test_layers_beyond_any_model_are_refused_everywhere():
    raw = {"model_type": "llama", "num_attention_heads": 4, "hidden_size": 64}
    assert len(from_config(raw | {"num_hidden_layers": 10_000}).layers) == 10_000
    with pytest.raises(ConfigError, match="num_hidden_layers"):
        from_config(raw | {"num_hidden_layers": 10_001})
    for name, value in (("hybrid_override_pattern", "*" * 10_001), ("layers_block_type", ["mlp"] * 10_001)):
        with pytest.raises(ConfigError, match=name):
            from_config(raw | {"model_type": "nemotron_h", name: value})


# ---- types that Transformers does not have: shapes as published --------------------------------------

PUBLISHED = {
    # THUDM/chatglm3-6b: 28 layers, 2 groups of 128
    "chatglm": ({"num_layers": 28, "num_attention_heads": 32, "hidden_size": 4096, "kv_channels": 128,
                 "multi_query_attention": True, "multi_query_group_num": 2, "seq_length": 8192},
                28 * 2 * 2 * 128),
    # Qwen/Qwen-7B: MHA
    "qwen": ({"num_hidden_layers": 32, "num_attention_heads": 32, "hidden_size": 4096, "kv_channels": 128,
              "seq_length": 8192}, 32 * 2 * 4096),
    # Deci/DeciLM-7B: 4, 2 or 1 KV heads
    "deci": ({"num_hidden_layers": 3, "num_attention_heads": 32, "hidden_size": 4096,
              "num_key_value_heads_per_layer": [4, 2, 1]}, 7 * 2 * 128),
    # apple/OpenELM-270M in small: heads grow with depth
    "openelm": ({"num_transformer_layers": 2, "num_query_heads": [12, 16], "num_kv_heads": [3, 4],
                 "head_dim": 64, "model_dim": 1280}, 7 * 2 * 64),
    # tencent/Hunyuan-Large: 64 layers, every second reads its neighbor's cache
    "hunyuan": ({"num_hidden_layers": 64, "num_attention_heads": 80, "hidden_size": 6400,
                 "num_key_value_heads": 8, "attention_head_dim": 128, "head_dim": 80, "use_cla": True,
                 "cla_share_factor": 2}, 32 * 2 * 8 * 80),
    "internlm2": ({"num_hidden_layers": 32, "num_attention_heads": 32, "hidden_size": 4096,
                   "num_key_value_heads": 8}, 32 * 2 * 8 * 128),
    # nvidia/Llama-3.3-Nemotron-Super-49B in small: a layer without attention
    "nemotron-nas": ({"num_hidden_layers": 3, "num_attention_heads": 64, "hidden_size": 8192,
                      "num_key_value_heads": None, "block_configs": [
                          {"attention": {"n_heads_in_group": 8, "no_op": False}, "ffn": {}},
                          {"attention": {"n_heads_in_group": None, "no_op": True}},
                          {"attention": {"n_heads_in_group": 16, "no_op": False}}]}, 12 * 2 * 128),
    "deepseek_ref": ({"num_hidden_layers": 1, "num_attention_heads": 8, "hidden_size": 64, "head_dim": 512,
                      "compress_ratios": [0]}, 512),
    "baichuan": ({"num_hidden_layers": 32, "num_attention_heads": 32, "hidden_size": 4096}, 32 * 2 * 4096),
    "kimi_k2": ({"num_hidden_layers": 61, "num_attention_heads": 64, "hidden_size": 7168}, 61 * 576),
    "minimax_m3": ({"num_hidden_layers": 2, "num_attention_heads": 64, "hidden_size": 6144,
                    "num_key_value_heads": 4, "head_dim": 128,
                    "sparse_attention_config": {"sparse_attention_freq": [0, 1], "sparse_index_dim": 96}},
                   2 * 2 * 4 * 128 + 96),
    "step3p7": ({"num_hidden_layers": 2, "num_attention_heads": 64, "hidden_size": 4096,
                 "sliding_window": 512, "num_attention_groups": 8, "num_nextn_predict_layers": 1,
                 "layer_types": ["full_attention", "sliding_attention", "full_attention"]}, 2 * 2 * 8 * 128),
}  # fmt: skip


@pytest.mark.parametrize("model_type", PUBLISHED)
def test_numbers_of_one_token_in_types_with_classes_of_their_own(model_type):
    fields, numbers = PUBLISHED[model_type]
    assert from_config(fields | {"model_type": model_type}).elements(1) == numbers


def test_a_decoder_in_a_thinker():
    """Qwen2.5-Omni: thinker_config holds text_config."""
    text = llama(model_type="qwen2_5_omni_text", num_key_value_heads=8)
    thinker = {"model_type": "qwen2_5_omni_thinker", "text_config": text}
    raw = {"model_type": "qwen2_5_omni", "thinker_config": thinker, "talker_config": {"num_hidden_layers": 3}}
    assert from_config(raw).groups() == [(FullAttention(8, 128), 32)]
    del text["model_type"]
    assert from_config(raw).model_type == "qwen2_5_omni_text"


def test_a_wrappers_type_over_a_flat_file_is_its_decoders():
    assert from_config(llama(model_type="glm4v", num_key_value_heads=8)).model_type == "glm4v_text"


def test_gguf_metadata_says_the_same_in_other_words():
    """SmolLM2-135M-Instruct, from its GGUF: 30 x 2 x 3 x 64 numbers a token."""
    raw = {"general.architecture": "llama", "llama.block_count": 30, "llama.embedding_length": 576,
           "llama.attention.head_count": 9, "llama.attention.head_count_kv": 3, "llama.context_length": 8192,
           "llama.rope.dimension_count": 64}  # fmt: skip
    short = {name.rsplit(".", 1)[-1]: value for name, value in raw.items()}
    for form in (raw, short):
        model = from_config(form)
        assert (model.elements(1), model.max_tokens) == (11_520, 8192)
    for odd in (
        {"llama.attention.key_length": 64, "llama.attention.value_length": 32},
        {"llama.ssm.state_size": 3},
    ):
        with pytest.raises(ConfigError):
            from_config(raw | odd)


def test_aliases_of_one_field_must_agree():
    raw = {"model_type": "inkling_text", "num_hidden_layers": 6, "num_attention_heads": 8, "hidden_size": 64,
           "sliding_window_size": 512}  # fmt: skip
    assert from_config(raw | {"sliding_window": 512}).layers == from_config(raw).layers
    with pytest.raises(ConfigError, match="sliding_window_size = 512 and sliding_window = 256"):
        from_config(raw | {"sliding_window": 256})


def test_kimis_lists_count_layers_from_one():
    raw = {"model_type": "kimi_linear", "num_hidden_layers": 4, "num_attention_heads": 2, "hidden_size": 64}
    lists = {"full_attn_layers": [4], "kda_layers": [1, 2, 3], "num_heads": 2, "head_dim": 8,
             "short_conv_kernel_size": 4}  # fmt: skip
    model = from_config(raw | {"linear_attn_config": lists})
    assert [layer.describe().split()[0].rstrip(",") for layer in model.layers] == ["recurrent"] * 3 + [
        "latent"
    ]
    for odd in (
        {"kda_layers": [0, 1, 2]},
        {"kda_layers": [1, 2]},
        {"full_attn_layers": "4"},
        {"kda_layers": None},
    ):
        with pytest.raises(ConfigError, match="linear_attn_config"):
            from_config(raw | {"linear_attn_config": lists | odd})


# ---- per_layer_config ------------------------------------------------------------------------------

GEMMA_4 = {"model_type": "gemma4_text", "num_hidden_layers": 6, "num_attention_heads": 8, "hidden_size": 64,
           "num_key_value_heads": 2, "head_dim": 16, "sliding_window": 9}  # fmt: skip


def test_a_layers_own_fields_come_before_those_of_all():
    model = from_config(GEMMA_4 | {"per_layer_config": {"05": {"head_dim": 40, "num_key_value_heads": 1},
                                                        "2": {"sliding_window": 5}}})  # fmt: skip
    usual = FullAttention(2, 16)
    assert model.layers[5] == FullAttention(1, 40)
    assert model.layers[2] == SlidingAttention(5, usual) and model.layers[1] == SlidingAttention(9, usual)


@pytest.mark.parametrize(
    "told",
    [{"6": {}}, {"-1": {}}, {"x": {}}, {"1": 3}, [], "1", {"1": {"head_dim": 0}}, {"1": {"head_dim": "40"}},
     {"1": {"kv_lora_rank": 9}}, {"1": {"cla_share_factor": 2}}, {"5": {"sliding_window": 9}}],
)  # fmt: skip
def test_per_layer_fields_that_cannot_be_read(told):
    with pytest.raises(ConfigError) as caught:
        from_config(GEMMA_4 | {"per_layer_config": told})
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("model_type", "field"),
    [("deepseek_v2", "kv_lora_rank"), ("deepseek_v32", "index_head_dim"), ("mamba", "state_size"),
     ("qwen3_next", "linear_num_value_heads"), ("gemma3n_text", "sliding_window"),
     ("bamba", "mamba_n_heads")],
)  # fmt: skip
def test_a_null_where_the_class_takes_none_is_no_default(model_type, field):
    """DeepSeek-VL2-Tiny sets kv_lora_rank to null and keeps keys and values: 512 would be a guess."""
    raw = llama(model_type=model_type)
    assert from_config(raw)
    with pytest.raises(ConfigError, match=f"field '{field}' is null"):
        from_config(raw | {field: None})
