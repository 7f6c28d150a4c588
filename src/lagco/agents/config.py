"""Configuration of a training run: fields that all methods share, and fields of the PPO methods.

Every method has a dataclass of its own that derives from these; its defaults are the library's,
``paper`` holds what the preset of that name changes, and ``released`` what the configuration that
the paper was released with changes in that.
"""

from __future__ import annotations

import dataclasses
import math
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, ClassVar, Self

from lagco.core.problem import FEATURE_SETS
from lagco.embedding.devices import DEVICES
from lagco.errors import LagcoError, UsageError, suggest
from lagco.store import read_toml

STRATEGIES = ("small", "medium", "large", "varied")
PRESETS = ("default", "paper", "released")
#: in the order of their numbers in bundles
ACTIVATIONS = ("leaky_relu", "relu", "tanh", "elu")


def setting(
    default: Any,
    meaning: str,
    *,
    least: float | None = None,
    most: float | None = None,
    above: float | None = None,
    choices: tuple[str, ...] = (),
    identity: bool = True,
) -> Any:
    """A field of a configuration: its default, a sentence for its help, and its limits.

    A run can be continued with another value of a setting that is not part of its `identity`.
    """
    limits = {"meaning": meaning, "least": least, "most": most, "above": above, "choices": choices}
    return field(default=default, metadata=limits | {"identity": identity})


def with_default(config: type[TrainConfig], name: str, default: Any) -> Any:
    """A field of another configuration with another default."""
    return field(default=default, metadata=config.__dataclass_fields__[name].metadata)


@dataclass(frozen=True)
class TrainConfig:
    """Settings that every method has; each method's own configuration derives from it."""

    #: name of the method
    method: ClassVar[str]
    #: what the preset `paper` changes
    paper: ClassVar[Mapping[str, Any]] = {
        "scale_rewards": False,
        "shaped_rewards": False,
        "normalised_rewards": True,
        "rotate_every": 100,
    }
    #: what `released` changes in `paper`
    released: ClassVar[Mapping[str, Any]] = {}

    strategy: str = setting(
        "varied",
        "varied trains on all instances; small, medium and large on one",
        choices=STRATEGIES,
    )
    steps: int = setting(100_000, "environment steps", least=1, identity=False)
    seed: int = setting(42, "seed of everything random", least=0)
    features: str = setting("full", "feature set", choices=FEATURE_SETS)
    preset: str = setting(
        "default",
        "paper: what the paper's text says; released: what its released configuration says",
        choices=PRESETS,
    )
    envs: int = setting(8, "environments stepped together", least=1)
    rollout: int = setting(
        2048, "steps between two rows of the learning curve; of PPO, between two updates", least=1
    )
    hidden: tuple[int, ...] = setting((128, 64), "widths of the hidden layers", least=1)
    learning_rate: float = setting(1e-3, "learning rate of Adam", above=0.0)
    batch_size: int = setting(64, "transitions per gradient step", least=1)
    gamma: float = setting(0.9, "discount", least=0.0, most=1.0)
    max_grad_norm: float = setting(0.5, "norm that gradients are cut to", above=0.0)
    weight_decay: float = setting(1e-4, "weight decay of Adam", least=0.0)
    scale_rewards: bool = setting(
        True, "multiply rewards by the episode length, so that steps weigh the same at every size"
    )
    shaped_rewards: bool = setting(True, "learn from Problem.shaped_reward instead of the reward")
    normalised_rewards: bool = setting(
        False, "map rewards to 0 … 1 by the least and the largest of the run so far"
    )
    stop_at_best: bool = setting(True, "end training episodes at the best value of the sweeps")
    rotate_every: int = setting(
        0,
        "episodes after which all environments change to another instance, drawn at random; with "
        "0 every episode takes the next instance of a shuffled round",
        least=0,
    )
    evaluate_every: int = setting(
        10_000, "steps between evaluations on the validation instances", least=1
    )
    patience: int = setting(
        0,
        "evaluations without a better one after which training stops; 0 for never",
        least=0,
        identity=False,
    )
    device: str = setting(
        "cpu",
        "where torch pre-trains and updates: cpu, cuda, or auto for cuda where there is one",
        choices=DEVICES,
        identity=False,
    )

    def __post_init__(self) -> None:
        for entry in fields(self):
            _check(entry, getattr(self, entry.name))

    @classmethod
    def preset_values(cls, preset: str, features: str) -> dict[str, Any]:
        """Values that differ from the defaults for a preset or a feature set."""
        if preset == "default":
            return {}
        values = {"features": "paper", **cls.paper}
        return {**values, **cls.released} if preset == "released" else values

    @property
    def tunes_encoder(self) -> bool:
        """Whether the encoder is trained together with the policy."""
        return False

    def as_dict(self) -> dict[str, Any]:
        """JSON values."""
        plain = {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in dataclasses.asdict(self).items()
        }
        return {"method": self.method, **plain}

    def identity(self) -> dict[str, Any]:
        """JSON values of the settings that a run can only be continued with unchanged."""
        others = {entry.name for entry in fields(self) if not entry.metadata["identity"]}
        return {name: value for name, value in self.as_dict().items() if name not in others}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """The inverse of :meth:`as_dict`; unknown names and wrong values are errors."""
        known = [entry.name for entry in fields(cls)]
        for name in values:
            if name not in (*known, "method"):
                raise UsageError(
                    suggest(f"setting of {cls.method}", name, known) + _elsewhere(name)
                )
        given: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in values.items()
            if name != "method"
        }
        return cls(**given)


