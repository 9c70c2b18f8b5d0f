import json
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvcourse.configs import ModelConfig, RopeScaling, load_config, read_json
from kvcourse.errors import ConfigError

LLAMA = {
    "model_type": "llama",
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "vocab_size": 128256,
    "max_position_embeddings": 131072,
    "rope_theta": 500000.0,
    "rms_norm_eps": 1e-05,
    "tie_word_embeddings": False,
    "torch_dtype": "bfloat16",
}


def without(*names, **changes):
    return {key: value for key, value in LLAMA.items() if key not in names} | changes


def message(raw) -> str:
    with pytest.raises(ConfigError) as error:
        ModelConfig.from_dict(raw)
    text = str(error.value)
    assert text.endswith(".") and "\n" not in text and text.isascii() and len(text) < 300
    return text


# ---- what is read -----------------------------------------------------------------------------------


def test_every_field():
    assert ModelConfig.from_dict(LLAMA) == ModelConfig(
        model_type="llama",
        num_layers=32,
        num_heads=32,
        num_kv_heads=8,
        head_dim=128,
        hidden_size=4096,
        intermediate_size=14336,
        vocab_size=128256,
        max_position_embeddings=131072,
        rope_theta=500000.0,
        rms_norm_eps=1e-05,
        tie_word_embeddings=False,
        dtype="bfloat16",
    )


def test_group_size():
    for kv_heads, group in ((32, 1), (8, 4), (1, 32)):
        assert ModelConfig.from_dict(without(num_key_value_heads=kv_heads)).group_size == group


def test_head_dim_is_read_and_not_divided():
    """Qwen3-32B: 5120 / 64 = 80, but its heads are 128 wide."""
    raw = without(hidden_size=5120, num_attention_heads=64, head_dim=128)
    assert ModelConfig.from_dict(raw).head_dim == 128


def test_head_dim_may_exceed_any_division():
    assert (
        ModelConfig.from_dict(without(hidden_size=640, num_attention_heads=8, head_dim=256)).head_dim == 256
    )


@pytest.mark.parametrize("absent", [{}, {"num_key_value_heads": None}])
def test_no_kv_heads_means_one_for_each_query_head(absent):
    assert ModelConfig.from_dict(without("num_key_value_heads", **absent)).num_kv_heads == 32


def test_what_a_file_does_not_say_is_none():
    config = ModelConfig.from_dict(
        {"num_hidden_layers": 2, "num_attention_heads": 4, "hidden_size": 64, "rms_norm_eps": None}
    )
    assert config.model_type == "unknown"
    for field in (
        "intermediate_size",
        "vocab_size",
        "rope_theta",
        "rms_norm_eps",
        "dtype",
        "tie_word_embeddings",
    ):
        assert getattr(config, field) is None


def test_llama_2_files_leave_the_rope_base_out():
    assert ModelConfig.from_dict(without("rope_theta", rope_scaling=None)).rope_theta == 10000.0


def test_rope_theta_in_rope_parameters():
    raw = without("rope_theta", rope_parameters={"rope_theta": 1000000, "rope_type": "default"})
    assert ModelConfig.from_dict(raw).rope_theta == 1e6


def test_llama_3_scaling():
    spec = {
        "factor": 8.0,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_max_position_embeddings": 8192,
        "rope_type": "llama3",
    }
    want = RopeScaling("llama3", 8.0, 1.0, 4.0, 8192)
    assert ModelConfig.from_dict(without(rope_scaling=spec)).rope_scaling == want
    nested = without("rope_theta", rope_parameters=spec | {"rope_theta": 500000.0})
    assert ModelConfig.from_dict(nested).rope_scaling == want
    assert ModelConfig.from_dict(
        without(rope_scaling={"type": "linear", "factor": 2})
    ).rope_scaling == RopeScaling("linear", 2.0)


def test_dtype_under_either_name():
    assert ModelConfig.from_dict(without("torch_dtype", dtype="float16")).dtype == "float16"
    assert ModelConfig.from_dict(without("torch_dtype", dtype="torch.float32")).dtype == "float32"


