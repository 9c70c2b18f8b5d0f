"""Encoder-decoder types: a cache that grows with the text, and one that the encoder's output fills once."""

from dataclasses import dataclass

from kvcourse.errors import ConfigError
from kvcourse.memory.fields import CLASS_DEFAULT, Fields
from kvcourse.memory.layers import CrossAttention, FullAttention, Layer


@dataclass(frozen=True)
class EncoderDecoder:
    """One family. Every decoder layer has both; `source` is the field of a source of fixed length.

    Where `layers` is absent, the decoder is as deep as the encoder, whose field is `encoder_layers`.
    """

    layers: str = "decoder_layers"
    encoder_layers: str | None = None
    heads: str = "decoder_attention_heads"
    head_dim: str | None = None
    source: str | None = None
    absent_source: int = 0

    def __call__(self, fields: Fields) -> tuple[Layer, ...]:
        fields.flag("is_encoder_decoder", True)
        for unused in ("encoder_layers", "encoder_attention_heads", "encoder_ffn_dim", "encoder_layerdrop"):
            fields.get(unused)
        layers = self.depth(fields)
        heads = fields.count("num_heads", self.heads)
        hidden = fields.count("hidden_size", "d_model")
        fields.note("num_kv_heads", heads, "one KV head per query head: this model type knows only MHA")
        attention = FullAttention(heads, self.width(fields, hidden, heads))
        return (attention,) * layers + (CrossAttention(self.length(fields), attention),) * layers

    def depth(self, fields: Fields) -> int:
        if self.encoder_layers is None:
            return fields.count("num_layers", self.layers)
        encoder = fields.count("num_encoder_layers", self.encoder_layers)
        return fields.count("num_layers", self.layers, default=encoder, why=f"as {self.encoder_layers}")

    def width(self, fields: Fields, hidden: int, heads: int) -> int:
        if self.head_dim is not None:
            return fields.count("head_dim", self.head_dim)
        if hidden % heads:
            raise ConfigError(f"d_model = {hidden} is not a multiple of {self.heads} = {heads}.")
        return fields.note("head_dim", hidden // heads, f"d_model / {self.heads} = {hidden} / {heads}")

    def length(self, fields: Fields) -> int:
        if self.source is not None:
            return fields.count("source_tokens", self.source, default=self.absent_source, why=CLASS_DEFAULT)
        if fields.source_tokens is None:
            raise ConfigError(
                "the configuration does not tell how long the source is; give source_tokens (--source)."
            )
        return fields.note("source_tokens", fields.source_tokens, "as given")


_T5 = EncoderDecoder("num_decoder_layers", "num_layers", heads="num_heads", head_dim="d_kv")
FAMILIES = {
    "bart": EncoderDecoder(),
    "mbart": EncoderDecoder(),
    "mt5": _T5,
    "pegasus": EncoderDecoder(),
    "t5": _T5,
    "whisper": EncoderDecoder(source="max_source_positions", absent_source=1500),
}
