"""Settings of the studies, and their presets."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cache
from importlib.resources import files
from types import UnionType
from typing import Any, ClassVar, Self, get_args, get_origin, get_type_hints

from lagco.agents.config import PRESETS as TRAINING_PRESETS
from lagco.agents.config import STRATEGIES, TrainConfig
from lagco.agents.registry import method_names, method_of
from lagco.core.problem import FEATURE_SETS
from lagco.errors import UsageError, suggest
from lagco.policies import POLICIES
from lagco.problem_table import ENTRIES
from lagco.problems import problem_class
from lagco.results.measures import MEASURES
from lagco.store import shown

#: seeds of the five runs of a strategy, as in the paper
TRAINING_SEEDS = (42, 100, 123, 200, 300)
#: `projection` with a flat FAISS index over the listed actions instead of the search
FAISS = "faiss-flat"
#: the problem's solver, and simulated annealing, each given an agent's test time
TIMED_SOLVER, ANNEALING = "solver-in-time", "annealing"
TIMED = (TIMED_SOLVER, ANNEALING)
BASELINES = (*POLICIES, "solver", *TIMED)
#: method whose test time these two are given, if the study includes it
PACE = "projection"
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

#: options of generators by which instances are as the paper's released configuration has them
RELEASED_OPTIONS: Mapping[str, Mapping[str, Any]] = {
    "cyber-path": {"profile": "released"},
    "traffic": {"episode_coefficient": 2},
}

# -- properties of methods


def known_methods() -> tuple[str, ...]:
    """Names of all methods: the paper's, in the order of its tables, ours, other packages'."""
    return method_names()


def sees_latent(method: str) -> bool:
    """Whether a method sees problems through an encoder."""
    return method_of(method).latent


def selects(method: str) -> bool:
    """Whether a method searches the whole action set of a state for every decision.

    Taught methods are left out: they search like the method they build on, and their ranker exists
    only after training.
    """
    found = method_of(method)
    return found.latent and not found.padded and not found.taught


def config_class(method: str) -> type[TrainConfig]:
    """Dataclass of the training configuration of a method."""
    return method_of(method).config


# -- settings


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Settings that all studies share.

    Attributes:
        problems: names of problems, or module:Class.
        methods: names of methods.
        features: feature sets: full, paper.
    """

    #: name of the study and of its command
    study: ClassVar[str]
    #: default number of processes; None means one per core; studies that measure time use one
    workers: ClassVar[int | None] = None

    problems: tuple[str, ...] = tuple(ENTRIES)
    methods: tuple[str, ...] = field(default_factory=known_methods)
    features: tuple[str, ...] = ("full",)

    def __post_init__(self) -> None:
        for entry in fields(self):
            value = getattr(self, entry.name)
            if isinstance(value, list):
                object.__setattr__(self, entry.name, tuple(value))
            if isinstance(value, tuple | list) and not value:
                raise UsageError(f"{entry.name}=(): is empty; give at least one")
            hint = get_type_hints(type(self))[entry.name]
            if not _fits(getattr(self, entry.name), hint):
                wanted = str(getattr(entry, "type", hint)).replace("Mapping", "table")
                raise UsageError(f"{entry.name}={shown(value)}: expected {wanted}")
        for problem in self.problems:
            problem_class(problem)
        _among("method", self.methods, self._methods())
        _among("feature set", self.features, FEATURE_SETS)

    def _methods(self) -> tuple[str, ...]:
        """Names that `methods` may hold."""
        return known_methods()

    @classmethod
    def of(cls, preset: str = "default", **given: Any) -> Self:
        """The settings of a preset, overridden by the values given; None leaves one as it is."""
        presets = _presets()[cls.study]
        if preset not in presets:
            raise UsageError(suggest("preset", preset, presets))
        known = [entry.name for entry in fields(cls)]
        for name in given:
            if name not in known:
                raise UsageError(suggest(f"setting of {cls.study}", name, known))
        chosen = {name: value for name, value in given.items() if value is not None}
        return replace(cls(), **(presets[preset] | chosen))

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        found = {entry.name: getattr(self, entry.name) for entry in fields(self)}
        return {
            name: list(v) if isinstance(v, tuple) else dict(v) if isinstance(v, Mapping) else v
            for name, v in found.items()
        }

    def _at_least_one(self, *names: str) -> None:
        for name in names:
            if getattr(self, name) < 1:
                raise UsageError(f"{name}={getattr(self, name)}: must be at least 1")


