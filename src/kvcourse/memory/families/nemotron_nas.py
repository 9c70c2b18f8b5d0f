"""Nemotron-NAS: `block_configs` says for each layer whether it attends, and how many KV heads it has."""

from dataclasses import dataclass

from kvcourse.errors import ConfigError, shown
from kvcourse.memory.checked import whole
from kvcourse.memory.families.attention import Attention
from kvcourse.memory.fields import Fields
from kvcourse.memory.layers import FullAttention, Layer, SlidingAttention


@dataclass(frozen=True)
class NemotronNas(Attention):
    """Llama-Nemotron's files, found by search over layers (Puzzle, arXiv:2411.19146)."""

    def __call__(self, fields: Fields) -> tuple[Layer, ...]:
        layers, heads = self.depth(fields), fields.count("num_heads", *self.heads)
        width = self.width(fields, heads)
        blocks = fields.get("block_configs")
        if not isinstance(blocks, list) or len(blocks) != layers:
            raise ConfigError(
                f"field 'block_configs' is {shown(blocks)}; expected an object for each of {layers} layers."
            )
        return tuple(layer for block in blocks if (layer := _attention(block, heads, width)) is not None)


def _attention(block: object, heads: int, width: int) -> Layer | None:
    """What one block keeps; None where its attention is left out or replaced by a linear map."""
    attention = block.get("attention") if isinstance(block, dict) else None
    if not isinstance(attention, dict):
        raise ConfigError(f"field 'block_configs' has {shown(block)}; expected an object with 'attention'.")
    if attention.get("no_op") or attention.get("replace_with_linear"):
        return None
    if attention.get("unshifted_sink") or attention.get("sparsify"):
        raise ConfigError(
            f"field 'block_configs' has {shown(attention)}, which is not covered: it may change what is kept."
        )
    group = whole("field 'n_heads_in_group'", attention.get("n_heads_in_group"), least=1)
    if heads % group:
        raise ConfigError(
            f"field 'n_heads_in_group' is {group}; expected a divisor of num_attention_heads = {heads}."
        )
    kept, window = FullAttention(heads // group, width), attention.get("window_length")
    return kept if window is None else SlidingAttention(whole("field 'window_length'", window, least=1), kept)
