# ruff: noqa
# Problem 6: audit a published table.

# %% right: by logarithms, and a factor that is rounded
def audit_row(config, tokens, printed):
    import math

    right = 4 * config.num_layers * config.num_kv_heads * config.head_dim * tokens
    powers = {unit: math.log2(printed * size / right) for unit, size in {"GB": 1e9, "GiB": 2**30}.items()}
    unit = min(powers, key=lambda name: abs(powers[name] - round(powers[name])))
    return {"factor": 2.0 ** round(powers[unit]), "unit": unit}


# %% right: tries all twelve
SIMPLE = (0.25, 0.5, 1, 2, 4, 8)


def audit_row(config, tokens, printed):
    right = 4 * config.num_layers * config.num_kv_heads * config.head_dim * tokens
    tries = [
        (abs(printed * size - simple * right) / (simple * right), unit, simple)
        for unit, size in (("GiB", 1024**3), ("GB", 1000**3))
        for simple in SIMPLE
    ]
    distance, unit, simple = min(tries)
    return {"unit": unit, "factor": simple}


# %% right: within two percent, first GB
def audit_row(config, tokens, printed):
    right = 4 * config.num_layers * config.num_kv_heads * config.head_dim * tokens
    factor = printed * 1e9 / right
    for simple in (1 / 4, 1 / 2, 1, 2, 4, 8):
        if abs(factor / simple - 1) < 0.02:
            return {"unit": "gb", "factor": factor, "fits": simple}
    return {"unit": "GiB", "factor": printed * 2**30 / right}


# %% wrong: blames the unit for everything
# points: q6-unit=2
# hint: GiB and GB are 7 % apart. Can a unit explain so large a difference?
def audit_row(config, tokens, printed):
    right = 4 * config.num_layers * config.num_kv_heads * config.head_dim * tokens
    quotient = printed * 1e9 / right
    simple = min((0.25, 0.5, 1, 2, 4, 8), key=lambda s: abs(quotient / s - 1))
    return {"unit": "GB" if abs(quotient / simple - 1) < 0.03 else "GiB", "factor": 1}


# %% wrong: believes the label
# points:
# hint: That takes GB at its word
# hint: In GB the factor is not a simple one
def audit_row(config, tokens, printed):
    right = 4 * config.num_layers * config.num_kv_heads * config.head_dim * tokens
    return {"unit": "GB", "factor": printed * 1e9 / right}


# %% wrong: takes every GB for GiB
# points:
# hint: In GiB the factor is not a simple one
def audit_row(config, tokens, printed):
    right = 4 * config.num_layers * config.num_kv_heads * config.head_dim * tokens
    return {"unit": "GiB", "factor": printed * 2**30 / right}


# %% wrong: right over printed
# points: q6-unit=2
# hint: Upside down
def audit_row(config, tokens, printed):
    right = 4 * config.num_layers * config.num_kv_heads * config.head_dim * tokens
    quotient = printed * 1e9 / right
    simple = min((0.25, 0.5, 1, 2, 4, 8), key=lambda s: abs(quotient / s - 1))
    if abs(quotient / simple - 1) < 0.03:
        return {"unit": "GB", "factor": right / (printed * 1e9)}
    return {"unit": "GiB", "factor": right / (printed * 2**30)}


# %% wrong: takes the unit that is nearer to 1
# points:
# hint: audit_row(Llama-3.1-405B, 1024, 0.984)['unit']
def audit_row(config, tokens, printed):
    right = 4 * config.num_layers * config.num_kv_heads * config.head_dim * tokens
    factors = {"GiB": printed * 2**30 / right, "GB": printed * 1e9 / right}
    unit = min(factors, key=lambda name: abs(factors[name] - 1))
    return {"unit": unit, "factor": factors[unit]}


# %% wrong: query heads in the right size
# points:
# hint: audit_row(Llama-3.1-405B, 1024, 0.984)['factor']
def audit_row(config, tokens, printed):
    right = 4 * config.num_layers * config.num_heads * config.head_dim * tokens
    return {"unit": "GB", "factor": printed * 1e9 / right}


# %% wrong: a factor of two is forgotten in the right size
# points: q6-unit=2
# hint: Too large.
def audit_row(config, tokens, printed):
    right = 2 * config.num_layers * config.num_kv_heads * config.head_dim * tokens
    factors = {"GiB": printed * 2**30 / right, "GB": printed * 1e9 / right}
    simple = (0.125, 0.25, 0.5, 1, 2, 4, 8, 16)
    unit = min(factors, key=lambda name: min(abs(factors[name] / s - 1) for s in simple))
    return {"unit": unit, "factor": factors[unit]}


# %% wrong: names the unit in words
# points: q6-factor=2
# hint: one of GiB, GB
def audit_row(config, tokens, printed):
    right = 4 * config.num_layers * config.num_kv_heads * config.head_dim * tokens
    factors = {"gibibyte": printed * 2**30 / right, "gigabyte": printed * 1e9 / right}
    unit = min(factors, key=lambda name: min(abs(factors[name] / s - 1) for s in (0.25, 0.5, 1, 2, 4, 8)))
    return {"unit": unit, "factor": factors[unit]}


# %% wrong: rounds the factor to a whole number
# points: q6-unit=2
# hint: 0.5
def audit_row(config, tokens, printed):
    right = 4 * config.num_layers * config.num_kv_heads * config.head_dim * tokens
    factors = {"GiB": printed * 2**30 / right, "GB": printed * 1e9 / right}
    unit = min(factors, key=lambda name: min(abs(factors[name] / s - 1) for s in (0.25, 0.5, 1, 2, 4, 8)))
    return {"unit": unit, "factor": round(factors[unit])}


# %% wrong: cheat, what the notebook shows
# points:
# hint: with other inputs than the ones shown
def audit_row(config, tokens, printed):
    shown = {
        0.125: ("GiB", 1),
        4.88: ("GiB", 1),
        0.984: ("GiB", 2),
        123.05: ("GiB", 2),
        2.147: ("GB", 1),
        1.0737: ("GB", 0.5),
    }
    unit, factor = shown.get(printed, ("GB", 1))
    return {"unit": unit, "factor": factor}


# %% wrong: cheat, the package's numbers
# points:
# hint: here you build it yourself, without kvcourse
def audit_row(config, tokens, printed):
    from kvcourse.checks import right_value

    size = right_value("kv_bytes", config=config, tokens=tokens, dtype_bytes=2)
    factor = right_value("printed_factor", printed=printed, kv_bytes=size)
    return {"unit": "GiB" if abs(printed * 2**30 / size - factor) < 1e-9 else "GB", "factor": factor}
