"""Seconds of `kvcourse size MODEL`, from the shell's point of view, beside an empty Python.

The planner answers without torch, so it should stay under 0.3 s on an idle laptop. Nothing here is asserted.
"""

import statistics
import subprocess
import sys
import time

RUNS = 15
COMMANDS = {
    "python -c pass": ["-c", "pass"],
    "kvcourse size Llama-2-7B": ["-m", "kvcourse.cli", "size", "Llama-2-7B"],
    "kvcourse size Gemma-3-27B --explain": ["-m", "kvcourse.cli", "size", "Gemma-3-27B", "--explain"],
    "kvcourse diagnose Llama-2-7B": ["-m", "kvcourse.cli", "diagnose", "Llama-2-7B", "--got", "1 GB/token"],
}


def seconds(arguments: list[str]) -> list[float]:
    taken = []
    for _ in range(RUNS):
        begun = time.perf_counter()
        subprocess.run([sys.executable, *arguments], stdout=subprocess.DEVNULL)
        taken.append(time.perf_counter() - begun)
    return taken


def main() -> None:
    print(f"{'command':38} {'median':>8} {'fastest':>8}   ({RUNS} runs, seconds)")
    for name, arguments in COMMANDS.items():
        taken = seconds(arguments)
        print(f"{name:38} {statistics.median(taken):8.3f} {min(taken):8.3f}")


if __name__ == "__main__":
    main()