@dataclass(frozen=True)
class PPOConfig(TrainConfig):
    """Settings of the methods that learn by PPO."""

    released: ClassVar[Mapping[str, Any]] = {"epochs": 20}

    epochs: int = setting(10, "passes over a rollout", least=1)
    entropy: float = setting(0.01, "weight of the entropy bonus", least=0.0)
    gae_lambda: float = setting(0.95, "lambda of the advantage estimate", least=0.0, most=1.0)
    clip: float = setting(0.2, "clipping range", above=0.0)
    activation: str = setting(
        "leaky_relu", "activation between the layers of policy and value", choices=ACTIVATIONS
    )
    anneal: bool = setting(False, "let the learning rate fall to 0 in a straight line over the run")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.batch_size < 2:
            raise UsageError(f"batch_size={self.batch_size}: at least 2, advantages are normalised")
        if self.rollout % self.envs:
            raise UsageError(
                f"rollout={self.rollout} is not a multiple of envs={self.envs}; every environment "
                "contributes the same number of steps"
            )


def train_config(file: str | Path | None = None, **given: Any) -> TrainConfig:
    """The configuration of a run: defaults of method and preset, then a TOML file, then `given`.

    Entries of `given` that are None count as not given. An unknown name is an error.
    """
    values = {} if file is None else read_toml(file)
    try:
        return _made_config(values, given)
    except LagcoError as error:
        if file is None:
            raise
        raise UsageError(f"{file}: {error}") from error


def _made_config(values: dict[str, Any], given: Mapping[str, Any]) -> TrainConfig:
    from lagco.agents.registry import method_of

    values |= {name: value for name, value in given.items() if value is not None}
    kind = method_of(str(values.get("method", "projection"))).config
    preset, features = str(values.get("preset", "default")), str(values.get("features", "full"))
    return kind.from_dict(kind.preset_values(preset, features) | values)


def _check(entry: dataclasses.Field[Any], value: Any) -> None:
    """Raise UsageError for a value of another type than the default, or outside its limits."""
    name, default, limits = entry.name, entry.default, entry.metadata
    if isinstance(default, bool):
        fits, wanted = isinstance(value, bool), "true or false"
    elif isinstance(default, int):
        fits, wanted = isinstance(value, int) and not isinstance(value, bool), "a whole number"
    elif isinstance(default, float):
        fits = isinstance(value, int | float) and not isinstance(value, bool)
        fits, wanted = fits and math.isfinite(value), "a number"
    elif isinstance(default, tuple):
        fits = isinstance(value, tuple) and all(type(width) is int for width in value)
        wanted = "whole numbers in brackets"
    else:
        fits, wanted = isinstance(value, type(default)), "text in quotes"
    if not fits:
        raise UsageError(f"{name}={value!r}: give {wanted}")
    if limits.get("choices") and value not in limits["choices"]:
        raise UsageError(suggest(name, value, limits["choices"]))
    least, most, above = limits.get("least"), limits.get("most"), limits.get("above")
    numbers = value if isinstance(value, tuple) else (value,)
    shown = list(value) if isinstance(value, tuple) else value
    if least is not None and most is not None:
        if not all(least <= number <= most for number in numbers):
            raise UsageError(f"{name}={shown}: between {least:g} and {most:g}")
    elif least is not None and not all(number >= least for number in numbers):
        raise UsageError(f"{name}={shown}: at least {least:g}")
    if above is not None and not all(number > above for number in numbers):
        raise UsageError(f"{name}={shown}: more than {above:g}")


def _elsewhere(name: str) -> str:
    """End of a message that names the other methods which have a setting."""
    from lagco.agents.registry import METHODS

    others = [
        other.name
        for other in METHODS.values()
        if name in {entry.name for entry in fields(other.config)}
    ]
    have = "has" if len(others) == 1 else "have"
    return f"; {', '.join(others)} {have} {name!r}" if others else ""


def applicable_settings(method: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """Those of `values`, given for several methods, that one method has.

    Raises:
        UsageError: no method has a setting of that name.
    """
    from lagco.agents.registry import METHODS

    own = {entry.name for entry in fields(METHODS[method].config)}
    for name in set(values) - own:
        known = {entry.name for other in METHODS.values() for entry in fields(other.config)}
        if name not in known:
            raise UsageError(suggest("setting", name, sorted(known)))
    return {name: value for name, value in values.items() if name in own}


def parse_settings(entries: Iterable[str]) -> dict[str, Any]:
    """Settings from ``name=value`` texts, the values spelled as in TOML."""
    found: dict[str, Any] = {}
    for entry in entries:
        name, equals, text = entry.partition("=")
        if not equals:
            raise UsageError(f"{entry!r}: give NAME=VALUE, such as entropy=0.01")
        try:
            found[name.strip()] = tomllib.loads(f"value = {text}")["value"]
        except tomllib.TOMLDecodeError:
            found[name.strip()] = text.strip()
    return found
