# ruff: noqa
# Problem 3: a model that you plan to serve.


# %% right: a class of rules, a model with latents
def my_choice():
    known = registry.find("deepseek-v3")
    return {
        "name": "deepseek-v3",
        "source": known.source,
        "tokens": 8192,
        "bytes": 61 * 576 * 2 * 8192,
        "why": "latents",
    }


class Shape:
    def __init__(self, config):
        self.fields = {
            name: value for name, value in (config.get("text_config") or config).items() if value is not None
        }

    def __call__(self, *names, otherwise=None):
        for name in names:
            if name in self.fields:
                return self.fields[name]
        return otherwise

    def kinds(self):
        layers = self("num_hidden_layers", "n_layer")
        listed = self("layer_types")
        if listed:
            return list(listed)
        interval = self("full_attention_interval")
        if interval:
            return ["linear_attention" if (i + 1) % interval else "full_attention" for i in range(layers)]
        if self("sliding_window") and self("use_sliding_window", otherwise=True):
            pattern = self("sliding_window_pattern")
            if not pattern:
                pattern = {"gemma2": 2, "gemma3_text": 6, "gpt_oss": 2}.get(self("model_type"))
            if not pattern:
                return ["sliding_attention"] * layers
            return ["sliding_attention" if (i + 1) % pattern else "full_attention" for i in range(layers)]
        return ["full_attention"] * layers


def my_model(config, tokens):
    f = Shape(config)
    layers = f("num_hidden_layers", "n_layer")
    if f("kv_lora_rank"):
        return layers * tokens * (f("kv_lora_rank") + f("qk_rope_head_dim")) * 2
    heads = f("num_attention_heads", "n_head")
    kv = f("num_key_value_heads", "num_kv_heads", otherwise=1 if f("multi_query") else heads)
    key = f("head_dim") or f("hidden_size", "n_embd") // heads
    value = f("v_head_dim", otherwise=key)
    count = {
        kind: f.kinds().count(kind) for kind in ("full_attention", "sliding_attention", "linear_attention")
    }
    slots = count["full_attention"] * tokens
    if count["sliding_attention"]:
        slots += count["sliding_attention"] * min(tokens, f("sliding_window"))
    size = slots * kv * (key + value) * 2
    if count["linear_attention"]:
        k, v = (
            f("linear_num_key_heads") * f("linear_key_head_dim"),
            f("linear_num_value_heads") * f("linear_value_head_dim"),
        )
        state = v * f("linear_key_head_dim") * 4
        size += count["linear_attention"] * (state + (f("linear_conv_kernel_dim") - 1) * (k + k + v) * 2)
    return size


# %% right: tensor by tensor, a model with windows
def my_choice():
    return dict(
        name="Gemma-3-27B",
        source="https://huggingface.co/google/gemma-3-27b-it/blob/main/config.json",
        tokens=131_072,
        bytes=8192 * (52 * 1024 + 10 * 131_072),
    )


WORDS = {
    "n_layer": "num_hidden_layers",
    "n_head": "num_attention_heads",
    "n_embd": "hidden_size",
    "num_kv_heads": "num_key_value_heads",
}


def tensors(c, kind, tokens):
    """(rows, numbers, bytes of a number) of one layer."""
    if "kv_lora_rank" in c:
        return [(tokens, c["kv_lora_rank"], 2), (tokens, c["qk_rope_head_dim"], 2)]
    if kind == "linear_attention":
        k = c["linear_num_key_heads"] * c["linear_key_head_dim"]
        v = c["linear_num_value_heads"] * c["linear_value_head_dim"]
        inputs = c["linear_conv_kernel_dim"] - 1
        return [(c["linear_key_head_dim"], v, 4), (inputs, k, 2), (inputs, k, 2), (inputs, v, 2)]
    rows = min(tokens, c["sliding_window"]) if kind == "sliding_attention" else tokens
    heads = c["num_attention_heads"]
    kv = c.get("num_key_value_heads") or (1 if c.get("multi_query") else heads)
    key = c.get("head_dim") or c["hidden_size"] // heads
    return [(rows, kv * key, 2), (rows, kv * (c.get("v_head_dim") or key), 2)]


def my_model(config, tokens):
    inner = config.get("text_config") or config
    c = {WORDS.get(name, name): value for name, value in inner.items() if value is not None}
    slides = "sliding_window" in c and c.get("use_sliding_window", True)
    pattern = c.get(
        "sliding_window_pattern",
        {"gemma2": 2, "gemma3_text": 6, "gpt_oss": 2}.get(c.get("model_type"), 10**6),
    )
    total = 0
    for index in range(c["num_hidden_layers"]):
        if "layer_types" in c:
            kind = c["layer_types"][index]
        elif "full_attention_interval" in c:
            kind = "linear_attention" if (index + 1) % c["full_attention_interval"] else "full_attention"
        elif slides and (index + 1) % pattern:
            kind = "sliding_attention"
        else:
            kind = "full_attention"
        total += sum(rows * numbers * size for rows, numbers, size in tensors(c, kind, tokens))
    return total


# %% right: a model with states, and its own function for its figure
def my_choice():
    source = "https://huggingface.co/Qwen/Qwen3.5-27B"
    tokens = 100_000
    return {
        "name": "Qwen3.5-27B",
        "source": source,
        "tokens": tokens,
        "bytes": my_model(registry.find("Qwen3.5-27B").config, tokens),
    }


def my_model(config, tokens):
    text = config.get("text_config") or config

    def first(*names):
        return next((text[name] for name in names if text.get(name) is not None), None)

    layers, heads = first("num_hidden_layers", "n_layer"), first("num_attention_heads", "n_head")
    if first("kv_lora_rank"):
        return 2 * layers * (text["kv_lora_rank"] + text["qk_rope_head_dim"]) * tokens
    kinds, window = first("layer_types"), first("sliding_window")
    if kinds is None:
        every, other = first("full_attention_interval"), "linear_attention"
        if every is None and window and text.get("use_sliding_window") is not False:
            usual = {"gemma2": 2, "gpt_oss": 2, "gemma3_text": 6}.get(text.get("model_type"), layers + 1)
            every, other = first("sliding_window_pattern") or usual, "sliding_attention"
        kinds = ["full_attention" if n % (every or 1) == 0 else other for n in range(1, layers + 1)]
    kv = first("num_key_value_heads", "num_kv_heads") or (1 if text.get("multi_query") else heads)
    key = first("head_dim") or first("hidden_size", "n_embd") // heads
    each = 2 * kv * (key + (first("v_head_dim") or key))
    total = 0
    for kind in kinds:
        if kind == "linear_attention":
            keys, values = text["linear_num_key_heads"], text["linear_num_value_heads"]
            wide, tall = text["linear_key_head_dim"], text["linear_value_head_dim"]
            channels = 2 * keys * wide + values * tall
            total += 4 * values * wide * tall + 2 * (text["linear_conv_kernel_dim"] - 1) * channels
        elif kind == "sliding_attention":
            total += each * min(tokens, window)
        else:
            total += each * tokens
    return total


