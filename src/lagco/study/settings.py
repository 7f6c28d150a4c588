"""What the studies can be told, and the presets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar, Self

from lagco.agents.config import PRESETS as TRAINING_PRESETS
from lagco.agents.config import STRATEGIES
from lagco.agents.registry import METHODS, method_names, method_of
from lagco.core.problem import FEATURE_SETS
from lagco.errors import UsageError, suggest
from lagco.policies import POLICIES
from lagco.problems import problem_class
from lagco.registration import ENTRIES
from lagco.results.measures import MEASURES
from lagco.study.presets import PRESETS

#: of the five runs of a strategy, as in the paper
TRAINING_SEEDS = (42, 100, 123, 200, 300)
#: methods that look for an action among all
SELECTING = ("projection", "soft-projection", "iterative")
FAISS = "faiss-flat"
BASELINES = (*POLICIES, "solver")
#: the largest main dimension of the paper's ranges
PAPER_LARGEST = {
    "tsp": 100,
    "min-vertex": 50,
    "max-cut": 100,
    "placement": 50,
    "ospf": 30,
    "traffic": 25,
    "cyber-path": 20,
}


def sees_latent(method: str) -> bool:
    """Whether a method sees problems through an encoder."""
    return method_of(method).latent


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What all studies have in common.

    Attributes:
        problems: names, or ``module:Class``.
        methods: among the seven.
        features: feature sets.
    """

    #: of the study, as its command is called
    study: ClassVar[str]

    problems: tuple[str, ...] = tuple(ENTRIES)
    methods: tuple[str, ...] = tuple(METHODS)
    features: tuple[str, ...] = ("full",)

    def __post_init__(self) -> None:
        for entry in fields(self):
            value = getattr(self, entry.name)
            if isinstance(value, list):
                object.__setattr__(self, entry.name, tuple(value))
            if isinstance(value, tuple | list) and not value:
                raise UsageError(f"{entry.name}=(): name at least one")
        for problem in self.problems:
            problem_class(problem)
        _among("method", self.methods, self._known_methods())
        _among("feature set", self.features, FEATURE_SETS)

    def _known_methods(self) -> tuple[str, ...]:
        return method_names()

    @classmethod
    def of(cls, preset: str = "default", **given: Any) -> Self:
        """The settings of a preset, changed by what is given; None counts as not given."""
        known_presets = PRESETS[cls.study]
        if preset not in known_presets:
            raise UsageError(suggest("preset", preset, known_presets))
        known = [entry.name for entry in fields(cls)]
        values = dict(known_presets[preset])
        for name, value in given.items():
            if name not in known:
                raise UsageError(suggest(f"setting of {cls.study}", name, known))
            if value is not None:
                values[name] = value
        return replace(cls(), **values)

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        found = {entry.name: getattr(self, entry.name) for entry in fields(self)}
        return {
            name: list(value) if isinstance(value, tuple) else _plain(value)
            for name, value in found.items()
        }


def _plain(value: Any) -> Any:
    return dict(value) if isinstance(value, Mapping) else value


def _among(what: str, values: tuple[str, ...], known: Any) -> None:
    for value in values:
        if value not in known:
            raise UsageError(suggest(what, value, known))


@dataclass(frozen=True, kw_only=True)
class GeneralizationSettings(Settings):
    """The generalisation study; the defaults are the paper's protocol with our training defaults.

    Attributes:
        strategies: which instances runs train on.
        seeds: one run of every strategy each; run number i trains on instances of its own.
        steps: environment steps of a run; several budgets are several runs.
        instances: of every problem.
        sizes: of the instances, as in ``lagco generate``; the paper's ranges by default.
        sweeps: of the references; the paper's number by default.
        episodes: per test instance.
        training: ``default`` or ``paper``: the preset of the training configuration.
        config: further fields of the training configuration.
        pretraining: fields of the encoder's pre-training configuration.
        policies: plain policies to compare with.
    """

    study = "generalization"

    strategies: tuple[str, ...] = STRATEGIES
    seeds: tuple[int, ...] = TRAINING_SEEDS
    steps: tuple[int, ...] = (100_000,)
    instances: int = 101
    sizes: str | None = None
    sweeps: int | None = None
    episodes: int = 5
    training: str = "default"
    config: Mapping[str, Any] = field(default_factory=dict)
    pretraining: Mapping[str, Any] = field(default_factory=dict)
    policies: tuple[str, ...] = BASELINES

    def __post_init__(self) -> None:
        super().__post_init__()
        _among("strategy", self.strategies, STRATEGIES)
        _among("training preset", (self.training,), TRAINING_PRESETS)
        _among("policy", self.policies, BASELINES)
        for name in ("instances", "episodes"):
            if getattr(self, name) < 1:
                raise UsageError(f"{name}={getattr(self, name)}: at least 1")

    @property
    def runs(self) -> list[tuple[int, int]]:
        """Number and seed of the runs of a strategy.

        Some of the paper's seeds keep their numbers, so that a subset of a study is a part of it.
        """
        if set(self.seeds) <= set(TRAINING_SEEDS):
            return [(TRAINING_SEEDS.index(seed), seed) for seed in self.seeds]
        return list(enumerate(self.seeds))


