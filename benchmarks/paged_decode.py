"""A decode step through the paged cache and through a contiguous one: batch 8, 1,024 tokens of context.

The model has SmolLM2's shape and random weights, which take as long as trained ones. The blocks of the paged
rows lie shuffled over the pool, the worst order to read memory in; the pool is as large as the live blocks
need, and four times that. Beside whole steps it times attention alone, where the difference lies, and the
oracle, which gathers. Medians of steps in turns; the load is printed, for a shared machine adds noise.
"""

import argparse
import os
import random
import statistics
import time

import torch

from kvcourse.caches import PagedCache, PreallocatedCache
from kvcourse.configs import ModelConfig
from kvcourse.decoder import Decoder
from kvcourse.decoder_weights import random_weights

SMOLLM2 = ModelConfig(
    model_type="llama", num_layers=30, num_heads=9, num_kv_heads=3, head_dim=64, hidden_size=576,
    intermediate_size=1536, vocab_size=49152, rope_theta=1e5, rms_norm_eps=1e-5, tie_word_embeddings=True,
)  # fmt: skip
BLOCK = 16


def fill(cache, tokens: int) -> None:
    """Store random K and V, the same in every cache."""
    generator = torch.Generator().manual_seed(0)
    shape = (cache.batch, SMOLLM2.num_kv_heads, tokens, SMOLLM2.head_dim)
    for layer in range(SMOLLM2.num_layers):
        cache.update(layer, *(torch.randn(shape, generator=generator) for _ in range(2)))


def paged(batch: int, tokens: int, num_blocks: int, attention: str) -> PagedCache:
    cache = PagedCache(SMOLLM2, num_blocks, BLOCK, batch, prefix_caching=False, attention=attention)
    pool = cache.manager.pool
    order = pool.allocate(pool.num_free)
    random.Random(0).shuffle(order)
    pool.free(order)
    fill(cache, tokens)
    return cache


class Step:
    """One way to run a step: all of it, or its attention at every layer. Then its token is dropped."""

    def __init__(self, model: Decoder, cache, tokens: int, whole: bool) -> None:
        self.model, self.cache, self.tokens, self.whole = model, cache, tokens, whole
        c = model.config
        self.ids = torch.arange(cache.batch)[:, None]  # (B, 1)
        self.q = torch.randn(cache.batch, c.num_heads, 1, c.head_dim)  # (B, H, 1, D)
        self.k, self.v = torch.randn(2, cache.batch, c.num_kv_heads, 1, c.head_dim)  # (B, H_kv, 1, D) each

    @torch.no_grad()
    def run(self) -> tuple[torch.Tensor, tuple[float, float]]:
        wall, cpu = time.perf_counter(), time.process_time()
        if self.whole:
            out = self.model.forward(self.ids, self.cache)
        else:
            self.cache.begin(self.ids)
            for layer in range(self.model.config.num_layers):
                out = self.cache.attend(layer, self.q, self.k, self.v)
        seconds = time.perf_counter() - wall, time.process_time() - cpu
        self.cache.crop(self.tokens)
        return out, seconds


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--batch", type=int, default=8, help="rows (default 8)")
    parser.add_argument("--context", type=int, default=1024, help="tokens stored a row (default 1024)")
    parser.add_argument("--runs", type=int, default=15, help="steps of each kind (default 15)")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2], help="thread counts (default 1 2)")
    options = parser.parse_args()

    model = Decoder(SMOLLM2, random_weights(SMOLLM2, 0))
    batch, tokens = options.batch, options.context
    live = batch * -(-(tokens + 1) // BLOCK)
    caches = {"contiguous": PreallocatedCache(SMOLLM2, tokens + BLOCK, batch)}
    fill(caches["contiguous"], tokens)
    for times in (1, 4):
        caches[f"paged, pool of {times} x live blocks"] = paged(batch, tokens, times * live, "in place")
    caches["paged, gathered"] = paged(batch, tokens, live, "gather")
    print(f"torch {torch.__version__}, {os.cpu_count()} CPUs, batch {batch}, context {tokens}, "
          f"{live} live blocks of {BLOCK} tokens, shuffled, float32")  # fmt: skip

    for threads in options.threads:
        torch.set_num_threads(threads)
        for whole in (True, False):
            steps = {name: Step(model, cache, tokens, whole) for name, cache in caches.items()}
            for step in steps.values():
                step.q, step.k, step.v = (getattr(steps["contiguous"], name) for name in "qkv")
            want = steps["contiguous"].run()[0]
            for name, step in steps.items():  # warms up, and settles that all compute the same
                torch.testing.assert_close(step.run()[0], want, atol=1e-3, rtol=1e-3, msg=name)
            seconds = {name: [] for name in steps}
            load = os.getloadavg()[0]
            for i in range(options.runs):
                for name in list(steps) if i % 2 else list(steps)[::-1]:
                    seconds[name].append(steps[name].run()[1])
            print(f"\n{threads} thread(s), {'whole step' if whole else 'attention of all layers alone'}, "
                  f"load {load:.1f}, medians of {options.runs}, by the clock and in CPU time")  # fmt: skip
            medians = {name: [statistics.median(t) for t in zip(*pairs, strict=True)]
                       for name, pairs in seconds.items()}  # fmt: skip
            for name, (wall, cpu) in medians.items():
                base_wall, base_cpu = medians["contiguous"]
                print(f"  {name:30} {wall * 1e3:7.1f} ms {wall / base_wall:5.2f} x "
                      f"{cpu * 1e3:9.1f} ms {cpu / base_cpu:5.2f} x")  # fmt: skip


if __name__ == "__main__":
    main()