# %% wrong: the formula with hidden_size, on a grouped model
# points: q3-choice=1
# hint: Is a key as wide as hidden_size in this model?
def my_choice():
    return {
        "name": "Llama-3.1-8B",
        "source": "https://huggingface.co/meta-llama/Llama-3.1-8B",
        "tokens": 8192,
        "bytes": 4 * 32 * 4096 * 8192,
    }


def my_model(config, tokens):
    c = config.get("text_config") or config
    return 4 * (c.get("num_hidden_layers") or c["n_layer"]) * (c.get("hidden_size") or c["n_embd"]) * tokens


# %% wrong: every layer full
# points: q3-heads=1 q3-widths=1 q3-choice=1 q3-mine=1
# hint: counts every token in every layer
def my_choice():
    return {
        "name": "Qwen3-8B",
        "source": "https://huggingface.co/Qwen/Qwen3-8B",
        "tokens": 16_384,
        "bytes": 147_456 * 16_384,
    }


def my_model(config, tokens):
    text = config.get("text_config") or config

    def first(*names):
        return next((text[name] for name in names if text.get(name) is not None), None)

    layers, heads = first("num_hidden_layers", "n_layer"), first("num_attention_heads", "n_head")
    pass
    kinds, window = ["full_attention"] * layers, None
    kv = first("num_key_value_heads", "num_kv_heads") or (1 if text.get("multi_query") else heads)
    key = first("head_dim") or first("hidden_size", "n_embd") // heads
    each = 2 * kv * (key + (first("v_head_dim") or key))
    total = 0
    for kind in kinds:
        if kind == "linear_attention":
            keys, values = text["linear_num_key_heads"], text["linear_num_value_heads"]
            wide, tall = text["linear_key_head_dim"], text["linear_value_head_dim"]
            channels = 2 * keys * wide + values * tall
            total += 4 * values * wide * tall + 2 * (text["linear_conv_kernel_dim"] - 1) * channels
        elif kind == "sliding_attention":
            total += each * min(tokens, window)
        else:
            total += each * tokens
    return total


# %% wrong: every layer slides where there is a window
# points: q3-heads=1 q3-widths=1 q3-windows=1 q3-latents=1 q3-states=1 q3-choice=1 q3-mine=1
# hint: Not every layer of this model has a window
def my_choice():
    return {
        "name": "Qwen3-8B",
        "source": "https://huggingface.co/Qwen/Qwen3-8B",
        "tokens": 16_384,
        "bytes": 147_456 * 16_384,
    }


def my_model(config, tokens):
    text = config.get("text_config") or config

    def first(*names):
        return next((text[name] for name in names if text.get(name) is not None), None)

    layers, heads = first("num_hidden_layers", "n_layer"), first("num_attention_heads", "n_head")
    if first("kv_lora_rank"):
        return 2 * layers * (text["kv_lora_rank"] + text["qk_rope_head_dim"]) * tokens
    kinds, window = first("layer_types"), first("sliding_window")
    if kinds is None:
        every, other = first("full_attention_interval"), "linear_attention"
        if every is None and window and text.get("use_sliding_window") is not False:
            every, other = layers + 1, "sliding_attention"
        kinds = ["full_attention" if n % (every or 1) == 0 else other for n in range(1, layers + 1)]
    kv = first("num_key_value_heads", "num_kv_heads") or (1 if text.get("multi_query") else heads)
    key = first("head_dim") or first("hidden_size", "n_embd") // heads
    each = 2 * kv * (key + (first("v_head_dim") or key))
    total = 0
    for kind in kinds:
        if kind == "linear_attention":
            keys, values = text["linear_num_key_heads"], text["linear_num_value_heads"]
            wide, tall = text["linear_key_head_dim"], text["linear_value_head_dim"]
            channels = 2 * keys * wide + values * tall
            total += 4 * values * wide * tall + 2 * (text["linear_conv_kernel_dim"] - 1) * channels
        elif kind == "sliding_attention":
            total += each * min(tokens, window)
        else:
            total += each * tokens
    return total


# %% wrong: no pattern of the class
# points: q3-heads=1 q3-widths=1 q3-windows=1 q3-latents=1 q3-states=1 q3-choice=1 q3-mine=1
# hint: Not every layer of this model has a window
def my_choice():
    return {
        "name": "Qwen3-8B",
        "source": "https://huggingface.co/Qwen/Qwen3-8B",
        "tokens": 16_384,
        "bytes": 147_456 * 16_384,
    }


def my_model(config, tokens):
    text = config.get("text_config") or config

    def first(*names):
        return next((text[name] for name in names if text.get(name) is not None), None)

    layers, heads = first("num_hidden_layers", "n_layer"), first("num_attention_heads", "n_head")
    if first("kv_lora_rank"):
        return 2 * layers * (text["kv_lora_rank"] + text["qk_rope_head_dim"]) * tokens
    kinds, window = first("layer_types"), first("sliding_window")
    if kinds is None:
        every, other = first("full_attention_interval"), "linear_attention"
        if every is None and window and text.get("use_sliding_window") is not False:
            usual = layers + 1
            every, other = first("sliding_window_pattern") or usual, "sliding_attention"
        kinds = ["full_attention" if n % (every or 1) == 0 else other for n in range(1, layers + 1)]
    kv = first("num_key_value_heads", "num_kv_heads") or (1 if text.get("multi_query") else heads)
    key = first("head_dim") or first("hidden_size", "n_embd") // heads
    each = 2 * kv * (key + (first("v_head_dim") or key))
    total = 0
    for kind in kinds:
        if kind == "linear_attention":
            keys, values = text["linear_num_key_heads"], text["linear_num_value_heads"]
            wide, tall = text["linear_key_head_dim"], text["linear_value_head_dim"]
            channels = 2 * keys * wide + values * tall
            total += 4 * values * wide * tall + 2 * (text["linear_conv_kernel_dim"] - 1) * channels
        elif kind == "sliding_attention":
            total += each * min(tokens, window)
        else:
            total += each * tokens
    return total


# %% wrong: the first layer of a pattern is full
# points: q3-heads=1 q3-widths=1 q3-latents=1 q3-choice=1 q3-mine=1
# hint: Too large
def my_choice():
    return {
        "name": "Qwen3-8B",
        "source": "https://huggingface.co/Qwen/Qwen3-8B",
        "tokens": 16_384,
        "bytes": 147_456 * 16_384,
    }


