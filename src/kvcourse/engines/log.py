"""A start-up log of any of the engines, and whether its KV lines agree with each other and with a model."""

from kvcourse.engines import log_llama, log_sglang, log_tensorrt, log_vllm
from kvcourse.engines.log_lines import Reading
from kvcourse.errors import UserError
from kvcourse.memory import CacheModel, Storage
from kvcourse.units import format_size

READERS = (log_vllm, log_sglang, log_tensorrt, log_llama)


def read_log(text: str) -> Reading:
    """What the first engine that recognizes the log reads in it. Raises UserError where none does."""
    for reader in READERS:
        reading = reader.read(text)
        if reading is not None:
            return reading
    raise UserError(
        "no line about a KV cache that is known here; expected a start-up log of vLLM, SGLang, TensorRT-LLM "
        'or llama.cpp with lines such as "GPU KV cache size: 83,488 tokens".'
    )


def compare(reading: Reading, name: str, model: CacheModel, storage: Storage) -> str | None:
    """Check the log's pool against one device's share of `model`; or say why it cannot be."""
    if reading.pool is None or reading.tokens is None:
        return "the log does not print both the tokens and the bytes of one cache"
    per_token = model.bytes_per_token(storage)
    tokens, more = reading.tokens // reading.shares, reading.slack_tokens
    if not per_token or model.bytes(tokens, dtype=storage) != tokens * per_token:
        return f"the layers of {name} do not all pay by the token, so tokens x bytes says nothing"
    # What may be left over is less than the block that no longer fitted, or the one kept for padding.
    agrees = reading.pool.meets(tokens * per_token, (tokens + more) * per_token)
    printed = (reading.pool.low + reading.pool.high) / 2
    reading.check(
        agrees,
        f"{tokens:,} tokens x {per_token:,} bytes ({name} in {storage.name}) are "
        f"{format_size(tokens * per_token)}; printed {format_size(int(printed))}"
        + (" available" if reading.pool_is_room else ""),
    )
    return None
