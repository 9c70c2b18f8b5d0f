# ruff: noqa
# Problem 3: from a published config.json.

# %% right: field by field
def per_token(config):
    if "text_config" in config and config["text_config"] is not None:
        config = config["text_config"]
    layers, heads = config["num_hidden_layers"], config["num_attention_heads"]
    if config.get("num_key_value_heads") is not None:
        stored = config["num_key_value_heads"]
    elif config.get("multi_query"):
        stored = 1
    else:
        stored = heads
    if config.get("head_dim") is not None:
        width = config["head_dim"]
    else:
        width = config["hidden_size"] // heads
    return 2 * layers * stored * width * 2


# %% right: reads a nested text_config by calling itself
def per_token(config):
    if config.get("text_config"):
        return per_token(config["text_config"])
    kv = config.get("num_key_value_heads")
    if kv is None:
        kv = 1 if config.get("multi_query", False) else config["num_attention_heads"]
    dim = config.get("head_dim")
    if dim is None:
        dim = config["hidden_size"] / config["num_attention_heads"]
    return int(4 * config["num_hidden_layers"] * kv * dim)


# %% right: with a helper, in NumPy
import numpy as np


def numbers(config):
    heads = config["num_attention_heads"]
    kv = config.get("num_key_value_heads") or (1 if config.get("multi_query") else heads)
    return config["num_hidden_layers"], kv, config.get("head_dim") or config["hidden_size"] // heads


def per_token(config):
    return 4 * np.prod(np.array(numbers(config.get("text_config", config)), dtype=np.int64))


# %% wrong: layers times hidden_size
# points: q3-plain=1
# hint: A key is as wide as the KV heads together
def per_token(config):
    config = config.get("text_config") or config
    return 4 * config["num_hidden_layers"] * config["hidden_size"]


