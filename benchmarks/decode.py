"""Cached greedy decoding of SmolLM2 in float32: this course's decoder and Transformers' `generate`, in turns.

Same file, same prompt, same tokens (asserted), same process. Prints the ratio of the median speeds and the
share of the speed that reading the weights once a token would allow. Times are noisy on a shared machine: the
load is printed, and CPU seconds beside wall seconds, which other programs disturb less.
"""

import argparse
import os
import statistics
import time

import torch

from kvcourse import hf, model_file, weights
from kvcourse.caches import PreallocatedCache

PROMPT = "In 1969, the first people"


def read_bandwidth() -> float:
    """Bytes a second of summing 512 MB, the best of five: what this many threads can read, at most."""
    data = torch.ones(128 * 1024 * 1024)
    best = float("inf")
    for _ in range(5):
        start = time.perf_counter()
        data.sum()
        best = min(best, time.perf_counter() - start)
    return data.nbytes / best


def timed(run) -> tuple[list[int], float, float]:
    wall, cpu = time.perf_counter(), time.process_time()
    tokens = run()
    return tokens, time.perf_counter() - wall, time.process_time() - cpu


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--new", type=int, default=128, help="tokens to generate (default 128)")
    parser.add_argument("--runs", type=int, default=5, help="runs of each program (default 5)")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2], help="thread counts (default 1 2)")
    options = parser.parse_args()

    path = model_file.fetch()
    ours, tokenizer = weights.smollm2()
    theirs = hf.load_model(path)
    prompt = tokenizer.encode(PROMPT)
    weight_bytes = ours.num_parameters * 4

    def run_ours() -> list[int]:
        cache = PreallocatedCache(ours.config, len(prompt) + options.new)
        return ours.generate(prompt, options.new, cache)

    def run_theirs() -> list[int]:
        return hf.generate(theirs, prompt, options.new)

    print(f"torch {torch.__version__}, {os.cpu_count()} CPUs, {len(prompt)} + {options.new} tokens, float32")
    for threads in options.threads:
        torch.set_num_threads(threads)
        load = os.getloadavg()[0]
        want = run_theirs()  # warms up, and settles the tokens
        wall, cpu = {"ours": [], "theirs": []}, {"ours": [], "theirs": []}
        bandwidth = []
        for i in range(options.runs):
            bandwidth.append(read_bandwidth())
            pair = [("ours", run_ours), ("theirs", run_theirs)]
            for name, run in pair if i % 2 == 0 else pair[::-1]:
                tokens, seconds, cpu_seconds = timed(run)
                assert tokens == want, f"{name} generated other tokens"
                wall[name].append(options.new / seconds)
                cpu[name].append(options.new / cpu_seconds)
        speed = {name: statistics.median(values) for name, values in wall.items()}
        per_cpu = {name: statistics.median(values) for name, values in cpu.items()}
        limit = max(bandwidth) / weight_bytes
        print(f"\n{threads} thread(s), load {load:.1f} before and {os.getloadavg()[0]:.1f} after, "
              f"{options.runs} runs each in turns")  # fmt: skip
        for name, label in (("ours", "kvcourse"), ("theirs", "Transformers generate")):
            values = " ".join(f"{value:.1f}" for value in sorted(wall[name]))
            print(f"  {label:22} {speed[name]:5.1f} tokens/s (median of {values}), "
                  f"{per_cpu[name]:.1f} per CPU second")  # fmt: skip
        print(f"  ratio of medians       {speed['ours'] / speed['theirs']:.2f} by the clock, "
              f"{per_cpu['ours'] / per_cpu['theirs']:.2f} by CPU time")  # fmt: skip
        print(f"  reading {weight_bytes / 1e6:.0f} MB of weights a token at {max(bandwidth) / 1e9:.1f} GB/s "
              f"allows {limit:.1f} tokens/s: kvcourse reaches {speed['ours'] / limit:.0%}, "
              f"Transformers {speed['theirs'] / limit:.0%}")  # fmt: skip


if __name__ == "__main__":
    main()
