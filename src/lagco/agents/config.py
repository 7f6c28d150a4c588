"""Configuration of a training run."""

from __future__ import annotations

import dataclasses
import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from lagco.errors import UsageError, suggest

METHODS = (
    "projection",
    "soft-projection",
    "iterative",
    "p-discrete",
    "p-discrete-m",
    "g-discrete",
    "g-discrete-m",
)
STRATEGIES = ("small", "medium", "large", "varied")
PRESETS = ("default", "paper")


@dataclass(frozen=True)
class TrainConfig:
    """Everything that determines a training run beside its data.

    Attributes:
        method: one of the seven.
        strategy: ``varied`` trains on all instances; ``small``, ``medium`` and ``large`` on one.
        steps: environment steps.
        seed: everything random follows from it.
        features: ``full`` or ``paper``.
        preset: ``paper`` rotates instances and updates targets as the paper does.
        envs: environments stepped together.
        decoder: ``nearest``, ``sampled``, ``rule:module:function``, ``scored`` or ``preview``.
        k: how many of the nearest actions a decoder chooses among.
        hidden: widths of the hidden layers of policy, value and Q networks.
        learning_rate: of Adam.
        anneal: let the learning rate of PPO fall to 0 in a straight line over the run.
        batch_size: transitions per gradient step.
        gamma: discount.
        rollout: transitions per PPO update, over all environments.
        epochs: passes over a rollout.
        entropy: weight of the entropy bonus.
        log_std: logarithm of the deviation with which `projection` begins to explore.
        gae_lambda: of the advantage estimate.
        clip: PPO's clipping range.
        max_grad_norm: gradients are cut to this norm.
        weight_decay: of Adam.
        scale_rewards: multiply rewards by the episode length, so that a step weighs the same in a
            small and in a large instance.
        shaped_rewards: learn from ``Problem.shaped_reward`` instead of the reward.
        n_step: length of the returns that Q is fitted to (`iterative` and the scorer).
        buffer: transitions that `iterative` remembers.
        train_every: environment steps per gradient step of `iterative`.
        target_every: environment steps between target updates of `iterative`.
        tau: share of the new weights in a target update.
        exploration: share of the steps over which `iterative`'s epsilon falls from 1 to 0.05.
    """

    method: str = "projection"
    strategy: str = "varied"
    steps: int = 100_000
    seed: int = 0
    features: str = "full"
    preset: str = "default"
    envs: int = 8
    decoder: str = "nearest"
    k: int = 10
    hidden: tuple[int, ...] = (128, 64)
    learning_rate: float = 1e-3
    anneal: bool = False
    batch_size: int = 64
    gamma: float = 0.9
    rollout: int = 2048
    epochs: int = 10
    entropy: float = 0.01
    log_std: float = 0.0
    gae_lambda: float = 0.95
    clip: float = 0.2
    max_grad_norm: float = 0.5
    weight_decay: float = 1e-4
    scale_rewards: bool = True
    shaped_rewards: bool = True
    n_step: int = 5
    buffer: int = 50_000
    train_every: int = 4
    target_every: int = 1000
    tau: float = 1.0
    exploration: float = 0.5

    def __post_init__(self) -> None:
        for field in fields(self):
            _check_type(field.name, getattr(self, field.name), getattr(TrainConfig, field.name))
        for name, known in (
            ("method", METHODS),
            ("strategy", STRATEGIES),
            ("preset", PRESETS),
            ("features", ("full", "paper")),
        ):
            if getattr(self, name) not in known:
                raise UsageError(suggest(name, getattr(self, name), known))
        for name in _COUNTS:
            if getattr(self, name) < 1:
                raise UsageError(f"{name}={getattr(self, name)}: at least 1")
        if self.seed < 0:
            raise UsageError(f"seed={self.seed}: seeds are not negative")
        if self.decoder != "nearest":
            if self.method not in ("projection", "soft-projection"):
                raise UsageError(f"decoder={self.decoder!r}: {self.method} does not decode points")
            from lagco.latent.decoder import Decoder

            Decoder(self.decoder, self.k)  # says what is wrong with them
        for name in ("gamma", "gae_lambda", "tau", "exploration"):
            if not 0.0 <= getattr(self, name) <= 1.0:
                raise UsageError(f"{name}={getattr(self, name)}: between 0 and 1")
        for name in ("learning_rate", "clip", "max_grad_norm"):
            if not 0.0 < getattr(self, name) < math.inf:
                raise UsageError(f"{name}={getattr(self, name)}: a positive number")
        if any(width < 1 for width in self.hidden):
            raise UsageError(f"hidden={list(self.hidden)}: widths of at least 1")
        if self.batch_size < 2 and self.method != "iterative":
            raise UsageError(f"batch_size={self.batch_size}: at least 2, advantages are normalised")
        if self.rollout % self.envs:
            raise UsageError(
                f"rollout={self.rollout} is not a multiple of envs={self.envs}; every environment "
                "contributes the same number of steps"
            )

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return dataclasses.asdict(self) | {"hidden": list(self.hidden)}