# %% wrong: hidden_size over heads, whatever the file says
# points: q3-grouped=2 q3-plain=1 q3-one=1
# hint: The width of a head is a number of its own in this model
def per_token(config):
    config = config.get("text_config") or config
    heads = config["num_attention_heads"]
    kv = config.get("num_key_value_heads") or (1 if config.get("multi_query") else heads)
    return 4 * config["num_hidden_layers"] * kv * (config["hidden_size"] // heads)


# %% wrong: query heads
# points: q3-plain=1
# hint: Queries are not stored. Which heads are?
def per_token(config):
    config = config.get("text_config") or config
    heads = config["num_attention_heads"]
    return (
        4 * config["num_hidden_layers"] * heads * (config.get("head_dim") or config["hidden_size"] // heads)
    )


# %% wrong: a missing count of KV heads means one
# points: q3-grouped=2 q3-wide=1 q3-nested=1
# hint: That is one head's share. How many heads does a layer store?
def per_token(config):
    config = config.get("text_config") or config
    heads = config["num_attention_heads"]
    kv = config.get("num_key_value_heads") or 1
    return 4 * config["num_hidden_layers"] * kv * (config.get("head_dim") or config["hidden_size"] // heads)


# %% wrong: knows no multi_query
# points: q3-grouped=2 q3-plain=1 q3-wide=1 q3-nested=1
# hint: Queries are not stored. Which heads are?
def per_token(config):
    config = config.get("text_config") or config
    heads = config["num_attention_heads"]
    kv = config.get("num_key_value_heads") or heads
    return 4 * config["num_hidden_layers"] * kv * (config.get("head_dim") or config["hidden_size"] // heads)


# %% wrong: a multi_query of false counts as true
# points: q3-grouped=2 q3-plain=1 q3-wide=1 q3-nested=1
# hint: per_token, multi_query false
def per_token(config):
    config = config.get("text_config") or config
    heads = config["num_attention_heads"]
    kv = config.get("num_key_value_heads") or (1 if "multi_query" in config else heads)
    return 4 * config["num_hidden_layers"] * kv * (config.get("head_dim") or config["hidden_size"] // heads)


# %% wrong: multi_query goes before the number that the file tells
# points: q3-grouped=2 q3-plain=1 q3-wide=1 q3-nested=1
# hint: multi_query true and KV heads told
def per_token(config):
    config = config.get("text_config") or config
    heads = config["num_attention_heads"]
    kv = 1 if config.get("multi_query") else config.get("num_key_value_heads") or heads
    return 4 * config["num_hidden_layers"] * kv * (config.get("head_dim") or config["hidden_size"] // heads)


# %% wrong: writes into the file's dict what it lacks
# points: q3-grouped=2 q3-plain=1 q3-wide=1 q3-one=1
# hint: It has changed the dict that it was given
def per_token(config):
    text = config.get("text_config") or config
    heads = text["num_attention_heads"]
    if text.get("num_key_value_heads") is None:
        text["num_key_value_heads"] = 1 if text.get("multi_query") else heads
    if text.get("head_dim") is None:
        text["head_dim"] = text["hidden_size"] // heads
    return 4 * text["num_hidden_layers"] * text["num_key_value_heads"] * text["head_dim"]


# %% wrong: lifts the inner dict into the outer one
# points: q3-grouped=2 q3-plain=1 q3-wide=1 q3-one=1
# hint: It has changed the dict that it was given
def per_token(config):
    config.update(config.pop("text_config", {}))
    heads = config["num_attention_heads"]
    kv = config.get("num_key_value_heads") or (1 if config.get("multi_query") else heads)
    return 4 * config["num_hidden_layers"] * kv * (config.get("head_dim") or config["hidden_size"] // heads)


# %% wrong: cheat, the class by way of a loop at the top level
# points:
# hint: here you build it yourself, without kvcourse
def per_token(config):
    return 0


if True:
    from kvcourse.memory import from_config as read
for per_token in [lambda config: read(config.get("text_config") or config).bytes_per_token()]:
    pass


# %% wrong: cheat, a module that has no name
# points:
# hint: can reach kvcourse unnamed
import importlib

module = importlib.import_module("kv" + "course.memory")


def per_token(config):
    return module.from_config(config.get("text_config") or config).bytes_per_token()


# %% wrong: the outermost fields only
# points: q3-grouped=2 q3-plain=1 q3-wide=1 q3-one=1
# hint: KeyError: 'num_hidden_layers'
def per_token(config):
    heads = config["num_attention_heads"] if "num_attention_heads" in config else 0
    layers = config["num_hidden_layers"]
    kv = config.get("num_key_value_heads") or (1 if config.get("multi_query") else heads)
    return 4 * layers * kv * (config.get("head_dim") or config["hidden_size"] // heads)


# %% wrong: stumbles over null
# points: q3-grouped=2 q3-wide=1 q3-one=1 q3-nested=1
# hint: unsupported operand type
def per_token(config):
    config = config.get("text_config", config)
    heads = config["num_attention_heads"]
    kv = (
        1
        if config.get("multi_query") and "num_key_value_heads" not in config
        else config.get("num_key_value_heads", heads)
    )
    return 4 * config["num_hidden_layers"] * kv * config.get("head_dim", config["hidden_size"] // heads)


# %% wrong: forgets that K and V are both stored
# points:
# hint: What is stored for each token beside its key?
def per_token(config):
    config = config.get("text_config") or config
    heads = config["num_attention_heads"]
    kv = config.get("num_key_value_heads") or (1 if config.get("multi_query") else heads)
    return 2 * config["num_hidden_layers"] * kv * (config.get("head_dim") or config["hidden_size"] // heads)


# %% wrong: four bytes a number
# points:
# hint: How many bytes does one number of this dtype take?
def per_token(config):
    config = config.get("text_config") or config
    heads = config["num_attention_heads"]
    kv = config.get("num_key_value_heads") or (1 if config.get("multi_query") else heads)
    return 8 * config["num_hidden_layers"] * kv * (config.get("head_dim") or config["hidden_size"] // heads)


# %% wrong: cheat, the package reads the file
# points:
# hint: here you build it yourself, without kvcourse
def per_token(config):
    from kvcourse.configs import ModelConfig as Shape

    shape = Shape.from_dict(config.get("text_config") or config)
    return 4 * shape.num_layers * shape.num_kv_heads * shape.head_dim


# %% wrong: cheat, the class that the notebook imports
# points:
# hint: per_token
def per_token(config):
    shape = ModelConfig.from_dict(config.get("text_config") or config)
    return 4 * shape.num_layers * shape.num_kv_heads * shape.head_dim


# %% wrong: cheat, the values that the notebook shows
# points:
# hint: with other inputs than the ones shown
def per_token(config):
    config = config.get("text_config") or config
    shown = {12: 48, 4096: 131072, 5120: 819200 if config["num_hidden_layers"] == 40 else 262144, 4544: 8192}
    return shown.get(config["hidden_size"], 0)
