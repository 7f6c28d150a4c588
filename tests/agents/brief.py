"""Small instances and the methods under test."""

from __future__ import annotations

import functools

import numpy as np

from lagco.agents.config import train_config
from lagco.agents.registry import method_names, method_of
from lagco.commands.generate import generate_instance
from lagco.problems import list_problems, problem_class
from tests.latent.conftest import brief_space

PROBLEMS = [entry.name for entry in list_problems()]
METHODS = {name: method_of(name) for name in method_names() if "projection" not in name}


@functools.cache
def instance(name, size=10, index=0):
    return generate_instance(name, size=size, index=index, references=["sweeps"], sweeps=10)


def instances(name, sizes=(8, 10)):
    return [instance(name, size, size) for size in sizes]


def training_env(method, problem, sizes=(8, 10), **given):
    """The environment and the configuration of a method."""
    config = train_config(method=method, **given)
    chosen = METHODS[method]
    space = brief_space(problem, config.features) if chosen.latent else None
    env = chosen.env(problem_class(problem), instances(problem, sizes), space, config)
    return env, config


def make_actor(method, env, weights, facts):
    chosen = METHODS[method]
    space = brief_space(env.name, env.features) if chosen.latent else None
    return chosen.actor(env, weights, facts, space, None)


def play(env, actor, episodes, explore=True):
    """Mean score of an actor."""
    scores = []
    for seed in range(episodes):
        env.reset(seed=seed)
        rng = np.random.default_rng(seed)
        done = False
        while not done:
            *_, terminated, truncated, info = env.step(actor.act(rng, explore))
            done = terminated or truncated
        scores.append(info["score"])
    return float(np.mean(scores))


class RandomActor:
    def __init__(self, env):
        self._env = env

    def act(self, rng, explore):
        return self._env.sample_valid_action(rng)


def weights_of(method, model):
    return {name: array.copy() for name, array in METHODS[method].weights(model).items()}


def equal_weights(first, second):
    return first.keys() == second.keys() and all(
        np.array_equal(first[name], second[name]) for name in first
    )
