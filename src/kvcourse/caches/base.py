"""What every KV cache does for a decoder, whatever its memory looks like.

For each forward pass the decoder calls `begin` once, then `attend` once a layer, in order; and `abandon` if
the pass fails.
A new kind of cache is one file: a subclass with `update`, `crop` and `nbytes`; one that cannot hand out its
keys and values as two dense tensors overrides `attend` instead.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields

import torch
from torch import Tensor

from kvcourse.attention import causal_attention
from kvcourse.configs import ModelConfig
from kvcourse.errors import CacheError, shown


@dataclass
class CacheCounters:
    """What a cache did since the last `reset()`."""

    tokens_written: int = 0  # along the sequence: a token is counted once, not once a layer or a batch row
    bytes_written: int = 0  # new K and V, over all layers
    bytes_copied: int = 0  # old K and V moved to make room for new ones

    def reset(self) -> None:
        for field in fields(self):
            setattr(self, field.name, 0)


class KVCache(ABC):
    """Keys and values of the tokens processed so far, for every layer of one model.

    `batch` sequences of equal length; `dtype` and `device` are those of the stored tensors.
    Bad arguments raise CacheError and leave the cache as it was.
    """

    def __init__(
        self,
        config: ModelConfig,
        batch: int = 1,
        dtype: torch.dtype = torch.float32,
        device: torch.device | str = "cpu",
    ) -> None:
        self.config = config
        self.batch = _positive("batch", batch)
        if not isinstance(dtype, torch.dtype) or not dtype.is_floating_point:
            raise CacheError(f"dtype is {shown(dtype)}; expected a floating-point torch.dtype.")
        self.dtype = dtype
        self.device = torch.device(device)
        self.counters = CacheCounters()
        # Between two layers of one forward pass the earlier layers are ahead, so each has its own length.
        self._lengths = [0] * config.num_layers

    @property
    def length(self) -> int:
        """Tokens stored in every layer."""
        return min(self._lengths)

    def positions(self, new_tokens: int) -> Tensor:
        """Positions of each row's next `new_tokens` tokens, `(batch, new_tokens)`; CacheError if full."""
        self.check_room(new_tokens)
        start = self.length
        return torch.arange(start, start + new_tokens, device=self.device).expand(self.batch, -1)

    def check_room(self, new_tokens: int) -> None:
        """Raise CacheError unless `new_tokens` more tokens fit. A growing cache always has room."""
        _positive("new_tokens", new_tokens)

    def begin(self, ids: Tensor) -> Tensor:
        """A forward pass of the tokens `ids` `(B, T_new)` begins: their positions, `(B, T_new)`.

        A cache that must know more than how many they are, as to share them, overrides this.
        """
        return self.positions(ids.shape[1])

    def abandon(self, length: int) -> None:
        """The pass has failed; `length` was the cache's before it, and is again."""
        self.crop(length)

    @abstractmethod
    def update(self, layer: int, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """Append k and v `(B, H_kv, T_new, D)` to `layer`; return all it stores, `(B, H_kv, T, D)` each.

        Keys arrive already rotated to their positions. The returned tensors are the cache's own memory.
        """

    def attend(self, layer: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        """Append k and v to `layer`, then let q `(B, H, T_new, D)` attend to all it stores, causally."""
        return causal_attention(q, *self.update(layer, k, v))

    @abstractmethod
    def crop(self, length: int) -> None:
        """Forget all but the first `length` tokens of every layer."""

    def reset(self) -> None:
        """Forget all tokens; the counters go on."""
        self.crop(0)

    @property
    @abstractmethod
    def nbytes(self) -> int:
        """Bytes of memory really held, used or not."""

    @property
    def used_bytes(self) -> int:
        """Bytes of the tokens stored: 2 (K and V) x layers x batch x KV heads x length x head_dim x bytes."""
        c = self.config
        return 2 * c.num_layers * self.batch * c.num_kv_heads * self.length * c.head_dim * self.dtype.itemsize

    # ---- for subclasses ----------------------------------------------------------------------------

    def _check_update(self, layer: int, k: Tensor, v: Tensor) -> int:
        """T_new, after checking everything that `update` relies on."""
        layers = self.config.num_layers
        if isinstance(layer, bool) or not isinstance(layer, int) or not 0 <= layer < layers:
            raise CacheError(f"layer is {shown(layer)}; expected a whole number from 0 to {layers - 1}.")
        for name, tensor in (("k", k), ("v", v)):
            if not isinstance(tensor, Tensor):
                raise CacheError(f"{name} is a {type(tensor).__name__}; expected a tensor.")
            rows, heads, new_tokens, width = tensor.shape if tensor.dim() == 4 else (0, 0, 0, 0)
            want = (self.batch, self.config.num_kv_heads, self.config.head_dim)
            if (rows, heads, width) != want or new_tokens == 0 or tensor.shape != k.shape:
                raise CacheError(
                    f"{name} has shape {tuple(tensor.shape)}; expected (batch, KV heads, T_new, head_dim) = "
                    f"({want[0]}, {want[1]}, T_new, {want[2]}) with T_new > 0, the same for k and v."
                )
            if tensor.dtype != self.dtype or tensor.device.type != self.device.type:
                raise CacheError(
                    f"{name} is {tensor.dtype} on {tensor.device.type}; "
                    f"this cache stores {self.dtype} on {self.device.type}."
                )
        return k.shape[2]

    def _check_crop(self, length: int) -> None:
        # A forward pass that failed half-way leaves some layers ahead: cropping to `self.length` mends that.
        if isinstance(length, bool) or not isinstance(length, int) or not 0 <= length <= self.length:
            raise CacheError(f"cannot keep {shown(length)} tokens; the cache stores {self.length}.")

    def _count(self, layer: int, k: Tensor, v: Tensor, bytes_copied: int = 0) -> None:
        self.counters.tokens_written += k.shape[2] if layer == 0 else 0
        self.counters.bytes_written += k.nbytes + v.nbytes
        self.counters.bytes_copied += bytes_copied


def _positive(name: str, value: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise CacheError(f"{name} is {shown(value)}; expected a whole number of 1 or more.")
    return value
