import dataclasses
import json
import shutil

import gguf
import numpy as np
import pytest
import torch

from gguf_samples import write_model
from kvcourse import weights
from kvcourse.configs import RopeScaling
from kvcourse.decoder import TINY, tiny_model
from kvcourse.errors import ConfigError, ModelFileError
from kvcourse.gguf_file import GGUFFile, open_gguf

IDS = [5, 1, 99, 27, 64, 3, 3, 110]


def assert_same_model(got, want):
    torch.testing.assert_close(got.forward(IDS), want.forward(IDS), atol=1e-5, rtol=1e-5)


# ---- GGUF --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "overrides",
    [{}, {"num_kv_heads": 1}, {"tie_word_embeddings": False}, {"rope_scaling": RopeScaling("linear", 2.0)}],
)
def test_gguf_gives_the_weights_back(tmp_path, overrides):
    config = dataclasses.replace(TINY, **overrides)
    model = weights.load(write_model(tmp_path / "m.gguf", config, seed=3))
    assert model.config == dataclasses.replace(config, rms_norm_eps=model.config.rms_norm_eps, dtype=None)
    assert model.config.rms_norm_eps == pytest.approx(1e-5, rel=1e-6)  # stored as float32
    assert_same_model(model, tiny_model(3, **overrides))


def test_transformers_reads_the_same_from_the_file(tmp_path):
    """Its GGUF reader undoes the row order of q and k on its own."""
    pytest.importorskip("transformers", reason="install: transformers")
    from kvcourse import hf

    path = write_model(tmp_path / "m.gguf", seed=3)
    torch.testing.assert_close(
        weights.load(path).forward(IDS), hf.forward(hf.load_model(path), IDS), atol=1e-4, rtol=1e-4
    )


def test_quantized_tensors_are_dequantized_as_llama_cpp_defines_it(tmp_path):
    """Q8_0: 32 numbers share a float16 scale; each is a signed byte times it."""
    original = np.random.default_rng(0).standard_normal((128, 64), dtype=np.float32)
    raw = gguf.quants.quantize(original, gguf.GGMLQuantizationType.Q8_0)
    writer = gguf.GGUFWriter(tmp_path / "q.gguf", "llama")
    writer.add_tensor("token_embd.weight", raw, raw_dtype=gguf.GGMLQuantizationType.Q8_0)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    got = GGUFFile(tmp_path / "q.gguf").tensors()["token_embd.weight"]
    blocks = raw.reshape(128, 2, 34)
    scales = blocks[..., :2].copy().view(np.float16).astype(np.float32)
    want = (scales * blocks[..., 2:].view(np.int8)).reshape(128, 64)
    assert np.array_equal(got, want) and np.abs(got - original).max() < 0.02


def test_dtype(tmp_path):
    path = write_model(tmp_path / "m.gguf")
    assert weights.load(path, dtype=torch.bfloat16).forward(IDS).dtype == torch.bfloat16


def test_a_file_is_parsed_once_until_it_changes(tmp_path):
    path = write_model(tmp_path / "m.gguf")
    first = open_gguf(path)
    assert open_gguf(path) is first
    write_model(path, seed=1, config=dataclasses.replace(TINY, num_layers=3))
    assert open_gguf(path).get("llama.block_count") == 3


@pytest.mark.parametrize("share", [0.0, 0.0001, 0.01, 0.3, 0.6, 0.999])
def test_a_file_cut_short(tmp_path, share):
    path = write_model(tmp_path / "m.gguf")
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * share)])
    with pytest.raises(ModelFileError) as error:
        weights.load(path)
    assert str(path) in str(error.value) and len(str(error.value)) < 400


def test_damaged_headers(tmp_path):
    path = write_model(tmp_path / "m.gguf")
    data = path.read_bytes()
    for at in range(4, 64, 4):
        path.write_bytes(data[:at] + b"\xff\xff\xff\x7f" + data[at + 4 :])
        with pytest.raises((ModelFileError, ConfigError)):
            weights.load(path)


def test_not_gguf(tmp_path):
    path = tmp_path / "m.gguf"
    path.write_bytes(b"PK\x03\x04 a zip file")
    with pytest.raises(ModelFileError, match="expected a GGUF file"):
        weights.load(path)


def test_another_architecture(tmp_path):
    with pytest.raises(ModelFileError, match="architecture 'gemma3'"):
        weights.load(write_model(tmp_path / "m.gguf", arch="gemma3"))


def test_tensors_missing_or_unknown(tmp_path):
    missing = write_model(tmp_path / "a.gguf", drop=["model.layers.1.mlp.up_proj.weight"])
    with pytest.raises(ModelFileError, match=r"up_proj\.weight is missing"):
        weights.load(missing)
    bias = {"model.layers.0.self_attn.q_proj.bias": np.zeros(64, np.float32)}
    with pytest.raises(ModelFileError, match=r"q_proj\.bias' has no place"):
        weights.load(write_model(tmp_path / "b.gguf", extra=bias))
    with pytest.raises(ModelFileError, match=r"rope_freqs\.weight' has no place"):
        weights.load(write_model(tmp_path / "c.gguf", extra={"rope_freqs.weight": np.ones(8, np.float32)}))


# ---- safetensors -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """Folders as Transformers saves them: one file, and shards with an index."""
    transformers = pytest.importorskip("transformers", reason="install: transformers")
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=128, hidden_size=48, intermediate_size=96, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, head_dim=16, max_position_embeddings=512, initializer_range=0.2,
    )  # fmt: skip
    model = transformers.LlamaForCausalLM(config).eval()
    root = tmp_path_factory.mktemp("saved")
    model.save_pretrained(root / "whole")
    model.save_pretrained(root / "shards", max_shard_size="50kB")
    return root, model


