"""Matrix-vector products of SmolLM2's shapes, by how the weight lies in memory.

Why `kvcourse.projection` stores weights as it does: bytes of the weight over the time of one product, the
best of many, over copies that together exceed the processor's caches.
"""

import os
import time

import torch

from kvcourse.projection import Projection, WeightMemory

# name, outputs and inputs of each weight that is stacked, as in one layer and in the output projection
SHAPES = [
    ("q, k, v", [576, 192, 192], 576),
    ("o", [576], 576),
    ("gate, up", [1536, 1536], 576),
    ("down", [576], 1536),
    ("lm_head", [49152], 576),
]
TOTAL = 100_000_000  # bytes of copies


def speed(weights: list[torch.Tensor], x: torch.Tensor) -> float:
    """GB/s."""
    best = float("inf")
    for _ in range(20):
        start = time.perf_counter()
        for weight in weights:
            torch.mv(weight, x)
        best = min(best, time.perf_counter() - start)
    return sum(weight.nbytes for weight in weights) / best / 1e9


def main() -> None:
    torch.set_num_threads(1)
    print(f"torch {torch.__version__}, one thread, load {os.getloadavg()[0]:.1f}; GB/s of one product")
    titles = ("one by one", "stacked", "input-major", "as stored")
    print(f"{'weight':10} {'out x in':>12}" + "".join(f"{title:>13}" for title in titles))
    for name, outs, into in SHAPES:
        out = sum(outs)
        copies = max(2, TOTAL // (4 * out * into))
        apart = [torch.randn(rows, into) for _ in range(copies) for rows in outs]
        stacked = [torch.randn(out, into) for _ in range(copies)]
        turned = [weight.t().contiguous().t() for weight in stacked]
        memory = WeightMemory(copies * out * into, torch.float32, torch.device("cpu"))
        stored = [Projection(weight, memory=memory).weight for weight in stacked]
        x = torch.randn(into)
        figures = [speed(weights, x) for weights in (apart, stacked, turned, stored)]
        print(f"{name:10} {out:>6} x {into:<4}" + "".join(f"{figure:>13.1f}" for figure in figures))


if __name__ == "__main__":
    main()
