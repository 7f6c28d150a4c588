"""Training speed: steps per second, their parts, and SB3's PPO on CartPole for comparison.

Seconds are those of the processor: one thread on one core, whatever else runs there. Asking for
them takes a microsecond, too long within a step: parts are told apart by the clock on the wall, in
steps of their own, and scaled to the processor's.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from lagco.agents.config import PPOConfig, TrainConfig, train_config
from lagco.agents.learning.networks import ACTIVATIONS
from lagco.agents.learning.ppo import ppo_arguments
from lagco.agents.registry import method_of
from lagco.bench.untrained import brief_space
from lagco.core.problem import Problem
from lagco.instances import Instance
from lagco.latent.space import LatentSpace
from lagco.runtime.one_thread import one_thread

#: parts of a training step; what is in none of them is `other`
PARTS = ("environment", "encode", "observe", "search", "network", "update", "other")
#: rounds until a taught agent does all that it does later: its policy learns in the first, its
#: ranker in the second, and it begins episodes itself in the third
_TAUGHT_ROUNDS = 3
#: environments of the reference run
_CARTPOLES = 8


def bench_throughput(
    problems: Mapping[type[Problem], int],
    methods: Sequence[str] = ("projection",),
    *,
    features: str = "full",
    steps: int = 8192,
    seed: int = 42,
) -> list[dict[str, Any]]:
    """Environment steps per second of training, rollout and update, and where the time goes.

    Args:
        problems: sizes of the instances by problem.
        methods: of these, all on the same instances.
        features: feature set.
        steps: to time, after a first rollout (three of taught methods).
        seed: of everything.

    Returns:
        Records with ``steps_per_s``, ``ratio`` (to SB3's PPO on CartPole with the same network, 8
        environments and batches of 64, measured just before) and microseconds per step of
        the parts, in as many further steps. One thread.
    """
    records = []
    for problem, size in problems.items():
        drawn = [problem.generate(size, index=index) for index in range(8)]
        instances = [d.with_references(problem.sweep(d, 30, 0)) for d in drawn]
        space = brief_space(problem, features)
        for method in methods:
            config = train_config(method=method, features=features, seed=seed)
            floor = cartpole_rate(config, steps)
            clock = PartClock()
            rate, _, _ = time_training(problem, instances, space, config, steps, clock)
            records.append(
                {
                    "problem": problem.name,
                    "size": size,
                    "method": method,
                    "steps_per_s": round(rate),
                    "cartpole_steps_per_s": round(floor),
                    "ratio": round(rate / floor, 2),
                    **{part: round(1e6 * clock.per_step[part]) for part in PARTS},
                }
            )
    return records


class PartClock:
    """Seconds of each part; a part within another does not count for both.

    Attributes:
        seconds: of the clock on the wall, since parts are watched.
        per_step: seconds of the processor that :meth:`measure` found.
    """

    def __init__(self) -> None:
        self.per_step = dict.fromkeys(PARTS, 0.0)
        self.seconds = dict.fromkeys(PARTS, 0.0)
        self._running = ["other"]
        self._since = time.perf_counter()

    def watch(self, owner: Any, method: str, part: str) -> None:
        """Count the calls of an object's method, where it has one, as a part."""
        original = getattr(owner, method, None)
        if original is None:
            return

        def timed(*arguments: Any, **options: Any) -> Any:
            self._turn()
            self._running.append(part)
            try:
                return original(*arguments, **options)
            finally:
                self._turn()
                self._running.pop()

        setattr(owner, method, timed)

    def _turn(self) -> None:
        now = time.perf_counter()
        self.seconds[self._running[-1]] += now - self._since
        self._since = now

    def measure(self, model: Any, env: Any, steps: int) -> None:
        """Train further steps, and keep how much of the processor's time each part took."""
        self.watch_training(model, env)
        self._turn()
        self.seconds = dict.fromkeys(PARTS, 0.0)
        rate = _rate(model, steps)
        self._turn()
        scale = 1.0 / (rate * sum(self.seconds.values()))
        self.per_step = {part: scale * seconds for part, seconds in self.seconds.items()}

    def watch_training(self, model: Any, env: Any) -> None:
        """Watch the parts of a run."""
        for method in ("_step", "_start"):
            self.watch(env, method, "environment")
        self.watch(env, "_encode", "encode")
        self.watch(env, "_observe", "observe")
        for method in ("_raw_action", "offer", "action_masks"):
            self.watch(env, method, "search")
        self.watch(env, "step", "other")
        self.watch(model, "collect_rollouts", "network")
        self.watch(model, "train", "update")


def time_training(
    problem: type[Problem],
    instances: Sequence[Instance],
    space: LatentSpace | None,
    config: TrainConfig,
    steps: int,
    clock: PartClock | None = None,
) -> tuple[float, Any, Any]:
    """Steps per second once every part has run; the model; its environment."""
    chosen = method_of(config.method)
    env = chosen.env(problem, instances, space if chosen.latent else None, config)
    with one_thread():
        model = chosen.model(env, config)
        for _ in range(_TAUGHT_ROUNDS if chosen.taught else 1):
            model.learn(config.rollout, reset_num_timesteps=False)
        rate = _rate(model, steps)
        if clock is not None:
            clock.measure(model, env, steps)
        return rate, model, env


def cartpole_rate(config: TrainConfig, steps: int) -> float:
    """Steps per second of SB3's PPO on CartPole, with the network of `config`."""
    from stable_baselines3 import PPO
    from stable_baselines3.common.env_util import make_vec_env
    from torch.distributions import Distribution

    env = make_vec_env("CartPole-v1", _CARTPOLES, seed=config.seed)
    hidden = list(config.hidden)
    keywords = {
        "net_arch": {"pi": hidden, "vf": hidden},
        "activation_fn": ACTIVATIONS[getattr(config, "activation", "leaky_relu")],
        "optimizer_kwargs": {"eps": 1e-7, "weight_decay": config.weight_decay},
    }
    usual = PPOConfig(envs=_CARTPOLES, seed=config.seed)
    Distribution.set_default_validate_args(False)  # its checks cost more than what they check
    with one_thread():
        model = PPO("MlpPolicy", env, policy_kwargs=keywords, **ppo_arguments(usual))
        model.learn(usual.rollout)
        return _rate(model, steps)


def _rate(model: Any, steps: int) -> float:
    before = model.num_timesteps
    began = time.process_time()
    model.learn(steps, reset_num_timesteps=False)
    return float((model.num_timesteps - before) / (time.process_time() - began))
