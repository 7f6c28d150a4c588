"""Recorded demonstrations: episodes of a teacher with all right actions.

An episode consists of its instance, its seed and, per state, the right actions, beginning with the
one taken. States are not stored but reproduced by replaying the actions, so files are small and
serve every encoder and feature set.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from lagco.agents.teaching.teachers import Teacher, make_teacher
from lagco.arrays import Array
from lagco.core.data import Data, instances_from
from lagco.core.problem import Problem
from lagco.errors import LagcoError, UsageError
from lagco.problems import AnyProblem, problem_class
from lagco.store import COUNT, SHA256, TEXT, Kind, Tensors, object_of

KIND = Kind(
    format="lagco-demonstrations",
    version=1,
    noun="demonstrations",
    remedy="write them again with lagco demonstrate",
    description="demonstrations.json",
    tensors="demonstrations.safetensors",
    schema=object_of(
        problem=TEXT,
        teacher=TEXT,
        seed=COUNT,
        features=TEXT,
        instances={"type": "array", "items": SHA256, "minItems": 1},
        parts=COUNT,
    ),
)


@dataclass(frozen=True)
class Demonstration:
    """One episode of a teacher.

    Attributes:
        seed: of ``reset``.
        right: per state the right raw actions (k,) or (k, m), beginning with the one taken.
    """

    seed: int
    right: list[Array]


def demonstrate(
    problem: AnyProblem,
    data: Data | None = None,
    out: str | Path | None = None,
    *,
    teacher: str = "auto",
    episodes: int = 1,
    seed: int = 42,
    features: str = "full",
    seeds: Iterable[int] | None = None,
) -> Path:
    """Record episodes of a teacher on every instance, for ``train(teacher=out)``.

    Args:
        problem: name, ``module:Class``, class, or a function that makes an environment.
        data: folder of a data set, the data set, or instances.
        out: folder to write to.
        teacher: ``solver``, ``search``, ``greedy``, or ``auto`` for the problem's own.
        episodes: per instance.
        seed: everything random follows from it.
        features: feature set of the problem.
        seeds: for environments, seeds of ``reset``.

    Returns:
        The folder.
    """
    if out is None:
        raise UsageError("out= is missing: name a folder for the demonstrations")
    if episodes < 1:
        raise UsageError(f"episodes={episodes}: show at least one per instance")
    cls = problem_class(problem)
    instances = list(instances_from(cls, data, seeds))
    guide = make_teacher(teacher, cls)
    rng = np.random.default_rng([seed, 8])
    shown: list[tuple[int, Demonstration]] = []
    for number, instance in enumerate(instances):
        env = cls(instance, features=features)
        shown += [(number, show_episode(env, guide, rng)) for _ in range(episodes)]
    rows = [right for _, episode in shown for right in episode.right]
    if not rows:
        raise LagcoError(f"the teacher {teacher!r} of {cls.name!r} had nothing to show")
    parts = 0 if rows[0].ndim == 1 else rows[0].shape[1]
    content = {
        "problem": cls.name,
        "teacher": cls.teacher if teacher == "auto" else teacher,
        "seed": seed,
        "features": features,
        "instances": [instance.checksum for instance in instances],
        "parts": parts,
    }
    tensors = {
        "episodes": np.array([(number, episode.seed) for number, episode in shown], np.int64),
        "states": _bounds([len(episode.right) for _, episode in shown]),
        "choices": _bounds([len(right) for right in rows]),
        "actions": np.concatenate(rows).reshape(-1, max(parts, 1)).astype(np.int64),
    }
    measured = {"seconds": round(guide.seconds, 2)}
    KIND.write(out, content, tensors, measured)
    return Path(out)


def show_episode(env: Problem, teacher: Teacher, rng: np.random.Generator) -> Demonstration:
    """Play and record an episode of a teacher."""
    seed = int(rng.integers(2**31))
    env.reset(seed=seed)
    teacher.timed(teacher.begin, env, seed)
    rows: list[Array] = []
    ended = False
    while not ended:
        right = np.asarray(teacher.timed(teacher.actions, env))
        if not len(right):
            break
        taken = int(rng.integers(len(right)))
        right = np.concatenate([right[taken : taken + 1], np.delete(right, taken, axis=0)])
        action = int(right[0]) if right.ndim == 1 else right[0]
        *_, terminated, truncated, _ = env.step(action)
        rows.append(right)
        ended = terminated or truncated
    return Demonstration(seed, rows)


def read_demonstrations(
    folder: str | Path, problem: type[Problem]
) -> tuple[str, dict[str, list[Demonstration]]]:
    """Checksum of a folder, and its episodes by checksum of their instance."""
    found = KIND.read(folder)
    content, tensors = found.content, found.tensors
    if content["problem"] != problem.name:
        raise UsageError(
            f"{folder}: holds demonstrations of {content['problem']!r}, not of {problem.name!r}"
        )
    parts = int(content["parts"])
    actions = tensors.take("actions", (None, max(parts, 1)), np.int64, low=0)
    choices = _taken_bounds(tensors, "choices", len(actions))
    states = _taken_bounds(tensors, "states", len(choices) - 1)
    episodes = tensors.take("episodes", (len(states) - 1, 2), np.int64, low=0)
    tensors.refuse_others()
    if episodes.size and episodes[:, 0].max() >= len(content["instances"]):
        raise tensors.refused("an episode belongs to no instance")
    plain = actions if parts else actions[:, 0]
    right = np.split(plain, choices[1:-1])
    known: dict[str, list[Demonstration]] = {}
    for (number, seed), first, last in zip(
        episodes.tolist(), states[:-1].tolist(), states[1:].tolist(), strict=True
    ):
        episode = Demonstration(seed, right[first:last])
        known.setdefault(content["instances"][number], []).append(episode)
    return found.checksum, known


def _bounds(counts: list[int]) -> Array:
    """Offsets of consecutive runs of these lengths, with the end of the last one."""
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


def _taken_bounds(tensors: Tensors, name: str, end: int) -> Array:
    found = tensors.take(name, (None,), np.int64, low=0)
    if len(found) < 2 or found[0] != 0 or found[-1] != end or (np.diff(found) < 0).any():
        raise tensors.refused(f"tensor {name!r} is no list of bounds from 0 to {end}")
    return found


class RecordedTeacher(Teacher):
    """Follows recorded demonstrations.

    Args:
        folder: written by :func:`demonstrate`.
        problem: class of the problem.
    """

    anywhere = False
    continues = False
    ordered = True

    def __init__(self, folder: str | Path, problem: type[Problem]) -> None:
        super().__init__()
        self._folder = folder
        self.checksum, self._known = read_demonstrations(folder, problem)
        self._rest: dict[int, list[Array]] = {}

    def episode_seed(self, env: Problem, seed: int) -> int:
        """Seed of a recorded episode of the instance."""
        kept = self._of(env)
        return kept[seed % len(kept)].seed

    def begin(self, env: Problem, seed: int) -> None:
        """Select the recorded episode of that seed."""
        kept = next(one for one in self._of(env) if one.seed == seed)
        self._rest[id(env)] = kept.right[::-1]  # taken from its end

    def actions(self, env: Problem) -> Array:
        """The recorded right actions of the state, beginning with the one taken."""
        rest = self._rest[id(env)]
        if not rest:
            return np.zeros(0, dtype=np.int64)
        right = rest.pop()
        for action in right:
            if not (env.action_space.contains(action) and env.is_valid_action(action)):
                raise LagcoError(
                    f"{self._folder}: holds the action {action.tolist()} where it is not valid, on "
                    f"the instance {env.instance.name!r}; {KIND.remedy}"
                )
        return right

    def _of(self, env: Problem) -> list[Demonstration]:
        kept = self._known.get(env.instance.checksum)
        if kept is None:
            raise UsageError(
                f"{self._folder}: holds no demonstrations of the instance {env.instance.name!r}; "
                "train on the data that they were made of, or write more with lagco demonstrate"
            )
        return kept
