"""The two caches that keep K and V of a layer in one piece of memory: one grows, one is reserved ahead.

The growing one holds no byte too many and pays by copying everything at each step. The reserved one never
copies and pays by holding memory for tokens that may not come: what paging later does away with.
"""

import torch
from torch import Tensor

from kvcourse.caches.base import KVCache, _positive
from kvcourse.configs import ModelConfig
from kvcourse.errors import CacheError
from kvcourse.units import both


class GrowingCache(KVCache):
    """Appends with `torch.cat`, as Transformers' DynamicCache does: every append copies all that was there.

    While it copies, the old and the new tensor are both alive. `crop` keeps a view of the larger tensor, so
    `nbytes` falls only at the next append.
    """

    def __init__(
        self,
        config: ModelConfig,
        batch: int = 1,
        dtype: torch.dtype = torch.float32,
        device: torch.device | str = "cpu",
    ) -> None:
        super().__init__(config, batch, dtype, device)
        empty = torch.empty(
            batch, config.num_kv_heads, 0, config.head_dim, dtype=dtype, device=self.device
        )  # (B, H_kv, 0, D)
        self._keys = [empty] * config.num_layers
        self._values = [empty] * config.num_layers

    def update(self, layer: int, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        new_tokens = self._check_update(layer, k, v)
        old_k, old_v = self._keys[layer], self._values[layer]
        grown_k = torch.cat([old_k, k], dim=2)  # (B, H_kv, T + T_new, D)
        grown_v = torch.cat([old_v, v], dim=2)  # (B, H_kv, T + T_new, D)
        self._keys[layer], self._values[layer] = grown_k, grown_v
        self._lengths[layer] += new_tokens
        self._count(layer, k, v, bytes_copied=old_k.nbytes + old_v.nbytes)
        return grown_k, grown_v

    def crop(self, length: int) -> None:
        self._check_crop(length)
        self._keys = [k[:, :, :length] for k in self._keys]
        self._values = [v[:, :, :length] for v in self._values]
        self._lengths = [length] * self.config.num_layers

    @property
    def nbytes(self) -> int:
        storages = {t.untyped_storage()._cdata: t.untyped_storage() for t in self._keys + self._values}
        return sum(storage.nbytes() for storage in storages.values())


class PreallocatedCache(KVCache):
    """Reserves `max_tokens` slots for each row at once and writes in place: nothing is ever copied."""

    def __init__(
        self,
        config: ModelConfig,
        max_tokens: int,
        batch: int = 1,
        dtype: torch.dtype = torch.float32,
        device: torch.device | str = "cpu",
    ) -> None:
        super().__init__(config, batch, dtype, device)
        self.max_tokens = _positive("max_tokens", max_tokens)
        shape = (2, config.num_layers, batch, config.num_kv_heads, max_tokens, config.head_dim)
        try:
            kv = torch.zeros(shape, dtype=dtype, device=self.device)  # (2, L, B, H_kv, max_tokens, D)
        except RuntimeError as error:  # torch's out-of-memory error, on the CPU too
            size = dtype.itemsize
            for n in shape:
                size *= n
            raise CacheError(f"cannot reserve {both(size)} for {max_tokens} tokens.") from error
        self._keys, self._values = (list(part) for part in kv)  # views, (B, H_kv, max_tokens, D) a layer

    def check_room(self, new_tokens: int) -> None:
        super().check_room(new_tokens)
        if self.length + new_tokens > self.max_tokens:
            raise CacheError(
                f"no room for {new_tokens} more tokens: {self.length} of {self.max_tokens} slots are taken."
            )

    def update(self, layer: int, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        new_tokens = self._check_update(layer, k, v)
        start = self._lengths[layer]
        end = start + new_tokens
        if end > self.max_tokens:
            raise CacheError(
                f"no room for {new_tokens} more tokens: {start} of {self.max_tokens} slots are taken."
            )
        keys, values = self._keys[layer][:, :, :end], self._values[layer][:, :, :end]  # (B, H_kv, T, D)
        keys[:, :, start:] = k
        values[:, :, start:] = v
        self._lengths[layer] = end
        self._count(layer, k, v)
        return keys, values

    def crop(self, length: int) -> None:
        self._check_crop(length)
        self._lengths = [length] * self.config.num_layers

    @property
    def nbytes(self) -> int:
        return self._keys[0].untyped_storage().nbytes()
