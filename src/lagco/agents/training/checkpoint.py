"""Checkpoints: one file from which an interrupted run continues to the same bits.

Weights, optimiser, random states and observations are arrays. Counters and the current episodes
(instance, seed, actions so far, replayed on resume) are JSON in the file's header.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from stable_baselines3.common.base_class import BaseAlgorithm

from lagco.agents.learning.scorer import Scorer
from lagco.agents.method import StatefulModel
from lagco.agents.training.validation import Validation
from lagco.agents.training.vector_env import ProblemVecEnv
from lagco.arrays import Array
from lagco.errors import LagcoError
from lagco.store import COUNT, SHA256, Kind, Schema, array_of
from lagco.store.tensors import JoinedRows

_STATE: Schema = {"type": "object"}
CHECKPOINT_KIND = Kind(
    format="lagco-checkpoint",
    version=3,
    noun="a checkpoint",
    remedy="remove the folder and train again",
    finite=False,  # a diverged run can be continued, too
    most_bytes=1 << 36,
    schema={
        "required": [
            *("identity", "steps", "updates", "numpy", "python", "env"),
            *("scorer", "validation", "extra"),
        ],
        "additionalProperties": False,
        "properties": {
            "identity": SHA256,
            "steps": COUNT,
            "updates": COUNT,
            "numpy": {
                "type": "array",
                "prefixItems": [COUNT, COUNT, {"type": "number"}],
                "minItems": 3,
                "maxItems": 3,
            },
            "python": {
                "type": "array",
                "prefixItems": [
                    {"const": 3},
                    array_of(COUNT),
                    {"type": ["number", "null"]},
                ],
                "minItems": 3,
                "maxItems": 3,
            },
            "env": _STATE,
            "scorer": {"type": ["object", "null"]},
            "validation": {"type": ["object", "null"]},
            "extra": {"type": ["object", "null"]},
        },
    },
)
#: errors of states that do not fit the run
_MISFITS = (LookupError, TypeError, ValueError, ArithmeticError, AttributeError, RuntimeError)


def save_checkpoint(
    path: str | Path,
    model: BaseAlgorithm,
    env: ProblemVecEnv,
    identity: str,
    scorer: Scorer | None = None,
    validation: Validation | None = None,
) -> None:
    """Write the state of a run between two rollouts.

    Args:
        path: the file; replaced atomically.
        model: the model.
        env: its environment.
        identity: hash of the run; only the same run can continue from the file.
        scorer: scorer of the decoder ``scored``, if that is trained.
        validation: holds the best weights so far; None for a run without.
    """
    arrays: dict[str, Array | JoinedRows] = {}
    arrays |= module_arrays("policy", model.policy, model.policy.optimizer)
    if scorer is not None:
        arrays |= module_arrays("scorer", scorer.network, scorer.optimizer)
    if validation is not None:
        arrays |= {f"best/{name}": array for name, array in validation.weights.items()}
    arrays["rng/torch"] = torch.get_rng_state().numpy()
    if model.device.type == "cuda":
        arrays["rng/cuda"] = torch.cuda.get_rng_state(model.device).numpy()
    kind, keys, position, has_gauss, gauss = np.random.get_state()
    assert kind == "MT19937"
    arrays["rng/numpy"] = np.asarray(keys)
    arrays["observations"] = np.asarray(model._last_obs)
    arrays["episode_starts"] = np.asarray(model._last_episode_starts)
    header: dict[str, Any] = {
        "identity": identity,
        "steps": int(model.num_timesteps),
        "updates": int(getattr(model, "_n_updates", 0)),
        "numpy": [int(position), int(has_gauss), float(gauss)],
        "python": list(random.getstate()),
        "env": env.state(),
        "scorer": None if scorer is None else scorer.state(),
        "validation": None if validation is None else validation.state(),
        "extra": None,
    }
    if isinstance(model, StatefulModel):
        header["extra"] = model.extra_state()
        arrays |= {f"extra/{name}": array for name, array in model.extra_arrays().items()}
    CHECKPOINT_KIND.write_with_header(path, header, arrays)


def restore_checkpoint(
    path: str | Path,
    model: BaseAlgorithm,
    env: ProblemVecEnv,
    identity: str,
    scorer: Scorer | None = None,
    validation: Validation | None = None,
) -> int:
    """Restore the state of a run in a new model and environment; returns the steps done."""
    file = CHECKPOINT_KIND.read_with_header(path)
    header, arrays = file.content, file.tensors
    if header["identity"] != identity:
        raise LagcoError(
            f"{path}: belongs to a run with another configuration or other data; choose another "
            "folder or remove it"
        )
    try:
        restore_module("policy", model.policy, model.policy.optimizer, arrays)
        if scorer is not None:
            restore_module("scorer", scorer.network, scorer.optimizer, arrays)
            scorer.restore(header["scorer"])
        if validation is not None:
            validation.restore(header["validation"], _under("best/", arrays))
        model._last_obs = env.restore(header["env"])
        if isinstance(model, StatefulModel):
            model.restore_extra(header["extra"] or {}, _under("extra/", arrays))
        if not np.array_equal(model._last_obs, arrays["observations"]):
            raise ValueError("replaying its episodes leads to other observations")
        model._last_episode_starts = arrays["episode_starts"].copy()
        model.num_timesteps = int(header["steps"])
        model._n_updates = int(header["updates"])
        # random states come last: building and replaying draws from them
        position, has_gauss, gauss = header["numpy"]
        np.random.set_state(("MT19937", arrays["rng/numpy"], position, has_gauss, gauss))
        kind, state, cached = header["python"]
        random.setstate((kind, tuple(state), cached))
        torch.set_rng_state(torch.from_numpy(arrays["rng/torch"].copy()))
        if model.device.type == "cuda" and "rng/cuda" in arrays:
            torch.cuda.set_rng_state(torch.from_numpy(arrays["rng/cuda"].copy()), model.device)
    except _MISFITS as error:
        raise LagcoError(f"{path}: cannot continue from this checkpoint ({error})") from error
    return int(header["steps"])


def _under(prefix: str, arrays: Mapping[str, Array]) -> dict[str, Array]:
    """Arrays whose names have a prefix, by their names without it."""
    return {
        name.removeprefix(prefix): array
        for name, array in arrays.items()
        if name.startswith(prefix)
    }


def module_arrays(prefix: str, module: Any, optimiser: Any) -> dict[str, Array]:
    """Weights of a module and the state of its optimiser."""
    arrays = {
        f"{prefix}/{name}": t.detach().cpu().numpy() for name, t in module.state_dict().items()
    }
    for number, state in optimiser.state_dict()["state"].items():
        for key, value in state.items():
            arrays[f"{prefix}.optimiser/{number}/{key}"] = torch.as_tensor(value).cpu().numpy()
    return arrays


def load_module(prefix: str, module: Any, arrays: Mapping[str, Array]) -> None:
    """Load the weights ``prefix/…`` into a module."""
    weights = _under(f"{prefix}/", arrays)
    module.load_state_dict({name: torch.from_numpy(a.copy()) for name, a in weights.items()})


def restore_module(prefix: str, module: Any, optimiser: Any, arrays: Mapping[str, Array]) -> None:
    """The inverse of :func:`module_arrays`."""
    load_module(prefix, module, arrays)
    content = optimiser.state_dict()
    content["state"] = {}
    for name, array in arrays.items():
        if name.startswith(f"{prefix}.optimiser/"):
            _, number, key = name.split("/")
            state = content["state"].setdefault(int(number), {})
            state[key] = torch.from_numpy(array.copy())
    optimiser.load_state_dict(content)
