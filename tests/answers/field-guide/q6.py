# ruff: noqa
# Problem 6: the flag.


# %% right: the other setting of each server
FLAGS = {
    "vLLM": {"name": "kv-cache-memory-bytes", "counts": "D"},
    "SGLang": {"name": "--max-total-tokens", "counts": "c"},
    "TensorRT-LLM": {"name": "KvCacheConfig.max_tokens", "counts": "c"},
    "Transformers": {"name": "--cb-num-blocks", "counts": "c"},
    "llama.cpp": {"name": "-c", "counts": "C"},
    "Ollama": {"name": "num_ctx", "counts": "c"},
}


def flag(server):
    return FLAGS[server]


# %% right: in Python's spelling, with values
def flag(server):
    if server == "vLLM":
        return dict(name="gpu_memory_utilization=0.92", counts="a")
    if server == "SGLang":
        return dict(name="mem_fraction_static", counts="A")
    if server == "TensorRT-LLM":
        return dict(name="--kv_cache_free_gpu_memory_fraction", counts="b")
    if server == "Transformers":
        return dict(name="max_memory_percent", counts="B")
    return dict(
        name="LLAMA_ARG_CTX_SIZE" if server == "llama.cpp" else "ollama_context_length",
        counts="c",
        more="tokens",
    )


# %% right: two lists
SERVERS = ["vLLM", "SGLang", "TensorRT-LLM", "Transformers", "llama.cpp", "Ollama"]
NAMES = "--gpu-memory-utilization --mem-fraction-static free_gpu_memory_fraction --cb-max-memory-percent --ctx-size OLLAMA_CONTEXT_LENGTH"


def flag(server):
    at = SERVERS.index(server)
    return {"name": NAMES.split()[at], "counts": "aabbcc"[at]}


# %% wrong: the longest sequence in vLLM
# points: q6-free=1 q6-tokens=1
# hint: a cap on one sequence or on their number
def flag(server):
    name, counts = {
        "vLLM": ("--max-model-len", "c"),
        "SGLang": ("--mem-fraction-static", "a"),
        "TensorRT-LLM": ("free_gpu_memory_fraction", "b"),
        "Transformers": ("--cb-max-memory-percent", "b"),
        "llama.cpp": ("--ctx-size", "c"),
        "Ollama": ("OLLAMA_CONTEXT_LENGTH", "c"),
    }[server]
    return {"name": name, "counts": counts}


# %% wrong: the number of sequences in vLLM
# points: q6-free=1 q6-tokens=1
# hint: a cap on one sequence or on their number
def flag(server):
    name, counts = {
        "vLLM": ("--max-num-seqs", "e"),
        "SGLang": ("--mem-fraction-static", "a"),
        "TensorRT-LLM": ("free_gpu_memory_fraction", "b"),
        "Transformers": ("--cb-max-memory-percent", "b"),
        "llama.cpp": ("--ctx-size", "c"),
        "Ollama": ("OLLAMA_CONTEXT_LENGTH", "c"),
    }[server]
    return {"name": name, "counts": counts}


# %% wrong: layers in llama.cpp
# points: q6-whole=1 q6-free=1
# hint: That says where layers lie
def flag(server):
    name, counts = {
        "vLLM": ("--gpu-memory-utilization", "a"),
        "SGLang": ("--mem-fraction-static", "a"),
        "TensorRT-LLM": ("free_gpu_memory_fraction", "b"),
        "Transformers": ("--cb-max-memory-percent", "b"),
        "llama.cpp": ("-ngl", "f"),
        "Ollama": ("OLLAMA_CONTEXT_LENGTH", "c"),
    }[server]
    return {"name": name, "counts": counts}


# %% wrong: the type of the cache
# points: q6-free=1
# hint: That is the type of a stored number
def flag(server):
    name, counts = {
        "vLLM": ("--kv-cache-dtype", "a"),
        "SGLang": ("--mem-fraction-static", "a"),
        "TensorRT-LLM": ("free_gpu_memory_fraction", "b"),
        "Transformers": ("--cb-max-memory-percent", "b"),
        "llama.cpp": ("--cache-type-k", "c"),
        "Ollama": ("OLLAMA_KV_CACHE_TYPE", "c"),
    }[server]
    return {"name": name, "counts": counts}


