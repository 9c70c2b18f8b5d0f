"""What Transformers' configuration classes mean by a field that a file leaves out (`class_defaults.json`).

`tests/memory/write_class_defaults.py` writes the table from the classes themselves; a test compares them.
"""

import json
from functools import cache
from pathlib import Path

# Types that Transformers does not have, or has under another name, and whose files mean what these mean.
SAME_AS = {
    "deepseek_ref": "deepseek_v4",  # sgl-project's copies of DeepSeek-V4
    "glm5_next": "glm5_next_text",
    "dots3_note": "dots3_note_text",
    "kimi_k2": "deepseek_v3",  # ships DeepSeek-V3's class under its own name
    "kimi_k3": "kimi_linear",
    **dict.fromkeys(
        ("aquila", "baichuan", "deepseek", "internlm", "minicpm", "orion", "skywork", "xverse", "yi"), "llama"
    ),  # shaped as Llama, each with a class of its own
    "phi3_v": "phi3",
    "stablelm_epoch": "stablelm",
    "minimax_text_01": "minimax",
    "mimo": "qwen2",  # ships a subclass of Qwen2's
    "mimo_v2": "mimo_v2_flash",
    "mimo_v2_pro": "mimo_v2_flash",
    "minimax_m3": "minimax_m3_vl_text",
    "step3p7": "step3p5",
}  # fmt: skip


@cache
def table() -> dict:
    return json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))


def of(model_type: str) -> dict:
    """Defaults by field, with "aliases" by other name; empty for a type that Transformers does not know."""
    return table()["types"].get(model_type, {})


def wrappers() -> dict[str, str]:
    """Types whose decoder is a nested part, and the type of that part where the file names none."""
    return table()["wrappers"]
