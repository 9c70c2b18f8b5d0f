"""Tiny GGUF files for the tests, written as llama.cpp's converter writes them."""

from pathlib import Path

import gguf
import numpy as np

from kvcourse.decoder_weights import TINY, random_weights

NAMES = {
    "input_layernorm": "attn_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "post_attention_layernorm": "ffn_norm",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
    "model.embed_tokens": "token_embd",
    "model.norm": "output_norm",
    "lm_head": "output",
}
BYTES = [chr(i) for i in [*range(33, 127), *range(161, 173), *range(174, 256)]]
BYTES += [chr(256 + i) for i in range(256 - len(BYTES))]  # GPT-2's printable stand-ins for the other bytes
TEMPLATE = (
    "{% for m in messages %}<|{{ m['role'] }}|>{{ m['content'] }}{% endfor %}"
    "{% if add_generation_prompt %}<|>{% endif %}"
)


def permuted(weight: np.ndarray, heads: int) -> np.ndarray:
    """Rows of q and k as llama.cpp's converter orders them: pairs (i, i + D/2) become neighbors."""
    rows = weight.shape[0] // heads
    order = [
        head * rows + i + half for head in range(heads) for i in range(rows // 2) for half in (0, rows // 2)
    ]
    return weight[order]


def write_model(path: Path, config=TINY, seed=0, arch="llama", extra=None, drop=()) -> Path:
    """A GGUF file of `random_weights(config, seed)`, with a byte tokenizer that merges "he" and "hel"."""
    writer = gguf.GGUFWriter(path, arch)
    c = config
    writer.add_block_count(c.num_layers)
    writer.add_context_length(c.max_position_embeddings)
    writer.add_embedding_length(c.hidden_size)
    writer.add_feed_forward_length(c.intermediate_size)
    writer.add_head_count(c.num_heads)
    writer.add_head_count_kv(c.num_kv_heads)
    writer.add_key_length(c.head_dim)
    writer.add_value_length(c.head_dim)
    writer.add_rope_freq_base(c.rope_theta)
    writer.add_rope_dimension_count(c.head_dim)
    writer.add_layer_norm_rms_eps(c.rms_norm_eps)
    writer.add_vocab_size(c.vocab_size)
    if c.rope_scaling:
        writer.add_rope_scaling_type(gguf.RopeScalingType(c.rope_scaling.kind))
        writer.add_rope_scaling_factor(c.rope_scaling.factor)
    tokens = [*BYTES, "he", "hel", "<|user|>", "<|>", "<eos>"]
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("smollm")
    writer.add_token_list(tokens)
    writer.add_token_types([1] * 258 + [3] * 3)
    writer.add_token_merges(["h e", "he l"])
    writer.add_eos_token_id(260)
    writer.add_chat_template(TEMPLATE)
    tensors = {name: weight.numpy() for name, weight in random_weights(c, seed).items()} | (extra or {})
    for name, array in tensors.items():
        if name in drop:
            continue
        heads = {"q_proj": c.num_heads, "k_proj": c.num_kv_heads}.get(name.split(".")[-2])
        array = permuted(array, heads) if heads and array.ndim == 2 else array
        for ours, theirs in NAMES.items():
            name = name.replace(ours, theirs)
        writer.add_tensor(name.replace("model.layers.", "blk."), np.ascontiguousarray(array))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path