# %% wrong: all fractions are shares of the GPU
# points: q6-whole=1 q6-tokens=1
# hint: The setting is right. It counts something else
def flag(server):
    name, counts = {
        "vLLM": ("--gpu-memory-utilization", "a"),
        "SGLang": ("--mem-fraction-static", "a"),
        "TensorRT-LLM": ("free_gpu_memory_fraction", "a"),
        "Transformers": ("--cb-max-memory-percent", "a"),
        "llama.cpp": ("--ctx-size", "c"),
        "Ollama": ("OLLAMA_CONTEXT_LENGTH", "c"),
    }[server]
    return {"name": name, "counts": counts}


# %% wrong: vLLM's share is of what is free
# points: q6-free=1 q6-tokens=1
# hint: The setting is right. It counts something else
def flag(server):
    name, counts = {
        "vLLM": ("--gpu-memory-utilization", "b"),
        "SGLang": ("--mem-fraction-static", "a"),
        "TensorRT-LLM": ("free_gpu_memory_fraction", "b"),
        "Transformers": ("--cb-max-memory-percent", "b"),
        "llama.cpp": ("--ctx-size", "c"),
        "Ollama": ("OLLAMA_CONTEXT_LENGTH", "c"),
    }[server]
    return {"name": name, "counts": counts}


# %% wrong: one server's flag for all
# points:
# hint: This server has no such setting
def flag(server):
    return {"name": "--gpu-memory-utilization", "counts": "a"}


# %% wrong: tokens in one slot are sequences
# points: q6-whole=1 q6-free=1
# hint: The setting is right. It counts something else
def flag(server):
    name, counts = {
        "vLLM": ("--gpu-memory-utilization", "a"),
        "SGLang": ("--mem-fraction-static", "a"),
        "TensorRT-LLM": ("free_gpu_memory_fraction", "b"),
        "Transformers": ("--cb-max-memory-percent", "b"),
        "llama.cpp": ("--ctx-size", "c"),
        "Ollama": ("OLLAMA_CONTEXT_LENGTH", "e"),
    }[server]
    return {"name": name, "counts": counts}


# %% wrong: users in Ollama
# points: q6-whole=1 q6-free=1
# hint: a cap on one sequence or on their number
def flag(server):
    name, counts = {
        "vLLM": ("--gpu-memory-utilization", "a"),
        "SGLang": ("--mem-fraction-static", "a"),
        "TensorRT-LLM": ("free_gpu_memory_fraction", "b"),
        "Transformers": ("--cb-max-memory-percent", "b"),
        "llama.cpp": ("--ctx-size", "c"),
        "Ollama": ("OLLAMA_NUM_PARALLEL", "e"),
    }[server]
    return {"name": name, "counts": counts}


# %% wrong: the block size in TensorRT-LLM
# points: q6-whole=1 q6-tokens=1
# hint: That is how the cache is cut into pieces
def flag(server):
    name, counts = {
        "vLLM": ("--gpu-memory-utilization", "a"),
        "SGLang": ("--mem-fraction-static", "a"),
        "TensorRT-LLM": ("tokens_per_block", "c"),
        "Transformers": ("--cb-max-memory-percent", "b"),
        "llama.cpp": ("--ctx-size", "c"),
        "Ollama": ("OLLAMA_CONTEXT_LENGTH", "c"),
    }[server]
    return {"name": name, "counts": counts}


# %% wrong: bytes in vLLM called a share
# points: q6-free=1 q6-tokens=1
# hint: The setting is right. It counts something else
def flag(server):
    name, counts = {
        "vLLM": ("--kv-cache-memory-bytes", "a"),
        "SGLang": ("--mem-fraction-static", "a"),
        "TensorRT-LLM": ("free_gpu_memory_fraction", "b"),
        "Transformers": ("--cb-max-memory-percent", "b"),
        "llama.cpp": ("--ctx-size", "c"),
        "Ollama": ("OLLAMA_CONTEXT_LENGTH", "c"),
    }[server]
    return {"name": name, "counts": counts}


# %% wrong: a word for a letter
# points:
# hint: flag('vLLM')['counts']
def flag(server):
    return {"name": "--gpu-memory-utilization", "counts": "share of the GPU"}


# %% wrong: a pair
# points:
# hint: a dict with name, counts
def flag(server):
    return "--gpu-memory-utilization", "a"


# %% wrong: cheat, the checks' own table
# points:
# hint: here you build it yourself, without kvcourse
def flag(server):
    from kvcourse.checks.servers import SETTINGS

    name, counts = next(iter(SETTINGS[server].items()))
    return {"name": name, "counts": counts}


# %% wrong: cheat, a text that is every text
# points:
# hint: flag('vLLM')
class Every(str):
    def __eq__(self, other):
        return True

    def lower(self):
        return self

    __hash__ = str.__hash__


def flag(server):
    return {"name": Every("x"), "counts": Every("a")}