@pytest.mark.parametrize("where", ["text_config", "llm_config", "language_config"])
def test_the_decoder_of_a_vision_model_is_nested(where):
    raw = {
        "model_type": "some_vl",
        "torch_dtype": "bfloat16",
        where: without("torch_dtype"),
        "vision_config": {},
    }
    assert ModelConfig.from_dict(raw) == ModelConfig.from_dict(LLAMA)


def test_nested_and_top_level_must_agree():
    raw = LLAMA | {"text_config": without(num_hidden_layers=16)}
    assert "is 32 at the top and 16 in 'text_config'" in message(raw)
    assert ModelConfig.from_dict(LLAMA | {"text_config": LLAMA}).num_layers == 32
    assert ModelConfig.from_dict(LLAMA | {"text_config": {"hidden_act": "silu"}}).num_layers == 32


def test_gpt2_names():
    raw = {
        "model_type": "gpt2",
        "n_layer": 12,
        "n_head": 12,
        "n_embd": 768,
        "n_positions": 1024,
        "n_inner": None,
    }
    config = ModelConfig.from_dict(raw | {"vocab_size": 50257})
    assert (config.num_layers, config.num_heads, config.num_kv_heads, config.head_dim) == (12, 12, 12, 64)
    assert (config.hidden_size, config.max_position_embeddings, config.tie_word_embeddings) == (
        768,
        1024,
        True,
    )


@pytest.mark.parametrize(
    ("extra", "kv_heads"),
    [
        # tiiuae/falcon-7b writes num_kv_heads = 71 and stores one
        ({"model_type": "falcon", "multi_query": True, "num_kv_heads": 71}, 1),
        (
            {
                "model_type": "falcon",
                "multi_query": True,
                "new_decoder_architecture": True,
                "num_kv_heads": 8,
            },
            8,
        ),
        ({"model_type": "falcon", "multi_query": False}, 128),
        ({"model_type": "falcon", "n_head_kv": 8, "multi_query": True, "new_decoder_architecture": True}, 8),
        ({"model_type": "gpt_bigcode", "multi_query": True}, 1),
        ({"model_type": "chatglm", "multi_query_attention": True, "multi_query_group_num": 2}, 2),
        ({"model_type": "chatglm", "multi_query_attention": False, "multi_query_group_num": 2}, 128),
        ({"model_type": "mpt", "attn_config": {"kv_n_heads": 8}}, 8),
        ({"model_type": "mpt", "attn_config": {"attn_type": "multihead_attention"}}, 128),
    ],
)
def test_kv_heads_of_other_families(extra, kv_heads):
    raw = {"num_hidden_layers": 60, "num_attention_heads": 128, "hidden_size": 8192} | extra
    assert ModelConfig.from_dict(raw).num_kv_heads == kv_heads


def test_experts_leave_the_cache_alone():
    config = ModelConfig.from_dict(without(num_local_experts=8))
    assert config.num_experts == 8 and ModelConfig.from_dict(LLAMA).num_experts == 0


# ---- what is refused ---------------------------------------------------------------------------------

REQUIRED = ["num_hidden_layers", "num_attention_heads", "hidden_size"]
COUNTS = [
    *REQUIRED,
    "num_key_value_heads",
    "head_dim",
    "intermediate_size",
    "vocab_size",
    "max_position_embeddings",
]


@pytest.mark.parametrize("field", REQUIRED)
def test_missing_and_null(field):
    assert message(without(field)) == f"field '{field}' is missing; expected a whole number of 1 or more."
    assert (
        message(without(**{field: None})) == f"field '{field}' is null; expected a whole number of 1 or more."
    )


@pytest.mark.parametrize("field", COUNTS)
@pytest.mark.parametrize(
    "value",
    ["32", "", True, False, 32.0, 0.5, float("nan"), float("inf"), 0, -1, 10**12, 10**400, [32], {"a": 1}],
)
def test_not_a_count(field, value):
    text = message(without(**{field: value}))
    assert f"field '{field}' is " in text and "expected a whole number" in text


