# ruff: noqa
# Problem 9: plan your own server.


# %% right: computed on the way, SGLang
def my_plan():
    known = registry.find("Qwen3-8B")
    gpu, other, share, context = 48, 3.0, 0.85, 10_000
    weights = known.parameters * 2
    room = min(share * gpu * 2**30 - weights, (gpu - other) * 2**30 - weights)
    one = 2 * 36 * 8 * 128 * 2 * context
    return {
        "model": known.name,
        "weight_bits": 16,
        "gpu_gib": gpu,
        "engine": "SGLang",
        "fraction": share,
        "other_gib": other,
        "context": context,
        "pool_gib": room / 2**30,
        "users": int(room // one),
    }


# markdown:
# The average length of a request is my riskiest assumption. I planned for 8,192 tokens each; if people send twice as
# much, half as many fit, 27 in place of 55. I would log the lengths of a week's requests before I buy the GPU.


# %% right: windows and eight bits, TensorRT-LLM
def my_plan():
    left = 80 - 27_009_002_240 / 2**30 - 4
    pool = 0.9 * left
    one = 8192 * (52 * 1024 + 10 * 32_768) / 2**30
    return dict(
        model="Gemma-3-27B",
        weight_bits=8,
        gpu_gib=80.0,
        engine="tensorrt-llm",
        fraction=0.9,
        other_gib=4,
        context=32_768,
        pool_gib=round(pool, 2),
        users=int(pool / one),
    )


# markdown:
# My riskiest assumption is that the server keeps windows short. If it reserves all layers at full length one sequence
# takes six times as much, so a sixth of the users is left. I compare the line on the KV cache size in its start-up log
# with my own tokens.


# %% right: a small model in four bits
def my_plan():
    return {
        "model": "SmolLM2-135M",
        "weight_bits": 4,
        "gpu_gib": 8,
        "engine": "vLLM",
        "fraction": 1,
        "other_gib": 0.5,
        "context": 1000,
        "pool_gib": 7.44,
        "users": 346,
    }


# markdown:
# The 2 GiB for everything else. At 5 GiB the pool shrinks by 3 GiB, about 5 % of the users. vLLM's line "Available KV
# cache memory" says it after a first start.


# %% wrong: no room for activations
# points:
# hint: Something besides the weights needs memory
def my_plan():
    return {
        "model": "Llama-3.1-8B",
        "weight_bits": 16,
        "gpu_gib": 80,
        "engine": "vLLM",
        "fraction": 0.9,
        "other_gib": 2,
        "context": 8192,
        "pool_gib": 57.04,
        "users": 58,
    }


# %% wrong: the whole share
# points:
# hint: The weights lie on the same GPU
def my_plan():
    return {
        "model": "Llama-3.1-8B",
        "weight_bits": 16,
        "gpu_gib": 80,
        "engine": "vLLM",
        "fraction": 0.9,
        "other_gib": 2,
        "context": 8192,
        "pool_gib": 70.0,
        "users": 70,
    }


# %% wrong: another server's rule
# points:
# hint: That is another server's rule
def my_plan():
    return {
        "model": "Llama-3.1-8B",
        "weight_bits": 16,
        "gpu_gib": 80,
        "engine": "vLLM",
        "fraction": 0.9,
        "other_gib": 2,
        "context": 8192,
        "pool_gib": 56.74,
        "users": 57,
    }


# %% wrong: GB in place of GiB
# points: q9-users=1
# hint: That is the number in GB
def my_plan():
    return {
        "model": "Llama-3.1-8B",
        "weight_bits": 16,
        "gpu_gib": 80,
        "engine": "vLLM",
        "fraction": 0.9,
        "other_gib": 2,
        "context": 8192,
        "pool_gib": 59.1,
        "users": 55,
    }


# %% wrong: bytes of the pool
# points: q9-users=1
# hint: The contract asks for GiB
def my_plan():
    return {
        "model": "Llama-3.1-8B",
        "weight_bits": 16,
        "gpu_gib": 80,
        "engine": "vLLM",
        "fraction": 0.9,
        "other_gib": 2,
        "context": 8192,
        "pool_gib": 59100000000,
        "users": 55,
    }


# %% wrong: users at half the context
# points: q9-pool=1
# hint: More, or fewer, than the pool divided
def my_plan():
    return {
        "model": "Llama-3.1-8B",
        "weight_bits": 16,
        "gpu_gib": 80,
        "engine": "vLLM",
        "fraction": 0.9,
        "other_gib": 2,
        "context": 8192,
        "pool_gib": 55.04,
        "users": 110,
    }


# %% wrong: a fraction of a user
# points: q9-pool=1
# hint: A whole number of sequences is expected
def my_plan():
    return {
        "model": "Llama-3.1-8B",
        "weight_bits": 16,
        "gpu_gib": 80,
        "engine": "vLLM",
        "fraction": 0.9,
        "other_gib": 2,
        "context": 8192,
        "pool_gib": 55.04,
        "users": 55.04,
    }


# %% wrong: a model too large for its GPU
# points:
# hint: Plan something that runs
def my_plan():
    return {
        "model": "Llama-3.1-70B",
        "weight_bits": 16,
        "gpu_gib": 80,
        "engine": "vLLM",
        "fraction": 0.9,
        "other_gib": 2,
        "context": 8192,
        "pool_gib": 1.0,
        "users": 1,
    }


# %% wrong: a context that does not fit once
# points: q9-pool=1
# hint: No sequence of this length fits
def my_plan():
    return {
        "model": "Qwen3-32B",
        "weight_bits": 16,
        "gpu_gib": 80,
        "engine": "vLLM",
        "fraction": 0.9,
        "other_gib": 2,
        "context": 40960,
        "pool_gib": 8.98,
        "users": 1,
    }


# %% wrong: a server of another name
# points:
# hint: my_plan()['engine']
def my_plan():
    return {
        "model": "Llama-3.1-8B",
        "weight_bits": 16,
        "gpu_gib": 80,
        "engine": "Ollama",
        "fraction": 0.9,
        "other_gib": 2,
        "context": 8192,
        "pool_gib": 55.04,
        "users": 55,
    }


# %% wrong: percent for the fraction
# points:
# hint: fraction above 0 and at most 1
def my_plan():
    return {
        "model": "Llama-3.1-8B",
        "weight_bits": 16,
        "gpu_gib": 80,
        "engine": "vLLM",
        "fraction": 90,
        "other_gib": 2,
        "context": 8192,
        "pool_gib": 55.04,
        "users": 55,
    }


# %% wrong: leaves the context out
# points:
# hint: the key 'context'
def my_plan():
    return {
        "model": "Llama-3.1-8B",
        "weight_bits": 16,
        "gpu_gib": 80,
        "engine": "vLLM",
        "fraction": 0.9,
        "other_gib": 2,
        "pool_gib": 55.04,
        "users": 55,
    }


# %% wrong: cheat, the planner of the package
# points:
# hint: here you build it yourself, without kvcourse
def my_plan():
    from kvcourse.engines import Device, find_engine

    room = find_engine("vLLM").pool_bytes(Device(80 * 2**30, 16_060_522_496, 2**31), 0.9)
    return {
        "model": "Llama-3.1-8B",
        "weight_bits": 16,
        "gpu_gib": 80,
        "engine": "vLLM",
        "fraction": 0.9,
        "other_gib": 2,
        "context": 8192,
        "pool_gib": room / 2**30,
        "users": room // 2**30,
    }


# %% wrong: cheat, numbers that fit everywhere
# points:
# hint: my_plan()
class Fits(float):
    def __eq__(self, other):
        return True

    def __le__(self, other):
        return True

    def __ge__(self, other):
        return True

    def __gt__(self, other):
        return True

    def __lt__(self, other):
        return True

    __hash__ = float.__hash__


def my_plan():
    fits = Fits(1.0)
    return {
        "model": "Llama-3.1-8B",
        "weight_bits": fits,
        "gpu_gib": fits,
        "engine": "vLLM",
        "fraction": fits,
        "other_gib": fits,
        "context": fits,
        "pool_gib": fits,
        "users": fits,
    }
