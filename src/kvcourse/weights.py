"""Weights for the decoder: from the course's GGUF file, another GGUF file, a folder of safetensors, or a hub.

Only Llama's own arithmetic is accepted (RMSNorm, RoPE, SwiGLU, no biases). A model that shares Llama's tensor
names and computes something else, such as Gemma, would load and talk nonsense; it is refused by its type.
"""

from pathlib import Path

import torch
from torch import Tensor

from kvcourse import model_file
from kvcourse.configs import ModelConfig, read_json
from kvcourse.decoder import Decoder
from kvcourse.errors import ModelFileError, shown
from kvcourse.gguf_file import GGUFFile, open_gguf

_LLAMA_TYPES = ("llama", "mistral")

_GGUF_NAMES = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
_GGUF_TOP = {"token_embd": "model.embed_tokens", "output_norm": "model.norm", "output": "lm_head"}


def load(
    source: str | Path | None = None,
    dtype: torch.dtype = torch.float32,
    device: torch.device | str = "cpu",
) -> Decoder:
    """A decoder with the weights of `source`, in `dtype` on `device`.

    `source`: None for SmolLM2 from the cache, a `.gguf` file, a folder with `config.json` and safetensors, or
    a hub name such as "org/model" where there is a network. Raises ModelFileError or ConfigError.
    """
    path = locate(source)
    config, weights = _from_gguf(open_gguf(path)) if path.is_file() else _from_folder(path)
    return Decoder(config, {name: tensor.to(device, dtype) for name, tensor in weights.items()})


def smollm2(dtype: torch.dtype = torch.float32, device: torch.device | str = "cpu"):
    """SmolLM2-135M-Instruct as (decoder, tokenizer), from the cache."""
    from kvcourse import tokenizer

    return load(None, dtype, device), tokenizer.load()


def locate(source: str | Path | None) -> Path:
    """The local file or folder that `source` means; fetches from a hub only for an "org/model" name."""
    if source is None:
        path = model_file.find()
        if path is None:
            raise ModelFileError(
                f"the model is not in {model_file.cache_dir()}; run `make model` to fetch it. "
                f"{model_file.WITHOUT_IT}"
            )
        return path
    path = Path(source).expanduser()
    if path.exists():
        return path
    parts = str(source).split("/")
    if (
        len(parts) != 2
        or not all(parts)
        or parts[0] in (".", "..", "~")
        or path.suffix in (".gguf", ".safetensors")
    ):
        raise ModelFileError(
            f"no model at {shown(str(source))}; expected a .gguf file, a folder or org/model."
        )
    return _from_hub(str(source))


# ---- GGUF ----------------------------------------------------------------------------------------


def _from_gguf(file: GGUFFile) -> tuple[ModelConfig, dict[str, Tensor]]:
    config = _gguf_config(file)
    weights = {}
    for name, array in file.tensors().items():
        tensor = torch.from_numpy(array.copy() if not array.flags.writeable else array)
        kind = name.split(".")[-2] if name.count(".") else name
        if kind in ("attn_q", "attn_k"):
            heads = config.num_heads if kind == "attn_q" else config.num_kv_heads
            if tensor.dim() == 2 and tensor.shape[0] % (2 * heads) == 0:  # else the decoder refuses it
                tensor = _undo_permutation(tensor, heads)
        weights[_hf_name(name)] = tensor
    return config, weights


def _gguf_config(file: GGUFFile) -> ModelConfig:
    arch = file.get("general.architecture")
    if arch not in _LLAMA_TYPES:
        raise ModelFileError(
            f"{file.path} has the architecture {shown(arch)}; expected {' or '.join(_LLAMA_TYPES)}."
        )

    def get(key: str):
        return file.get(f"{arch}.{key}")

    scaling = get("rope.scaling.type")
    head_dim, turned = get("attention.key_length"), get("rope.dimension_count")
    if None not in (head_dim, turned) and head_dim != turned:
        raise ModelFileError(f"{file.path} turns {turned} of {head_dim} elements of a head; expected all.")
    raw = {
        "model_type": arch,
        "num_hidden_layers": get("block_count"),
        "num_attention_heads": get("attention.head_count"),
        "num_key_value_heads": get("attention.head_count_kv"),
        "head_dim": head_dim or turned,
        "hidden_size": get("embedding_length"),
        "intermediate_size": get("feed_forward_length"),
        "vocab_size": get("vocab_size") or len(file.get("tokenizer.ggml.tokens", [])) or None,
        "max_position_embeddings": get("context_length"),
        "rope_theta": get("rope.freq_base"),
        "rms_norm_eps": get("attention.layer_norm_rms_epsilon"),
        "tie_word_embeddings": "output.weight" not in file.tensor_names(),
        "num_local_experts": get("expert_count") or None,
        "sliding_window": get("attention.sliding_window") or None,
    }
    if scaling not in (None, "none"):
        raw["rope_scaling"] = {"rope_type": scaling, "factor": get("rope.scaling.factor")}
    return ModelConfig.from_dict(raw)


