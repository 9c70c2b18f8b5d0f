# ruff: noqa
# Problem 8: read a start-up log.


# %% right: line by line, by splitting
def numbers(log):
    found = {}
    for line in log.splitlines():
        if "Available KV cache memory" in line:
            found["gib"] = float(line.split("memory:")[1].split()[0])
        elif "GPU KV cache size" in line:
            found["tokens"] = int(line.split("size:")[1].split()[0].replace(",", ""))
        elif "Maximum concurrency" in line:
            left, right = line.split(" tokens per request: ")
            found["length"] = int(left.split()[-1].replace(",", ""))
            found["times"] = float(right.strip().rstrip("x"))
    return found


def from_log(log, token_bytes):
    n = numbers(log)
    tokens = n["gib"] * 1024**3 / token_bytes
    return {"concurrency": round(tokens / n["length"], 2), "tokens": tokens}


def judge(log, token_bytes):
    n = numbers(log)
    room = n["gib"] * 1024**3
    used = n["tokens"] * token_bytes
    if not 0.97 * room < used < 1.03 * room:
        return "tokens"
    said = n["times"] * n["length"]
    return "agree" if 0.97 * n["tokens"] < said < 1.03 * n["tokens"] else "concurrency"


def verdict():
    return dict(log="c", reason="C")


# %% right: one pattern for all, capitals
import re

PATTERN = re.compile(r"memory: (\S+) GiB.*?size: (\S+) tokens.*?for (\S+) tokens per request: (\S+)x", re.S)


def parts(log):
    return [float(text.replace(",", "")) for text in PATTERN.search(log).groups()]


def from_log(log, token_bytes):
    gib, _, length, _ = parts(log)
    blocks = gib * 2**30 // (16 * token_bytes)
    return {"tokens": int(blocks * 16), "concurrency": blocks * 16 / length, "blocks": blocks}


def judge(log, token_bytes):
    gib, tokens, length, times = parts(log)
    links = {"TOKENS": tokens * token_bytes / gib / 2**30, "CONCURRENCY": times * length / tokens}
    broken = [name for name, ratio in links.items() if abs(ratio - 1) > 0.04]
    return broken[0] if broken else "Agree"


def verdict():
    return {"reason": "c", "log": " C "}


# %% right: judge by what the log should say
import re


def figures(log):
    gib = float(re.search(r"memory: ([\d.]+) GiB", log)[1])
    tokens = int(re.search(r"cache size: ([\d,]+) tokens", log)[1].replace(",", ""))
    length, factor = re.search(r"for ([\d,]+) tokens per request: ([\d.]+)x", log).groups()
    return gib, tokens, int(length.replace(",", "")), float(factor)


def from_log(log, token_bytes):
    gib, _, length, _ = figures(log)
    tokens = int(gib * 2**30 / token_bytes / 16) * 16
    return {"tokens": tokens, "concurrency": tokens / length}


def judge(log, token_bytes):
    gib, tokens, length, factor = figures(log)
    if abs(from_log(log, token_bytes)["tokens"] - tokens) > 0.03 * tokens:
        return "tokens"
    return "agree" if abs(tokens / length - factor) <= 0.03 * factor else "concurrency"


def verdict():
    sizes = {"A": (147_456, 11.47, 83_488), "B": (65_536, 24.10, 394_848), "C": (262_144, 12.20, 99_936)}
    wrong = [name for name, (size, gib, tokens) in sizes.items() if tokens * size > 1.01 * gib * 2**30]
    return {"log": wrong[0], "reason": "c"}


# %% wrong: GB for GiB
# points: q8-judge=1 q8-verdict=1
# hint: How many bytes are a GiB?
import re


def figures(log):
    gib = float(re.search(r"memory: ([\d.]+) GiB", log)[1])
    tokens = int(re.search(r"cache size: ([\d,]+) tokens", log)[1].replace(",", ""))
    length, factor = re.search(r"for ([\d,]+) tokens per request: ([\d.]+)x", log).groups()
    return gib, tokens, int(length.replace(",", "")), float(factor)


def from_log(log, token_bytes):
    gib, _, length, _ = figures(log)
    tokens = int(gib * 10**9 / token_bytes / 16) * 16
    return {"tokens": tokens, "concurrency": tokens / length}