def my_model(config, tokens):
    text = config.get("text_config") or config

    def first(*names):
        return next((text[name] for name in names if text.get(name) is not None), None)

    layers, heads = first("num_hidden_layers", "n_layer"), first("num_attention_heads", "n_head")
    if first("kv_lora_rank"):
        return 2 * layers * (text["kv_lora_rank"] + text["qk_rope_head_dim"]) * tokens
    kinds, window = first("layer_types"), first("sliding_window")
    if kinds is None:
        every, other = first("full_attention_interval"), "linear_attention"
        if every is None and window and text.get("use_sliding_window") is not False:
            usual = {"gemma2": 2, "gpt_oss": 2, "gemma3_text": 6}.get(text.get("model_type"), layers + 1)
            every, other = first("sliding_window_pattern") or usual, "sliding_attention"
        kinds = ["full_attention" if n % (every or 1) == 0 else other for n in range(layers)]
    kv = first("num_key_value_heads", "num_kv_heads") or (1 if text.get("multi_query") else heads)
    key = first("head_dim") or first("hidden_size", "n_embd") // heads
    each = 2 * kv * (key + (first("v_head_dim") or key))
    total = 0
    for kind in kinds:
        if kind == "linear_attention":
            keys, values = text["linear_num_key_heads"], text["linear_num_value_heads"]
            wide, tall = text["linear_key_head_dim"], text["linear_value_head_dim"]
            channels = 2 * keys * wide + values * tall
            total += 4 * values * wide * tall + 2 * (text["linear_conv_kernel_dim"] - 1) * channels
        elif kind == "sliding_attention":
            total += each * min(tokens, window)
        else:
            total += each * tokens
    return total


# %% wrong: believes a window that is switched off
# points: q3-widths=1 q3-patterns=1 q3-latents=1 q3-states=1 q3-choice=1 q3-mine=1
# hint: Too small
def my_choice():
    return {
        "name": "Qwen3-8B",
        "source": "https://huggingface.co/Qwen/Qwen3-8B",
        "tokens": 16_384,
        "bytes": 147_456 * 16_384,
    }


def my_model(config, tokens):
    text = config.get("text_config") or config

    def first(*names):
        return next((text[name] for name in names if text.get(name) is not None), None)

    layers, heads = first("num_hidden_layers", "n_layer"), first("num_attention_heads", "n_head")
    if first("kv_lora_rank"):
        return 2 * layers * (text["kv_lora_rank"] + text["qk_rope_head_dim"]) * tokens
    kinds, window = first("layer_types"), first("sliding_window")
    if kinds is None:
        every, other = first("full_attention_interval"), "linear_attention"
        if every is None and window:
            usual = {"gemma2": 2, "gpt_oss": 2, "gemma3_text": 6}.get(text.get("model_type"), layers + 1)
            every, other = first("sliding_window_pattern") or usual, "sliding_attention"
        kinds = ["full_attention" if n % (every or 1) == 0 else other for n in range(1, layers + 1)]
    kv = first("num_key_value_heads", "num_kv_heads") or (1 if text.get("multi_query") else heads)
    key = first("head_dim") or first("hidden_size", "n_embd") // heads
    each = 2 * kv * (key + (first("v_head_dim") or key))
    total = 0
    for kind in kinds:
        if kind == "linear_attention":
            keys, values = text["linear_num_key_heads"], text["linear_num_value_heads"]
            wide, tall = text["linear_key_head_dim"], text["linear_value_head_dim"]
            channels = 2 * keys * wide + values * tall
            total += 4 * values * wide * tall + 2 * (text["linear_conv_kernel_dim"] - 1) * channels
        elif kind == "sliding_attention":
            total += each * min(tokens, window)
        else:
            total += each * tokens
    return total


# %% wrong: latents twice
# points: q3-heads=1 q3-widths=1 q3-windows=1 q3-patterns=1 q3-states=1 q3-choice=1 q3-mine=1
# hint: Are K and V two vectors here?
def my_choice():
    return {
        "name": "Qwen3-8B",
        "source": "https://huggingface.co/Qwen/Qwen3-8B",
        "tokens": 16_384,
        "bytes": 147_456 * 16_384,
    }


def my_model(config, tokens):
    text = config.get("text_config") or config

    def first(*names):
        return next((text[name] for name in names if text.get(name) is not None), None)

    layers, heads = first("num_hidden_layers", "n_layer"), first("num_attention_heads", "n_head")
    if first("kv_lora_rank"):
        return 4 * layers * (text["kv_lora_rank"] + text["qk_rope_head_dim"]) * tokens
    kinds, window = first("layer_types"), first("sliding_window")
    if kinds is None:
        every, other = first("full_attention_interval"), "linear_attention"
        if every is None and window and text.get("use_sliding_window") is not False:
            usual = {"gemma2": 2, "gpt_oss": 2, "gemma3_text": 6}.get(text.get("model_type"), layers + 1)
            every, other = first("sliding_window_pattern") or usual, "sliding_attention"
        kinds = ["full_attention" if n % (every or 1) == 0 else other for n in range(1, layers + 1)]
    kv = first("num_key_value_heads", "num_kv_heads") or (1 if text.get("multi_query") else heads)
    key = first("head_dim") or first("hidden_size", "n_embd") // heads
    each = 2 * kv * (key + (first("v_head_dim") or key))
    total = 0
    for kind in kinds:
        if kind == "linear_attention":
            keys, values = text["linear_num_key_heads"], text["linear_num_value_heads"]
            wide, tall = text["linear_key_head_dim"], text["linear_value_head_dim"]
            channels = 2 * keys * wide + values * tall
            total += 4 * values * wide * tall + 2 * (text["linear_conv_kernel_dim"] - 1) * channels
        elif kind == "sliding_attention":
            total += each * min(tokens, window)
        else:
            total += each * tokens
    return total


# %% wrong: the heads of a latent model
# points: q3-heads=1 q3-widths=1 q3-windows=1 q3-patterns=1 q3-states=1 q3-choice=1 q3-mine=1
# hint: made anew from the latent
def my_choice():
    return {
        "name": "Qwen3-8B",
        "source": "https://huggingface.co/Qwen/Qwen3-8B",
        "tokens": 16_384,
        "bytes": 147_456 * 16_384,
    }


def my_model(config, tokens):
    text = config.get("text_config") or config

    def first(*names):
        return next((text[name] for name in names if text.get(name) is not None), None)

    layers, heads = first("num_hidden_layers", "n_layer"), first("num_attention_heads", "n_head")
    if first("kv_lora_rank"):
        width = text["qk_nope_head_dim"] + text["qk_rope_head_dim"] + text["v_head_dim"]
        return 2 * layers * heads * width * tokens
    kinds, window = first("layer_types"), first("sliding_window")
    if kinds is None:
        every, other = first("full_attention_interval"), "linear_attention"
        if every is None and window and text.get("use_sliding_window") is not False:
            usual = {"gemma2": 2, "gpt_oss": 2, "gemma3_text": 6}.get(text.get("model_type"), layers + 1)
            every, other = first("sliding_window_pattern") or usual, "sliding_attention"
        kinds = ["full_attention" if n % (every or 1) == 0 else other for n in range(1, layers + 1)]
    kv = first("num_key_value_heads", "num_kv_heads") or (1 if text.get("multi_query") else heads)
    key = first("head_dim") or first("hidden_size", "n_embd") // heads
    each = 2 * kv * (key + (first("v_head_dim") or key))
    total = 0
    for kind in kinds:
        if kind == "linear_attention":
            keys, values = text["linear_num_key_heads"], text["linear_num_value_heads"]
            wide, tall = text["linear_key_head_dim"], text["linear_value_head_dim"]
            channels = 2 * keys * wide + values * tall
            total += 4 * values * wide * tall + 2 * (text["linear_conv_kernel_dim"] - 1) * channels
        elif kind == "sliding_attention":
            total += each * min(tokens, window)
        else:
            total += each * tokens
    return total


