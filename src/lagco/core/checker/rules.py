"""Requirements on a problem, tested on whole episodes.

Each finding says which declaration is wrong, which value was seen, at which step, and what to do.
"""

from __future__ import annotations

import contextlib
import math
import warnings
from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.utils.env_checker import check_env

from lagco.core.checker.actions import check_action, check_dead_end, check_validity
from lagco.core.checker.changes import check_changes
from lagco.core.checker.episode import (
    TOLERANCE,
    check_reward_sum,
    check_unchanged,
    copied,
    misfit,
    same,
)
from lagco.core.checker.finding import Finding, Stop, crash, reporting, shown
from lagco.core.checker.hooks import (
    check_action_range,
    check_hooks,
    check_outside,
    check_poolings,
    check_solution,
)
from lagco.core.checker.names import check_names
from lagco.core.checker.state import (
    check_attributes,
    check_functions,
    check_tracking,
)
from lagco.core.declaring.declaration import declaration_faults, read_declaration
from lagco.core.env import ContinuousEnv, Previews, draw_valid_action
from lagco.core.graph import GraphView
from lagco.core.problem import Problem
from lagco.errors import LagcoError, UsageError
from lagco.results.numbers import of_things

_PREVIEWED = 6


def check_rules(
    env: gym.Env[Any, Any], *, seed: int = 42, episodes: int = 2, max_steps: int = 200
) -> list[Finding]:
    """Findings of everything that needs no encoder; see :func:`lagco.check_problem`."""
    if isinstance(env, type):
        raise UsageError(f"check_problem() takes an environment; give {env.__name__}()")
    if not isinstance(env, gym.Env):
        raise UsageError(
            f"check_problem({env!r}) takes an environment; lagco.check() takes names, module:Class "
            "and classes"
        )
    if min(episodes, max_steps) < 1:
        raise UsageError(f"episodes={episodes}, max_steps={max_steps}: at least 1")
    found: dict[tuple[str, str], Finding] = {}
    for finding in _Check(env.unwrapped, seed, episodes, max_steps).run():
        found.setdefault((finding.check, finding.declaration), finding)
    return list(found.values())


@dataclass
class _Episode:
    """Record of one episode, for comparison with its repetition."""

    actions: list[Any] = field(default_factory=list)
    observations: list[Any] = field(default_factory=list)
    rewards: list[float] = field(default_factory=list)
    infos: list[Mapping[str, Any]] = field(default_factory=list)
    ended: bool = False


