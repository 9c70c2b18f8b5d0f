"""A model's shape in the words of GGUF metadata ("llama.block_count"), as a config.json would say it."""

from kvcourse.errors import ConfigError, shown

_FIELDS = {
    "block_count": "num_hidden_layers",
    "embedding_length": "hidden_size",
    "feed_forward_length": "intermediate_size",
    "head_count": "num_attention_heads",
    "head_count_kv": "num_key_value_heads",
    "key_length": "head_dim",
    "context_length": "max_position_embeddings",
    "vocab_size": "vocab_size",
    "tied": "tie_word_embeddings",
    "sliding_window": "sliding_window",
}
_TYPES = {"gemma3": "gemma3_text", "gptneox": "gpt_neox", "phi2": "phi", "qwen2moe": "qwen2_moe",
          "qwen3moe": "qwen3_moe", "gpt-oss": "gpt_oss", "command-r": "cohere"}  # fmt: skip


def as_config(raw: dict) -> dict:
    """`raw` itself, or where it is GGUF metadata the same in the fields of a configuration."""
    architecture = raw.get("architecture", raw.get("general.architecture"))
    if "model_type" in raw or not isinstance(architecture, str):
        return raw
    plain = {name.rsplit(".", 1)[-1]: value for name, value in raw.items()}
    key, value = plain.get("key_length"), plain.pop("value_length", None)
    if value != key and value is not None:
        raise ConfigError(
            f"field 'value_length' is {shown(value)} beside key_length {shown(key)}; expected one width."
        )
    config = {_FIELDS.get(name, name): value for name, value in plain.items() if name != "architecture"}
    return config | {"model_type": _TYPES.get(architecture, architecture)}
