"""Beam search over the likelihoods of a policy.

A beam holds the most likely beginnings of episodes. In every step all their continuations compete,
and the most likely ones form the next beam. With a random stream the likelihoods are perturbed so
that the beam is a sample without replacement (W. Kool, H. van Hoof, M. Welling, "Stochastic beams
and where to find them", 2019): no two of its episodes are the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from lagco.arrays import Array
from lagco.core.problem import Problem
from lagco.rollout import Episode, Planned


class RatingTeam(Protocol):
    """Says in several environments at a time how likely actions are."""

    def rate(self, members: Sequence[int]) -> list[tuple[Array, Array]]:
        """Per member raw actions (k, …) and the logarithms of their probabilities (k,)."""
        ...


class _Beginning(NamedTuple):
    """An episode under way, its log-likelihood, and that perturbed."""

    episode: Episode
    likelihood: float
    rank: float


class _Step(NamedTuple):
    """A continuation of the beginning of a member; no action where none is valid."""

    member: int
    action: Any
    likelihood: float
    rank: float


class Beam:
    """One beam from one start.

    Args:
        envs: one per member of the beam.
        team: rates actions in them.
        planned: the start of all episodes; where it explores, the beam is a sample.
        rng: draws that sample.

    Attributes:
        running: episodes under way, by member.
    """

    def __init__(
        self,
        envs: Sequence[Problem],
        team: RatingTeam,
        planned: Planned,
        rng: np.random.Generator,
    ) -> None:
        self._envs = envs
        self._team = team
        self._planned = planned
        self._rng = rng
        self._beginnings: dict[int, _Beginning] | None = None

    @property
    def running(self) -> dict[int, Episode]:
        """Episodes under way, by member."""
        return {member: each.episode for member, each in (self._beginnings or {}).items()}

    def begin(self) -> bool:
        """Begin the first episode; whether any is under way."""
        if self._beginnings is None:
            self._beginnings = {0: _Beginning(self._episode(0), 0.0, 0.0)}
        return bool(self._beginnings)

    def step(self) -> list[Episode]:
        """One step of the whole beam; episodes that ended with it."""
        assert self._beginnings is not None
        steps = self._best_steps(self._beginnings)
        taken = {member: list(each.episode.actions) for member, each in self._beginnings.items()}
        followed = {step.member for step in steps}
        free = [member for member in range(len(self._envs)) if member not in followed]
        after: dict[int, _Beginning] = {}
        ended: list[Episode] = []
        seen: set[bytes] = set()
        for step in steps:  # the likeliest first: of two that reach the same state it stays
            if step.member in followed:
                member, episode = step.member, self._beginnings[step.member].episode
                followed.remove(member)
            else:
                member = free.pop()
                episode = self._episode(member, taken[step.member])
            episode.step(step.action)
            if episode.ended:
                ended.append(episode)
                continue
            state = self._envs[member].solution().tobytes()
            if state not in seen:
                seen.add(state)
                after[member] = _Beginning(episode, step.likelihood, step.rank)
        self._beginnings = after
        return ended

    def _episode(self, member: int, actions: Sequence[Any] = ()) -> Episode:
        planned = self._planned
        episode = Episode(
            self._envs[member], planned.seed, start=planned.start, explore=planned.explore
        )
        for action in actions:
            episode.step(action)
        return episode

    def _best_steps(self, beginnings: dict[int, _Beginning]) -> list[_Step]:
        """The continuations that form the next beam, the likeliest first."""
        steps: list[_Step] = []
        width = len(self._envs)
        for member, rated in zip(beginnings, self._team.rate(list(beginnings)), strict=True):
            actions, logarithms = rated
            begun = beginnings[member]
            if not len(actions):
                steps.append(_Step(member, None, begun.likelihood, begun.rank))
                continue
            likelihoods = begun.likelihood + logarithms
            ranks = likelihoods
            if self._planned.explore:
                ranks = _perturbed(likelihoods, begun.rank, self._rng)
            for i in np.argsort(-ranks, kind="stable")[:width].tolist():
                action = int(actions[i]) if actions.ndim == 1 else actions[i]
                steps.append(_Step(member, action, float(likelihoods[i]), float(ranks[i])))
        steps.sort(key=lambda step: -step.rank)
        return steps[:width]


def _perturbed(likelihoods: Array, highest: float, rng: np.random.Generator) -> Array:
    """Log-likelihoods (k,) with Gumbel noise, given that the largest of the sums is `highest`."""
    noisy = likelihoods + rng.gumbel(size=len(likelihoods))
    gaps = np.minimum(noisy - noisy.max(), -1e-12)
    v = highest - noisy + np.log(-np.expm1(gaps))
    found: Array = highest - np.maximum(v, 0.0) - np.log1p(np.exp(-np.abs(v)))
    found[noisy.argmax()] = highest
    return found