def judge(log, token_bytes):
    gib, tokens, length, factor = figures(log)
    if abs(tokens / (gib * 2**30 / token_bytes) - 1) > 0.02:
        return "tokens"
    if abs(factor / (tokens / length) - 1) > 0.02:
        return "concurrency"
    return "agree"


def verdict():
    return {"log": "C", "reason": "c"}


# %% wrong: the printed tokens
# points: q8-judge=1 q8-verdict=1
# hint: Half of it
import re


def figures(log):
    gib = float(re.search(r"memory: ([\d.]+) GiB", log)[1])
    tokens = int(re.search(r"cache size: ([\d,]+) tokens", log)[1].replace(",", ""))
    length, factor = re.search(r"for ([\d,]+) tokens per request: ([\d.]+)x", log).groups()
    return gib, tokens, int(length.replace(",", "")), float(factor)


def from_log(log, token_bytes):
    _, tokens, length, _ = figures(log)
    return {"tokens": tokens, "concurrency": tokens / length}


def judge(log, token_bytes):
    gib, tokens, length, factor = figures(log)
    if abs(tokens / (gib * 2**30 / token_bytes) - 1) > 0.02:
        return "tokens"
    if abs(factor / (tokens / length) - 1) > 0.02:
        return "concurrency"
    return "agree"


def verdict():
    return {"log": "C", "reason": "c"}


# %% wrong: a factor 2 for K and V once more
# points: q8-judge=1 q8-verdict=1
# hint: The bytes of a token hold both K and V
import re


def figures(log):
    gib = float(re.search(r"memory: ([\d.]+) GiB", log)[1])
    tokens = int(re.search(r"cache size: ([\d,]+) tokens", log)[1].replace(",", ""))
    length, factor = re.search(r"for ([\d,]+) tokens per request: ([\d.]+)x", log).groups()
    return gib, tokens, int(length.replace(",", "")), float(factor)


def from_log(log, token_bytes):
    gib, _, length, _ = figures(log)
    tokens = int(gib * 2**30 / (2 * token_bytes) / 16) * 16
    return {"tokens": tokens, "concurrency": tokens / length}


def judge(log, token_bytes):
    gib, tokens, length, factor = figures(log)
    if abs(tokens / (gib * 2**30 / token_bytes) - 1) > 0.02:
        return "tokens"
    if abs(factor / (tokens / length) - 1) > 0.02:
        return "concurrency"
    return "agree"


def verdict():
    return {"log": "C", "reason": "c"}


# %% wrong: blocks for tokens
# points: q8-judge=1 q8-verdict=1
# hint: These are blocks. How many tokens are they?
import re


def figures(log):
    gib = float(re.search(r"memory: ([\d.]+) GiB", log)[1])
    tokens = int(re.search(r"cache size: ([\d,]+) tokens", log)[1].replace(",", ""))
    length, factor = re.search(r"for ([\d,]+) tokens per request: ([\d.]+)x", log).groups()
    return gib, tokens, int(length.replace(",", "")), float(factor)


def from_log(log, token_bytes):
    gib, _, length, _ = figures(log)
    tokens = int(gib * 2**30 / token_bytes / 16)
    return {"tokens": tokens, "concurrency": tokens / length}


def judge(log, token_bytes):
    gib, tokens, length, factor = figures(log)
    if abs(tokens / (gib * 2**30 / token_bytes) - 1) > 0.02:
        return "tokens"
    if abs(factor / (tokens / length) - 1) > 0.02:
        return "concurrency"
    return "agree"


def verdict():
    return {"log": "C", "reason": "c"}


# %% wrong: whole requests
# points: q8-tokens=1 q8-judge=1 q8-verdict=1
# hint: it is a ratio of tokens
import re


def figures(log):
    gib = float(re.search(r"memory: ([\d.]+) GiB", log)[1])
    tokens = int(re.search(r"cache size: ([\d,]+) tokens", log)[1].replace(",", ""))
    length, factor = re.search(r"for ([\d,]+) tokens per request: ([\d.]+)x", log).groups()
    return gib, tokens, int(length.replace(",", "")), float(factor)


