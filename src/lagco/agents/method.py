"""The interface of a method: its traits, its configuration, its model, and how it decides."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, runtime_checkable

import numpy as np

from lagco.agents.config import TrainConfig
from lagco.arrays import Array
from lagco.core.env import ContinuousEnv
from lagco.core.problem import Problem
from lagco.errors import UsageError
from lagco.instances import Instance
from lagco.latent.decoder import Decoder
from lagco.latent.space import LatentSpace, LatentView
from lagco.search import Metric
from lagco.store import Schema, Tensors
from lagco.store.tensors import JoinedRows

if TYPE_CHECKING:
    from stable_baselines3.common.base_class import BaseAlgorithm

    from lagco.agents.training.vector_env import ProblemVecEnv

Weights: TypeAlias = Mapping[str, Array]
#: JSON schema of the facts of a method that needs none
NO_FACTS: Schema = {"type": "object", "additionalProperties": False}


@dataclass(frozen=True)
class Look:
    """The look of a method in figures.

    Attributes:
        colour: of lines and marks, ``#rrggbb``.
        symbol: of marks, in Plotly's names.
        dash: of lines, in Plotly's names.
    """

    colour: str
    symbol: str
    dash: str = "solid"


class Actor(Protocol):
    """Decides in one environment; made anew for every environment."""

    def act(self, rng: np.random.Generator, explore: bool) -> Any:
        """A raw action for the present state; with `explore` sampled, else the mode."""
        ...


@runtime_checkable
class ClockedActor(Actor, Protocol):
    """An actor that says when the parts of its decisions end, to whoever times them.

    Attributes:
        ended: called with the name of every part of a decision as it ends; None by default.
    """

    ended: Callable[[str], None] | None


@runtime_checkable
class LatentActor(Actor, Protocol):
    """An actor that sees its environment through a latent space.

    Attributes:
        view: of the environment.
    """

    view: LatentView


@runtime_checkable
class StatefulModel(Protocol):
    """A model with more state than its networks, optimiser and environment: a replay buffer, say.

    Checkpoints hold it, and are written less often.
    """

    def extra_state(self) -> dict[str, Any]:
        """Plain values of that state."""
        ...

    def extra_arrays(self) -> Mapping[str, Array | JoinedRows]:
        """Arrays of that state."""
        ...

    def restore_extra(self, state: Mapping[str, Any], arrays: Mapping[str, Array]) -> None:
        """Continue from both."""
        ...


@runtime_checkable
class AdoptingModel(Protocol):
    """A model that keeps more of its weights than the arrays that decide: averages, a target."""

    def adopted(self, weights: Weights) -> None:
        """Called when a run has begun with the weights of another agent, these."""
        ...


class Method(ABC):
    """A way to learn to decide, and to decide.

    A method is one module with one object of this class, and one line in a registry. Commands,
    studies and reports know it only through this interface. A trained agent is `weights` (arrays)
    and `facts` (JSON values); :meth:`actor` decides with nothing else but these and the latent
    space.

    Attributes:
        name: in commands and files.
        label: in tables and figures.
        look: in figures.
        config: dataclass of its settings, with their defaults and those of the preset ``paper``.
        latent: whether it sees problems through a latent space.
        padded: whether it reserves room for the largest instance.
        metric: by which the points that it predicts are decoded; None if it predicts none.
        taught: whether it imitates a teacher.
        facts_schema: JSON schema of its facts.
    """

    name: str
    label: str
    look: Look
    config: type[TrainConfig]
    latent: bool = True
    padded: bool = False
    metric: Metric | None = None
    taught: bool = False
    facts_schema: Schema = NO_FACTS

    @abstractmethod
    def env(
        self,
        problem: type[Problem],
        instances: Sequence[Instance],
        space: LatentSpace | None,
        config: Any,
        pad_to: Sequence[Instance] = (),
    ) -> ProblemVecEnv:
        """The training environment; a padded one reserves the maxima over `pad_to` too."""

    def check_run(  # noqa: B027, most methods can train on all instances
        self, problem: type[Problem], instances: Sequence[Instance], config: Any
    ) -> None:
        """Refuse what the method cannot train with, before anything else takes time."""

    @abstractmethod
    def model(self, env: Any, config: Any) -> BaseAlgorithm:
        """The untrained model on that environment."""

    @abstractmethod
    def weights(self, model: Any) -> dict[str, Array]:
        """The arrays that decide; the model's own, not copies."""

    def facts(self, env: Any) -> dict[str, Any]:
        """JSON values that deciding needs in addition to the weights (padding widths, …)."""
        return {}

    @abstractmethod
    def check(self, tensors: Tensors, facts: Mapping[str, Any], space: LatentSpace | None) -> None:
        """Take from a file the arrays that decide; refuse those that do not fit what is known."""

    @abstractmethod
    def actor(
        self,
        env: ContinuousEnv,
        weights: Weights,
        facts: Mapping[str, Any],
        space: LatentSpace | None,
        decoder: Decoder | None,
    ) -> Actor:
        """An actor in `env`; `decoder` overrides how points are decoded."""

    def needed(self, space: LatentSpace | None) -> LatentSpace:
        """The latent space of a method that sees problems through one."""
        if space is None:
            raise UsageError(f"{self.name} needs a latent space")
        return space

    def __repr__(self) -> str:
        return f"<method {self.name!r}>"
