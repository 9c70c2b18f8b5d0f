# ruff: noqa
# Problem 6: a model that you plan to serve.

# %% right: GPT-2, with a table of names
def my_choice():
    model = registry.find("GPT-2")
    return {"name": model.name, "source": model.source, "bytes_per_token": 2 * 12 * 768 * 2}


ALIASES = {
    "layers": ["num_hidden_layers", "n_layer", "num_layers"],
    "heads": ["num_attention_heads", "n_head"],
    "kv": ["num_key_value_heads", "num_kv_heads", "n_head_kv"],
    "hidden": ["hidden_size", "n_embd", "d_model"],
}


def my_model(config):
    found = {}
    for key, names in ALIASES.items():
        for name in names:
            if config.get(name) is not None:
                found[key] = config[name]
                break
    if "kv" not in found:
        found["kv"] = 1 if config.get("multi_query") else found["heads"]
    width = config.get("head_dim") or found["hidden"] // found["heads"]
    return 2 * found["layers"] * found["kv"] * width * 2


# %% right: a model of the first days, in other letters, with more keys
def my_choice():
    return {
        "name": "opt-13b", "source": "https://huggingface.co/facebook/opt-13b", "bytes_per_token": 819_200.0,
        "why": "it is the paper's",
    }  # fmt: skip


def translate(config):
    words = {
        "n_layer": "num_hidden_layers",
        "n_head": "num_attention_heads",
        "n_embd": "hidden_size",
        "num_kv_heads": "num_key_value_heads",
    }
    return {words.get(key, key): value for key, value in config.items()}


