"""One place that picks the device. Everything in the course runs on a CPU; a GPU only makes it faster."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvcourse.errors import UserError, shown

if TYPE_CHECKING:
    import torch

GPU_SENTENCE = "Skipped: this cell needs a CUDA GPU and none was found. The rest of the page runs on the CPU."


def has_gpu() -> bool:
    """Whether PyTorch sees a CUDA device."""
    import torch

    return torch.cuda.is_available()


def pick_device(name: str | None = None) -> torch.device:
    """The named device, or the best one here: CUDA, then Apple's MPS, then the CPU."""
    import torch

    available = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available(), "cpu": True}
    if name is None:
        return torch.device(next(kind for kind, there in available.items() if there))
    try:
        device = torch.device(name)
    except (RuntimeError, TypeError) as error:
        raise UserError(f"unknown device {shown(name)}; expected cuda, mps or cpu.") from error
    if not available.get(device.type, False):
        here = ", ".join(kind for kind, there in available.items() if there)
        raise UserError(f"device {shown(name)} is not available here; expected one of: {here}.")
    return device


def synchronize(device: torch.device | str) -> None:
    """Wait until the device has done all it was given: a GPU returns before its work is finished."""
    import torch

    kind = torch.device(device).type
    if kind == "cuda":
        torch.cuda.synchronize(device)
    elif kind == "mps":
        torch.mps.synchronize()