class _Check:
    def __init__(self, env: gym.Env[Any, Any], seed: int, episodes: int, max_steps: int) -> None:
        self.raw = env
        self.seed = seed
        self.episodes = episodes
        self.max_steps = max_steps

    def run(self) -> Iterator[Finding]:
        if not isinstance(self.raw, ContinuousEnv):
            yield Finding(
                "interface",
                type(self.raw).__name__,
                "is not a lagco.ContinuousEnv",
                "derive it from lagco.ContinuousEnv as well as from its Gymnasium class",
            )
            return
        self.env = self.raw
        hidden = list(check_names(self.env))
        if hidden:  # whatever goes wrong after it is due to that
            yield from hidden
            return
        yield from self._gymnasium()
        try:
            self.env.reset(seed=self.seed)
            views = self.env.graph_views()
            faults = declaration_faults(self.env, views)
            if faults:
                yield from (Finding("declaration", str(f), "", "", step=0) for f in faults)
                return
            self.declared = read_declaration(self.env, views)
        except LagcoError as error:
            yield Finding("declaration", str(error), "", "", step=0)
            return
        except Exception as error:
            yield crash("reset(), get_graphs()", error, 0)
            return
        yield from check_poolings(self.declared)
        yield from check_action_range(self.env, self.declared, views)
        if isinstance(self.env, Problem):
            yield from check_outside(self.env)
        decided = False
        for number in range(self.episodes):
            try:
                episode = yield from self._follow(self.seed + number)
                decided |= bool(episode.actions)
                yield from self._repeat(self.seed + number, episode)
                yield from self._rewards(episode)
                yield from self._invalid(self.seed + number)
                yield from self._preview(self.seed + number, episode)
            except Stop:
                return
        if not decided:
            yield Finding(
                "action",
                "is_valid_action()",
                f"nothing is valid after reset(), in none of "
                f"{of_things(self.episodes, 'episodes')}",
                "let something be decided, or check another instance",
                0,
            )
        if isinstance(self.env, Problem):
            yield from check_hooks(self.env, self.seed)
            found: list[Finding] = []
            with contextlib.suppress(Stop):
                with reporting("an episode within limits", 0) as crashed:
                    found = list(check_changes(self.env, self.seed))
                yield from crashed
            yield from found

    def _gymnasium(self) -> Iterator[Finding]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                check_env(self.env, skip_render_check=True, skip_close_check=True)
            except LagcoError as error:
                yield Finding("declaration", str(error), "", "", step=0)
            except Exception as error:
                text = " ".join(str(error).split())
                yield Finding(
                    "gymnasium",
                    "check_env",
                    f"{type(error).__name__}: {text}",
                    "make the environment pass gymnasium.utils.env_checker.check_env",
                )

    def _follow(self, seed: int) -> Generator[Finding, None, _Episode]:
        """Play an episode, looking at every state; return what happened."""
        env, episode = self.env, _Episode()
        rng = np.random.default_rng(seed)
        with reporting("reset()", 0) as crashed:
            observation, info = env.reset(seed=seed)
        yield from crashed
        episode.observations.append(copied(observation))
        first = {name: view.copy() for name, view in env.graph_views().items()}
        yield from self._state(observation, first, 0, rng)
        for step in range(1, self.max_steps + 1):
            before = {name: (v, v.copy(), v.clock) for name, v in env.graph_views().items()}
            with reporting("sample_valid_action()", step) as crashed:
                action = draw_valid_action(env, rng)
            yield from crashed
            if action is None:
                yield from check_dead_end(env, step)
                break
            yield from check_action(env, self.declared, action, step)
            with reporting("step()", step) as crashed:
                observation, reward, terminated, truncated, info = env.step(action)
            yield from crashed
            if not _finite(reward):
                yield Finding(
                    "reward", "step()", f"returned {reward!r}", "return a finite number", step
                )
                raise Stop
            episode.actions.append(action)
            episode.observations.append(copied(observation))
            episode.rewards.append(float(reward))
            episode.infos.append(copied(info))
            with reporting("get_graphs()", step) as crashed:
                views = env.graph_views()
            yield from crashed
            yield from check_tracking(before, views, step)
            yield from self._state(observation, first, step, rng)
            if terminated or truncated:
                episode.ended = True
                if isinstance(env, Problem):
                    yield from check_solution(env, step)
                break
        return episode

    def _state(
        self,
        observation: Any,
        first: Mapping[str, GraphView],
        step: int,
        rng: np.random.Generator,
    ) -> Iterator[Finding]:
        if not self.env.observation_space.contains(observation):
            yield Finding(
                "observation",
                "observation_space",
                f"does not contain the observation ({misfit(self.env, observation)})",
                "declare the right shape, dtype and bounds, or return what is declared",
                step,
            )
        views = self.env.graph_views()
        yield from check_attributes(self.declared, views, first, step)
        yield from check_functions(self.declared, views, step)
        yield from check_validity(self.env, self.declared, step, rng)

    def _repeat(self, seed: int, episode: _Episode) -> Iterator[Finding]:
        """The same seed and actions give the same episode."""
        remedy = "draw from self.np_random, and set the whole state again in reset()"
        observation, _ = self.env.reset(seed=seed)
        if not same(observation, episode.observations[0]):
            yield Finding("determinism", "reset()", "two resets differ", remedy, 0)
            return
        for step, action in enumerate(episode.actions, start=1):
            observation, reward, *_ = self.env.step(action)
            if not same(observation, episode.observations[step]):
                what = "the observation differs when the episode is repeated"
            elif float(reward) != episode.rewards[step - 1]:
                what = f"the reward is {reward} and was {episode.rewards[step - 1]}"
            else:
                continue
            yield Finding("determinism", "step()", what, remedy, step)
            return

    def _rewards(self, episode: _Episode) -> Iterator[Finding]:
        if not episode.ended:
            return
        yield from check_reward_sum(self.env, episode.rewards, episode.infos)

    def _invalid(self, seed: int) -> Iterator[Finding]:
        """An invalid action raises nothing and leaves the state as it is."""
        env = self.env
        if not isinstance(env, Problem):
            return
        env.reset(seed=seed)
        rng = np.random.default_rng(seed)
        rewards, infos = [], []
        for step in range(1, self.max_steps + 1):
            few = env.num_actions <= 10_000
            invalid = np.flatnonzero(~env.action_mask()) if few else np.zeros(0, dtype=np.int64)
            take_invalid = step % 2 == 1 and len(invalid) > 0
            if take_invalid:
                action = env.all_actions()[invalid[rng.integers(len(invalid))]]
            else:
                action = draw_valid_action(env, rng)
            if action is None:
                return
            before = {name: view.copy() for name, view in env.graph_views().items()}
            with reporting("step() with an invalid action", step) as crashed:
                _, reward, terminated, truncated, info = env.step(action)
            yield from crashed
            rewards.append(float(reward))
            infos.append(info)
            if take_invalid:
                yield from check_unchanged(
                    before, env, "step()", "an invalid action changed the state", step
                )
            if terminated or truncated:
                yield from check_reward_sum(env, rewards, infos)
                return

    def _preview(self, seed: int, episode: _Episode) -> Iterator[Finding]:
        preview = self.env.preview if isinstance(self.env, Previews) else None
        if preview is None:
            return
        for step in sorted({0, len(episode.actions) // 2}):
            self._replay(seed, episode.actions[:step])
            actions = self._some_valid(seed)
            if not len(actions):
                continue
            before = {name: view.copy() for name, view in self.env.graph_views().items()}
            with reporting("preview()", step) as crashed:
                values = np.asarray(preview(actions))
            yield from crashed
            if values.shape != (len(actions),):
                yield Finding(
                    "preview",
                    "preview()",
                    f"has shape {values.shape} for {of_things(len(actions), 'actions')}",
                    f"return one value per action, shape ({len(actions)},)",
                    step,
                )
                return
            if np.isnan(values).any():
                worst = shown(actions[np.isnan(values)][0])
                yield Finding("preview", "preview()", f"is nan for {worst}", "return numbers", step)
                return
            yield from check_unchanged(
                before, self.env, "preview()", "preview changed the state", step
            )
            if not self.env.stochastic:  # else what happens does not follow from the action alone
                yield from self._ranking(seed, episode.actions[:step], actions, values, step)

    def _ranking(
        self, seed: int, history: list[Any], actions: Any, values: Any, step: int
    ) -> Iterator[Finding]:
        """The order of the previews is the order of what really happens."""
        key = getattr(self.env, "preview_key", "objective")
        sign = 1.0 if getattr(self.env, "maximise", True) else -1.0
        reached = []
        for action in actions:
            self._replay(seed, history)
            *_, info = self.env.step(action)
            if info.get(key) is None:
                return
            reached.append(sign * float(info[key]))
        for i in range(len(actions)):
            for j in range(len(actions)):
                slack = TOLERANCE * (1.0 + abs(reached[i]))
                if values[i] > values[j] and reached[i] < reached[j] - slack:
                    yield Finding(
                        "preview",
                        "preview()",
                        f"ranks action {shown(actions[i])} ({values[i]:.6g}) above "
                        f"{shown(actions[j])} ({values[j]:.6g}), but info[{key!r}] becomes "
                        f"{sign * reached[i]:.6g} and {sign * reached[j]:.6g}",
                        "return values that order actions as the step does (higher is better); if "
                        "it is an unfinished state's objective() that misleads, let it count what "
                        "is still missing, or name another entry of info in preview_key",
                        step,
                    )
                    return

    def _replay(self, seed: int, actions: list[Any]) -> None:
        self.env.reset(seed=seed)
        for action in actions:
            self.env.step(action)

    def _some_valid(self, seed: int) -> Any:
        rng = np.random.default_rng(seed)
        drawn = [draw_valid_action(self.env, rng) for _ in range(_PREVIEWED)]
        return np.array([action for action in drawn if action is not None])


def _finite(reward: Any) -> bool:
    try:
        return math.isfinite(reward)
    except TypeError:
        return False
