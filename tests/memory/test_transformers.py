"""Our bytes against the tensors that Transformers' own caches hold, for every model type that both know.

Each type's class builds a tiny random model from the fields of `small_configs.py`; `oracle.py` runs it.
"""

import json

import pytest

from kvcourse.memory import class_defaults, from_config, reserved
from kvcourse.memory.families import FAMILIES, attention_types, encoder_decoder, latent, wrapped

transformers = pytest.importorskip("transformers", reason="install: transformers")
torch = pytest.importorskip("torch")

import oracle  # noqa: E402
import write_class_defaults as written  # noqa: E402
from small_configs import FIELDS, LLAMA, WINDOW  # noqa: E402

USUAL = {  # one of each way to read and to keep; the others run with the long tests
    "bailing_hybrid", "deepseek_v3", "deepseek_v4", "dots3_note_text", "falcon", "falcon_h1", "gemma3_text",
    "gemma3n_text", "gemma4_text", "glm5_next_text", "glm_moe_dsa", "gpt2", "gpt_bigcode", "hrm_text",
    "inkling_text", "jamba", "kimi_linear", "lfm2", "lfm3", "llama", "llama4_text", "longcat_flash",
    "mimo_v2_flash", "minimax_m3_vl_text", "mistral", "mistral_large4_text", "mixtral", "nemotron_h", "opt",
    "qwen2", "qwen3", "qwen3_next", "qwen4_exp_text", "step3p5", "zamba2",
}  # fmt: skip

# Types that are read and that this test does not build, each with its reason.
NOT_BUILT = {
    **dict.fromkeys(("chatglm", "deci", "hunyuan", "internlm2", "nemotron-nas", "openelm", "qwen"),
                    "ships a class of its own"),
    **dict.fromkeys(("minimax", "recurrent_gemma", "rwkv", "xlstm", "mllama_text_model"),
                    "keeps its states elsewhere: tested below"),
    "deepseek_v41_text": "not in Transformers 5.24",
    "gpt_neo": "masks its windows and keeps every token: tested below",
    "diffusion_gemma_text": "has no class for text alone; attends as Gemma 4",
    "qwen2_5_omni_talker": "reads another model's states, not tokens; attends as Qwen2",
    "qwen3_omni_moe_talker_text": "reads another model's states, not tokens; attends as Qwen3",
    "voxtral_realtime_text": "takes sound beside tokens; attends as Mistral",
}  # fmt: skip


def types() -> list:
    names = sorted(set(FAMILIES) - set(NOT_BUILT) - set(encoder_decoder.FAMILIES))
    return [pytest.param(name, marks=() if name in USUAL else pytest.mark.full) for name in names]


@pytest.mark.parametrize("model_type", types())
def test_bytes_are_those_of_the_real_cache(model_type):
    raw = dict(FIELDS.get(model_type, LLAMA), model_type=model_type)
    ours, config = from_config(raw), oracle.config_of(raw)
    for tokens in (1, WINDOW - 1, WINDOW + 7):
        more = 0 if model_type == "zaya" else sum(oracle.beyond(layer, tokens) for layer in ours.layers)
        if model_type == "zaya":  # keeps as many inputs as its two kernels need
            more = sum(oracle.beyond(layer.kept[0], tokens) for layer in ours.layers)
        kept = oracle.size(oracle.cache_after(oracle.config_of(raw), tokens, batch=2))
        assert kept == ours.bytes(tokens, 2, "fp32") + 2 * more
    assert config.model_type == model_type


def test_every_reason_names_a_type_that_is_read():
    assert set(NOT_BUILT) <= set(FAMILIES) and set(USUAL) <= set(FAMILIES) - set(NOT_BUILT)


@pytest.mark.parametrize("model_type", ["jamba", "kimi_linear", "nemotron_h", "qwen3_next", "deepseek_v4"])
def test_states_stay_in_fp32_beside_a_cache_in_bf16(model_type):
    raw = dict(FIELDS[model_type], model_type=model_type)
    ours = from_config(raw)
    usual = torch.get_default_dtype()
    try:
        torch.set_default_dtype(torch.bfloat16)
        kept = oracle.size(oracle.cache_after(oracle.config_of(raw), 13, batch=1))
    finally:
        torch.set_default_dtype(usual)
    # What Transformers keeps beyond ours has the cache's dtype, half as wide as in fp32.
    assert kept == ours.bytes(13, 1, "bf16") + sum(oracle.beyond(layer, 13) for layer in ours.layers) // 2


# ---- defaults ------------------------------------------------------------------------------------


@pytest.mark.full
def test_the_table_of_defaults_is_what_the_classes_say():
    assert json.loads(written.text()) == class_defaults.table()