def _fits(value: Any, hint: Any) -> bool:
    """Whether a value is of an annotated type: names, numbers, tuples and tables of them."""
    kind, inner = get_origin(hint), get_args(hint)
    if kind is UnionType:
        return any(_fits(value, one) for one in inner)
    if kind is tuple:
        return isinstance(value, tuple) and all(_fits(one, inner[0]) for one in value)
    if isinstance(value, bool):
        return hint is bool
    return isinstance(value, int | float if hint is float else kind or hint)


def _among(what: str, values: Iterable[str], known: Iterable[str]) -> None:
    known = list(known)
    for value in values:
        if value not in known:
            raise UsageError(suggest(what, value, known))


@cache
def _presets() -> dict[str, dict[str, dict[str, Any]]]:
    """Values by study and preset."""
    return tomllib.loads(files("lagco.study").joinpath("presets.toml").read_text("utf-8"))


@dataclass(frozen=True, kw_only=True)
class TrainingSettings(Settings):
    """Settings of the studies that train agents.

    Attributes:
        instances: number of instances per problem.
        sizes: sizes of the instances, as in lagco generate; by default the paper's ranges.
        sweeps: number of sweeps for the references; by default the paper's.
        training: preset of the training configuration: default, paper or released.
        config: further fields of the training configuration.
        pretraining: fields of the encoder's pre-training configuration.
    """

    instances: int = 101
    sizes: str | None = None
    sweeps: int | None = None
    training: str = "default"
    config: Mapping[str, Any] = field(default_factory=dict)
    pretraining: Mapping[str, Any] = field(default_factory=dict)

    def options_of(self, problem: str) -> Mapping[str, Any]:
        """Options of the generator of a problem's instances."""
        return RELEASED_OPTIONS.get(problem, {}) if self.training == "released" else {}

    def __post_init__(self) -> None:
        super().__post_init__()
        _among("training preset", (self.training,), TRAINING_PRESETS)
        self._at_least_one("instances")


@dataclass(frozen=True, kw_only=True)
class GeneralizationSettings(TrainingSettings):
    """Train on few instances, test on all others, for every problem, method, strategy and seed.

    Attributes:
        strategies: how training instances are chosen: small, medium, large, varied.
        seeds: training seeds, one run each; the runs of a strategy train on different instances.
        steps: environment steps of a run; every number given adds a run.
        episodes: episodes per test instance.
        policies: baselines: random, greedy, solver (its reference values), and solver-in-time and
            annealing, which are given the time that an agent takes.
    """

    study = "generalization"

    strategies: tuple[str, ...] = STRATEGIES
    seeds: tuple[int, ...] = TRAINING_SEEDS
    steps: tuple[int, ...] = (100_000,)
    episodes: int = 5
    policies: tuple[str, ...] = BASELINES

    def __post_init__(self) -> None:
        super().__post_init__()
        _among("strategy", self.strategies, STRATEGIES)
        _among("policy", self.policies, BASELINES)
        self._at_least_one("episodes")


