"""Encoder-decoder types: a cache that grows with the text, and one that the encoder's output fills once."""

from dataclasses import dataclass

from kvcourse.errors import ConfigError
from kvcourse.memory.fields import CLASS_DEFAULT, Fields
from kvcourse.memory.layers import CrossAttention, FullAttention, Layer

_OF_ENCODERS = ("encoder_layers", "encoder_attention_heads", "encoder_ffn_dim", "encoder_layerdrop",
                "encoder_sparse_step", "num_sparse_encoder_layers", "num_sparse_decoder_layers",
                "encoder_attention_type", "local_radius", "global_block_size", "block_size",
                "attention_window", "max_encoder_position_embeddings", "stagger_local_blocks",
                "share_encoder_decoder_embeddings", "num_encoder_layers", "num_encoder_attention_heads",
                "encoder_num_hidden_layers", "encoder_num_attention_heads", "conv_kernel_sizes",
                "num_global_tokens", "conv_channels", "num_conv_layers", "disable_ngram_loss")  # fmt: skip


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
    hidden: str = "d_model"

    def __call__(self, fields: Fields) -> tuple[Layer, ...]:
        fields.flag("is_encoder_decoder", True)
        fields.ignore(*_OF_ENCODERS)
        layers = self.depth(fields)
        heads = fields.count("num_heads", self.heads)
        hidden = fields.count("hidden_size", self.hidden)
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
            return fields.count(
                "head_dim", self.head_dim
            )  # not hidden / heads: T5-11B has 1024 and 128 x 128
        if hidden % heads:
            raise ConfigError(f"{self.hidden} = {hidden} is not a multiple of {self.heads} = {heads}.")
        return fields.note("head_dim", hidden // heads, f"{self.hidden} / {self.heads} = {hidden} / {heads}")

    def length(self, fields: Fields) -> int:
        if self.source is not None:
            usual = fields.default(self.source)
            return fields.count("source_tokens", self.source, default=usual, why=CLASS_DEFAULT)
        if fields.source_tokens is None:
            raise ConfigError(
                "the configuration does not tell how long the source is; give source_tokens (--source)."
            )
        return fields.note("source_tokens", fields.source_tokens, "as given")


_T5 = EncoderDecoder("num_decoder_layers", "num_layers", heads="num_heads", head_dim="d_kv")
_BART = EncoderDecoder()
FAMILIES = {
    "bart": _BART,
    "bigbird_pegasus": _BART,
    "blenderbot": _BART,
    "blenderbot-small": _BART,
    "led": _BART,
    "longt5": _T5,
    "m2m_100": _BART,
    "marian": _BART,
    "mbart": _BART,
    "mt5": _T5,
    "mvp": _BART,
    "nllb-moe": _BART,
    "pegasus": _BART,
    "pegasus_x": _BART,
    "plbart": _BART,
    "prophetnet": EncoderDecoder(
        "num_decoder_layers", heads="num_decoder_attention_heads", hidden="hidden_size"
    ),
    "speech_to_text": _BART,
    "switch_transformers": _T5,
    "t5": _T5,
    "udop": _T5,
    "umt5": _T5,
    "whisper": EncoderDecoder(source="max_source_positions"),
}