def known(names):
    return sorted(name for name in names if name in transformers.CONFIG_MAPPING)


ODD = {"dory", "hrm_text", "jetmoe", "mimo_v2_flash", "minimax_m3_vl_text"}  # counted or cut another way


@pytest.mark.parametrize("model_type", [name for name in known(attention_types.FAMILIES) if name not in ODD])
def test_absent_fields_mean_what_the_class_says(model_type):
    """Only sizes are given; KV heads, head width and windows are defaults, ours and the class's."""
    layers, heads, hidden = 12, 160, 160 * 48  # 160 heads: every class default for KV heads divides it
    raw = {"model_type": model_type}
    for names, value in (
        (("num_hidden_layers", "n_layer", "num_layers", "n_layers"), layers),
        (("num_attention_heads", "n_head", "attention_heads", "n_heads", "num_heads"), heads),
        (("hidden_size", "n_embd", "d_model"), hidden),
    ):
        fields = transformers.CONFIG_MAPPING[model_type]().to_dict()
        raw[next(name for name in names if name in fields)] = value
    if model_type == "gpt_neo":
        raw["attention_types"] = [[["global", "local"], 6]]
    if model_type == "jais2":
        raw["num_key_value_heads"] = None  # 26 divides no number of heads that the others' defaults divide
    config, ours = oracle.config_of(raw), from_config(raw)
    shape = {fact.name: fact.value for fact in ours.facts}
    if getattr(config, "num_key_value_heads", None) is not None:
        assert shape["num_kv_heads"] == config.num_key_value_heads
    else:
        assert shape["num_kv_heads"] == (1 if getattr(config, "multi_query", False) else heads)
    assert shape["head_dim"] == (getattr(config, "head_dim", None) or hidden // heads)
    windows = [
        getattr(layer, "sliding_window", None) for layer in transformers.DynamicCache(config=config).layers
    ]
    if model_type == "gpt_neo":  # its class masks
        windows = [None, 256] * 6
    assert [getattr(layer, "window", None) for layer in ours.layers] == windows


PLAIN_LATENT = {"dots3_note_text", "longcat_flash"}


@pytest.mark.parametrize("model_type", [n for n in known(latent.FAMILIES) if n not in PLAIN_LATENT])
def test_absent_fields_of_latent_types(model_type):
    raw = {"model_type": model_type, "num_hidden_layers": 7, "num_attention_heads": 128, "hidden_size": 7168}
    raw |= {"num_key_value_heads": 128}
    config = oracle.config_of(raw)
    indexed = [kind == "full" for kind in getattr(config, "indexer_types", None) or []] or [True] * 7
    widths = [own * getattr(config, "index_head_dim", 0) for own in indexed]
    assert [layer.index_dim for layer in from_config(raw).layers] == widths
    assert {layer.rank for layer in from_config(raw).layers} == {config.kv_lora_rank}
    assert {layer.rope_dim for layer in from_config(raw).layers} == {config.qk_rope_head_dim}


def test_a_decoder_inside_a_wrapper_may_leave_its_sizes_to_its_class():
    """LLaVA-1.5 says "llama" and no sizes; Gemma 3's files say hidden_size and layers only."""
    for outer, inner in (
        ("llava", {"model_type": "llama"}),
        ("gemma3", {"model_type": "gemma3_text", "hidden_size": 2560, "num_hidden_layers": 34}),
    ):
        raw = {"model_type": outer, "text_config": inner}
        config = transformers.CONFIG_MAPPING[outer](text_config=inner).text_config
        layer, heads = from_config(raw).layers[0], config.num_attention_heads
        layer = getattr(layer, "attention", layer)
        assert layer.kv_heads == (config.num_key_value_heads or heads)
        assert layer.head_dim == (getattr(config, "head_dim", None) or config.hidden_size // heads)
        assert len(from_config(raw).layers) == config.num_hidden_layers


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("model_type", known(set(FAMILIES) - set(encoder_decoder.FAMILIES)))
def test_what_transformers_saves_is_read_as_the_same(model_type, whole):
    """Its config.json names more fields than ours need; none may be taken for one that changes the cache."""
    raw = dict(FIELDS.get(model_type, LLAMA), model_type=model_type)
    saved = json.loads(oracle.config_of(raw).to_json_string(use_diff=not whole))
    assert from_config(saved, source_tokens=5).layers == from_config(raw, source_tokens=5).layers


ODD_DEFAULTS = {  # classes whose own defaults make no model, or do not tell what the source is
    "florence2", "glm4v_moe", "mllama", "qwen3_omni_moe", "qwen3_omni_moe_thinker", "qwen4_exp",
}  # fmt: skip


@pytest.mark.full
def test_what_transformers_saves_of_a_wrapper_is_read():
    """About 100 vision and sound models, each with the decoder its class has by default."""
    read = 0
    for name in sorted(class_defaults.wrappers()):
        if wrapped(name) not in FAMILIES or name in ODD_DEFAULTS or name not in transformers.CONFIG_MAPPING:
            continue
        try:
            config = transformers.CONFIG_MAPPING[name]()
        except Exception:  # a class that cannot be made from nothing
            continue
        ours = from_config(json.loads(config.to_json_string(use_diff=False)))
        kept = len(transformers.DynamicCache(config=config).layers)
        dummies = (
            sum(transformers.DynamicCache(config=config).is_dummy) if wrapped(name) == "nemotron_h" else 0
        )
        loops = name == "inkling2_loop"  # its model lengthens the cache when it runs
        assert loops or len(ours.layers) == kept - dummies, name
        read += 1
    assert read > 90


# ---- types that keep their states in other places ------------------------------------------------


def test_falcons_new_architecture_stores_each_key_once_for_every_query_head():
    """Transformers broadcasts the KV heads of Falcon-40B before it caches them; the model needs the few."""
    raw = dict(LLAMA, model_type="falcon", new_decoder_architecture=True, num_kv_heads=2)
    kept = oracle.size(oracle.cache_after(oracle.config_of(raw), 5, 1))
    assert kept == 2 * from_config(raw).bytes(5, 1, "fp32")


def test_gpt_neo_is_kept_whole_where_a_window_would_do():
    raw = dict(FIELDS["gpt_neo"], model_type="gpt_neo")
    ours = from_config(raw)
    kept = oracle.size(oracle.cache_after(oracle.config_of(raw), 20, 1))
    assert kept == reserved.reserved(ours).bytes(20, 1, "fp32")
    assert ours.bytes(20, 1, "fp32") == kept // 2 + kept // 2 * WINDOW // 20


def test_minimax_keeps_a_square_state_for_each_head():
    raw = dict(FIELDS["minimax"], model_type="minimax")
    model = oracle.model_of(oracle.config_of(raw))
    with torch.no_grad():
        cache = model(torch.randint(3, 60, (2, 9)), use_cache=True).cache
    states = [tensor for tensor in cache.linear_cache if isinstance(tensor, torch.Tensor)]
    kept = oracle.size([tensor for layer in cache.layers for tensor in oracle.tensors(layer)] + states)
    assert kept == from_config(raw).bytes(9, 2, "fp32")


def test_recurrent_gemma_keeps_its_states_in_the_layers():
    raw = dict(LLAMA, model_type="recurrent_gemma", num_key_value_heads=2, attention_window_size=WINDOW)
    model, ours = oracle.model_of(oracle.config_of(raw)), from_config(raw)
    cache = transformers.DynamicCache(config=model.config)
    with torch.no_grad():
        model(torch.randint(3, 60, (1, 4)), cache=cache, use_cache=True)
    kept = [tensor for layer in cache.layers for tensor in oracle.tensors(layer)]
    for module in model.modules():
        kept += [
            module.__dict__[name]
            for name in ("conv1d_state", "recurrent_states")
            if module.__dict__.get(name) is not None
        ]
    assert oracle.size(kept) == ours.bytes(4, 1, "fp32")


def test_rwkv_keeps_five_vectors_a_layer():
    raw = {"model_type": "rwkv", "vocab_size": 64, "hidden_size": 48, "num_hidden_layers": 3,
           "attention_hidden_size": 48, "context_length": 64}  # fmt: skip
    with torch.no_grad():
        state = oracle.model_of(oracle.config_of(raw))(torch.randint(3, 60, (1, 4)), use_cache=True).state
    assert oracle.size(state) == from_config(raw).bytes(4, 1, "fp32")


def test_xlstm_keeps_a_matrix_a_vector_and_a_number_a_head():
    raw = {
        "model_type": "xlstm",
        "vocab_size": 64,
        "hidden_size": 128,
        "num_hidden_layers": 2,
        "num_heads": 4,
    }
    with torch.no_grad():
        cache = oracle.model_of(oracle.config_of(raw))(
            torch.randint(3, 60, (1, 4)), use_cache=True
        ).cache_params
    kept = [tensor for layer in cache.rnn_state.values() for tensor in layer]
    assert oracle.size(kept) == from_config(raw).bytes(4, 1, "fp32")


def test_the_layers_of_llama_vision_that_read_an_image():
    raw = dict(FIELDS["mllama_text_model"], model_type="mllama_text_model")
    model = oracle.model_of(oracle.config_of(raw))
    cache, image = transformers.DynamicCache(config=model.config), torch.zeros(1, 11, 48)
    with torch.no_grad():
        model(torch.randint(3, 60, (1, 9)), cross_attention_states=image, cache=cache, use_cache=True)
    kept = oracle.size([tensor for layer in cache.layers for tensor in oracle.tensors(layer)])
    assert kept == from_config(raw, source_tokens=11).bytes(9, 1, "fp32")
    whole = {"model_type": "mllama", "text_config": {"model_type": "mllama_text_model"},
             "vision_config": {"image_size": 560, "patch_size": 14, "max_num_tiles": 4}}  # fmt: skip
    facts = {fact.name: fact.value for fact in from_config(whole).facts}
    assert facts["source_tokens"] == 4 * 1601


# ---- encoder-decoders ----------------------------------------------------------------------------

SMALL = {
    "vocab_size": 64, "d_model": 48, "encoder_layers": 1, "decoder_layers": 3, "encoder_attention_heads": 4,
    "decoder_attention_heads": 4, "encoder_ffn_dim": 40, "decoder_ffn_dim": 40, "max_position_embeddings": 99,
    "num_mel_bins": 8, "max_source_positions": 20, "max_target_positions": 30, "pad_token_id": 0,
    "bos_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 3,
}  # fmt: skip
SMALL_T5 = {
    "vocab_size": 64, "d_model": 48, "d_kv": 10, "d_ff": 40, "num_layers": 1, "num_decoder_layers": 3,
    "num_heads": 4, "pad_token_id": 0, "eos_token_id": 1, "decoder_start_token_id": 0,
}  # fmt: skip
ENCODERS = {
    "led": SMALL | {"attention_window": 4, "max_encoder_position_embeddings": 99,
                    "max_decoder_position_embeddings": 99},
    "nllb-moe": SMALL | {"num_experts": 2, "encoder_sparse_step": 2, "decoder_sparse_step": 2},
}  # fmt: skip
NOT_BUILT_ENCODERS = {"switch_transformers": "its class asks for a cache in its encoder too",
                      "speech_to_text": "takes sound; attends as BART", "udop": "takes images; attends as T5",
                      "bigbird_pegasus": "needs long sources; attends as BART",
                      "pegasus_x": "needs long sources; attends as BART",
                      "longt5": "needs long sources; attends as T5",
                      "prophetnet": "its cache is made for one layer less than it has"}  # fmt: skip


def encoder_types() -> list:
    names, usual = sorted(set(encoder_decoder.FAMILIES) - set(NOT_BUILT_ENCODERS)), ("bart", "t5", "whisper")
    return [pytest.param(name, marks=() if name in usual else pytest.mark.full) for name in names]


@pytest.mark.parametrize("model_type", encoder_types())
@pytest.mark.parametrize(("source", "tokens"), [(20, 1), (20, 9)])
def test_bytes_of_both_caches_of_an_encoder_decoder(model_type, source, tokens):
    """The cross-attention cache is as long as the source and does not grow with the text."""
    usual = SMALL_T5 if model_type in ("t5", "mt5", "umt5") else SMALL
    raw = ENCODERS.get(model_type, usual) | {"model_type": model_type}
    torch.manual_seed(0)
    model = transformers.AutoModel.from_config(oracle.config_of(raw)).eval()
    if model_type == "whisper":  # two frames of sound a position
        encoded = {"input_features": torch.zeros(2, 8, 2 * source)}
    else:
        encoded = {"input_ids": torch.randint(3, 60, (2, source))}
    with torch.no_grad():
        output = model(**encoded, decoder_input_ids=torch.randint(3, 60, (2, tokens)), use_cache=True)
    caches = output.past_key_values if hasattr(output, "past_key_values") else output.cache
    layers = [*caches.self_attention_cache.layers, *caches.cross_attention_cache.layers]
    held = oracle.size([tensor for layer in layers for tensor in oracle.tensors(layer)])
    assert held == from_config(raw, source_tokens=source).bytes(tokens, 2, "fp32")


def test_every_kind_of_layer_is_met():
    """Whatever the readers can make has a type here that makes it."""
    made = {type(layer).__name__ for name in FIELDS if name in FAMILIES and name != "mllama_text_model"
            and name in transformers.CONFIG_MAPPING
            for layer in from_config(dict(FIELDS[name], model_type=name)).layers}  # fmt: skip
    assert made >= {"FullAttention", "SlidingAttention", "ChunkedAttention", "LatentAttention", "SharedCache",
                    "CompressedAttention", "RecurrentState", "Together"}  # fmt: skip