@dataclass(frozen=True, kw_only=True)
class ScalabilitySettings(Settings):
    """Time decisions and their parts on instances of growing size, and fit power laws.

    Attributes:
        methods: methods that search all actions of a state, and faiss-flat: projection with a flat
            FAISS index over the listed actions in place of our search.
        sizes: sizes for all problems; by default the factors times the paper's largest size.
        factors: sizes as multiples of the paper's largest size.
        decisions: number of decisions to time per size.
        seconds: time limit per size; at least three decisions are timed in any case.
        seed: random seed.
    """

    study = "scalability"
    workers = 1

    methods: tuple[str, ...] = field(
        default_factory=lambda: (*filter(selects, known_methods()), FAISS)
    )
    sizes: tuple[int, ...] | None = None
    factors: tuple[float, ...] = (0.2, 0.4, 0.7, 1.0, 2.0, 4.0, 7.0, 10.0)
    decisions: int = 200
    seconds: float = 30.0
    seed: int = 0

    def _methods(self) -> tuple[str, ...]:
        return (*filter(selects, known_methods()), FAISS)

    def sizes_of(self, problem: str) -> list[int]:
        """Sizes to measure a problem at."""
        if self.sizes is not None:
            return list(self.sizes)
        largest = PAPER_LARGEST.get(problem, problem_class(problem).default_size)
        return sorted({max(5, round(factor * largest)) for factor in self.factors})


@dataclass(frozen=True, kw_only=True)
class TrainingTimeSettings(TrainingSettings):
    """Time full training runs on varied instances, one after another, as in the paper.

    Attributes:
        seeds: training seeds, one run each; every run trains on a different fifth of the instances.
        steps: environment steps of a run.
    """

    study = "training-time"
    workers = 1

    problems: tuple[str, ...] = ("traffic",)
    seeds: tuple[int, ...] = TRAINING_SEEDS
    steps: int = 100_000


@dataclass(frozen=True, kw_only=True)
class ThroughputSettings(TrainingSettings):
    """Measure the steps per second of training and testing for every method.

    Attributes:
        steps: environment steps to time, after a first rollout (three of taught methods).
        cartpole: whether to time SB3's PPO on CartPole for comparison, next to every method.
        seed: random seed.
    """

    study = "throughput"
    workers = 1

    instances: int = 8
    steps: int = 8192
    cartpole: bool = True
    seed: int = 0


@dataclass(frozen=True, kw_only=True)
class EmbeddingsSettings(Settings):
    """Measure (cmp@k) and draw action spaces; compare trained encoders with random ones.

    Attributes:
        size: size of the instances.
        instances: number of instances to measure cmp@k on; as many again pre-train the encoder.
        shown: number of instances to draw.
        drawn_states: number of states of random episodes to draw per instance.
        pretraining: fields of the encoder's pre-training configuration.
        states: number of states for the reconstruction test.
        seed: random seed.
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
class TuneSettings(TrainingSettings):
    """Search for hyper-parameters (TPE) by scores on validation instances.

    A fifth of the instances is for training, a fifth for validation; the best trial is tested on
    the rest.

    Attributes:
        spaces: search spaces: discrete, projection, iterative, gae, or TOML files.
        trials: number of trials per space.
        batch: number of trials proposed together, which can run in parallel.
        steps: environment steps of a trial.
        episodes: episodes per validation instance.
        measure: measure of lagco evaluate to maximise on the validation instances.
        seed: random seed.
    """

    study = "tune"

    problems: tuple[str, ...] = ("tsp",)
    spaces: tuple[str, ...] = ("discrete", "projection", "iterative", "gae")
    trials: int = 25
    batch: int = 5
    steps: int = 20_000
    episodes: int = 5
    measure: str = "score"
    seed: int = 42

    def __post_init__(self) -> None:
        super().__post_init__()
        self._at_least_one("trials", "batch", "episodes")
        _among("measure", (self.measure,), (m for m in MEASURES if m != "gap"))


SETTINGS: dict[str, type[Settings]] = {
    cls.study: cls
    for cls in (
        GeneralizationSettings,
        ScalabilitySettings,
        TuneSettings,
        TrainingTimeSettings,
        ThroughputSettings,
        EmbeddingsSettings,
    )
}


def settings_class(study: str) -> type[Settings]:
    """Class of the settings of a study."""
    if study not in SETTINGS:
        raise UsageError(suggest("study", study, SETTINGS))
    return SETTINGS[study]