def _hf_name(name: str) -> str:
    """`blk.3.attn_q.weight` -> `model.layers.3.self_attn.q_proj.weight`; unknown names stay as they are."""
    parts = name.split(".")
    if parts[0] == "blk" and len(parts) == 4 and parts[2] in _GGUF_NAMES:
        return f"model.layers.{parts[1]}.{_GGUF_NAMES[parts[2]]}.{parts[3]}"
    return ".".join([_GGUF_TOP.get(parts[0], parts[0]), *parts[1:]])


def _undo_permutation(weight: Tensor, heads: int) -> Tensor:
    """Rows of a q or k weight back in Hugging Face's order.

    llama.cpp rotates neighbors (2i, 2i + 1) of a head, this decoder and Hugging Face i and i + D/2; the
    conversion to GGUF reordered the rows of each head to suit.
    """
    return weight.view(heads, -1, 2, weight.shape[1]).transpose(1, 2).reshape(weight.shape)


# ---- safetensors -----------------------------------------------------------------------------------


def _from_folder(folder: Path) -> tuple[ModelConfig, dict[str, Tensor]]:
    raw = read_json(folder / "config.json")
    config = ModelConfig.from_dict(raw)
    activation = raw.get("hidden_act", "silu")
    if config.model_type not in _LLAMA_TYPES or activation != "silu" or raw.get("quantization_config"):
        got = f"model_type {shown(config.model_type)}, hidden_act {shown(activation)}"
        got += ", quantized weights" if raw.get("quantization_config") else ""
        raise ModelFileError(
            f"{folder} has {got}; expected a Llama-shaped model (llama, silu, not quantized)."
        )
    weights = {}
    for shard in _shards(folder):
        weights |= _read_safetensors(shard)
    weights = {name: tensor for name, tensor in weights.items() if not name.endswith("rotary_emb.inv_freq")}
    if config.tie_word_embeddings:
        weights.pop("lm_head.weight", None)  # some files store the tied table twice
    return config, weights


def _shards(folder: Path) -> list[Path]:
    index = folder / "model.safetensors.index.json"
    if not index.is_file():
        return [folder / "model.safetensors"]
    shards = read_json(index).get("weight_map")
    if not isinstance(shards, dict) or not all(isinstance(name, str) for name in shards.values()):
        raise ModelFileError(f"{index} has no 'weight_map' from weight names to file names.")
    for name in shards.values():
        if Path(name).name != name:
            raise ModelFileError(
                f"{index} names the shard {shown(name)}; expected a file in the same folder."
            )
    return [folder / name for name in sorted(set(shards.values()))]


def _read_safetensors(path: Path) -> dict[str, Tensor]:
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    if not path.is_file():
        raise ModelFileError(f"no weights at {path}; expected safetensors (pickled .bin files are not read).")
    try:
        return load_file(path)
    except (SafetensorError, OSError) as error:
        raise ModelFileError(f"{path} is damaged or cut short: {shown(str(error))}.") from None


def _from_hub(name: str) -> Path:
    try:
        from huggingface_hub import snapshot_download

        return Path(snapshot_download(name, allow_patterns=["*.safetensors", "*.json", "*.jinja"]))
    except Exception as error:  # no network, no such model, a gate: the library has a class for each
        reason = shown(
            str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__, 160
        )
        raise ModelFileError(
            f"cannot get {shown(name)} from the hub (is there a network?): {reason} "
            "SmolLM2 needs none: `make model`."
        ) from error