def my_model(config):
    c = translate(config)
    heads = c["num_attention_heads"]
    kv = c.get("num_key_value_heads") or (1 if c.get("multi_query") else heads)
    return 4 * c["num_hidden_layers"] * kv * (c.get("head_dim") or c["hidden_size"] // heads)


# %% right: a grouped model, counted tensor by tensor
def my_choice():
    return dict(
        name="Llama-3.1-8B",
        source="https://huggingface.co/meta-llama/Llama-3.1-8B",
        bytes_per_token=32 * 8 * 128 * 2 * 2,
    )


def my_model(config):
    layers = config.get("num_hidden_layers", config.get("n_layer"))
    heads = config.get("num_attention_heads", config.get("n_head"))
    kv = config.get(
        "num_key_value_heads", config.get("num_kv_heads", 1 if config.get("multi_query") else heads)
    )
    width = config.get("head_dim", config.get("hidden_size", config.get("n_embd", 0)) // heads)
    total = 0
    for _ in range(layers):
        for tensor in ("K", "V"):
            total += kv * width * 2
    return total


# %% wrong: the formula with hidden_size, on a grouped model
# points: q6-choice=1
# hint: A key is as wide as the KV heads together
def my_choice():
    return {
        "name": "Llama-3.1-8B",
        "source": "https://huggingface.co/meta-llama/Llama-3.1-8B",
        "bytes_per_token": 2 * 32 * 4096 * 2,
    }


def my_model(config):
    return (
        4
        * config.get("num_hidden_layers", config.get("n_layer"))
        * config.get("hidden_size", config.get("n_embd"))
    )


# %% wrong: hidden_size over heads, on Qwen3
# points: q6-choice=1 q6-names=1
# hint: The width of a head is a number of its own in this model
def my_choice():
    return {
        "name": "Qwen3-32B",
        "source": "https://huggingface.co/Qwen/Qwen3-32B",
        "bytes_per_token": 163_840,
    }


def my_model(config):
    layers = config.get("num_hidden_layers", config.get("n_layer"))
    heads = config.get("num_attention_heads", config.get("n_head"))
    kv = (
        config.get("num_key_value_heads")
        or config.get("num_kv_heads")
        or (1 if config.get("multi_query") else heads)
    )
    return 4 * layers * kv * (config.get("hidden_size", config.get("n_embd")) // heads)


# %% wrong: knows only one publisher's names
# points: q6-choice=1 q6-mine=1 q6-models=2
# hint: KeyError
def my_choice():
    return {"name": "Qwen3-8B", "source": "https://huggingface.co/Qwen/Qwen3-8B", "bytes_per_token": 147_456}


def my_model(config):
    heads = config["num_attention_heads"]
    kv = config.get("num_key_value_heads") or heads
    return 4 * config["num_hidden_layers"] * kv * (config.get("head_dim") or config["hidden_size"] // heads)


# %% wrong: takes Falcon-40B's query heads
# points: q6-choice=1 q6-mine=1 q6-models=2
# hint: Queries are not stored. Which heads are?
def my_choice():
    return {"name": "Qwen3-8B", "source": "https://huggingface.co/Qwen/Qwen3-8B", "bytes_per_token": 147_456}


def my_model(config):
    heads = config.get("num_attention_heads") or config["n_head"]
    kv = config.get("num_key_value_heads") or (1 if config.get("multi_query") else heads)
    width = config.get("head_dim") or (config.get("hidden_size") or config["n_embd"]) // heads
    return 4 * (config.get("num_hidden_layers") or config["n_layer"]) * kv * width


# %% wrong: a model with windows
# points: q6-models=2 q6-names=1
# hint: a model that keeps every token in every layer
def my_choice():
    return {
        "name": "Gemma-3-27B",
        "source": "https://huggingface.co/google/gemma-3-27b-it",
        "bytes_per_token": 507_904,
    }


def my_model(config):
    heads = config.get("num_attention_heads") or config["n_head"]
    kv = (
        config.get("num_key_value_heads")
        or config.get("num_kv_heads")
        or (1 if config.get("multi_query") else heads)
    )
    width = config.get("head_dim") or (config.get("hidden_size") or config["n_embd"]) // heads
    return 4 * (config.get("num_hidden_layers") or config["n_layer"]) * kv * width


# %% wrong: another model's page
# points: q6-mine=1 q6-models=2 q6-names=1
# hint: nor a page of its name or its publisher
def my_choice():
    return {
        "name": "Qwen3-8B",
        "source": "https://huggingface.co/openai-community/gpt2",
        "bytes_per_token": 147_456,
    }


def my_model(config):
    heads = config.get("num_attention_heads") or config["n_head"]
    kv = (
        config.get("num_key_value_heads")
        or config.get("num_kv_heads")
        or (1 if config.get("multi_query") else heads)
    )
    width = config.get("head_dim") or (config.get("hidden_size") or config["n_embd"]) // heads
    return 4 * (config.get("num_hidden_layers") or config["n_layer"]) * kv * width


# %% wrong: no source
# points: q6-mine=1 q6-models=2 q6-names=1
# hint: An address is expected, which begins with http
def my_choice():
    return {"name": "Qwen3-8B", "source": "somewhere on the internet", "bytes_per_token": 147_456}


def my_model(config):
    heads = config.get("num_attention_heads") or config["n_head"]
    kv = (
        config.get("num_key_value_heads")
        or config.get("num_kv_heads")
        or (1 if config.get("multi_query") else heads)
    )
    width = config.get("head_dim") or (config.get("hidden_size") or config["n_embd"]) // heads
    return 4 * (config.get("num_hidden_layers") or config["n_layer"]) * kv * width


# %% wrong: somebody's blog, and K without V
# points:
# hint: What is stored for each token beside its key?
def my_choice():
    return {"name": "Qwen3-8B", "source": "http://example.org/all-about-models", "bytes_per_token": 73_728}


def my_model(config):
    heads = config.get("num_attention_heads") or config["n_head"]
    kv = (
        config.get("num_key_value_heads")
        or config.get("num_kv_heads")
        or (1 if config.get("multi_query") else heads)
    )
    width = config.get("head_dim") or (config.get("hidden_size") or config["n_embd"]) // heads
    return 2 * (config.get("num_hidden_layers") or config["n_layer"]) * kv * width


# %% wrong: leaves a key out
# points: q6-choice=1
# hint: the key 'bytes_per_token'
def my_choice():
    return {"name": "Qwen3-8B", "source": "https://huggingface.co/Qwen/Qwen3-8B"}


def my_model(config):
    raise NotImplementedError("Problem q6: my_model is not written yet")


# %% wrong: four bytes a number
# points: q6-choice=1
# hint: How many bytes does one number of this dtype take?
def my_choice():
    return {"name": "Qwen3-8B", "source": "https://huggingface.co/Qwen/Qwen3-8B", "bytes_per_token": 294_912}


def my_model(config):
    heads = config.get("num_attention_heads") or config["n_head"]
    kv = (
        config.get("num_key_value_heads")
        or config.get("num_kv_heads")
        or (1 if config.get("multi_query") else heads)
    )
    width = config.get("head_dim") or (config.get("hidden_size") or config["n_embd"]) // heads
    return 8 * (config.get("num_hidden_layers") or config["n_layer"]) * kv * width


# %% wrong: cheat, the planner of the package
# points:
# hint: here you build it yourself, without kvcourse
def my_choice():
    return ["Qwen3-8B", "https://huggingface.co/Qwen/Qwen3-8B", 147_456]


def my_model(config):
    from kvcourse.memory import from_config

    return from_config(config).bytes_per_token()


# %% wrong: cheat, a name that is every model
# points:
# hint: my_model of Llama-3.1-8B
class Every(str):
    def __eq__(self, other):
        return True

    __hash__ = str.__hash__


class Fits(int):
    def __ne__(self, other):
        return False


def my_choice():
    return {"name": Every("Llama-9"), "source": Every("http"), "bytes_per_token": Fits(1)}


def my_model(config):
    return Fits(1)
