"""`p-discrete`, `p-discrete-m`, `g-discrete`, `g-discrete-m`: one output for every raw action.

PPO over ``Discrete(A)``, where A is the largest number of raw actions of an instance to train on or
to pad to. `p-*` observes padded arrays, `g-*` pooled embeddings of the latent space; `-m` masks
invalid actions. Without a mask, an invalid action, or one that the instance does not have, does not
change the state and costs 10 / episode length.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import gymnasium as gym
import numpy as np

from lagco.agents.config import PPOConfig
from lagco.agents.inference.perceptron import Network, check_width, perceptron, take_network
from lagco.agents.learning.heads import CategoricalHead, MaskedHead
from lagco.agents.learning.ppo import PPO
from lagco.agents.method import Method, PlotStyle, Weights
from lagco.agents.padding.actions import PaddedActions
from lagco.agents.padding.observation import PaddingObservation
from lagco.agents.padding.widths import FACTS, Widths
from lagco.agents.training.latent_env import LatentVecEnv, vec_env_options
from lagco.agents.training.vector_env import ProblemVecEnv
from lagco.arrays import Array
from lagco.core.env import ContinuousEnv
from lagco.core.problem import Problem
from lagco.instances import Instance
from lagco.latent.decoder import Decoder
from lagco.latent.space import LatentSpace
from lagco.store import Schema, Tensors


def without_summary(space: LatentSpace) -> LatentSpace:
    """The space with observations that do not summarise the action set."""
    mean, factor = space.observation_mean, space.observation_factor
    if mean is not None and factor is not None:
        kept = len(mean) - len(space.summary) * space.scale.width
        mean, factor = mean[:kept], factor[:kept]
    return replace(space, summary=(), observation_mean=mean, observation_factor=factor)


class _PaddedActionEnv(ProblemVecEnv):
    """Actions are numbers of raw actions."""

    widths: Widths
    _padded: list[PaddedActions]

    def _slots(self, problem: Problem) -> dict[str, Any]:
        padded = PaddedActions(problem, self.widths.actions)
        return super()._slots(problem) | {"_padded": padded}

    def _raw_action(self, index: int, action: Any) -> Any:
        return self._padded[index].raw(int(action))

    def action_masks(self) -> Array:
        """Valid actions of every problem: bool (N, A)."""
        masks = np.zeros((self.num_envs, self.widths.actions), dtype=bool)
        for padded, mask in zip(self._padded, masks, strict=True):
            padded.mask(mask)
        return masks


class PaddingVecEnv(_PaddedActionEnv):
    """Padded observations, padded actions.

    Args:
        problem: the problem class.
        instances: training instances.
        pad_to: instances to reserve room for beside these; the widths are the maxima over all.
        method: name of the method, for errors.
        options: see :class:`ProblemVecEnv`.
    """

    _seen: list[PaddingObservation]

    def __init__(
        self,
        problem: type[Problem],
        instances: Sequence[Instance],
        pad_to: Sequence[Instance] = (),
        method: str = "a discrete method",
        **options: Any,
    ) -> None:
        features = options.get("features", "full")
        self.widths = Widths.over(problem, [*instances, *pad_to], features, True, method)
        super().__init__(problem, instances, **options)

    def _spaces(self) -> tuple[gym.Space[Any], gym.Space[Any]]:
        for problem in self.problems:
            problem.reset(seed=0)
        self._fill_slots()
        width = self._seen[0].width
        observation_space = gym.spaces.Box(-np.inf, np.inf, (width,), np.float32)
        return observation_space, gym.spaces.Discrete(self.widths.actions)

    def _slots(self, problem: Problem) -> dict[str, Any]:
        seen = PaddingObservation(problem, self.widths)
        return super()._slots(problem) | {"_seen": seen}

    def _observe(self, index: int, out: Array) -> None:
        self._seen[index](out)


class PooledVecEnv(LatentVecEnv, _PaddedActionEnv):
    """Pooled embeddings without the summary of actions, padded actions.

    Args:
        problem: the problem class.
        instances: training instances.
        space: the latent space.
        pad_to: instances to reserve room for beside these; the widths are the maxima over all.
        method: name of the method, for errors.
        options: see :class:`ProblemVecEnv`.
    """

    def __init__(
        self,
        problem: type[Problem],
        instances: Sequence[Instance],
        space: LatentSpace,
        pad_to: Sequence[Instance] = (),
        method: str = "a discrete method",
        **options: Any,
    ) -> None:
        features = options.get("features", "full")
        self.widths = Widths.over(problem, [*instances, *pad_to], features, False, method)
        super().__init__(problem, instances, without_summary(space), Decoder(), **options)

    def _action_space(self) -> gym.Space[Any]:
        return gym.spaces.Discrete(self.widths.actions)


class DiscreteMethod(Method):
    """PPO or MaskablePPO over numbered actions.

    Args:
        name: of the method.
        pooled: observe pooled embeddings (`g-*`) instead of padded arrays (`p-*`).
        masked: mask invalid actions (`-m`).
        style: in figures.
    """

    padded = True

    def __init__(self, name: str, pooled: bool, masked: bool, style: PlotStyle) -> None:
        self.name = self.label = name
        self.style = style
        self.latent = pooled
        self.config = dataclass(frozen=True)(type("DiscreteConfig", (PPOConfig,), {"method": name}))
        self.facts_schema: Schema = FACTS
        self._masked = masked

    def env(
        self,
        problem: type[Problem],
        instances: Sequence[Instance],
        space: LatentSpace | None,
        config: PPOConfig,
        pad_to: Sequence[Instance] = (),
    ) -> ProblemVecEnv:
        options = {**vec_env_options(config), "method": self.name}
        if not self.latent:
            return PaddingVecEnv(problem, instances, pad_to, **options)
        return PooledVecEnv(problem, instances, self.needed(space), pad_to, **options)

    def check_run(
        self, problem: type[Problem], instances: Sequence[Instance], config: PPOConfig
    ) -> None:
        """Check the number of raw actions before an encoder is trained."""
        if self.latent:
            Widths.over(problem, instances, config.features, views=False, method=self.name)

    def model(self, env: ProblemVecEnv, config: PPOConfig) -> PPO:
        assert isinstance(env, _PaddedActionEnv)
        actions, masks = env.widths.actions, env.action_masks
        if self._masked:
            return PPO(env, lambda: MaskedHead(actions, masks), config)
        return PPO(env, lambda: CategoricalHead(actions), config)

    def weights(self, model: PPO) -> dict[str, Array]:
        return model.arrays()

    def facts(self, env: ProblemVecEnv) -> dict[str, Any]:
        assert isinstance(env, _PaddedActionEnv)
        return env.widths.facts()

    def check(self, tensors: Tensors, facts: Mapping[str, Any], space: LatentSpace | None) -> None:
        take_network(tensors, "policy", outputs=facts["actions"])

    def actor(
        self,
        env: ContinuousEnv,
        weights: Weights,
        facts: Mapping[str, Any],
        space: LatentSpace | None,
        decoder: Decoder | None,
    ) -> DiscreteActor:
        """See :class:`~lagco.agents.method.Method`; `decoder` is not used.

        Raises:
            TooLarge: the instance does not fit into what was reserved in training.
        """
        widths = Widths.from_facts(facts)
        widths.check_actions(env)
        network = perceptron(weights, "policy", outputs=widths.actions)
        observe: _Observe
        if self.latent:
            observe = _Pooled(env, self.needed(space))
            check_width("the network 'policy' takes", network.inputs, observe.width)
        else:
            observe = PaddingObservation(env, widths, network.inputs)
        return DiscreteActor(env, network, widths, observe, self._masked)


class _Observe(Protocol):
    width: int

    def __call__(self, out: Array | None = None) -> Array: ...


class _Pooled:
    def __init__(self, env: ContinuousEnv, space: LatentSpace) -> None:
        self._view = without_summary(space).view(env)
        self.width = self._view.observation_width

    def __call__(self, out: Array | None = None) -> Array:
        self._view.refresh()
        return self._view.observation(out)


class DiscreteActor:
    """Takes the action of the largest logit, or samples by softmax; masked, among valid ones.

    Attributes:
        ended: see :class:`~lagco.agents.method.ClockedActor`.
    """

    ended: Callable[[str], None] | None = None

    def __init__(
        self,
        env: ContinuousEnv,
        network: Network,
        widths: Widths,
        observe: _Observe,
        masked: bool,
    ) -> None:
        self._network = network
        self._actions = PaddedActions(env, widths.actions)
        self._observe = observe
        self._masked = masked
        self._observation = np.empty(observe.width, np.float32)

    def act(self, rng: np.random.Generator, explore: bool) -> Any:
        ended = self.ended
        observation = self._observe(self._observation)
        if ended is not None:
            ended("observe")
        logits = self._network(observation)
        if ended is not None:
            ended("policy")
        if explore:
            logits = logits + rng.gumbel(size=len(logits))
        if self._masked:
            logits[~self._actions.mask()] = -np.inf
        action = self._actions.raw(int(np.argmax(logits)))
        if ended is not None:
            ended("choose")
        return action


P_DISCRETE = DiscreteMethod("p-discrete", False, False, PlotStyle("#e69f00", "square-open", "dot"))
P_DISCRETE_M = DiscreteMethod("p-discrete-m", False, True, PlotStyle("#e69f00", "square"))
G_DISCRETE = DiscreteMethod("g-discrete", True, False, PlotStyle("#cc79a7", "diamond-open", "dot"))
G_DISCRETE_M = DiscreteMethod("g-discrete-m", True, True, PlotStyle("#cc79a7", "diamond"))