def from_log(log, token_bytes):
    gib, _, length, _ = figures(log)
    tokens = int(gib * 2**30 / token_bytes / 16) * 16
    return {"tokens": tokens, "concurrency": tokens // length}


def judge(log, token_bytes):
    gib, tokens, length, factor = figures(log)
    if abs(tokens / (gib * 2**30 / token_bytes) - 1) > 0.02:
        return "tokens"
    if abs(factor / (tokens / length) - 1) > 0.02:
        return "concurrency"
    return "agree"


def verdict():
    return {"log": "C", "reason": "c"}


# %% wrong: repeats the printed factor
# points: q8-tokens=1 q8-judge=1 q8-verdict=1
# hint: from_log(the log, 73_728)['concurrency']
import re


def figures(log):
    gib = float(re.search(r"memory: ([\d.]+) GiB", log)[1])
    tokens = int(re.search(r"cache size: ([\d,]+) tokens", log)[1].replace(",", ""))
    length, factor = re.search(r"for ([\d,]+) tokens per request: ([\d.]+)x", log).groups()
    return gib, tokens, int(length.replace(",", "")), float(factor)


def from_log(log, token_bytes):
    gib, _, length, factor = figures(log)
    return {"tokens": gib * 2**30 / token_bytes, "concurrency": factor}


def judge(log, token_bytes):
    gib, tokens, length, factor = figures(log)
    if abs(tokens / (gib * 2**30 / token_bytes) - 1) > 0.02:
        return "tokens"
    if abs(factor / (tokens / length) - 1) > 0.02:
        return "concurrency"
    return "agree"


def verdict():
    return {"log": "C", "reason": "c"}


# %% wrong: the length over the tokens
# points: q8-tokens=1 q8-judge=1 q8-verdict=1
# hint: Upside down
import re


def figures(log):
    gib = float(re.search(r"memory: ([\d.]+) GiB", log)[1])
    tokens = int(re.search(r"cache size: ([\d,]+) tokens", log)[1].replace(",", ""))
    length, factor = re.search(r"for ([\d,]+) tokens per request: ([\d.]+)x", log).groups()
    return gib, tokens, int(length.replace(",", "")), float(factor)


def from_log(log, token_bytes):
    gib, _, length, _ = figures(log)
    tokens = int(gib * 2**30 / token_bytes / 16) * 16
    return {"tokens": tokens, "concurrency": length / tokens}


def judge(log, token_bytes):
    gib, tokens, length, factor = figures(log)
    if abs(tokens / (gib * 2**30 / token_bytes) - 1) > 0.02:
        return "tokens"
    if abs(factor / (tokens / length) - 1) > 0.02:
        return "concurrency"
    return "agree"


def verdict():
    return {"log": "C", "reason": "c"}


# %% wrong: judges the factor by its own tokens
# points: q8-tokens=1 q8-concurrency=1 q8-verdict=1
# hint: Compare each line with the one before it
import re


def figures(log):
    gib = float(re.search(r"memory: ([\d.]+) GiB", log)[1])
    tokens = int(re.search(r"cache size: ([\d,]+) tokens", log)[1].replace(",", ""))
    length, factor = re.search(r"for ([\d,]+) tokens per request: ([\d.]+)x", log).groups()
    return gib, tokens, int(length.replace(",", "")), float(factor)


def from_log(log, token_bytes):
    gib, _, length, _ = figures(log)
    tokens = int(gib * 2**30 / token_bytes / 16) * 16
    return {"tokens": tokens, "concurrency": tokens / length}


def judge(log, token_bytes):
    gib, tokens, length, factor = figures(log)
    right = gib * 2**30 / token_bytes
    if abs(factor * length / right - 1) > 0.02:
        return "concurrency"
    return "tokens" if abs(tokens / right - 1) > 0.02 else "agree"


def verdict():
    return {"log": "C", "reason": "c"}


# %% wrong: asks for equality
# points: q8-tokens=1 q8-concurrency=1 q8-verdict=1
# hint: Compare each line with the one before it
import re


def figures(log):
    gib = float(re.search(r"memory: ([\d.]+) GiB", log)[1])
    tokens = int(re.search(r"cache size: ([\d,]+) tokens", log)[1].replace(",", ""))
    length, factor = re.search(r"for ([\d,]+) tokens per request: ([\d.]+)x", log).groups()
    return gib, tokens, int(length.replace(",", "")), float(factor)


def from_log(log, token_bytes):
    gib, _, length, _ = figures(log)
    tokens = int(gib * 2**30 / token_bytes / 16) * 16
    return {"tokens": tokens, "concurrency": tokens / length}


def judge(log, token_bytes):
    gib, tokens, length, factor = figures(log)
    if tokens != int(gib * 2**30 / token_bytes):
        return "tokens"
    return "agree" if factor == tokens / length else "concurrency"


def verdict():
    return {"log": "C", "reason": "c"}


# %% wrong: lets 7 % pass
# points: q8-tokens=1 q8-concurrency=1 q8-verdict=1
# hint: Compare each line with the one before it
import re


def figures(log):
    gib = float(re.search(r"memory: ([\d.]+) GiB", log)[1])
    tokens = int(re.search(r"cache size: ([\d,]+) tokens", log)[1].replace(",", ""))
    length, factor = re.search(r"for ([\d,]+) tokens per request: ([\d.]+)x", log).groups()
    return gib, tokens, int(length.replace(",", "")), float(factor)


def from_log(log, token_bytes):
    gib, _, length, _ = figures(log)
    tokens = int(gib * 2**30 / token_bytes / 16) * 16
    return {"tokens": tokens, "concurrency": tokens / length}


def judge(log, token_bytes):
    gib, tokens, length, factor = figures(log)
    if abs(tokens / (gib * 2**30 / token_bytes) - 1) > 0.08:
        return "tokens"
    if abs(factor / (tokens / length) - 1) > 0.08:
        return "concurrency"
    return "agree"


def verdict():
    return {"log": "C", "reason": "c"}


# %% wrong: looks at the factor alone
# points: q8-tokens=1 q8-concurrency=1 q8-verdict=1
# hint: Compare each line with the one before it
import re


def figures(log):
    gib = float(re.search(r"memory: ([\d.]+) GiB", log)[1])
    tokens = int(re.search(r"cache size: ([\d,]+) tokens", log)[1].replace(",", ""))
    length, factor = re.search(r"for ([\d,]+) tokens per request: ([\d.]+)x", log).groups()
    return gib, tokens, int(length.replace(",", "")), float(factor)


def from_log(log, token_bytes):
    gib, _, length, _ = figures(log)
    tokens = int(gib * 2**30 / token_bytes / 16) * 16
    return {"tokens": tokens, "concurrency": tokens / length}


def judge(log, token_bytes):
    gib, tokens, length, factor = figures(log)
    return "agree" if abs(factor * length / tokens - 1) < 0.02 else "concurrency"


def verdict():
    return {"log": "C", "reason": "c"}


# %% wrong: judges by GB
# points: q8-tokens=1 q8-concurrency=1 q8-verdict=1
# hint: Compare each line with the one before it
import re


def figures(log):
    gib = float(re.search(r"memory: ([\d.]+) GiB", log)[1])
    tokens = int(re.search(r"cache size: ([\d,]+) tokens", log)[1].replace(",", ""))
    length, factor = re.search(r"for ([\d,]+) tokens per request: ([\d.]+)x", log).groups()
    return gib, tokens, int(length.replace(",", "")), float(factor)


def from_log(log, token_bytes):
    gib, _, length, _ = figures(log)
    tokens = int(gib * 2**30 / token_bytes / 16) * 16
    return {"tokens": tokens, "concurrency": tokens / length}


def judge(log, token_bytes):
    gib, tokens, length, factor = figures(log)
    if abs(tokens / (gib * 10**9 / token_bytes) - 1) > 0.02:
        return "tokens"
    if abs(factor / (tokens / length) - 1) > 0.02:
        return "concurrency"
    return "agree"


def verdict():
    return {"log": "C", "reason": "c"}


# %% wrong: true and false
# points: q8-tokens=1 q8-concurrency=1 q8-verdict=1
# hint: one of agree, tokens, concurrency
import re


def figures(log):
    gib = float(re.search(r"memory: ([\d.]+) GiB", log)[1])
    tokens = int(re.search(r"cache size: ([\d,]+) tokens", log)[1].replace(",", ""))
    length, factor = re.search(r"for ([\d,]+) tokens per request: ([\d.]+)x", log).groups()
    return gib, tokens, int(length.replace(",", "")), float(factor)


def from_log(log, token_bytes):
    gib, _, length, _ = figures(log)
    tokens = int(gib * 2**30 / token_bytes / 16) * 16
    return {"tokens": tokens, "concurrency": tokens / length}


def judge(log, token_bytes):
    gib, tokens, length, factor = figures(log)
    return abs(tokens * token_bytes / gib / 2**30 - 1) < 0.02 and abs(factor * length / tokens - 1) < 0.02


def verdict():
    return {"log": "C", "reason": "c"}


# %% wrong: takes log B for wrong
# points: q8-tokens=1 q8-concurrency=1 q8-judge=1
# hint: what does one of them keep of a token?
import re


def figures(log):
    gib = float(re.search(r"memory: ([\d.]+) GiB", log)[1])
    tokens = int(re.search(r"cache size: ([\d,]+) tokens", log)[1].replace(",", ""))
    length, factor = re.search(r"for ([\d,]+) tokens per request: ([\d.]+)x", log).groups()
    return gib, tokens, int(length.replace(",", "")), float(factor)


def from_log(log, token_bytes):
    gib, _, length, _ = figures(log)
    tokens = int(gib * 2**30 / token_bytes / 16) * 16
    return {"tokens": tokens, "concurrency": tokens / length}


def judge(log, token_bytes):
    gib, tokens, length, factor = figures(log)
    if abs(tokens / (gib * 2**30 / token_bytes) - 1) > 0.02:
        return "tokens"
    if abs(factor / (tokens / length) - 1) > 0.02:
        return "concurrency"
    return "agree"


def verdict():
    return {"log": "B", "reason": "d"}


# %% wrong: the right log, and units for a reason
# points: q8-tokens=1 q8-concurrency=1 q8-judge=1
# hint: By which factor is the line off
import re


def figures(log):
    gib = float(re.search(r"memory: ([\d.]+) GiB", log)[1])
    tokens = int(re.search(r"cache size: ([\d,]+) tokens", log)[1].replace(",", ""))
    length, factor = re.search(r"for ([\d,]+) tokens per request: ([\d.]+)x", log).groups()
    return gib, tokens, int(length.replace(",", "")), float(factor)


def from_log(log, token_bytes):
    gib, _, length, _ = figures(log)
    tokens = int(gib * 2**30 / token_bytes / 16) * 16
    return {"tokens": tokens, "concurrency": tokens / length}


def judge(log, token_bytes):
    gib, tokens, length, factor = figures(log)
    if abs(tokens / (gib * 2**30 / token_bytes) - 1) > 0.02:
        return "tokens"
    if abs(factor / (tokens / length) - 1) > 0.02:
        return "concurrency"
    return "agree"


def verdict():
    return {"log": "C", "reason": "b"}


# %% wrong: cheat, the package's reader
# points:
# hint: here you build it yourself, without kvcourse
# hint: the key 'log'
import re


def figures(log):
    gib = float(re.search(r"memory: ([\d.]+) GiB", log)[1])
    tokens = int(re.search(r"cache size: ([\d,]+) tokens", log)[1].replace(",", ""))
    length, factor = re.search(r"for ([\d,]+) tokens per request: ([\d.]+)x", log).groups()
    return gib, tokens, int(length.replace(",", "")), float(factor)


from kvcourse.engines import read_log


def from_log(log, token_bytes):
    tokens = float(read_log(log).pool.low) / token_bytes
    return {"tokens": tokens, "concurrency": tokens / figures(log)[2]}


def judge(log, token_bytes):
    return "agree" if all(check.agrees for check in read_log(log).checks) else "concurrency"


def verdict():
    return {"which": "C", "why": "c"}


# %% wrong: cheat, what the notebook shows
# points:
# hint: from_log(the log, 73_728)
# hint: judge
# hint: Do the three divisions
import re


def figures(log):
    gib = float(re.search(r"memory: ([\d.]+) GiB", log)[1])
    tokens = int(re.search(r"cache size: ([\d,]+) tokens", log)[1].replace(",", ""))
    length, factor = re.search(r"for ([\d,]+) tokens per request: ([\d.]+)x", log).groups()
    return gib, tokens, int(length.replace(",", "")), float(factor)


def from_log(log, token_bytes):
    return {"tokens": 83_520, "concurrency": 2.549}


def judge(log, token_bytes):
    return "agree"


def verdict():
    return {"log": "A", "reason": "c"}
