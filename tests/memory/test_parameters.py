"""Parameter counts against the classes of Transformers, built without memory for their weights."""

import pytest

from kvcourse import registry
from kvcourse.errors import ConfigError, UnitError
from kvcourse.memory import count_parameters, weight_bytes
from kvcourse.memory.counts import COUNTERS
from kvcourse.memory.parameters import RECIPES

BASE = {
    "vocab_size": 101, "hidden_size": 48, "intermediate_size": 40, "num_hidden_layers": 5,
    "num_attention_heads": 4,
    "num_key_value_heads": 2, "head_dim": 16, "num_local_experts": 3, "num_experts": 3,
    "moe_intermediate_size": 24,
    "num_experts_per_tok": 2, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2,
}  # fmt: skip
VARIANTS = {
    "as the class has it": {},
    "tied": {"tie_word_embeddings": True},
    "untied": {"tie_word_embeddings": False},
    "biases": {"attention_bias": True, "mlp_bias": True},
    "dense layers": {"decoder_sparse_step": 2, "mlp_only_layers": [3]},
}


def built(raw: dict) -> int:
    transformers = pytest.importorskip("transformers", reason="install: transformers")
    torch = pytest.importorskip("torch")
    with torch.device("meta"):
        model = transformers.AutoModelForCausalLM.from_config(transformers.AutoConfig.for_model(**raw))
    return model.num_parameters()


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("model_type", RECIPES)
def test_counts_are_those_of_the_built_model(model_type, variant):
    raw = dict(BASE, model_type=model_type, **VARIANTS[variant])
    if model_type == "mixtral":
        raw.pop("head_dim")
    assert count_parameters(raw).total == built(raw)


OTHER_VARIANTS = {
    "as the class has it": {}, "tied": {"tie_word_embeddings": True},
    "untied": {"tie_word_embeddings": False},
    "biases": {"attention_bias": True}, "no low rank of queries": {"q_lora_rank": None},
    "wide": {"n_inner": 50, "word_embed_proj_dim": 24}, "norms after": {"do_layer_norm_before": False},
    "dense first": {"first_k_dense_replace": 2}, "shared": {"n_shared_experts": 2},
    "latent experts": {"moe_latent_size": 24},
    "norms of Q and K": {"use_qk_norm": True, "qk_layernorm": True},
    "every second": {"decoder_sparse_step": 2, "interleave_moe_layer_step": 2},
    "falcon": {"new_decoder_architecture": True, "num_kv_heads": 2, "bias": True},
    "one after the other": {"parallel_attn": False, "mlp_bias": True, "use_bias": True},
}  # fmt: skip


@pytest.mark.parametrize("variant", OTHER_VARIANTS)
@pytest.mark.parametrize("model_type", COUNTERS)
def test_counts_of_other_families_are_those_of_the_built_model(model_type, variant):
    from small_configs import FIELDS, LLAMA

    raw = FIELDS.get(model_type, LLAMA) | OTHER_VARIANTS[variant] | {"model_type": model_type}
    if model_type != "falcon":
        raw.pop("num_kv_heads", None)
    if model_type == "nemotron_h" or "deepseek" in model_type:  # not what these flags are for
        raw.pop("n_shared_experts", None)
    if "dsa" in model_type or model_type in ("deepseek_v32", "deepseek_v4"):
        raw["q_lora_rank"] = 20  # the indexer reads the queries' low rank
    assert count_parameters(raw).total == built(raw)


@pytest.mark.parametrize(
    ("name", "number"),
    [("DeepSeek-V3", 671_026_404_352), ("DeepSeek-V3.2", 671_877_929_216), ("Kimi-K2", 1_026_408_209_408),
     ("GLM-5.2", 743_377_000_704), ("gpt-oss-120b", 116_829_156_672), ("GPT-2", 124_439_808),
     ("OPT-13B", 12_853_473_280), ("Qwen3-235B-A22B", 235_093_634_560), ("OLMo-2-7B", 7_298_617_344),
     ("DeepSeek-V4-Flash", 284_332_230_231), ("Falcon-40B", 41_303_293_952), ("Falcon-7B", 6_921_720_704)],
)  # fmt: skip
def test_published_counts_of_every_counted_family(name, number):
    assert count_parameters(registry.find(name).config).total == number


def test_every_count_in_the_registry_is_our_own_where_we_count():
    counted = 0
    for model in registry.models():
        try:
            ours = count_parameters(model.config).total
        except ConfigError:  # whisper, and decoders beside a vision tower
            continue
        assert model.parameters in (None, ours), model.name
        counted += 1
    assert counted > 70


LLAMA_2_7B = {
    "model_type": "llama", "vocab_size": 32_000, "hidden_size": 4096, "intermediate_size": 11_008,
    "num_hidden_layers": 32,
    "num_attention_heads": 32, "num_key_value_heads": 32,
}  # fmt: skip


def test_published_counts():
    assert count_parameters(LLAMA_2_7B).total == 6_738_415_616
    llama_3 = dict(LLAMA_2_7B, vocab_size=128_256, intermediate_size=14_336, num_key_value_heads=8)
    assert count_parameters(llama_3).total == 8_030_261_248


def test_a_tied_table_is_counted_once():
    tied = count_parameters(LLAMA_2_7B | {"tie_word_embeddings": True})
    assert tied.output == 0 and tied.total == 6_738_415_616 - 32_000 * 4096


@pytest.mark.full
def test_the_published_shapes_of_llama_are_those_of_the_class():
    assert built(LLAMA_2_7B) == 6_738_415_616


@pytest.mark.parametrize(
    ("count", "dtype", "size"), [(7, "fp32", 28), (7, "bf16", 14), (8.03e9, "fp16", 16_060_000_000)]
)
def test_weight_bytes(count, dtype, size):
    assert weight_bytes(count, dtype) == size


def test_llama_cpps_weights_are_those_of_its_own_table():
    gguf = pytest.importorskip("gguf", reason="install: gguf")
    for name in ("Q2_K", "Q3_K", "Q4_K", "Q5_K", "Q6_K", "Q8_0", "Q4_0"):
        block, size = gguf.GGML_QUANT_SIZES[gguf.GGMLQuantizationType[name]]
        assert weight_bytes(block, name) == size
    assert weight_bytes(1280, "int4_g128") == 1280 // 2 + 10 * 20 // 8


@pytest.mark.parametrize("count", [0, -1, 1.5, "7B", None, float("nan"), float("inf")])
def test_bad_counts_are_refused(count):
    with pytest.raises(ConfigError, match="parameters is"):
        weight_bytes(count)


def test_bad_dtypes_are_refused():
    with pytest.raises(UnitError, match="unknown cache dtype"):
        weight_bytes(7, "fp12")


@pytest.mark.parametrize(
    ("raw", "sentence"),
    [({k: v for k, v in LLAMA_2_7B.items() if k != "vocab_size"}, "field 'vocab_size' is missing"),
     (LLAMA_2_7B | {"intermediate_size": "11008"}, "field 'intermediate_size' is '11008'"),
     (LLAMA_2_7B | {"attention_bias": 1}, "field 'attention_bias' is 1"),
     ({"model_type": "gptj", "n_layer": 2, "n_head": 2, "n_embd": 8}, "model_type 'gptj' are not counted"),
     ({"model_type": "llava", "text_config": LLAMA_2_7B}, "parts beside its decoder"),
     (LLAMA_2_7B | {"kv_lora_rank": 9}, "field 'kv_lora_rank'")],
)  # fmt: skip
def test_what_cannot_be_counted_is_said(raw, sentence):
    with pytest.raises(ConfigError, match=sentence):
        count_parameters(raw)
