"""Reinforcement on top of the agents that come with lagco: what it brings on validation instances.

    python benchmarks/reinforcement.py tsp --way episodes|gradient [--size 50] [--seed 4411]

`episodes`: self-imitation, the best of 16 of the agent's own episodes is imitated (``--teacher``).
`gradient`: clipped policy gradient (as in PPO) on the ranker alone, over 8 episodes from the same
start. Their mean takes the place of a critic, so that none has to be learnt first, and
`--penalty` times the divergence from the taught ranker keeps the policy near its teacher.
Results go to benchmarks/results/reinforcement.json.
"""

from __future__ import annotations

import argparse
import copy
import json
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from default_agents import instance_of, measured
from train_default_agents import RECIPES

from lagco.agents.agent import Agent
from lagco.agents.bundle import load
from lagco.agents.inference.ranker import PREFIX, Ranker
from lagco.agents.shipped import FOLDER, default_agent
from lagco.agents.teaching.labelled_states import padded_features
from lagco.agents.teaching.ranker_network import RankerNetwork
from lagco.agents.training.trainer import train
from lagco.instances import Instance, References
from lagco.latent.candidates import candidate_features
from lagco.latent.decoder import Decoder, plain_action
from lagco.problems import problem_class
from lagco.runtime.one_thread import one_thread
from lagco.store import readable_json, write_atomically

RESULTS = Path(__file__).parent / "results" / "reinforcement.json"
#: seed of the instances to learn from, episodes from the same start, states of a descent
SEED, TRIES, BATCH = 9, 8, 256
#: how far the probability of an action may move before its gradient is cut off
CLIP = 0.2


@dataclass
class Decision:
    """One decision: the candidates, the position drawn, and the worth of the episode."""

    features: Any
    chosen: int
    advantage: float = 0.0


def training_instances(problem: str, size: int | None, count: int) -> list[Instance]:
    """Fresh instances like those the agent was taught on."""
    cls, recipe = problem_class(problem), RECIPES[problem]
    found = []
    for index in range(count):
        drawn = (recipe.source or cls).generate(size, seed=SEED, index=index)
        sweeps = cls.sweep(drawn, recipe.sweeps, SEED).sweeps if recipe.sweeps else None
        found.append(drawn.with_references(References(sweeps=sweeps)))
    return found


def ranker_of(agent: Agent) -> RankerNetwork:
    """The agent's ranker as a network that learns."""
    weights, config = agent.weights, agent.description["config"]
    network = RankerNetwork(
        len(weights[PREFIX + "mean"]),
        len(weights[PREFIX + "pair_mean"]),
        config["ranker_width"],
        config["ranker_layers"],
    )
    arrays = {name: weights[PREFIX + name].copy() for name in network.state_dict()}
    network.load_state_dict({name: torch.from_numpy(array) for name, array in arrays.items()})
    return network


def with_ranker(agent: Agent, network: RankerNetwork) -> Agent:
    """The same agent with that ranker."""
    weights = {**agent.weights, **copy.deepcopy(network).arrays()}
    changed = Agent(agent.problem, agent.method, weights, agent.description, agent.space)
    return changed.configured()


def episode(
    agent: Agent, env: Any, decoder: Decoder, seed: int, rng: np.random.Generator
) -> tuple[list[Decision], float]:
    """Decisions of a sampled episode up to its best state, and minus the log of what it reached."""
    env.reset(seed=seed)
    env.rewards = env.is_feasible()  # else only complete states count
    actor: Any = agent.actor(env)
    found, best, length, ended = [], env.best_objective, 0, False
    while not ended:
        observation = actor.look()
        near = decoder.candidates(actor.view, actor.network(observation))
        features, chosen = candidate_features(actor.view, near, observation), 0
        if len(near.scores) > 1:
            logits = decoder.logits(actor.view, near, observation)
            chosen = int((logits + rng.gumbel(size=len(logits))).argmax())
        found.append(Decision(features, chosen))
        row = near.indices[chosen : chosen + 1]
        _, ended, truncated, _ = env.advance(plain_action(actor.view.raw(row)[0]))
        ended = ended or truncated
        if env.best_objective != best:
            best, length = env.best_objective, len(found)
    sign = 1.0 if env.maximise else -1.0
    return found[:length], sign * float(np.log(best))


def played(
    agent: Agent, network: RankerNetwork, envs: list[Any], rng: np.random.Generator
) -> list[Decision]:
    """Decisions of `TRIES` episodes in every environment, with advantages over their mean."""
    k = agent.description["config"]["k"]
    decoder = Decoder("ranked", k, "inner", ranker=Ranker(network.arrays()))
    found = []
    for env in envs:
        seed = int(rng.integers(2**31))
        tries = [episode(agent, env, decoder, seed, rng) for _ in range(TRIES)]
        reached = np.array([value for _, value in tries])
        worth = (reached - reached.mean()) / (reached.std() + 1e-6)
        for (decisions, _), advantage in zip(tries, worth.tolist(), strict=True):
            for decision in decisions:
                decision.advantage = advantage
            found += [d for d in decisions if len(d.features.each) > 1]
    return found