@pytest.mark.parametrize("field", ["rope_theta", "rms_norm_eps"])
@pytest.mark.parametrize("value", ["1e-5", True, 0, -1.0, float("nan"), float("inf"), [1]])
def test_not_a_positive_number(field, value):
    assert f"field '{field}' is " in message(without(**{field: value}))


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"num_key_value_heads": 5}, "num_key_value_heads = 5 does not divide num_attention_heads = 32"),
        ({"num_key_value_heads": 64}, "does not divide"),
        ({"hidden_size": 4097}, "field 'head_dim' is missing and hidden_size = 4097 is not a multiple"),
        ({"n_layer": 31}, "disagree: num_hidden_layers = 32 and n_layer = 31"),
        ({"n_layer": "32"}, "field 'n_layer' is '32' (a string)"),
        ({"num_kv_heads": 4}, "disagree"),
        ({"attn_config": {"kv_n_heads": 4}}, "disagree"),
        ({"multi_query": "yes"}, "field 'multi_query' is 'yes'; expected true or false"),
        ({"tie_word_embeddings": 1}, "field 'tie_word_embeddings' is 1; expected true or false"),
        ({"torch_dtype": 16}, "field 'torch_dtype' is 16; expected float32, float16 or bfloat16"),
        ({"torch_dtype": "fp4"}, "field 'torch_dtype' is 'fp4'"),
        ({"model_type": 3}, "field 'model_type' is 3"),
        ({"rope_scaling": "linear"}, "field 'rope_scaling' is 'linear'; expected a JSON object"),
        ({"rope_scaling": {"rope_type": 3}}, "field 'rope_type' is 3"),
        ({"rope_scaling": {"rope_type": "linear", "factor": "8"}}, "field 'factor' is '8'"),
        ({"rope_scaling": {"rope_type": "linear"}}, "field 'factor' is missing"),
        (
            {
                "rope_scaling": {
                    "rope_type": "llama3",
                    "factor": 8.0,
                    "original_max_position_embeddings": 8192,
                }
            },
            "field 'low_freq_factor' is missing",
        ),
        (
            {"rope_parameters": {"rope_theta": 1.0}},
            "rope_theta = 500000.0 and rope_parameters.rope_theta = 1.0",
        ),
        ({"text_config": []}, "field 'text_config' is a list; expected a JSON object"),
    ],
)
def test_contradictions(changes, says):
    assert says in message(LLAMA | changes)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"is_encoder_decoder": True}, "cross-attention"),
        ({"kv_lora_rank": 512}, "MLA"),
        ({"layer_types": ["sliding_attention", "full_attention"]}, "'layer_types' has layers of kind"),
        ({"hybrid_override_pattern": "M-M*"}, "hybrid_override_pattern"),
        ({"layer_types": 3}, "expected a list"),
        ({"sliding_window": 4096}, "field 'sliding_window' is 4096"),
        ({"sliding_window": "4096"}, "field 'sliding_window' is '4096'"),
        ({"attention_chunk_size": 8192}, "attention_chunk_size"),
        ({"num_kv_shared_layers": 15}, "num_kv_shared_layers"),
    ],
)
def test_caches_of_another_shape_are_refused(changes, says):
    """The formula would give a wrong number for these without any sign of it."""
    assert says in message(LLAMA | changes)


def test_windows_that_change_nothing_are_accepted():
    ModelConfig.from_dict(LLAMA | {"sliding_window": None})
    ModelConfig.from_dict(LLAMA | {"sliding_window": 4096, "use_sliding_window": False})
    ModelConfig.from_dict(LLAMA | {"sliding_window": 131072})
    ModelConfig.from_dict(LLAMA | {"layer_types": ["full_attention"] * 32})