# %% wrong: states that grow
# points: q3-heads=1 q3-widths=1 q3-windows=1 q3-patterns=1 q3-latents=1 q3-choice=1 q3-mine=1
# hint: A state is as large after a million tokens
def my_choice():
    return {
        "name": "Qwen3-8B",
        "source": "https://huggingface.co/Qwen/Qwen3-8B",
        "tokens": 16_384,
        "bytes": 147_456 * 16_384,
    }


def my_model(config, tokens):
    text = config.get("text_config") or config

    def first(*names):
        return next((text[name] for name in names if text.get(name) is not None), None)

    layers, heads = first("num_hidden_layers", "n_layer"), first("num_attention_heads", "n_head")
    if first("kv_lora_rank"):
        return 2 * layers * (text["kv_lora_rank"] + text["qk_rope_head_dim"]) * tokens
    kinds, window = first("layer_types"), first("sliding_window")
    if kinds is None:
        every, other = first("full_attention_interval"), "linear_attention"
        if every is None and window and text.get("use_sliding_window") is not False:
            usual = {"gemma2": 2, "gpt_oss": 2, "gemma3_text": 6}.get(text.get("model_type"), layers + 1)
            every, other = first("sliding_window_pattern") or usual, "sliding_attention"
        kinds = ["full_attention" if n % (every or 1) == 0 else other for n in range(1, layers + 1)]
    kv = first("num_key_value_heads", "num_kv_heads") or (1 if text.get("multi_query") else heads)
    key = first("head_dim") or first("hidden_size", "n_embd") // heads
    each = 2 * kv * (key + (first("v_head_dim") or key))
    total = 0
    for kind in kinds:
        if kind == "linear_attention":
            keys, values = text["linear_num_key_heads"], text["linear_num_value_heads"]
            wide, tall = text["linear_key_head_dim"], text["linear_value_head_dim"]
            channels = 2 * keys * wide + values * tall
            total += tokens * (4 * values * wide * tall + 2 * (text["linear_conv_kernel_dim"] - 1) * channels)
        elif kind == "sliding_attention":
            total += each * min(tokens, window)
        else:
            total += each * tokens
    return total


# %% wrong: states forgotten
# points: q3-heads=1 q3-widths=1 q3-windows=1 q3-patterns=1 q3-latents=1 q3-choice=1 q3-mine=1
# hint: The other layers keep something too
def my_choice():
    return {
        "name": "Qwen3-8B",
        "source": "https://huggingface.co/Qwen/Qwen3-8B",
        "tokens": 16_384,
        "bytes": 147_456 * 16_384,
    }


def my_model(config, tokens):
    text = config.get("text_config") or config

    def first(*names):
        return next((text[name] for name in names if text.get(name) is not None), None)

    layers, heads = first("num_hidden_layers", "n_layer"), first("num_attention_heads", "n_head")
    if first("kv_lora_rank"):
        return 2 * layers * (text["kv_lora_rank"] + text["qk_rope_head_dim"]) * tokens
    kinds, window = first("layer_types"), first("sliding_window")
    if kinds is None:
        every, other = first("full_attention_interval"), "linear_attention"
        if every is None and window and text.get("use_sliding_window") is not False:
            usual = {"gemma2": 2, "gpt_oss": 2, "gemma3_text": 6}.get(text.get("model_type"), layers + 1)
            every, other = first("sliding_window_pattern") or usual, "sliding_attention"
        kinds = ["full_attention" if n % (every or 1) == 0 else other for n in range(1, layers + 1)]
    kv = first("num_key_value_heads", "num_kv_heads") or (1 if text.get("multi_query") else heads)
    key = first("head_dim") or first("hidden_size", "n_embd") // heads
    each = 2 * kv * (key + (first("v_head_dim") or key))
    total = 0
    for kind in kinds:
        if kind == "linear_attention":
            pass
        elif kind == "sliding_attention":
            total += each * min(tokens, window)
        else:
            total += each * tokens
    return total


# %% wrong: states in two bytes
# points: q3-heads=1 q3-widths=1 q3-windows=1 q3-patterns=1 q3-latents=1 q3-choice=1 q3-mine=1
# hint: In which dtype are the states kept?
def my_choice():
    return {
        "name": "Qwen3-8B",
        "source": "https://huggingface.co/Qwen/Qwen3-8B",
        "tokens": 16_384,
        "bytes": 147_456 * 16_384,
    }


def my_model(config, tokens):
    text = config.get("text_config") or config

    def first(*names):
        return next((text[name] for name in names if text.get(name) is not None), None)

    layers, heads = first("num_hidden_layers", "n_layer"), first("num_attention_heads", "n_head")
    if first("kv_lora_rank"):
        return 2 * layers * (text["kv_lora_rank"] + text["qk_rope_head_dim"]) * tokens
    kinds, window = first("layer_types"), first("sliding_window")
    if kinds is None:
        every, other = first("full_attention_interval"), "linear_attention"
        if every is None and window and text.get("use_sliding_window") is not False:
            usual = {"gemma2": 2, "gpt_oss": 2, "gemma3_text": 6}.get(text.get("model_type"), layers + 1)
            every, other = first("sliding_window_pattern") or usual, "sliding_attention"
        kinds = ["full_attention" if n % (every or 1) == 0 else other for n in range(1, layers + 1)]
    kv = first("num_key_value_heads", "num_kv_heads") or (1 if text.get("multi_query") else heads)
    key = first("head_dim") or first("hidden_size", "n_embd") // heads
    each = 2 * kv * (key + (first("v_head_dim") or key))
    total = 0
    for kind in kinds:
        if kind == "linear_attention":
            keys, values = text["linear_num_key_heads"], text["linear_num_value_heads"]
            wide, tall = text["linear_key_head_dim"], text["linear_value_head_dim"]
            channels = 2 * keys * wide + values * tall
            total += 2 * values * wide * tall + 2 * (text["linear_conv_kernel_dim"] - 1) * channels
        elif kind == "sliding_attention":
            total += each * min(tokens, window)
        else:
            total += each * tokens
    return total


# %% wrong: states without the convolution's inputs
# points: q3-heads=1 q3-widths=1 q3-windows=1 q3-patterns=1 q3-latents=1 q3-choice=1 q3-mine=1
# hint: Too small
def my_choice():
    return {
        "name": "Qwen3-8B",
        "source": "https://huggingface.co/Qwen/Qwen3-8B",
        "tokens": 16_384,
        "bytes": 147_456 * 16_384,
    }


