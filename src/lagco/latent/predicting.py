"""Models that predict actions from observations, as policies: those of Stable-Baselines3, others.

A model that was trained on an environment from :func:`lagco.wrap` predicts points, which are
decoded as that environment does; any other one sees the environment's own observations and predicts
raw actions. Wrappers of observations and actions that it was trained with are applied.
"""

from __future__ import annotations

import contextlib
import inspect
import sys
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any, Protocol, cast, runtime_checkable

import gymnasium as gym
import numpy as np

from lagco.core.env import ContinuousEnv
from lagco.core.problem import Problem
from lagco.errors import UsageError
from lagco.latent.decoder import plain_action
from lagco.latent.space import LatentView
from lagco.latent.wrapper import LatentEnv
from lagco.search import NoValidAction

_SEEDS = 2**31


@runtime_checkable
class Predictor(Protocol):
    """A model of Stable-Baselines3, or anything else that predicts actions from observations."""

    def predict(self, observation: Any) -> Any:
        """The action for an observation: an array or a number, or a pair of it and a state.

        Where it takes them, it is also given ``deterministic`` (True in the episode in which a
        policy takes its mode), ``state`` (what it returned last, None when an episode begins),
        ``episode_start`` (bool (1,)) and ``action_masks`` (the valid ones of ``Discrete`` actions).
        """


class PredictingPolicy:
    """A model as a policy.

    Args:
        model: with ``predict``. Its environment, as ``model.get_env()`` or ``model.env`` gives it,
            says how it observes and how what it predicts is decoded.

    Attributes:
        name: of the model or its class.
        problem: class that the model was trained on, where that is known.
        features: feature set that it was trained with, likewise.
    """

    def __init__(self, model: Predictor) -> None:
        self.name = str(getattr(model, "name", type(model).__name__))
        self._model = model
        self._layers, core = _environment_of(model)
        self._latent = next((e for e in self._layers if isinstance(e, LatentEnv)), None)
        if self._latent is not None:  # what is inside it is the environment's own affair
            self._layers = self._layers[: self._layers.index(self._latent)]
        self._normalisers = _normalisers_of(model)
        self.problem = type(core) if isinstance(core, Problem) else None
        self.features = core.feature_set if isinstance(core, Problem) else None
        predicted = getattr(model, "action_space", None)
        if isinstance(predicted, gym.spaces.Box) and self._latent is None:
            raise UsageError(
                f"{self.name} predicts points of {predicted.shape[0]} numbers, but does not say in "
                "which latent space: load it with the environment that it was trained on, as in "
                "PPO.load(path, env=lagco.wrap(env, space))"
            )
        self._view: LatentView | None = None
        self._state: Any = None

    def act(self, env: ContinuousEnv, rng: np.random.Generator, explore: bool = True) -> Any:
        """The action that the model predicts; None if nothing is valid."""
        problem = env.unwrapped
        if not isinstance(problem, Problem):
            raise UsageError(f"{self.name}: {type(problem).__name__} is no lagco.Problem")
        observation = self._observed(problem)
        begins = problem.steps_taken == 0
        asked = {
            "deterministic": not explore,
            "state": None if begins else self._state,
            "episode_start": np.array([begins]),
        }
        if "action_masks" in self._takes and isinstance(problem.action_space, gym.spaces.Discrete):
            asked["action_masks"] = problem.action_mask()
        with _drawing_from(rng) if explore else contextlib.nullcontext():
            found = self._model.predict(
                observation, **{k: v for k, v in asked.items() if k in self._takes}
            )
        action, self._state = found if isinstance(found, tuple) else (found, None)
        for layer in self._layers:
            if isinstance(layer, gym.ActionWrapper):
                action = layer.action(action)
        if self._latent is None or self._view is None:
            return plain_action(np.asarray(action))
        try:
            return self._latent.decoded(self._view, action, rng)
        except NoValidAction:
            return None

    @cached_property
    def _takes(self) -> frozenset[str]:
        """Names of the arguments that the model takes."""
        return frozenset(inspect.signature(self._model.predict).parameters)

    def _observed(self, problem: Problem) -> Any:
        if self._latent is not None:
            if self._view is None or self._view.env is not problem:
                self._view = self._latent.view_of(problem)
            self._view.refresh()
            observation: Any = self._view.observation()
        else:
            observation = problem.observation()
        for layer in reversed(self._layers):
            wraps = isinstance(layer, gym.ObservationWrapper)
            if wraps and layer.env.observation_space.contains(observation):
                observation = cast("Any", layer).observation(observation)
        for normaliser in self._normalisers:
            observation = normaliser.normalize_obs(observation)
        self._check_shape(observation, problem)
        return observation

    def _check_shape(self, observation: Any, problem: Problem) -> None:
        space = getattr(self._model, "observation_space", None)
        wanted, found = _shapes(space), _shapes(observation)
        if wanted is not None and wanted != found:
            raise UsageError(
                f"{self.name} observes {_spelled(wanted)}, a state of {problem.instance.name!r} is "
                f"{_spelled(found)}: evaluate it on instances like those it was trained on, or "
                "train it on lagco.wrap(env, space), whose observations have one width"
            )


# -- the environment of a model


@runtime_checkable
class _Learner(Protocol):
    def get_env(self) -> Any: ...


@runtime_checkable
class _VecWrapper(Protocol):
    venv: Any


@runtime_checkable
class _Vectorised(Protocol):
    envs: list[Any]


@runtime_checkable
class _Normaliser(Protocol):
    def normalize_obs(self, obs: Any) -> Any: ...


def _given(model: Predictor) -> Any:
    return model.get_env() if isinstance(model, _Learner) else getattr(model, "env", None)


def _environment_of(model: Predictor) -> tuple[list[gym.Wrapper[Any, Any, Any, Any]], Any]:
    """Wrappers of a model's environment, the outermost first, and what they wrap."""
    env = _given(model)
    while isinstance(env, _VecWrapper):
        env = env.venv
    if isinstance(env, _Vectorised) and env.envs:
        env = env.envs[0]
    layers = []
    while isinstance(env, gym.Wrapper):
        layers.append(env)
        env = env.env
    return layers, env


def _normalisers_of(model: Predictor) -> list[_Normaliser]:
    """What standardises the observations of a model, the innermost first."""
    found: list[_Normaliser] = []
    env = _given(model)
    while isinstance(env, _VecWrapper):
        if isinstance(env, _Normaliser):
            found.append(env)
        env = env.venv
    return found[::-1]


def _shapes(of: Any) -> Any:
    """Shapes of an observation or its space: by name where it is a mapping; None: not known."""
    if isinstance(of, gym.spaces.Dict):
        of = of.spaces
    if isinstance(of, Mapping):
        return {name: _shapes(part) for name, part in of.items()}
    if of is None:
        return None
    return of.shape if isinstance(of, gym.Space) else np.shape(of)


def _spelled(shapes: Any) -> str:
    if isinstance(shapes, Mapping):
        return ", ".join(f"{name} {_spelled(shape)}" for name, shape in shapes.items())
    return str(shapes)


@contextlib.contextmanager
def _drawing_from(rng: np.random.Generator) -> Iterator[None]:
    """Let the global streams that models draw from follow from `rng` meanwhile."""
    seed = int(rng.integers(_SEEDS))
    kept = np.random.get_state()
    np.random.seed(seed)
    torch = sys.modules.get("torch")
    try:
        if torch is None:
            yield
        else:
            with torch.random.fork_rng():
                torch.manual_seed(seed)
                yield
    finally:
        np.random.set_state(kept)