@pytest.mark.parametrize(
    ("raw", "kind"), [([], "a list"), (None, "null"), ("x", "a string"), (3, "a whole number")]
)
def test_not_an_object(raw, kind):
    assert message(raw) == f"a model configuration is a JSON object; got {kind}."


def test_a_config_made_by_hand_is_checked_too():
    for changes in ({"num_layers": 0}, {"num_kv_heads": 3}, {"head_dim": None}, {"vocab_size": "9"}):
        fields = {
            "model_type": "llama",
            "num_layers": 2,
            "num_heads": 4,
            "num_kv_heads": 2,
            "head_dim": 8,
            "hidden_size": 32,
        }
        ModelConfig(**fields)
        with pytest.raises(ConfigError):
            ModelConfig(**(fields | changes))


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(list(LLAMA)), inner, max_size=3)
    ),
    max_leaves=6,
)
FIELDS = [*LLAMA, "head_dim", "text_config", "rope_scaling", "rope_parameters", "layer_types", "multi_query",
          "sliding_window", "attn_config", "n_layer", "kv_lora_rank", "dtype", "num_experts"]  # fmt: skip


@given(st.dictionaries(st.sampled_from(FIELDS), json_values, max_size=4))
def test_any_json_gives_a_config_or_one_clear_sentence(changes):
    try:
        config = ModelConfig.from_dict(LLAMA | changes)
    except ConfigError as error:
        assert str(error).isascii() and "\n" not in str(error)
    else:
        assert config.num_heads == config.num_kv_heads * config.group_size


# ---- files -------------------------------------------------------------------------------------------


def test_load_from_file_folder_and_dict(tmp_path):
    path = tmp_path / "config.json"
    path.write_text(json.dumps(LLAMA), "utf-8")
    assert load_config(path) == load_config(str(tmp_path)) == load_config(LLAMA)


def test_a_byte_order_mark_is_no_obstacle(tmp_path):
    path = tmp_path / "config.json"
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps(LLAMA).encode())
    assert load_config(path).num_layers == 32


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "not JSON"),
        (b"{", "not JSON"),
        (b"{'a': 1}", "not JSON"),
        (b"[1, 2]", "expected a JSON object; got a list"),
        (b"null", "expected a JSON object; got null"),
        (b"\xff\xfe{\x00}\x00", "not UTF-8 text (byte 0)"),
        (b'{"num_hidden_layers": \xe9}', "not UTF-8"),
        (b"[" * 200_000, "nested too deeply"),
        (b'{"num_hidden_layers": ' + b"9" * 6000 + b"}", "not JSON"),
        (b'{"a": {"num_layers": 2, "num_layers": 3}}', "field 'num_layers' stands there twice, as 2 and 3"),
        (b'{"num_attention_heads": 4}', "field 'hidden_size' is missing"),
        (
            b'{"num_hidden_layers": NaN, "num_attention_heads": 4, "hidden_size": 64}',
            "'num_hidden_layers' is nan",
        ),
    ],
)
def test_bad_files(tmp_path, data, says):
    path = tmp_path / "config.json"
    path.write_bytes(data)
    with pytest.raises(ConfigError) as error:
        load_config(path)
    assert says in str(error.value) and str(path) in str(error.value) and len(str(error.value)) < 400


def test_no_such_file(tmp_path):
    for path in (tmp_path / "none.json", tmp_path, "x" * 5000, "a\0b"):
        with pytest.raises(ConfigError):
            load_config(path)


def test_the_same_said_twice_is_said_once(tmp_path):
    path = tmp_path / "config.json"
    path.write_text(json.dumps(LLAMA)[:-1] + f', "model_type": "{LLAMA["model_type"]}"' + "}")
    assert load_config(path).num_layers == 32


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes on this system")
def test_what_is_no_file_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "config.json")
    with pytest.raises(ConfigError, match="no such file"):
        read_json(tmp_path / "config.json")


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root reads every file")
def test_unreadable(tmp_path):
    path = tmp_path / "config.json"
    path.write_text("{}")
    path.chmod(0)
    with pytest.raises(ConfigError, match="Permission denied"):
        load_config(path)