def my_model(config, tokens):
    text = config.get("text_config") or config

    def first(*names):
        return next((text[name] for name in names if text.get(name) is not None), None)

    layers, heads = first("num_hidden_layers", "n_layer"), first("num_attention_heads", "n_head")
    if first("kv_lora_rank"):
        return 2 * layers * (text["kv_lora_rank"] + text["qk_rope_head_dim"]) * tokens
    kinds, window = first("layer_types"), first("sliding_window")
    if kinds is None:
        every, other = first("full_attention_interval"), "linear_attention"
        if every is None and window and text.get("use_sliding_window") is not False:
            usual = {"gemma2": 2, "gpt_oss": 2, "gemma3_text": 6}.get(text.get("model_type"), layers + 1)
            every, other = first("sliding_window_pattern") or usual, "sliding_attention"
        kinds = ["full_attention" if n % (every or 1) == 0 else other for n in range(1, layers + 1)]
    kv = first("num_key_value_heads", "num_kv_heads") or (1 if text.get("multi_query") else heads)
    key = first("head_dim") or first("hidden_size", "n_embd") // heads
    each = 2 * kv * (key + (first("v_head_dim") or key))
    total = 0
    for kind in kinds:
        if kind == "linear_attention":
            keys, values = text["linear_num_key_heads"], text["linear_num_value_heads"]
            wide, tall = text["linear_key_head_dim"], text["linear_value_head_dim"]
            channels = 2 * keys * wide + values * tall
            total += 4 * values * wide * tall
        elif kind == "sliding_attention":
            total += each * min(tokens, window)
        else:
            total += each * tokens
    return total


# %% wrong: values as wide as keys
# points: q3-heads=1 q3-windows=1 q3-patterns=1 q3-latents=1 q3-states=1 q3-choice=1 q3-mine=1
# hint: Are values as wide as keys in this model?
def my_choice():
    return {
        "name": "Qwen3-8B",
        "source": "https://huggingface.co/Qwen/Qwen3-8B",
        "tokens": 16_384,
        "bytes": 147_456 * 16_384,
    }


def my_model(config, tokens):
    text = config.get("text_config") or config

    def first(*names):
        return next((text[name] for name in names if text.get(name) is not None), None)

    layers, heads = first("num_hidden_layers", "n_layer"), first("num_attention_heads", "n_head")
    if first("kv_lora_rank"):
        return 2 * layers * (text["kv_lora_rank"] + text["qk_rope_head_dim"]) * tokens
    kinds, window = first("layer_types"), first("sliding_window")
    if kinds is None:
        every, other = first("full_attention_interval"), "linear_attention"
        if every is None and window and text.get("use_sliding_window") is not False:
            usual = {"gemma2": 2, "gpt_oss": 2, "gemma3_text": 6}.get(text.get("model_type"), layers + 1)
            every, other = first("sliding_window_pattern") or usual, "sliding_attention"
        kinds = ["full_attention" if n % (every or 1) == 0 else other for n in range(1, layers + 1)]
    kv = first("num_key_value_heads", "num_kv_heads") or (1 if text.get("multi_query") else heads)
    key = first("head_dim") or first("hidden_size", "n_embd") // heads
    each = 4 * kv * key
    total = 0
    for kind in kinds:
        if kind == "linear_attention":
            keys, values = text["linear_num_key_heads"], text["linear_num_value_heads"]
            wide, tall = text["linear_key_head_dim"], text["linear_value_head_dim"]
            channels = 2 * keys * wide + values * tall
            total += 4 * values * wide * tall + 2 * (text["linear_conv_kernel_dim"] - 1) * channels
        elif kind == "sliding_attention":
            total += each * min(tokens, window)
        else:
            total += each * tokens
    return total


# %% wrong: hidden size over heads
# points: q3-latents=1 q3-choice=1 q3-mine=1
# hint: The width of a head is a number of its own in this model
def my_choice():
    return {
        "name": "Qwen3-8B",
        "source": "https://huggingface.co/Qwen/Qwen3-8B",
        "tokens": 16_384,
        "bytes": 147_456 * 16_384,
    }


def my_model(config, tokens):
    text = config.get("text_config") or config

    def first(*names):
        return next((text[name] for name in names if text.get(name) is not None), None)

    layers, heads = first("num_hidden_layers", "n_layer"), first("num_attention_heads", "n_head")
    if first("kv_lora_rank"):
        return 2 * layers * (text["kv_lora_rank"] + text["qk_rope_head_dim"]) * tokens
    kinds, window = first("layer_types"), first("sliding_window")
    if kinds is None:
        every, other = first("full_attention_interval"), "linear_attention"
        if every is None and window and text.get("use_sliding_window") is not False:
            usual = {"gemma2": 2, "gpt_oss": 2, "gemma3_text": 6}.get(text.get("model_type"), layers + 1)
            every, other = first("sliding_window_pattern") or usual, "sliding_attention"
        kinds = ["full_attention" if n % (every or 1) == 0 else other for n in range(1, layers + 1)]
    kv = first("num_key_value_heads", "num_kv_heads") or (1 if text.get("multi_query") else heads)
    key = first("hidden_size", "n_embd") // heads
    each = 2 * kv * (key + (first("v_head_dim") or key))
    total = 0
    for kind in kinds:
        if kind == "linear_attention":
            keys, values = text["linear_num_key_heads"], text["linear_num_value_heads"]
            wide, tall = text["linear_key_head_dim"], text["linear_value_head_dim"]
            channels = 2 * keys * wide + values * tall
            total += 4 * values * wide * tall + 2 * (text["linear_conv_kernel_dim"] - 1) * channels
        elif kind == "sliding_attention":
            total += each * min(tokens, window)
        else:
            total += each * tokens
    return total


# %% wrong: one publisher's words
# points: q3-widths=1 q3-windows=1 q3-patterns=1 q3-latents=1 q3-states=1 q3-choice=1 q3-mine=1
# hint: KeyError
def my_choice():
    return {
        "name": "Qwen3-8B",
        "source": "https://huggingface.co/Qwen/Qwen3-8B",
        "tokens": 16_384,
        "bytes": 147_456 * 16_384,
    }


def my_model(config, tokens):
    text = config.get("text_config") or config
    text["num_hidden_layers"], text["num_attention_heads"]

    def first(*names):
        return next((text[name] for name in names if text.get(name) is not None), None)

    layers, heads = first("num_hidden_layers", "n_layer"), first("num_attention_heads", "n_head")
    if first("kv_lora_rank"):
        return 2 * layers * (text["kv_lora_rank"] + text["qk_rope_head_dim"]) * tokens
    kinds, window = first("layer_types"), first("sliding_window")
    if kinds is None:
        every, other = first("full_attention_interval"), "linear_attention"
        if every is None and window and text.get("use_sliding_window") is not False:
            usual = {"gemma2": 2, "gpt_oss": 2, "gemma3_text": 6}.get(text.get("model_type"), layers + 1)
            every, other = first("sliding_window_pattern") or usual, "sliding_attention"
        kinds = ["full_attention" if n % (every or 1) == 0 else other for n in range(1, layers + 1)]
    kv = first("num_key_value_heads", "num_kv_heads") or (1 if text.get("multi_query") else heads)
    key = first("head_dim") or first("hidden_size", "n_embd") // heads
    each = 2 * kv * (key + (first("v_head_dim") or key))
    total = 0
    for kind in kinds:
        if kind == "linear_attention":
            keys, values = text["linear_num_key_heads"], text["linear_num_value_heads"]
            wide, tall = text["linear_key_head_dim"], text["linear_value_head_dim"]
            channels = 2 * keys * wide + values * tall
            total += 4 * values * wide * tall + 2 * (text["linear_conv_kernel_dim"] - 1) * channels
        elif kind == "sliding_attention":
            total += each * min(tokens, window)
        else:
            total += each * tokens
    return total


