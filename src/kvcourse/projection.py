"""Linear maps laid out for decoding, where speed is that of reading the weights from memory once a token.

Three choices make that reading long and straight; the products are the same, and `benchmarks/matvec.py`
measures what each choice gains:

1. Weights that share an input are stacked into one product (q, k and v; gate and up).
2. A weight with more outputs than inputs is stored input-major: each input element scales one long row.
3. All of them lie in one piece of memory that NumPy allocates, because NumPy asks Linux for pages of 2 MiB
   for it and PyTorch takes pages of 4 KiB: 500 times fewer page addresses to look up on the way.
"""

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor


class WeightMemory:
    """Room for `count` elements, handed out piece by piece."""

    def __init__(self, count: int, dtype: torch.dtype, device: torch.device) -> None:
        if device.type == "cpu":
            self._flat = torch.from_numpy(np.empty(count * dtype.itemsize, np.uint8)).view(dtype)
        else:
            self._flat = torch.empty(count, dtype=dtype, device=device)
        self._taken = 0

    def take(self, count: int) -> Tensor:
        """The next `count` elements, `(count,)`."""
        self._taken += count
        return self._flat[self._taken - count : self._taken]


class Projection:
    """y = x W^T for one weight (out, in), or for several stacked along their outputs."""

    def __init__(self, *weights: Tensor, memory: WeightMemory) -> None:
        self.in_features = weights[0].shape[1]
        self.out_features = sum(weight.shape[0] for weight in weights)
        flat = memory.take(self.out_features * self.in_features)
        if self.out_features > self.in_features:
            self.weight = flat.view(
                self.in_features, self.out_features
            ).t()  # reads (out, in), lies (in, out)
        else:
            self.weight = flat.view(self.out_features, self.in_features)
        sizes = [weight.shape[0] for weight in weights]
        for part, weight in zip(self.weight.split(sizes), weights, strict=True):
            part.copy_(weight)

    def __call__(self, x: Tensor) -> Tensor:
        if x.numel() == self.in_features:  # one row: matrix x vector
            return torch.mv(self.weight, x.reshape(-1)).view(*x.shape[:-1], self.out_features)
        return F.linear(x, self.weight)