def _check_type(name: str, value: Any, default: Any) -> None:
    """Refuse a value of another kind than the default; whole numbers do for real ones."""
    if isinstance(default, bool):
        fits, wanted = isinstance(value, bool), "true or false"
    elif isinstance(default, int):
        fits, wanted = isinstance(value, int) and not isinstance(value, bool), "a whole number"
    elif isinstance(default, float):
        fits = isinstance(value, int | float) and not isinstance(value, bool)
        wanted = "a number"
    elif isinstance(default, tuple):
        fits = isinstance(value, tuple) and all(type(width) is int for width in value)
        wanted = "whole numbers in brackets"
    else:
        fits, wanted = isinstance(value, type(default)), "text in quotes"
    if not fits:
        raise UsageError(f"{name}={value!r}: give {wanted}")


#: numbers that are at least 1
_COUNTS = (
    *("steps", "envs", "k", "batch_size", "rollout", "epochs", "n_step", "buffer"),
    *("train_every", "target_every"),
)

#: what a method changes in the defaults, and what the preset `paper` then changes
_METHOD_DEFAULTS: dict[str, dict[str, Any]] = {
    # a bonus per dimension would keep the noise of a wide Gaussian from ever falling
    "projection": {"entropy": 0.0, "log_std": -1.0},
    "soft-projection": {
        "entropy": 0.001,
        "gamma": 0.95,
        "gae_lambda": 0.9,
        "batch_size": 256,
        "anneal": True,
    },
    "iterative": {"learning_rate": 1e-4, "batch_size": 32, "gamma": 0.95},
}
#: with `paper` features, from which less can be told, the mode else turns in circles
_WITH_PAPER_FEATURES: dict[str, dict[str, Any]] = {"projection": {"anneal": True}}
_PAPER: dict[str, Any] = {"scale_rewards": False, "shaped_rewards": False}
_PAPER_METHODS: dict[str, dict[str, Any]] = {
    "iterative": {"tau": 0.05, "target_every": 10_000},
    **{
        method: {"anneal": False}
        | {name: getattr(TrainConfig, name) for name in _METHOD_DEFAULTS[method]}
        for method in ("projection", "soft-projection")
    },
}


def train_config(file: str | Path | None = None, **given: Any) -> TrainConfig:
    """The configuration of a run: defaults of method and preset, then a TOML file, then `given`.

    Entries of `given` that are None count as not given. An unknown key is an error.
    """
    values = {} if file is None else _read_toml(Path(file))
    values |= {name: value for name, value in given.items() if value is not None}
    known = [field.name for field in fields(TrainConfig)]
    for name in values:
        if name not in known:
            raise UsageError(suggest("configuration key", name, known))
    method = str(values.get("method", TrainConfig.method))
    base = dict(_METHOD_DEFAULTS.get(method, {}))
    if values.get("features") == "paper":
        base |= _WITH_PAPER_FEATURES.get(method, {})
    if values.get("preset") == "paper":
        base |= _PAPER | _PAPER_METHODS.get(method, {}) | {"features": "paper"}
    if isinstance(values.get("hidden"), list):
        values["hidden"] = tuple(values["hidden"])
    return replace(TrainConfig(), **(base | values))


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        content: Mapping[str, Any] = tomllib.loads(path.read_text())
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error})") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: not TOML ({error})") from error
    return dict(content)