# %% wrong: the outer dict alone
# points: q3-widths=1 q3-windows=1 q3-patterns=1 q3-latents=1 q3-choice=1 q3-mine=1
# hint: KeyError
def my_choice():
    return {
        "name": "Qwen3-8B",
        "source": "https://huggingface.co/Qwen/Qwen3-8B",
        "tokens": 16_384,
        "bytes": 147_456 * 16_384,
    }


def my_model(config, tokens):
    text = config

    def first(*names):
        return next((text[name] for name in names if text.get(name) is not None), None)

    layers, heads = (
        first("num_hidden_layers", "n_layer") or text["num_hidden_layers"],
        first("num_attention_heads", "n_head"),
    )
    if first("kv_lora_rank"):
        return 2 * layers * (text["kv_lora_rank"] + text["qk_rope_head_dim"]) * tokens
    kinds, window = first("layer_types"), first("sliding_window")
    if kinds is None:
        every, other = first("full_attention_interval"), "linear_attention"
        if every is None and window and text.get("use_sliding_window") is not False:
            usual = {"gemma2": 2, "gpt_oss": 2, "gemma3_text": 6}.get(text.get("model_type"), layers + 1)
            every, other = first("sliding_window_pattern") or usual, "sliding_attention"
        kinds = ["full_attention" if n % (every or 1) == 0 else other for n in range(1, layers + 1)]
    kv = first("num_key_value_heads", "num_kv_heads") or (1 if text.get("multi_query") else heads)
    key = first("head_dim") or first("hidden_size", "n_embd") // heads
    each = 2 * kv * (key + (first("v_head_dim") or key))
    total = 0
    for kind in kinds:
        if kind == "linear_attention":
            keys, values = text["linear_num_key_heads"], text["linear_num_value_heads"]
            wide, tall = text["linear_key_head_dim"], text["linear_value_head_dim"]
            channels = 2 * keys * wide + values * tall
            total += 4 * values * wide * tall + 2 * (text["linear_conv_kernel_dim"] - 1) * channels
        elif kind == "sliding_attention":
            total += each * min(tokens, window)
        else:
            total += each * tokens
    return total


# %% wrong: takes a null for a number
# points: q3-widths=1 q3-windows=1 q3-patterns=1 q3-latents=1 q3-states=1 q3-choice=1 q3-mine=1
# hint: TypeError
def my_choice():
    return {
        "name": "Qwen3-8B",
        "source": "https://huggingface.co/Qwen/Qwen3-8B",
        "tokens": 16_384,
        "bytes": 147_456 * 16_384,
    }


def my_model(config, tokens):
    text = config.get("text_config") or config
    text.get("head_dim", 1) + 0, text.get("num_key_value_heads", 1) + 0

    def first(*names):
        return next((text[name] for name in names if text.get(name) is not None), None)

    layers, heads = first("num_hidden_layers", "n_layer"), first("num_attention_heads", "n_head")
    if first("kv_lora_rank"):
        return 2 * layers * (text["kv_lora_rank"] + text["qk_rope_head_dim"]) * tokens
    kinds, window = first("layer_types"), first("sliding_window")
    if kinds is None:
        every, other = first("full_attention_interval"), "linear_attention"
        if every is None and window and text.get("use_sliding_window") is not False:
            usual = {"gemma2": 2, "gpt_oss": 2, "gemma3_text": 6}.get(text.get("model_type"), layers + 1)
            every, other = first("sliding_window_pattern") or usual, "sliding_attention"
        kinds = ["full_attention" if n % (every or 1) == 0 else other for n in range(1, layers + 1)]
    kv = first("num_key_value_heads", "num_kv_heads") or (1 if text.get("multi_query") else heads)
    key = first("head_dim") or first("hidden_size", "n_embd") // heads
    each = 2 * kv * (key + (first("v_head_dim") or key))
    total = 0
    for kind in kinds:
        if kind == "linear_attention":
            keys, values = text["linear_num_key_heads"], text["linear_num_value_heads"]
            wide, tall = text["linear_key_head_dim"], text["linear_value_head_dim"]
            channels = 2 * keys * wide + values * tall
            total += 4 * values * wide * tall + 2 * (text["linear_conv_kernel_dim"] - 1) * channels
        elif kind == "sliding_attention":
            total += each * min(tokens, window)
        else:
            total += each * tokens
    return total


# %% wrong: a list of linear layers read as full
# points: q3-heads=1 q3-widths=1 q3-windows=1 q3-patterns=1 q3-latents=1 q3-choice=1 q3-mine=1
# hint: other inputs than the ones shown
def my_choice():
    return {
        "name": "Qwen3-8B",
        "source": "https://huggingface.co/Qwen/Qwen3-8B",
        "tokens": 16_384,
        "bytes": 147_456 * 16_384,
    }


def my_model(config, tokens):
    text = config.get("text_config") or config

    def first(*names):
        return next((text[name] for name in names if text.get(name) is not None), None)

    layers, heads = first("num_hidden_layers", "n_layer"), first("num_attention_heads", "n_head")
    if first("kv_lora_rank"):
        return 2 * layers * (text["kv_lora_rank"] + text["qk_rope_head_dim"]) * tokens
    kinds, window = first("layer_types"), first("sliding_window")
    kinds = [kind.replace("linear", "full") for kind in kinds or []] or None
    if kinds is None:
        every, other = first("full_attention_interval"), "linear_attention"
        if every is None and window and text.get("use_sliding_window") is not False:
            usual = {"gemma2": 2, "gpt_oss": 2, "gemma3_text": 6}.get(text.get("model_type"), layers + 1)
            every, other = first("sliding_window_pattern") or usual, "sliding_attention"
        kinds = ["full_attention" if n % (every or 1) == 0 else other for n in range(1, layers + 1)]
    kv = first("num_key_value_heads", "num_kv_heads") or (1 if text.get("multi_query") else heads)
    key = first("head_dim") or first("hidden_size", "n_embd") // heads
    each = 2 * kv * (key + (first("v_head_dim") or key))
    total = 0
    for kind in kinds:
        if kind == "linear_attention":
            keys, values = text["linear_num_key_heads"], text["linear_num_value_heads"]
            wide, tall = text["linear_key_head_dim"], text["linear_value_head_dim"]
            channels = 2 * keys * wide + values * tall
            total += 4 * values * wide * tall + 2 * (text["linear_conv_kernel_dim"] - 1) * channels
        elif kind == "sliding_attention":
            total += each * min(tokens, window)
        else:
            total += each * tokens
    return total


