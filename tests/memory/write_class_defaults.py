"""What Transformers' configuration classes mean by an absent field, as a table.

`python tests/memory/write_class_defaults.py` writes `src/kvcourse/memory/class_defaults.json` from the
installed version; the tests compare the two.
"""

import dataclasses
import json
import re
from pathlib import Path

FILE = Path(__file__).parents[2] / "src" / "kvcourse" / "memory" / "class_defaults.json"

# The sizes of a cache and of weights. Lists, objects and fractions are the readers' business.
_WANTED = re.compile(
    r"(num_|n_)?(hidden_|decoder_|encoder_)?layers?$|heads|head_dim|hidden_size|d_model|n_embd|n_head|kv|"
    r"window|chunk|rank|mamba|ssm|state_size|conv|groups|expand|intermediate|ffn|d_ff|n_inner|vocab|experts|"
    r"(^|_)tie_|bias$|multi_query|new_decoder|pattern|interval|every_n|shared|index|positions|source|compress|"
    r"lru_width|attention_hidden_size|attention_head_size|use_dsa|cycles|loop|linear_|period|offset|d_rel|cca_|"
    r"embed_proj_dim|word_embed|sparse_step|replace|alibi|parallel|qk_|use_sliding"
)
_UNWANTED = re.compile(
    r"_token_id|_token_index|image|audio|video|vision|^output_|dropout|init|spec_augment|mask_|"
    r"chunk_size_feed|use_conv_bias|time_step|classifier|summary|_id$|_ids$|use_mamba|mtp_hidden|^rope_|scaling|truncat"
)


def wanted(cls) -> dict:
    fields = {field.name: field.default for field in dataclasses.fields(cls)}
    return {
        name: value
        for name, value in fields.items()
        if _WANTED.search(name) and not _UNWANTED.search(name)
        if type(value) in (int, bool, str) and value != ""
    }


def aliases(cls) -> dict:
    """Other names of a field in files, where the field is one of those."""
    return {alias: name for alias, name in cls.attribute_map.items() if _WANTED.search(name)}


def collect(names) -> dict:
    """The table for these model types, each as far as Transformers knows it."""
    from transformers import CONFIG_MAPPING

    table = {}
    for name in sorted(names):
        if name in CONFIG_MAPPING:
            table[name] = wanted(CONFIG_MAPPING[name]) | {"aliases": aliases(CONFIG_MAPPING[name])}
    return table


def wrappers() -> dict:
    """Model types whose decoder is a nested part, with the type of that part where the file names none."""
    from transformers import CONFIG_MAPPING

    found = {}
    for name in sorted(CONFIG_MAPPING.keys()):
        cls = CONFIG_MAPPING[name]
        for part in ("text_config", "thinker_config"):
            inner = (getattr(cls, "sub_configs", None) or {}).get(part)
            if inner is None:
                continue
            if inner.__name__ == "AutoConfig":
                try:
                    inner = getattr(cls(), part)
                except Exception:  # a class that cannot be made from nothing
                    continue
            if getattr(inner, "model_type", ""):
                found[name] = inner.model_type
    return found


def text() -> str:
    from kvcourse.memory.families import FAMILIES

    table = {"transformers": __import__("transformers").__version__, "wrappers": wrappers()}
    lines = [f'"{name}": {json.dumps(value)}' for name, value in table.items()]
    types = ",\n".join(f'  "{name}": {json.dumps(fields)}' for name, fields in collect(FAMILIES).items())
    return "{\n" + ",\n".join([*lines, '"types": {\n' + types + "\n}"]) + "\n}\n"


if __name__ == "__main__":
    FILE.write_text(text(), encoding="utf-8")