# ---- published models --------------------------------------------------------------------------------


def test_published_configurations(shared_data):
    """Each published file is read as its curated facts say, or refused for a reason that the facts show."""
    path = shared_data / "cases" / "model_configs.jsonl"
    if not path.is_file():
        pytest.skip(f"no {path}")
    read = refused = 0
    for line in path.read_text("utf-8").splitlines():
        row = json.loads(line)
        if not row["config"] or "num_attention_heads" not in json.dumps(row["config"]):
            continue
        facts = row["facts"]
        try:
            config = ModelConfig.from_dict(row["config"])
        except ConfigError as error:
            refused += 1
            assert any(
                word in str(error)
                for word in ("kv_lora_rank", "layer", "sliding_window", "hybrid", "attention_chunk", "sparse")
            ), (row["model"], str(error))
            continue
        read += 1
        assert (config.num_layers, config.num_heads, config.num_kv_heads) == (
            facts["layers"],
            facts["heads"],
            facts["kv_heads"],
        ), row["model"]
        assert config.head_dim == (facts.get("head_dim") or facts["hidden_size"] // facts["heads"]), row[
            "model"
        ]
    assert read >= 15 and refused >= 15


@pytest.mark.parametrize(
    ("changes", "field"),
    [({"model_type": "qwen3_5_text", "full_attention_interval": 4}, "full_attention_interval"),
     ({"layer_types": ["linear_attention"] * 31 + ["full_attention"]}, "layer_types"),
     ({"model_type": "qwen3_next", "linear_num_value_heads": 32}, "linear_num_value_heads"),
     ({"model_type": "lfm2", "full_attn_idxs": [2, 5]}, "full_attn_idxs"),
     ({"model_type": "bamba", "attn_layer_indices": [9]}, "attn_layer_indices"),
     ({"model_type": "jamba", "attn_layer_period": 8}, "attn_layer_period"),
     ({"hidden_act": 7}, "hidden_act")],
)  # fmt: skip
def test_layers_that_are_not_all_attention_are_refused(changes, field):
    with pytest.raises(ConfigError, match=f"field '{field}'"):
        ModelConfig.from_dict(LLAMA | changes)
    assert (
        ModelConfig.from_dict(LLAMA | {"full_attention_interval": 1, "hidden_act": "silu"}).num_layers == 32
    )


# ---- what an absent field means --------------------------------------------------------------------


@pytest.mark.parametrize("model_type", ["llama", "mistral"])
@pytest.mark.parametrize("longest", [4096, 32_768])
def test_what_a_shape_leaves_out_is_what_the_cache_counts(model_type, longest):
    """The types that the decoder runs: either both read the same layers, or a window is refused."""
    from kvcourse.decoder_weights import LLAMA_TYPES
    from kvcourse.memory import FullAttention, from_config

    assert model_type in LLAMA_TYPES
    raw = {"model_type": model_type, "num_hidden_layers": 2, "num_attention_heads": 32, "hidden_size": 4096,
           "max_position_embeddings": longest}  # fmt: skip
    layers = from_config(raw).layers
    try:
        config = ModelConfig.from_dict(raw)
    except ConfigError as error:
        assert "sliding_window" in str(error) and not isinstance(layers[0], FullAttention)
    else:
        kept = getattr(layers[0], "attention", layers[0])
        assert (config.num_kv_heads, config.head_dim) == (kept.kv_heads, kept.head_dim)
        assert layers[0] == kept or layers[0].window >= longest


def test_mistral_without_a_window_field_slides_and_with_null_does_not():
    raw = LLAMA | {"model_type": "mistral", "max_position_embeddings": 32_768}
    with pytest.raises(ConfigError, match="sliding_window"):
        ModelConfig.from_dict(raw)
    assert ModelConfig.from_dict(raw | {"sliding_window": None}).model_type == "mistral"