@pytest.fixture
def folder(saved, tmp_path):
    return shutil.copytree(saved[0] / "whole", tmp_path / "model")


@pytest.mark.parametrize("name", ["whole", "shards"])
def test_a_saved_folder(saved, name):
    from kvcourse import hf

    root, theirs = saved
    if name == "shards":
        assert len(list((root / name).glob("*.safetensors"))) > 2
    torch.testing.assert_close(
        weights.load(root / name).forward(IDS), hf.forward(theirs, IDS), atol=1e-4, rtol=1e-4
    )
    assert_same_model(weights.load(str(root / name)), weights.load(root / "whole"))


def edit(folder, file="config.json", **changes):
    path = folder / file
    path.write_text(json.dumps(json.loads(path.read_text("utf-8")) | changes), "utf-8")


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"model_type": "gemma"}, "model_type 'gemma'"),
        ({"model_type": "qwen2"}, "model_type 'qwen2'"),
        ({"hidden_act": "gelu"}, "hidden_act 'gelu'"),
        ({"quantization_config": {"quant_method": "fp8"}}, "quantized weights"),
        ({"num_hidden_layers": 3}, "model.layers.2.input_layernorm.weight is missing"),
        ({"num_hidden_layers": 1}, "has no place"),
        ({"vocab_size": 127}, "has shape (128, 48); expected (127, 48)"),
        ({"num_hidden_layers": None}, "field 'num_hidden_layers' is null"),
    ],
)
def test_a_folder_of_another_model(folder, changes, says):
    edit(folder, **changes)
    with pytest.raises((ModelFileError, ConfigError)) as error:
        weights.load(folder)
    assert says in str(error.value)


def test_a_tied_table_stored_twice_is_read_once(folder):
    from safetensors.torch import load_file, save_file

    path = folder / "model.safetensors"
    tensors = load_file(path)
    tensors["lm_head.weight"] = tensors["model.embed_tokens.weight"].clone()
    tensors["model.layers.0.self_attn.rotary_emb.inv_freq"] = torch.ones(8)  # old files carry it
    save_file(tensors, path)
    edit(folder, tie_word_embeddings=True)
    model = weights.load(folder)
    assert model.lm_head.weight is model.embedding


@pytest.mark.parametrize("share", [0.0, 0.001, 0.5, 0.999])
def test_safetensors_cut_short(folder, share):
    path = folder / "model.safetensors"
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * share)])
    with pytest.raises(ModelFileError, match="damaged or cut short"):
        weights.load(folder)


def test_a_shard_is_missing(saved, tmp_path):
    folder = shutil.copytree(saved[0] / "shards", tmp_path / "model")
    sorted(folder.glob("*.safetensors"))[1].unlink()
    with pytest.raises(ModelFileError, match="no weights at"):
        weights.load(folder)


@pytest.mark.parametrize(
    "index", [[], {}, {"weight_map": []}, {"weight_map": {"a": 3}}, {"weight_map": {"a": "../x.safetensors"}}]
)
def test_a_bad_index(folder, index):
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    with pytest.raises((ModelFileError, ConfigError), match=r"index\.json"):
        weights.load(folder)


def test_pickled_weights_are_not_read(folder):
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    with pytest.raises(ModelFileError, match=r"pickled \.bin files are not read"):
        weights.load(folder)


def test_an_empty_folder(tmp_path):
    with pytest.raises(ConfigError, match=r"config\.json: no such file"):
        weights.load(tmp_path)


# ---- where a source is ----------------------------------------------------------------------------------


def test_the_model_is_not_there(tmp_path, monkeypatch):
    monkeypatch.setenv("KVCOURSE_CACHE", str(tmp_path))
    with pytest.raises(ModelFileError) as error:
        weights.load()
    assert "make model" in str(error.value) and "work without it" in str(error.value)


@pytest.mark.parametrize("source", ["nowhere", "a/b/c", "./model.gguf", "x/model.gguf", "../x", "/x", ""])
def test_no_such_source(source, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path / ".")
    with pytest.raises((ModelFileError, ConfigError)):
        weights.load(source)


def test_a_hub_name_with_a_network(saved, monkeypatch):
    import huggingface_hub

    asked = []

    def snapshot_download(name, allow_patterns):
        asked.append((name, allow_patterns))
        return str(saved[0] / "shards")

    monkeypatch.setattr(huggingface_hub, "snapshot_download", snapshot_download)
    assert_same_model(weights.load("org/model"), weights.load(saved[0] / "whole"))
    assert asked == [("org/model", ["*.safetensors", "*.json", "*.jinja"])]  # no pickles


def test_a_hub_name_without_a_network(monkeypatch):
    """tests/conftest.py tells the hub's library to stay offline."""
    with pytest.raises(ModelFileError) as error:
        weights.load("kvcourse-tests/no-such-model")
    assert "from the hub (is there a network?)" in str(error.value) and "\n" not in str(error.value)


# ---- the course's model -----------------------------------------------------------------------------


def test_smollm2_is_what_the_book_says(smollm2):
    model, _ = smollm2
    c = model.config
    assert (c.num_layers, c.num_heads, c.num_kv_heads, c.head_dim, c.hidden_size) == (30, 9, 3, 64, 576)
    assert (c.intermediate_size, c.vocab_size, c.max_position_embeddings) == (1536, 49152, 8192)
    assert (c.rope_theta, c.tie_word_embeddings, c.group_size) == (1e5, True, 3)
    assert model.num_parameters == 134_515_008