def batches(found: list[Decision], rng: np.random.Generator) -> Iterator[list[Decision]]:
    """All decisions once, in random order."""
    order = rng.permutation(len(found)).tolist()
    for start in range(0, len(order), BATCH):
        yield [found[i] for i in order[start : start + BATCH]]


def improve(
    agent: Agent, instances: list[Instance], updates: int, penalty: float, rate: float
) -> Agent:
    """The agent after so many updates of its ranker by the clipped policy gradient."""
    rng = np.random.default_rng(SEED)
    taught, network = ranker_of(agent), ranker_of(agent)
    optimiser = torch.optim.Adam(network.parameters(), lr=rate)
    envs = [agent.problem(i, features=agent.features) for i in instances]
    each = max(1, len(envs) // updates)
    for update in range(updates):
        chosen = envs[update * each : (update + 1) * each]
        found, before = played(agent, network, chosen, rng), copy.deepcopy(network)
        moved = []
        for batch in batches(found, rng):
            given = [(d.features, np.zeros(len(d.features.each), bool)) for d in batch]
            candidates, pairs, mask, _ = padded_features(given)
            near = None if pairs is None else pairs.float()
            taken = torch.tensor([[d.chosen] for d in batch])
            advantage = torch.tensor([d.advantage for d in batch])
            now = network(candidates, near, mask).log_softmax(-1)
            with torch.no_grad():
                old = before(candidates, near, mask).log_softmax(-1)
                first = taught(candidates, near, mask).log_softmax(-1)
            ratio = (now.gather(1, taken) - old.gather(1, taken))[:, 0].exp()
            cut = ratio.clamp(1.0 - CLIP, 1.0 + CLIP)
            gain = torch.minimum(ratio * advantage, cut * advantage).mean()
            divergence = (first.exp() * (first - now)).sum(dim=1).mean()
            moved.append(float(divergence.detach()))
            optimiser.zero_grad()
            (penalty * divergence - gain).backward()
            torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
            optimiser.step()
        print(f"update {update}: {len(found)} states, divergence {np.mean(moved):.4f}", flush=True)
    return with_ranker(agent, network)


def imitated(agent: Agent, instances: list[Instance], steps: int, rate: float) -> Agent:
    """The agent after it imitated the best of its own episodes."""
    problem, config = agent.problem.name, agent.description["config"]
    kept = ("k", "ranker_width", "ranker_layers", "temperature", "epochs")
    given: dict[str, Any] = {name: config[name] for name in kept}
    given |= {"steps": steps, "rollout": max(1024, steps // 4), "learning_rate": rate}
    own = str(FOLDER / problem)
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "run"
        train(
            problem, instances, out, method="taught-projection", seed=SEED, init=own, teacher=own,
            **given,
        )  # fmt: skip
        return load(out)


@one_thread()
def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("problem")
    parser.add_argument("--way", choices=("episodes", "gradient"), required=True)
    parser.add_argument("--size", type=int)
    parser.add_argument("--seed", type=int, default=4411, help="Of the validation instances.")
    parser.add_argument("--instances", type=int, default=24)
    parser.add_argument("--learning-rate", type=float, default=1e-4)
    parser.add_argument("--penalty", type=float, default=0.1)
    parser.add_argument("--updates", type=int, default=12)
    parser.add_argument("--starts", type=int, default=240, help="Instances to learn from.")
    parser.add_argument("--steps", type=int, default=8192, help="States to imitate.")
    given = parser.parse_args()
    torch.manual_seed(SEED)
    known = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    agent = default_agent(given.problem)
    tests = [
        instance_of(given.problem, given.size, given.seed, index)
        for index in range(given.instances)
    ]
    base = f"{given.problem}/{given.size or 'paper'}/{given.seed}/{given.instances}/"
    if base + "taught" not in known:
        known[base + "taught"] = measured(agent, tests, "gap")
    began = time.process_time()
    instances = training_instances(given.problem, given.size, given.starts)
    if given.way == "gradient":
        key = f"gradient, {given.updates} updates, {given.starts} starts, "
        key += f"rate {given.learning_rate:g}, penalty {given.penalty:g}"
        found = improve(agent, instances, given.updates, given.penalty, given.learning_rate)
    else:
        key = f"episodes, {given.steps} states, rate {given.learning_rate:g}"
        found = imitated(agent, instances, given.steps, given.learning_rate)
    seconds = round(time.process_time() - began, 1)
    known[base + key] = {**measured(found, tests, "gap"), "training_seconds": seconds}
    write_atomically(RESULTS, readable_json(known))
    for name in ("taught", key):
        row = known[base + name]
        print(f"{base}{name}: {row['first']:.3f} / {row['best']:.3f}", flush=True)


if __name__ == "__main__":
    main()