@dataclass(frozen=True, kw_only=True)
class ScalabilitySettings(Settings):
    """How decision times grow with size.

    Attributes:
        methods: those that select among actions, and ``faiss-flat``: `projection` with a flat FAISS
            index over the listed actions instead of the search.
        sizes: what ``lagco bench latency`` calls sizes; by default from a fifth of the paper's
            largest to ten times that.
        decisions: to time per size.
        seconds: spent on a size at most, three decisions at least.
        seed: of states and networks.
    """

    study = "scalability"

    methods: tuple[str, ...] = (*SELECTING, FAISS)
    sizes: tuple[int, ...] | None = None
    factors: tuple[float, ...] = (0.2, 0.4, 0.7, 1.0, 2.0, 4.0, 7.0, 10.0)
    decisions: int = 200
    seconds: float = 30.0
    seed: int = 0

    def _known_methods(self) -> tuple[str, ...]:
        return (*SELECTING, FAISS)

    def sizes_of(self, problem: str) -> list[int]:
        """Sizes to measure a problem at."""
        if self.sizes is not None:
            return list(self.sizes)
        largest = PAPER_LARGEST.get(problem, problem_class(problem).default_size)
        return sorted({max(5, round(factor * largest)) for factor in self.factors})


@dataclass(frozen=True, kw_only=True)
class TrainingTimeSettings(Settings):
    """How fast every method trains and tests.

    Attributes:
        steps: environment steps to time, after a first rollout.
        instances: to train and test on.
        sizes: of the instances; the paper's ranges by default.
        sweeps: of the references; the paper's number by default.
        training: ``default`` or ``paper``: the preset of the training configuration.
        pretraining: fields of the encoder's pre-training configuration.
        cartpole: whether to time SB3's PPO on CartPole beside every method.
        seed: of networks.
    """

    study = "training-time"

    steps: int = 8192
    instances: int = 8
    sizes: str | None = None
    sweeps: int | None = None
    training: str = "default"
    pretraining: Mapping[str, Any] = field(default_factory=dict)
    cartpole: bool = True
    seed: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        _among("training preset", (self.training,), TRAINING_PRESETS)


@dataclass(frozen=True, kw_only=True)
class EmbeddingsSettings(Settings):
    """What the action spaces look like.

    Attributes:
        size: of the instances.
        instances: to measure cmp@k on, and to pre-train the encoder on.
        shown: instances to draw.
        drawn_states: states of random episodes to draw, per instance shown.
        pretraining: fields of the encoder's pre-training configuration.
        states: states to reconstruct from.
        seed: of encoder and states.
    """

    study = "embeddings"

    size: int = 20
    instances: int = 20
    shown: int = 7
    drawn_states: int = 200
    pretraining: Mapping[str, Any] = field(default_factory=dict)
    states: int = 400
    seed: int = 42


@dataclass(frozen=True, kw_only=True)
class TuneSettings(Settings):
    """Search for hyper-parameters; every space is searched by itself.

    Attributes:
        spaces: ``discrete``, ``projection``, ``iterative``, ``gae``, or TOML files.
        trials: per space.
        batch: trials that are chosen together, so that they can run side by side.
        steps: environment steps of a trial.
        instances: a fifth is trained on, another one validates, the others test the best.
        sizes: of the instances; the paper's ranges by default.
        sweeps: of the references; the paper's number by default.
        episodes: per validation instance.
        config: further fields of the training configuration.
        pretraining: fields of the encoder's pre-training configuration.
        measure: what is made large: a measure of ``lagco evaluate`` over the validation instances.
        seed: of the search and of every trial.
    """

    study = "tune"

    problems: tuple[str, ...] = ("tsp",)
    spaces: tuple[str, ...] = ("discrete", "projection", "iterative", "gae")
    trials: int = 25
    batch: int = 5
    steps: int = 20_000
    instances: int = 101
    sizes: str | None = None
    sweeps: int | None = None
    episodes: int = 5
    config: Mapping[str, Any] = field(default_factory=dict)
    pretraining: Mapping[str, Any] = field(default_factory=dict)
    measure: str = "score"
    seed: int = 42

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("trials", "batch"):
            if getattr(self, name) < 1:
                raise UsageError(f"{name}={getattr(self, name)}: at least 1")
        if self.measure not in MEASURES or self.measure == "gap":
            known = [measure for measure in MEASURES if measure != "gap"]
            raise UsageError(suggest("measure", self.measure, known))
