"""Decision times, and the times of their parts."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt

from lagco.agents.config import TrainConfig, train_config
from lagco.agents.method import Actor, ClockedActor, LatentActor
from lagco.agents.registry import method_of
from lagco.bench.timing import DecisionClock, median_us, timed
from lagco.bench.untrained import brief_space
from lagco.core.problem import Problem
from lagco.instances import Instance
from lagco.latent.decoder import Decoder
from lagco.policies import RandomPolicy
from lagco.rollout import walk

#: passes of the policy network
_PASSES = 400


@dataclass(frozen=True)
class Decisions:
    """Timed decisions on one instance.

    Attributes:
        nodes: of the largest view.
        actions: mean number of declared actions, None where counting means listing.
        parts: microseconds of every decision, part by part.
        policy_us: microseconds of one torch pass of the policy network, measured in the same run.
    """

    nodes: int
    actions: float | None
    parts: dict[str, npt.NDArray[np.float64]]
    policy_us: float

    @property
    def whole(self) -> npt.NDArray[np.float64]:
        """Microseconds of every whole decision."""
        return np.asarray(np.sum(list(self.parts.values()), axis=0))


def bench_latency(
    problem: type[Problem],
    sizes: Sequence[int],
    method: str = "projection",
    *,
    features: str = "full",
    decisions: int = 300,
    seed: int = 42,
) -> list[dict[str, Any]]:
    """Microseconds of whole decisions: from a changed state to the next action in hand.

    Encoder and policy are hardly trained, which does not matter for time. One thread.

    Returns:
        Records with ``problem``, ``size``, ``method``, ``actions`` (mean number of declared ones,
        None where counting means listing), ``decision_us`` and ``decision_p99_us`` (median and 99th
        percentile), ``parts_us`` (medians) and ``policy_us`` (one torch pass of the policy network,
        measured in the same run).
    """
    records = []
    for size in sizes:
        instance = problem.generate(size, index=77)
        found = time_decisions(
            problem, instance, method, features=features, decisions=decisions, seed=seed
        )
        records.append(
            {
                "problem": problem.name,
                "size": size,
                "method": method,
                "actions": found.actions,
                "decision_us": round(float(np.median(found.whole)), 1),
                "decision_p99_us": round(float(np.percentile(found.whole, 99)), 1),
                "parts_us": {
                    part: round(float(np.median(times)), 1) for part, times in found.parts.items()
                },
                "policy_us": round(found.policy_us, 1),
            }
        )
    return records


def time_decisions(
    problem: type[Problem],
    instance: Instance,
    method: str = "projection",
    *,
    features: str = "full",
    decisions: int = 300,
    seconds: float = math.inf,
    seed: int = 42,
    decoder: Decoder | None = None,
) -> Decisions:
    """Time decisions of one method on one instance, part by part, on one thread.

    Args:
        problem: the problem class.
        instance: to decide on; it needs no references.
        method: one of the seven; a padded one reserves what the instance needs.
        features: feature set.
        decisions: how many to time, after some that warm up.
        seconds: stop earlier once this much time has passed, after three decisions at least.
        seed: of states and network.
        decoder: of the points that a projection method predicts, if not the method's own.
    """
    import torch

    torch.set_num_threads(1)
    space = brief_space(problem, features)
    config = train_config(method=method, features=features, seed=seed)
    chosen = method_of(method)
    training = chosen.env(problem, [problem.generate(10)], space, config, [instance])
    model = chosen.model(training, config)
    weights, facts = chosen.weights(model), chosen.facts(training)
    env = problem(instance, features=features, rewards=False, start="default")
    env.reset(seed=seed)
    actor = chosen.actor(env, weights, facts, space, decoder)
    times, counts = _decisions(env, actor, decisions, seconds, seed)
    inputs = int(model.observation_space.shape[0])  # type: ignore[index]
    return Decisions(
        nodes=max(view.num_nodes for view in env.graph_views().values()),
        actions=float(np.mean(counts)) if counts else None,
        parts={part: np.array([t.get(part, 0.0) for t in times]) for part in times[0]},
        policy_us=_policy_pass(inputs, space.scale.width, config),
    )


def _policy_pass(inputs: int, outputs: int, config: TrainConfig) -> float:
    """Median microseconds of a torch pass of a network of the policy's shape."""
    import torch

    layers: list[Any] = []
    width = inputs
    for hidden in config.hidden:
        layers += [torch.nn.Linear(width, hidden), torch.nn.LeakyReLU()]
        width = hidden
    network = torch.nn.Sequential(*layers, torch.nn.Linear(width, outputs))
    observation = torch.zeros(1, inputs)
    with torch.no_grad():
        return median_us(timed(lambda _: network(observation), _PASSES)[1])


def _decisions(
    env: Problem, actor: Actor, count: int, seconds: float, seed: int
) -> tuple[list[dict[str, float]], list[int]]:
    """Timed decisions along episodes of random actions, the parts apart."""
    rng = np.random.default_rng(seed)
    times: list[dict[str, float]] = []
    sizes: list[int] = []
    clock = DecisionClock()
    if isinstance(actor, ClockedActor):
        actor.ended = clock.ended
    actor.act(rng, False)  # compiles
    began = time.perf_counter()
    warm_up = count // 15
    for _ in islice(walk(env, RandomPolicy(), rng), count + warm_up):
        clock.start()
        actor.act(rng, False)
        if not clock.seconds:  # the actor tells no parts apart
            clock.ended("decision")
        times.append({part: 1e6 * passed for part, passed in clock.seconds.items()})
        if len(times) % 10 == 1:
            sizes += _declared_actions(env, actor)
        if time.perf_counter() - began > seconds and len(times) >= 3:
            break
    return times[min(warm_up, len(times) // 10) :], sizes


def _declared_actions(env: Problem, actor: Actor) -> list[int]:
    """Number of actions that the actor chooses among; none where counting means listing."""
    if not isinstance(actor, LatentActor):
        return [env.num_actions]
    actions = actor.view.actions()
    return [] if actions.listed_to_count else [actions.size]
