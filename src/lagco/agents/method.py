"""What a method has to say: its environment, its model, and how its weights decide."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np
from stable_baselines3.common.base_class import BaseAlgorithm

from lagco.agents.config import TrainConfig
from lagco.agents.vector_env import ProblemVecEnv
from lagco.arrays import Array
from lagco.core.env import ContinuousEnv
from lagco.core.problem import Problem
from lagco.instances import Instance
from lagco.latent.decoder import Decoder
from lagco.latent.space import LatentSpace
from lagco.store import Schema, Tensors

Weights: TypeAlias = Mapping[str, Array]


class Actor(Protocol):
    """Decides in one environment; made anew for every environment."""

    def act(self, rng: np.random.Generator, explore: bool) -> Any:
        """A raw action for the present state; with `explore` sampled, else the mode."""
        ...


class Method(Protocol):
    """One of the seven methods.

    A trained agent is `weights` (arrays) and `facts` (JSON values); `actor` decides with nothing
    else but these and the latent space, without torch.
    """

    name: str
    #: whether it sees problems through a latent space
    latent: bool
    #: JSON schema of its facts
    facts_schema: Schema

    def env(
        self,
        problem: type[Problem],
        instances: Sequence[Instance],
        space: LatentSpace | None,
        config: TrainConfig,
        pad_to: Sequence[Instance] = (),
    ) -> ProblemVecEnv:
        """The training environment; a padded one reserves the maxima over `pad_to` too."""
        ...

    def model(self, env: ProblemVecEnv, config: TrainConfig) -> BaseAlgorithm:
        """The untrained model on that environment."""
        ...

    def weights(self, model: BaseAlgorithm) -> dict[str, Array]:
        """The arrays that decide; the model's own, not copies."""
        ...

    def facts(self, env: ProblemVecEnv) -> dict[str, Any]:
        """JSON values that deciding needs beside the weights (padding widths, …)."""
        ...

    def check(self, tensors: Tensors, facts: Mapping[str, Any], space: LatentSpace | None) -> None:
        """Take from a file the arrays that decide; refuse those that do not fit what is known."""
        ...

    def actor(
        self,
        env: ContinuousEnv,
        weights: Weights,
        facts: Mapping[str, Any],
        space: LatentSpace | None,
        decoder: Decoder | None,
    ) -> Actor:
        """Something that decides in `env`; `decoder` overrides how points are decoded."""
        ...
