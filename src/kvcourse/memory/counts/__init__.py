"""Parameters of families that are not Llama's layer with a few extras: one function a family.

Each counts the tensors of Transformers' class; the tests build every class and compare.
"""

from collections.abc import Callable

from kvcourse.memory.counts import experts, hybrid, latent, older
from kvcourse.memory.counts.tally import Shape, Tally
from kvcourse.memory.fields import Fields

COUNTERS: dict[str, Callable[[Fields, Shape], Tally]] = {
    **dict.fromkeys(("deepseek_v3", "deepseek_v32", "glm_moe_dsa", "sarvam_mla"), latent.latent),
    **dict.fromkeys(("qwen3_next", "qwen3_5_text", "qwen3_5_moe_text"), hybrid.delta),
    "deepseek_v2": latent.deepseek_v2,
    "deepseek_v4": latent.deepseek_v4,
    "falcon": older.falcon,
    "glm4_moe": experts.glm4_moe,
    "gpt2": older.gpt2,
    "gpt_neox": older.gpt_neox,
    "gpt_oss": experts.gpt_oss,
    "llama4_text": experts.llama4,
    "minimax_m2": experts.minimax_m2,
    "nemotron_h": hybrid.nemotron_h,
    "opt": older.opt,
    "phi": older.phi,
    "qwen2_moe": experts.qwen2_moe,
}
