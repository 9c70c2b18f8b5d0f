"""A published configuration made small enough to build: narrow and shallow, with its own KV heads and widths.

Imports torch and Transformers. What a token keeps in a layer stays as published; only what does not count in
a cache shrinks, and windows, so that a few tokens fill them.
"""

import copy
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "memory"))

import oracle
import transformers

from cases import in_transformers
from kvcourse.memory import from_config
from kvcourse.memory.class_defaults import SAME_AS
from kvcourse.memory.families import wrapped
from kvcourse.memory.gguf_names import as_config

LAYERS, TOKENS = 7, (1, 13)
_SMALL = {
    "hidden_size": 64, "intermediate_size": 32, "dense_intermediate_size": 32, "moe_intermediate_size": 16,
    "shared_intermediate_size": 16, "shared_expert_intermediate_size": 16, "intermediate_size_mlp": 32,
    "moe_shared_expert_intermediate_size": 16, "share_expert_dim": 16, "moe_latent_size": 16,
    "vocab_size": 128, "num_experts": 4,
    "num_local_experts": 4, "n_routed_experts": 4, "num_experts_per_tok": 2, "n_group": 1, "topk_group": 1,
    "q_lora_rank": 16, "o_lora_rank": 8, "max_position_embeddings": 512, "sliding_window": 6,
    "sliding_window_size": 6, "attention_chunk_size": 6, "num_hash_layers": 1, "first_k_dense_replace": 1,
    "index_topk": 4, "num_nextn_predict_layers": 0, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2,
}  # fmt: skip
_DROPPED = ("quantization_config", "auto_map", "rope_scaling", "torch_dtype", "dtype", "architectures",
            "transformers_version", "_name_or_path", "mtp_hybrid_override_pattern")  # fmt: skip


def small(raw: dict) -> dict:
    """The decoder's part of a configuration, scaled down, under the type that Transformers knows it by."""
    raw = as_config(raw)
    part = copy.deepcopy(raw.get("text_config") or raw)
    kind = part.get("model_type") or wrapped(raw["model_type"])
    kind = SAME_AS.get(kind, kind)
    part = {name: value for name, value in part.items() if name not in _DROPPED} | {"model_type": kind}
    hidden = part.get("hidden_size", 64)
    part |= {name: value for name, value in _SMALL.items() if part.get(name) is not None}
    depth = part.get("num_hidden_layers", LAYERS)
    for holder in (part, part.get("sparse_attention_config") or {}):
        for name, value in holder.items():
            if isinstance(value, (list, str)) and len(value) >= depth > 1 and name != "model_type":
                holder[name] = value[(start := _start(value)) : start + LAYERS]
    part["num_hidden_layers"] = min(depth, LAYERS)
    _fewer_heads(part, hidden)
    heads = part["num_attention_heads"]
    return part | {"hidden_size": -(-part["hidden_size"] // heads) * heads}


def _start(kinds: list | str) -> int:
    """Where so few layers of Nemotron's begin that one of them attends."""
    found = [kinds.index(attends) for attends in ("*", "attention") if attends in kinds]
    return max(0, min(found, default=0) - LAYERS + 2)


def _fewer_heads(part: dict, hidden: int) -> None:
    kv_heads = part.get("num_key_value_heads") or part["num_attention_heads"]
    if "kv_lora_rank" in part:  # they share one latent
        part["num_attention_heads"] = part["num_key_value_heads"] = 4
    elif part["num_attention_heads"] >= 2 * kv_heads and part["model_type"] != "deepseek_v4":
        part.setdefault("head_dim", hidden // part["num_attention_heads"])
        part["num_attention_heads"] = 2 * kv_heads


def contradiction(raw: dict) -> str:
    """What is wrong with our reading, in words; nothing where Transformers does not know the type."""
    part = small(raw)
    if part["model_type"] not in transformers.CONFIG_MAPPING:
        return ""
    ours = from_config(part)
    for tokens in TOKENS:
        kept = oracle.size(oracle.cache_after(oracle.config_of(part), tokens, batch=1))
        more = 4 * sum(in_transformers.beyond(layer, tokens) for layer in ours.layers)
        wanted = ours.bytes(tokens, dtype="fp32") + more
        if kept != wanted:
            return (
                f"Transformers keeps {kept:,} bytes of the small model for {tokens} tokens, we say {wanted:,}"
            )
    return ""
