"""A Gymnasium environment in the latent space: a Box of points in, pooled embeddings out."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import gymnasium as gym
import numpy as np

from lagco.arrays import Array
from lagco.core.env import ContinuousEnv, Previews
from lagco.core.problem import Problem
from lagco.embedding.encoder import Encoder
from lagco.errors import ResetNeeded, UsageError
from lagco.latent.decoder import Decoder, plain_action
from lagco.latent.space import LatentSpace, LatentView
from lagco.rollout import policy_stream
from lagco.search import Metric, NoValidAction


class LatentEnv(gym.Wrapper[Array, Array, Any, Any]):
    """An environment whose actions are points of a continuous space.

    Observation: ``Box(observation_width,)``, the problem's declared observation over embeddings,
    and the poolings of the action set. Action: ``Box(low, high, (d,))``, decoded to a valid action
    near it; ``info["action"]`` is the raw action taken. With no valid action left the episode ends.

    Args:
        env: a :class:`~lagco.ContinuousEnv`, wrapped or not.
        space: the latent space.
        decoder: how a point becomes an action.
    """

    def __init__(
        self,
        env: gym.Env[Any, Any],
        space: LatentSpace,
        decoder: Decoder,
    ) -> None:
        super().__init__(env)
        problem = env.unwrapped
        if not isinstance(problem, ContinuousEnv):
            raise UsageError(f"{type(problem).__name__} is not a lagco.ContinuousEnv")
        self._space = space
        self._decoder = decoder
        problem.reset(seed=0)  # many environments have no graph before
        self._view = space.view(problem)
        self._rng = policy_stream(0)
        self._begun = False
        self.action_space = gym.spaces.Box(space.scale.low, space.scale.high, dtype=np.float32)
        self.observation_space = gym.spaces.Box(
            -np.inf, np.inf, (self._view.observation_width,), np.float32
        )

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Array, dict[str, Any]]:
        """Begin an episode; see the environment's own ``reset``."""
        _, info = self.env.reset(seed=seed, options=options)
        if seed is not None:
            self._rng = policy_stream(seed)
        self._view.refresh()
        self._begun = True
        return self._view.observation(), info

    def step(self, action: Array) -> tuple[Array, Any, bool, bool, dict[str, Any]]:
        """Take the valid action that the point is decoded to.

        Raises:
            ResetNeeded: no episode has begun.
        """
        try:
            raw = self.decode(np.asarray(action, dtype=np.float32))
        except NoValidAction as error:
            if not isinstance(self.unwrapped, Problem):
                return self._view.observation(), 0.0, True, False, {"reason": str(error)}
            raw = None  # which ends the episode
        _, reward, terminated, truncated, info = self.env.step(raw)
        self._view.refresh()
        return self._view.observation(), reward, terminated, truncated, {**info, "action": raw}

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_view"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)  # a copy looks at its own environment
        self._view = self._space.view(cast("ContinuousEnv", self.unwrapped))
        if self._begun:
            self._view.refresh()

    def decode(self, proto: Array) -> Any:
        """The raw action that a proto-action (d,) stands for in the present state."""
        if not self._begun:
            raise ResetNeeded(f"{self}: call reset() before step() or decode()")
        return self.decoded(self._view, proto, self._rng)

    def view_of(self, problem: ContinuousEnv) -> LatentView:
        """Another environment in the same latent space."""
        return self._space.view(problem)

    def decoded(self, view: LatentView, proto: Array, rng: np.random.Generator) -> Any:
        """What :meth:`decode` gives in the state of a view."""
        row = self._decoder.choose(view, np.asarray(proto, dtype=np.float32), rng)
        return plain_action(view.raw(row)[0])


def wrap(
    env: gym.Env[Any, Any],
    encoder: Encoder | LatentSpace | str | Path,
    *,
    decoder: str = "nearest",
    k: int = 10,
    metric: Metric = "cosine",
    reduce: int | None = None,
    seed: int = 42,
) -> LatentEnv:
    """Wrap an environment into its latent space.

    Args:
        env: a :class:`~lagco.ContinuousEnv`, wrapped or not.
        encoder: a pre-trained encoder, the folder of one, or a whole latent space. From an encoder
            alone, scale and bounds of the action space are gathered on this environment.
        decoder: ``nearest``, ``sampled``, ``rule:module:function`` or ``preview``.
        k: how many of the nearest actions the decoder chooses among.
        metric: of the search.
        reduce: dimension to which whole action vectors are reduced.
        seed: of the random episodes that scale and bounds are gathered on.
    """
    if not isinstance(env, gym.Env):
        raise UsageError(f"wrap({env!r}): give an environment, such as one that a class makes")
    problem = env.unwrapped
    if not isinstance(problem, ContinuousEnv):
        raise UsageError(
            f"{type(problem).__name__} is not a lagco.ContinuousEnv; derive it from "
            "lagco.ContinuousEnv beside its Gymnasium class"
        )
    if decoder in ("ranked", "scored"):
        raise UsageError(f"the {decoder} decoder belongs to an agent that was trained with it")
    if decoder == "preview" and not isinstance(problem, Previews):
        raise UsageError(f"the preview decoder needs {type(problem).__name__}.preview(actions)")
    if isinstance(encoder, str | Path):
        encoder = Encoder.load(encoder)
    space = encoder
    if not isinstance(space, Encoder | LatentSpace):
        raise UsageError(
            f"wrap(encoder={encoder!r}): give an encoder, its folder, or a latent space"
        )
    if not isinstance(space, LatentSpace):
        space = LatentSpace.fit(space, [problem], states=64, seed=seed, reduce=reduce)
    return LatentEnv(env, space, Decoder(decoder, k, metric))
