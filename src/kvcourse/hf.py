"""Transformers beside our own code: its cache API moves from release to release, and all of it is used here.

Written for transformers 5.24: a forward pass takes `cache=`, and layer i's tensors are `layers[i].keys` and
`.values`. Transformers reads the GGUF file on its own path, so agreement with it is evidence.
"""

from pathlib import Path

import torch
from torch import Tensor

from kvcourse.errors import ModelFileError


def load_model(path: Path, dtype: torch.dtype = torch.float32):
    """Transformers' model of a GGUF file, on the CPU and ready to run; needs kvcourse[lab]."""
    try:
        from transformers import AutoModelForCausalLM
    except ImportError as error:
        raise ModelFileError("transformers is not installed; it comes with kvcourse[lab].") from error
    return AutoModelForCausalLM.from_pretrained(str(path.parent), gguf_file=path.name, dtype=dtype).eval()


def new_cache(model):
    """An empty DynamicCache: it grows by `torch.cat`, as our GrowingCache does."""
    from transformers import DynamicCache

    return DynamicCache(config=model.config)


@torch.no_grad()
def forward(model, ids: Tensor | list[int], cache=None, last_only: bool = False) -> Tensor:
    """Logits `(B, T, vocab)`, or `(B, 1, vocab)` with `last_only`, of `ids` `(B, T)` or `(T,)`."""
    ids = torch.as_tensor(ids)
    ids = ids[None] if ids.dim() == 1 else ids  # (B, T)
    return model(ids, cache=cache, use_cache=cache is not None, logits_to_keep=1 if last_only else 0).logits


def generate(model, prompt_ids: list[int], max_new_tokens: int, cache=None) -> list[int]:
    """Transformers' own greedy `generate`, with its cache; returns the new tokens. Never stops early."""
    ids = torch.tensor([prompt_ids])  # (1, T)
    given = {} if cache is None else {"cache": cache}
    out = model.generate(
        ids,
        attention_mask=torch.ones_like(ids),
        max_new_tokens=max_new_tokens,
        do_sample=False,
        eos_token_id=None,
        pad_token_id=0,
        **given,
    )
    return out[0, len(prompt_ids) :].tolist()


def layers(cache) -> list[tuple[Tensor, Tensor]]:
    """(K, V) of each layer, `(B, H_kv, T, D)` each."""
    return [(layer.keys, layer.values) for layer in cache.layers]


def length(cache) -> int:
    """Tokens stored."""
    return cache.get_seq_length()


def nbytes(cache) -> int:
    """Bytes of the stored keys and values."""
    return sum(k.nbytes + v.nbytes for k, v in layers(cache))
