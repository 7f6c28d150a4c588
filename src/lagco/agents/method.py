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
class PlotStyle:
    """Colour, symbol and dash of a method in figures.

    Attributes:
        colour: of lines and marks, ``#rrggbb``.
        symbol: of marks, in Plotly's names.
        dash: of lines, in Plotly's names.
    """

    colour: str
    symbol: str
    dash: str = "solid"


class Actor(Protocol):
    """Decides in one environment; there is one actor per environment."""

    def act(self, rng: np.random.Generator, explore: bool) -> Any:
        """A raw action for the present state; with `explore` sampled, else the mode."""
        ...


@runtime_checkable
class ClockedActor(Actor, Protocol):
    """An actor that reports when the parts of its decisions end, so that they can be timed.

    Attributes:
        ended: called with the name of a part (``encode``, ``search``, …) as it ends; None by
            default.
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
        """JSON values of that state."""
        ...

    def extra_arrays(self) -> Mapping[str, Array | JoinedRows]:
        """Arrays of that state."""
        ...

    def restore_extra(self, state: Mapping[str, Any], arrays: Mapping[str, Array]) -> None:
        """Restore both."""
        ...


@runtime_checkable
class AdoptingModel(Protocol):
    """A model with copies of its weights that must follow them: averages, a target network."""

    def adopted(self, weights: Weights) -> None:
        """Update the copies; called when a run has loaded the `weights` of another agent."""
        ...


class Method(ABC):
    """A way to learn to decide, and to decide.

    A method is one module with one object of this class, and one line in a registry. Commands,
    studies and reports know it only through this interface. A trained agent is `weights` (arrays)
    and `facts` (JSON values); :meth:`actor` decides with nothing else but these and the latent
    space.

    Attributes:
        name: as used in commands and files.
        label: as shown in tables and figures.
        style: of lines and marks in figures.
        config: dataclass of its settings, with their defaults and those of the preset ``paper``.
        latent: whether it sees problems through a latent space.
        padded: whether it reserves room for the largest instance.
        metric: by which its proto-actions are decoded; None for a method without proto-actions.
        taught: whether it imitates a teacher.
        facts_schema: JSON schema of its facts.
    """

    name: str
    label: str
    style: PlotStyle
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
        """Raise UsageError for data or settings the method cannot train with, before any work."""

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
        """Take the arrays that decide from a file; refuse shapes that do not fit facts or space."""

    @abstractmethod
    def actor(
        self,
        env: ContinuousEnv,
        weights: Weights,
        facts: Mapping[str, Any],
        space: LatentSpace | None,
        decoder: Decoder | None,
    ) -> Actor:
        """An actor in `env`; `decoder` replaces the default decoder of proto-actions."""

    def needed(self, space: LatentSpace | None) -> LatentSpace:
        """`space`, or a UsageError where it is missing."""
        if space is None:
            raise UsageError(f"{self.name} needs a latent space")
        return space

    def __repr__(self) -> str:
        return f"<method {self.name!r}>"
