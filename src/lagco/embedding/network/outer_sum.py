"""sum over messages of (edge vector) x (source vector) per target, with its gradients, compiled."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numba import njit  # type: ignore[import-untyped, unused-ignore]
from torch import Tensor


@njit(cache=True, fastmath={"contract"})
def _sum(hidden, x, source, target, row, total):  # type: ignore[no-untyped-def]
    for m in range(source.shape[0]):
        j, i, e = source[m], target[m], row[m]
        for k in range(hidden.shape[1]):
            r = hidden[e, k]
            if r != 0.0:
                for d in range(x.shape[1]):
                    total[i, k, d] += r * x[j, d]


@njit(cache=True, fastmath={"contract", "reassoc", "nsz"})
def _gradients(hidden, x, source, target, row, total, d_hidden, d_x):  # type: ignore[no-untyped-def]
    for m in range(source.shape[0]):
        j, i, e = source[m], target[m], row[m]
        for k in range(hidden.shape[1]):
            if hidden[e, k] != 0.0:  # behind a ReLU, whose gradient is 0 there
                dot = np.float32(0.0)
                for d in range(x.shape[1]):
                    dot += total[i, k, d] * x[j, d]
                d_hidden[e, k] += dot
        if d_x.shape[0]:
            for k in range(hidden.shape[1]):
                r = hidden[e, k]
                if r != 0.0:
                    for d in range(x.shape[1]):
                        d_x[j, d] += r * total[i, k, d]


class OuterSum(torch.autograd.Function):
    """total[i, k, d] = sum over messages m to i of hidden[row[m], k] * x[source[m], d].

    `hidden` (R, k) must come out of a ReLU (or be constant), `x` is (n, d); the result (n, k, d).
    """

    @staticmethod
    def forward(
        ctx: Any, hidden: Tensor, x: Tensor, source: Tensor, target: Tensor, row: Tensor
    ) -> Tensor:
        total = torch.zeros(x.shape[0], hidden.shape[1], x.shape[1])
        arrays = _arrays(hidden, x, source, target, row)
        _sum(*arrays, total.numpy())  # type: ignore[call-arg, unused-ignore]
        ctx.save_for_backward(hidden, x, source, target, row)
        return total

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        hidden, x, source, target, row = ctx.saved_tensors
        d_hidden = torch.zeros_like(hidden)
        d_x = torch.zeros_like(x) if ctx.needs_input_grad[1] else torch.zeros(0, x.shape[1])
        arrays = _arrays(hidden, x, source, target, row)
        total = gradients[0].contiguous().numpy()
        arrays += (total, d_hidden.numpy(), d_x.numpy())
        _gradients(*arrays)  # type: ignore[call-arg, unused-ignore]
        return d_hidden, d_x if ctx.needs_input_grad[1] else None, None, None, None


def _arrays(*tensors: Tensor) -> tuple[np.ndarray[Any, Any], ...]:
    return tuple(tensor.detach().contiguous().numpy() for tensor in tensors)