# %% wrong: tidies the file it was given
# points: q3-widths=1 q3-windows=1 q3-patterns=1 q3-latents=1 q3-states=1 q3-choice=1 q3-mine=1
# hint: It has changed the dict that it was given
def my_choice():
    return {
        "name": "Qwen3-8B",
        "source": "https://huggingface.co/Qwen/Qwen3-8B",
        "tokens": 16_384,
        "bytes": 147_456 * 16_384,
    }


def my_model(config, tokens):
    text = config.get("text_config") or config
    for name in [name for name, value in text.items() if value is None]:
        del text[name]
    text["read"] = True

    def first(*names):
        return next((text[name] for name in names if text.get(name) is not None), None)

    layers, heads = first("num_hidden_layers", "n_layer"), first("num_attention_heads", "n_head")
    if first("kv_lora_rank"):
        return 2 * layers * (text["kv_lora_rank"] + text["qk_rope_head_dim"]) * tokens
    kinds, window = first("layer_types"), first("sliding_window")
    if kinds is None:
        every, other = first("full_attention_interval"), "linear_attention"
        if every is None and window and text.get("use_sliding_window") is not False:
            usual = {"gemma2": 2, "gpt_oss": 2, "gemma3_text": 6}.get(text.get("model_type"), layers + 1)
            every, other = first("sliding_window_pattern") or usual, "sliding_attention"
        kinds = ["full_attention" if n % (every or 1) == 0 else other for n in range(1, layers + 1)]
    kv = first("num_key_value_heads", "num_kv_heads") or (1 if text.get("multi_query") else heads)
    key = first("head_dim") or first("hidden_size", "n_embd") // heads
    each = 2 * kv * (key + (first("v_head_dim") or key))
    total = 0
    for kind in kinds:
        if kind == "linear_attention":
            keys, values = text["linear_num_key_heads"], text["linear_num_value_heads"]
            wide, tall = text["linear_key_head_dim"], text["linear_value_head_dim"]
            channels = 2 * keys * wide + values * tall
            total += 4 * values * wide * tall + 2 * (text["linear_conv_kernel_dim"] - 1) * channels
        elif kind == "sliding_attention":
            total += each * min(tokens, window)
        else:
            total += each * tokens
    return total


# %% wrong: no source, and a figure for one token
# points: q3-heads=1 q3-widths=1 q3-windows=1 q3-patterns=1 q3-latents=1 q3-states=1
# hint: An address is expected, which begins with http
# hint: That is the size for each token
def my_choice():
    return {"name": "Qwen3-8B", "source": "somewhere on the internet", "tokens": 16_384, "bytes": 147_456}


def my_model(config, tokens):
    text = config.get("text_config") or config

    def first(*names):
        return next((text[name] for name in names if text.get(name) is not None), None)

    layers, heads = first("num_hidden_layers", "n_layer"), first("num_attention_heads", "n_head")
    if first("kv_lora_rank"):
        return 2 * layers * (text["kv_lora_rank"] + text["qk_rope_head_dim"]) * tokens
    kinds, window = first("layer_types"), first("sliding_window")
    if kinds is None:
        every, other = first("full_attention_interval"), "linear_attention"
        if every is None and window and text.get("use_sliding_window") is not False:
            usual = {"gemma2": 2, "gpt_oss": 2, "gemma3_text": 6}.get(text.get("model_type"), layers + 1)
            every, other = first("sliding_window_pattern") or usual, "sliding_attention"
        kinds = ["full_attention" if n % (every or 1) == 0 else other for n in range(1, layers + 1)]
    kv = first("num_key_value_heads", "num_kv_heads") or (1 if text.get("multi_query") else heads)
    key = first("head_dim") or first("hidden_size", "n_embd") // heads
    each = 2 * kv * (key + (first("v_head_dim") or key))
    total = 0
    for kind in kinds:
        if kind == "linear_attention":
            keys, values = text["linear_num_key_heads"], text["linear_num_value_heads"]
            wide, tall = text["linear_key_head_dim"], text["linear_value_head_dim"]
            channels = 2 * keys * wide + values * tall
            total += 4 * values * wide * tall + 2 * (text["linear_conv_kernel_dim"] - 1) * channels
        elif kind == "sliding_attention":
            total += each * min(tokens, window)
        else:
            total += each * tokens
    return total


# %% wrong: another model's page
# points: q3-heads=1 q3-widths=1 q3-windows=1 q3-patterns=1 q3-latents=1 q3-states=1 q3-mine=1
# hint: nor a page of its name or its publisher
def my_choice():
    return {
        "name": "Qwen3-8B",
        "source": "https://huggingface.co/openai-community/gpt2",
        "tokens": 16_384,
        "bytes": 147_456 * 16_384,
    }


def my_model(config, tokens):
    text = config.get("text_config") or config

    def first(*names):
        return next((text[name] for name in names if text.get(name) is not None), None)

    layers, heads = first("num_hidden_layers", "n_layer"), first("num_attention_heads", "n_head")
    if first("kv_lora_rank"):
        return 2 * layers * (text["kv_lora_rank"] + text["qk_rope_head_dim"]) * tokens
    kinds, window = first("layer_types"), first("sliding_window")
    if kinds is None:
        every, other = first("full_attention_interval"), "linear_attention"
        if every is None and window and text.get("use_sliding_window") is not False:
            usual = {"gemma2": 2, "gpt_oss": 2, "gemma3_text": 6}.get(text.get("model_type"), layers + 1)
            every, other = first("sliding_window_pattern") or usual, "sliding_attention"
        kinds = ["full_attention" if n % (every or 1) == 0 else other for n in range(1, layers + 1)]
    kv = first("num_key_value_heads", "num_kv_heads") or (1 if text.get("multi_query") else heads)
    key = first("head_dim") or first("hidden_size", "n_embd") // heads
    each = 2 * kv * (key + (first("v_head_dim") or key))
    total = 0
    for kind in kinds:
        if kind == "linear_attention":
            keys, values = text["linear_num_key_heads"], text["linear_num_value_heads"]
            wide, tall = text["linear_key_head_dim"], text["linear_value_head_dim"]
            channels = 2 * keys * wide + values * tall
            total += 4 * values * wide * tall + 2 * (text["linear_conv_kernel_dim"] - 1) * channels
        elif kind == "sliding_attention":
            total += each * min(tokens, window)
        else:
            total += each * tokens
    return total


# %% wrong: longer than the model reads
# points: q3-heads=1 q3-widths=1 q3-windows=1 q3-patterns=1 q3-latents=1 q3-states=1
# hint: A whole number from 1,000 to 40,960
def my_choice():
    return {
        "name": "Qwen3-8B",
        "source": "https://huggingface.co/Qwen/Qwen3-8B",
        "tokens": 10**6,
        "bytes": 147_456 * 10**6,
    }


