"""How much work a forward pass is: counters that the decoder keeps, and the FLOPs they are counted by."""

from dataclasses import dataclass, fields

from kvcourse.configs import ModelConfig


@dataclass
class DecoderCounters:
    """Work done since the last `reset()`. All but `flops` count along the sequence, not over batch rows."""

    forwards: int = 0
    rows_projected: int = (
        0  # rows through k_proj of one layer: how many tokens had their K, V (and Q) computed
    )
    score_pairs: int = 0  # (query, visible key) pairs of one head of one layer
    flops: int = 0  # see `forward_flops`

    def reset(self) -> None:
        for field in fields(self):
            setattr(self, field.name, 0)


def forward_flops(config: ModelConfig, new: int, total: int, logit_rows: int, batch: int = 1) -> int:
    """Floating-point operations of the matrix products of one forward pass; a multiply-add counts as two.

    `new` tokens are projected and attend to `total` >= new positions; `logit_rows` rows get logits:
    batch x [2 new L (d (H + 2 H_kv) D + H D d + 3 d f)  +  4 new total L H D  +  2 logit_rows d V].
    Masked pairs count, for dense attention computes them too; norms, RoPE and softmax do not.
    """
    c = config
    attention_weights = c.hidden_size * (2 * c.num_heads + 2 * c.num_kv_heads) * c.head_dim
    per_layer = attention_weights + 3 * c.hidden_size * c.intermediate_size
    scores = 4 * new * total * c.num_layers * c.num_heads * c.head_dim
    return batch * (
        2 * new * c.num_layers * per_layer + scores + 2 * logit_rows * c.hidden_size * c.vocab_size
    )
