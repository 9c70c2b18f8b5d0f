"""Matrix-vector products of SmolLM2's shapes with the weight stored output-major and input-major.

Why `decoder.Projection` stores some weights input-major: the bytes of the weight divided by the time of one
product, best of many, over copies that together exceed the processor's caches.
"""

import os
import time

import torch

# name, outputs, inputs of the stacked weights of one layer, and of the output projection
SHAPES = [
    ("q, k, v", 960, 576),
    ("o", 576, 576),
    ("gate, up", 3072, 576),
    ("down", 576, 1536),
    ("lm_head", 49152, 576),
]
TOTAL = 100_000_000


def speed(weights: list[torch.Tensor], x: torch.Tensor) -> float:
    best = float("inf")
    for _ in range(20):
        start = time.perf_counter()
        for weight in weights:
            torch.mv(weight, x)
        best = min(best, time.perf_counter() - start)
    return sum(weight.nbytes for weight in weights) / best / 1e9


def main() -> None:
    torch.set_num_threads(1)
    print(f"GB/s of one thread, load {os.getloadavg()[0]:.1f}; * marks how the decoder stores it")
    print(f"{'weight':10} {'out x in':>12} {'output-major':>14} {'input-major':>14}")
    for name, out, into in SHAPES:
        weights = [torch.randn(out, into) for _ in range(max(1, TOTAL // (4 * out * into)))]
        x = torch.randn(into)
        plain = speed(weights, x)
        turned = speed([weight.t().contiguous().t() for weight in weights], x)
        marks = (" ", "*") if out > into else ("*", " ")
        print(f"{name:10} {out:>6} x {into:<4} {plain:>12.1f} {marks[0]} {turned:>12.1f} {marks[1]}")


if __name__ == "__main__":
    main()
