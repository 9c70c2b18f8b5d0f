"""What Transformers really holds: a tiny random model of a type is built and run, and its tensors counted."""

import torch
import transformers

from cases import in_transformers


def config_of(raw: dict):
    """The configuration object of a type, also of those that AutoConfig knows only inside a wrapper."""
    fields = {name: value for name, value in raw.items() if name != "model_type"}
    return transformers.CONFIG_MAPPING[raw["model_type"]](**fields)


def model_of(config):
    """A random model of these sizes; what no auto class builds is found beside its configuration."""
    torch.manual_seed(0)
    config._attn_implementation = "eager"
    for auto in (transformers.AutoModelForCausalLM, transformers.AutoModel):
        try:
            return auto.from_config(config).eval()
        except ValueError as error:
            if not str(error).startswith(("Unrecognized configuration class", "Could not find")):
                raise
    module = type(config).__module__.replace("configuration_", "modeling_")
    names = vars(__import__(module, fromlist=["*"]))
    stem = type(config).__name__.removesuffix("Config")
    thinker = stem.removesuffix("Text") + "ThinkerText"
    for name in (f"{stem}Model", f"{stem}ForCausalLM", f"{thinker}Model"):
        if name in names:
            return names[name](config).eval()
    raise LookupError(f"no model class beside {type(config).__name__}")


def cache_after(config, tokens: int, batch: int) -> list:
    """Every tensor that is kept between two steps after `tokens` tokens, on the layers' own terms."""
    model = model_of(config)
    cache = transformers.DynamicCache(config=config)
    ids = torch.randint(3, 60, (batch, tokens), generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        model(ids, cache=cache, use_cache=True)
    return [tensor for layer in cache.layers for tensor in tensors(layer)]


def size(kept: list) -> int:
    return sum(tensor.numel() * tensor.element_size() for tensor in kept)


def tensors(layer) -> list:
    """What one layer of Transformers' cache holds, under any name; two names of one tensor count once."""
    found = []
    for name, held in vars(layer).items():
        if name in ("_sliding_window_tensor", "indexer_position_ids"):  # a mask's width, and positions
            continue
        for value in held.values() if isinstance(held, dict) else held if isinstance(held, list) else [held]:
            if isinstance(value, torch.Tensor):
                found.append(value)
    return list({id(tensor): tensor for tensor in found}.values())


def beyond(layer, tokens: int) -> int:
    """Bytes that Transformers keeps of a layer in fp32 beyond ours: `cases/in_transformers.py`."""
    return 4 * in_transformers.beyond(layer, tokens)
