"""Devices that torch may compute on."""

from __future__ import annotations

from lagco.errors import UsageError, suggest

DEVICES = ("cpu", "cuda", "auto")


def torch_device(name: str) -> str:
    """The device of that name; ``auto`` is the first CUDA device where there is one, else the CPU.

    Raises:
        UsageError: there is no such device here.
    """
    import torch

    if name not in DEVICES:
        raise UsageError(suggest("device", name, DEVICES))
    available = torch.cuda.is_available()
    if name == "cuda" and not available:
        raise UsageError(
            "device='cuda': torch finds no CUDA device on this machine; give device='cpu', or "
            "'auto' for whichever there is"
        )
    return "cuda" if available and name != "cpu" else "cpu"