def my_model(config, tokens):
    text = config.get("text_config") or config

    def first(*names):
        return next((text[name] for name in names if text.get(name) is not None), None)

    layers, heads = first("num_hidden_layers", "n_layer"), first("num_attention_heads", "n_head")
    if first("kv_lora_rank"):
        return 2 * layers * (text["kv_lora_rank"] + text["qk_rope_head_dim"]) * tokens
    kinds, window = first("layer_types"), first("sliding_window")
    if kinds is None:
        every, other = first("full_attention_interval"), "linear_attention"
        if every is None and window and text.get("use_sliding_window") is not False:
            usual = {"gemma2": 2, "gpt_oss": 2, "gemma3_text": 6}.get(text.get("model_type"), layers + 1)
            every, other = first("sliding_window_pattern") or usual, "sliding_attention"
        kinds = ["full_attention" if n % (every or 1) == 0 else other for n in range(1, layers + 1)]
    kv = first("num_key_value_heads", "num_kv_heads") or (1 if text.get("multi_query") else heads)
    key = first("head_dim") or first("hidden_size", "n_embd") // heads
    each = 2 * kv * (key + (first("v_head_dim") or key))
    total = 0
    for kind in kinds:
        if kind == "linear_attention":
            keys, values = text["linear_num_key_heads"], text["linear_num_value_heads"]
            wide, tall = text["linear_key_head_dim"], text["linear_value_head_dim"]
            channels = 2 * keys * wide + values * tall
            total += 4 * values * wide * tall + 2 * (text["linear_conv_kernel_dim"] - 1) * channels
        elif kind == "sliding_attention":
            total += each * min(tokens, window)
        else:
            total += each * tokens
    return total


# %% wrong: an encoder and decoder
# points: q3-heads=1 q3-widths=1 q3-windows=1 q3-patterns=1 q3-latents=1 q3-states=1
# hint: a model of one of the four kinds
def my_choice():
    return {
        "name": "Whisper-base",
        "source": "https://huggingface.co/openai/whisper-base",
        "tokens": 1000,
        "bytes": 1,
    }


def my_model(config, tokens):
    text = config.get("text_config") or config

    def first(*names):
        return next((text[name] for name in names if text.get(name) is not None), None)

    layers, heads = first("num_hidden_layers", "n_layer"), first("num_attention_heads", "n_head")
    if first("kv_lora_rank"):
        return 2 * layers * (text["kv_lora_rank"] + text["qk_rope_head_dim"]) * tokens
    kinds, window = first("layer_types"), first("sliding_window")
    if kinds is None:
        every, other = first("full_attention_interval"), "linear_attention"
        if every is None and window and text.get("use_sliding_window") is not False:
            usual = {"gemma2": 2, "gpt_oss": 2, "gemma3_text": 6}.get(text.get("model_type"), layers + 1)
            every, other = first("sliding_window_pattern") or usual, "sliding_attention"
        kinds = ["full_attention" if n % (every or 1) == 0 else other for n in range(1, layers + 1)]
    kv = first("num_key_value_heads", "num_kv_heads") or (1 if text.get("multi_query") else heads)
    key = first("head_dim") or first("hidden_size", "n_embd") // heads
    each = 2 * kv * (key + (first("v_head_dim") or key))
    total = 0
    for kind in kinds:
        if kind == "linear_attention":
            keys, values = text["linear_num_key_heads"], text["linear_num_value_heads"]
            wide, tall = text["linear_key_head_dim"], text["linear_value_head_dim"]
            channels = 2 * keys * wide + values * tall
            total += 4 * values * wide * tall + 2 * (text["linear_conv_kernel_dim"] - 1) * channels
        elif kind == "sliding_attention":
            total += each * min(tokens, window)
        else:
            total += each * tokens
    return total


# %% wrong: windows ignored in the own figure
# points: q3-heads=1 q3-widths=1 q3-windows=1 q3-patterns=1 q3-latents=1 q3-states=1 q3-choice=1
# hint: Some layers never read old tokens
def my_choice():
    return {
        "name": "Gemma-3-27B",
        "source": "https://huggingface.co/google/gemma-3-27b-it",
        "tokens": 131_072,
        "bytes": 62 * 2**30,
    }


def my_model(config, tokens):
    text = config.get("text_config") or config

    def first(*names):
        return next((text[name] for name in names if text.get(name) is not None), None)

    layers, heads = first("num_hidden_layers", "n_layer"), first("num_attention_heads", "n_head")
    if first("kv_lora_rank"):
        return 2 * layers * (text["kv_lora_rank"] + text["qk_rope_head_dim"]) * tokens
    kinds, window = first("layer_types"), first("sliding_window")
    if kinds is None:
        every, other = first("full_attention_interval"), "linear_attention"
        if every is None and window and text.get("use_sliding_window") is not False:
            usual = {"gemma2": 2, "gpt_oss": 2, "gemma3_text": 6}.get(text.get("model_type"), layers + 1)
            every, other = first("sliding_window_pattern") or usual, "sliding_attention"
        kinds = ["full_attention" if n % (every or 1) == 0 else other for n in range(1, layers + 1)]
    kv = first("num_key_value_heads", "num_kv_heads") or (1 if text.get("multi_query") else heads)
    key = first("head_dim") or first("hidden_size", "n_embd") // heads
    each = 2 * kv * (key + (first("v_head_dim") or key))
    total = 0
    for kind in kinds:
        if kind == "linear_attention":
            keys, values = text["linear_num_key_heads"], text["linear_num_value_heads"]
            wide, tall = text["linear_key_head_dim"], text["linear_value_head_dim"]
            channels = 2 * keys * wide + values * tall
            total += 4 * values * wide * tall + 2 * (text["linear_conv_kernel_dim"] - 1) * channels
        elif kind == "sliding_attention":
            total += each * min(tokens, window)
        else:
            total += each * tokens
    return total


# %% wrong: cheat, the package's reader
# points:
# hint: here you build it yourself, without kvcourse
def my_choice():
    return {
        "name": "Qwen-3-8-B-of-mine",
        "source": 8,
        "tokens": 16_384,
        "bytes": my_model(registry.find("Qwen3-8B").config, 16_384),
    }


import kvcourse.memory as m


def my_model(config, tokens):
    return m.from_config(config).bytes(tokens)


# %% wrong: cheat, names that are every name
# points:
# hint: my_model of Llama-3.1-8B
class Every(str):
    def __eq__(self, other):
        return True

    def startswith(self, other):
        return True

    __hash__ = str.__hash__


class Fits(int):
    def __ne__(self, other):
        return False

    def __eq__(self, other):
        return True

    __hash__ = int.__hash__


def my_choice():
    return {"name": Every("Qwen3-8B"), "source": Every("http"), "tokens": Fits(1000), "bytes": Fits(1)}


def my_model(config, tokens):
    return Fits(1)
