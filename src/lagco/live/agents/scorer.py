"""The network of a live agent: scores of all moves of a state in one pass."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from lagco.arrays import Array
from lagco.errors import UsageError
from lagco.store import Tensors

#: standardised inputs are cut off here
FAR = 5.0


class Scorer:
    """Two layers per move, in between the mean and the largest of each unit over all moves.

    Args:
        arrays: ``mean`` and ``factor`` (f,) of the columns; ``first`` (f, w), ``own``, ``mean_of``
            and ``most_of`` (w, w), ``last`` (w,), with biases ``first_bias`` and ``own_bias`` (w,).

    Shapes:
        columns (k, f) to scores (k,).
    """

    def __init__(self, arrays: Mapping[str, Array]) -> None:
        self.arrays = {name: np.asarray(arrays[name], np.float32) for name in shapes(1, 1)}

    def __call__(self, columns: Array) -> Array:
        """Scores of moves, larger ones better."""
        a = self.arrays
        if columns.shape[1] != len(a["mean"]):
            raise UsageError(
                f"the live agent was trained on {len(a['mean'])} columns of moves, here are "
                f"{columns.shape[1]}; was it trained for another problem?"
            )
        x = np.clip((columns - a["mean"]) * a["factor"], -FAR, FAR)
        x = np.maximum(x @ a["first"] + a["first_bias"], 0.0)
        around = x.mean(axis=0) @ a["mean_of"] + x.max(axis=0) @ a["most_of"] + a["own_bias"]
        x = np.maximum(x @ a["own"] + around, 0.0)
        found: Array = x @ a["last"]
        return found


def shapes(features: int, width: int) -> dict[str, tuple[int, ...]]:
    """Shapes of the arrays of a :class:`Scorer`."""
    return {
        "mean": (features,),
        "factor": (features,),
        "first": (features, width),
        "first_bias": (width,),
        "own": (width, width),
        "own_bias": (width,),
        "mean_of": (width, width),
        "most_of": (width, width),
        "last": (width,),
    }


def take_scorer(tensors: Tensors, features: int) -> Scorer:
    """The network in a file; one that does not fit the columns is refused."""
    width = int(tensors.take("first", (features, None)).shape[1])
    return Scorer(
        {name: tensors.take(name, shape) for name, shape in shapes(features, width).items()}
    )
