"""Animations and pictures of an agent at work."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lagco.commands.evaluate import chosen_policy
from lagco.commands.generate import generate_instance
from lagco.core.data import Data, instances_from
from lagco.core.pictures.files import (
    ANIMATED,
    DPI,
    SIDE,
    check_picture,
    rgb_array,
    save_animation,
    save_picture,
)
from lagco.core.problem import Problem
from lagco.errors import UsageError
from lagco.instances import Instance
from lagco.policies import Policy, policy_name
from lagco.problems import AnyProblem, problem_class
from lagco.rollout import snapshots

_SWEEPS = 100  # where an objective is defined by sweeps: enough for a picture


def render(
    problem: AnyProblem,
    out: str | Path,
    *,
    agent: str | Path | Policy = "default",
    data: Data | None = None,
    size: int | None = None,
    seed: int = 42,
    frames: int = 40,
    fps: float = 4.0,
    side: float = SIDE,
    dpi: float = DPI,
) -> dict[str, Any]:
    """Draw an agent at work: an animation of an episode, or a picture of its best state.

    Args:
        problem: name, ``module:Class`` or class; one of your own must define ``draw_on(axes)``.
        out: file; ``.gif`` and ``.webp`` are animations, others (png, svg, pdf, …) pictures.
        agent: ``default`` (the one that comes with lagco), ``random``, ``greedy``, the folder of an
            agent, an agent, or an object with ``act(env, rng, explore)``. It takes its mode.
        data: an instance file, a data set or instances, of which the first is shown; an instance is
            generated without.
        size: of the instance that is generated.
        seed: of that instance, and of the episode.
        frames: of an animation at most, from the start to the best state.
        fps: frames per second.
        side: of the picture, in inches.
        dpi: dots per inch.

    Returns:
        ``problem``, ``instance``, ``size``, ``policy``, ``steps`` shown, ``objective`` of the last
        state shown, ``frames`` and ``out``.
    """
    check_picture(out, side, dpi, others=ANIMATED)
    if frames < 2 or not 0.1 <= fps <= 50:
        raise UsageError(
            f"frames={frames}, fps={fps:g}: give at least 2 frames, 0.1 to 50 a second"
        )
    cls = problem_class(problem)
    if not cls.defines("draw_on"):
        raise UsageError(f"{cls.__name__} has no viewer; define draw_on(axes)")
    policy = chosen_policy(agent, cls)
    instance = _instance(cls, data, size, seed)
    env = cls(instance, features=str(getattr(policy, "features", None) or "full"))
    animated = Path(out).suffix.lower() in ANIMATED
    drawn = []
    steps = 0
    for episode in snapshots(env, policy, frames if animated else 2, seed=seed, best=True):
        steps = len(episode.actions)
        if animated:
            drawn.append(rgb_array(env.draw_on, side, dpi))
    if animated:
        save_animation(drawn, out, fps)
    else:
        save_picture(env.draw_on, out, side=side, dpi=dpi)
    return {
        "problem": cls.name,
        "instance": instance.name,
        "size": instance.size,
        "policy": policy_name(policy),
        "steps": steps,
        "objective": float(env.objective()),
        "frames": max(1, len(drawn)),
        "out": str(out),
    }


def _instance(cls: type[Problem], data: Any, size: int | None, seed: int) -> Instance:
    if data is not None:
        if size is not None:
            raise UsageError(
                f"size={size}: the instance comes from data={data!s}; give one of them"
            )
        return instances_from(cls, data)[0]
    references = ("sweeps",) if cls.scaled_by_sweeps else ()
    return generate_instance(cls, seed=seed, size=size, references=references, sweeps=_SWEEPS)
