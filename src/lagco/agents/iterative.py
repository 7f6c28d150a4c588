"""`iterative`: Q(o, u(a)) over all valid actions, on Stable-Baselines3's DQN.

Every decision looks at every valid action. Returns run over true n steps; the value of a state is
the maximum over its own valid actions. Action vectors are those of the latent space, standardised
as for `projection`; the preset `paper` leaves them as they are.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import gymnasium as gym
import numpy as np
import torch
from stable_baselines3 import DQN
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.dqn.policies import DQNPolicy
from torch import Tensor, nn

from lagco.agents.action_tables import MOST_ACTIONS, ActionTables, read_actions
from lagco.agents.config import TrainConfig, setting, with_default
from lagco.agents.discrete import without_summary
from lagco.agents.joint_network import JointNetwork, linear_modules
from lagco.agents.latent_env import LatentVecEnv, vec_env_options
from lagco.agents.method import Look, Method, Weights
from lagco.agents.network import (
    SLOPE,
    check_width,
    layer_arrays,
    linear_layers,
    policy_arguments,
    stored_layers,
    take_network,
)
from lagco.agents.padding import PaddedActions
from lagco.agents.q_gradient import differentiate_values
from lagco.agents.q_network import SplitQ
from lagco.agents.replay import GOES_ON, TERMINATED, TRUNCATED, ActionReplayBuffer
from lagco.agents.vector_env import ProblemVecEnv
from lagco.arrays import Array
from lagco.core.env import ContinuousEnv
from lagco.core.problem import Problem
from lagco.embedding.devices import torch_device
from lagco.errors import UsageError
from lagco.instances import Instance
from lagco.latent.decoder import Decoder, plain_action
from lagco.latent.scale import ActionScale
from lagco.latent.space import LatentSpace, LatentView
from lagco.store import Schema, Tensors, object_of
from lagco.store.tensors import JoinedRows

#: epsilon at the end of exploration, and of an actor that explores
EPSILON = 0.05
#: steps before the first gradient step
_WARM_UP = 100
#: JSON schema of the facts of a trained agent
FACTS: Schema = object_of(standardised={"type": "boolean"})


def observed_space(space: LatentSpace, standardised: bool) -> LatentSpace:
    """The space as `iterative` uses it: no summary of actions; perhaps raw action vectors."""
    space = without_summary(space)
    if standardised:
        return space
    scale = space.scale
    plain = ActionScale(
        np.zeros_like(scale.mean),
        np.ones_like(scale.deviation),
        scale.low,
        scale.high,
        scale.projection,
    )
    return replace(space, scale=plain)


class IterativeVecEnv(LatentVecEnv):
    """Actions are positions among the valid actions that were offered for the present states.

    Attributes:
        offered: valid actions per environment, of the states that were acted in last.
        cut_off: per environment whose episode was cut off in the last step, the last state.
    """

    def __init__(
        self,
        problem: type[Problem],
        instances: Sequence[Instance],
        space: LatentSpace,
        *,
        standardised: bool = True,
        **options: Any,
    ) -> None:
        self.standardised = standardised
        self._fallbacks: list[PaddedActions] = []
        self.offered: list[ActionTables] = []
        self.cut_off: dict[int, tuple[Array, ActionTables]] = {}
        self._rows: list[Array] = []
        space = observed_space(space, standardised)
        super().__init__(problem, instances, space, Decoder(), **options)

    def _companions(self, problem: Problem) -> dict[str, Any]:
        return super()._companions(problem) | {"_fallbacks": PaddedActions(problem, 0)}

    def _action_space(self) -> gym.Space[Any]:
        return gym.spaces.Discrete(MOST_ACTIONS)

    def offer(self) -> list[ActionTables]:
        """The valid actions of the present states."""
        found = [read_actions(view, rng) for view, rng in zip(self.views, self._rngs, strict=True)]
        self._rows = [rows for rows, _ in found]
        self.offered = [actions for _, actions in found]
        return self.offered

    def step_wait(self) -> Any:
        self.cut_off = {}
        return super().step_wait()

    def _raw_action(self, index: int, action: Any) -> Any:
        rows, offered = self._rows[index], self.offered[index]
        if not len(offered):  # nothing can be done: an invalid action, upon which the episode ends
            return self._fallbacks[index].outside
        row = rows[offered.place(int(action))]
        return plain_action(self.views[index].raw(row[None])[0])

    def _end(self, index: int, info: dict[str, Any], cut: bool) -> dict[str, Any]:
        if cut:
            _, actions = read_actions(self.views[index], self._rngs[index])
            self.cut_off[index] = self._observations[index].copy(), actions
        return super()._end(index, info, cut)


class QPolicy(DQNPolicy):
    """Holds Q and its target: networks from [o, u] to a value.

    Args:
        action_width: d.
    """

    def __init__(self, *arguments: Any, action_width: int, **options: Any) -> None:
        self._action_width = action_width
        super().__init__(*arguments, **options)

    def make_q_net(self) -> Any:
        """A network (B, w + d) -> (B, 1)."""
        inputs = int(np.prod(self.observation_space.shape or ())) + self._action_width
        layers = linear_layers(inputs, list(self.net_arch), self.activation_fn)
        return _QNetwork(*layers).to(self.device)


class _QNetwork(nn.Sequential):
    def set_training_mode(self, mode: bool) -> None:
        """The same network in both modes."""

    def split(self, observation_width: int) -> SplitQ:
        """The same network over sets of actions; it shares the weights."""
        return SplitQ(stored_layers(layer_arrays("q", self), "q"), observation_width)


class IterativeDQN(DQN):
    """DQN whose actions are the valid actions of each state.

    Everything random comes from generators of its own, seeded by `seed`.
    """

    env: IterativeVecEnv
    replay_buffer: ActionReplayBuffer  # type: ignore[assignment]

    def _setup_model(self) -> None:
        super()._setup_model()
        self._split()
        self._rng = np.random.default_rng([self.seed or 0, 3])

    def _setup_learn(self, *arguments: Any, **options: Any) -> Any:
        found = super()._setup_learn(*arguments, **options)
        self.bind()
        return found

    def bind(self) -> None:
        """Make what is passed and differentiated of the networks as they are now."""
        q_net: Any = self.q_net
        self._joint = JointNetwork(
            q_net, [linear_modules(q_net)], nn.LeakyReLU, self.policy.optimizer
        )
        #: weights and gradients of two hidden layers on the CPU, layer by layer
        self._arrays: tuple[tuple[Array, ...], tuple[Array, ...]] | None = None
        parameters = list(q_net.parameters())
        if self.device.type == "cpu" and len(parameters) == 6:
            self._arrays = (
                tuple([p.detach().numpy() for p in parameters]),
                tuple([p.grad.numpy() for p in parameters]),
            )
        self._split()

    def _split(self) -> None:
        """Make the networks over sets of actions; on the CPU they share the weights for good."""
        width = int(np.prod(self.observation_space.shape or ()))
        q_net: Any = self.q_net
        q_net_target: Any = self.q_net_target
        self.split_q: SplitQ = q_net.split(width)
        self.split_target: SplitQ = q_net_target.split(width)

    def _excluded_save_params(self) -> list[str]:
        return [*super()._excluded_save_params(), "split_q", "split_target", "_joint", "_arrays"]

    def _sample_action(
        self, learning_starts: int, action_noise: Any = None, n_envs: int = 1
    ) -> tuple[Array, Array]:
        epsilon = 1.0 if self.num_timesteps < learning_starts else self.exploration_rate
        positions = self._positions(epsilon)
        return positions, positions

    def predict(  # type: ignore[override]
        self,
        observation: Array,
        state: Any = None,
        episode_start: Any = None,
        deterministic: bool = False,
    ) -> tuple[Array, Any]:
        """Positions of the best actions in the present states of the training environment."""
        return self._positions(0.0 if deterministic else self.exploration_rate), state

    def _positions(self, epsilon: float) -> Array:
        offered = self._source.offer()
        assert isinstance(self._last_obs, np.ndarray)
        explore = self._rng.random(len(offered)) < epsilon
        drawn = self._rng.random(len(offered))
        positions = (drawn * [len(actions) for actions in offered]).astype(np.int64)
        greedy = [i for i in np.flatnonzero(~explore) if len(offered[i]) > 1]
        if greedy:
            states = self._last_obs[greedy], [offered[i] for i in greedy]
            positions[greedy] = self.split_q.best(*states)[1]
        return positions

    @property
    def _source(self) -> IterativeVecEnv:
        env: Any = self.env
        assert isinstance(env, IterativeVecEnv)
        return env

    def _store_transition(
        self,
        replay_buffer: Any,
        buffer_action: Array,
        new_obs: Any,
        reward: Array,
        dones: Array,
        infos: list[dict[str, Any]],
    ) -> None:
        source = self._source
        ends = np.where(dones, TERMINATED, GOES_ON).astype(np.int8)
        ends[list(source.cut_off)] = TRUNCATED
        replay_buffer.add(
            self._last_obs, source.offered, buffer_action, reward, ends, source.cut_off
        )
        self._last_obs = new_obs

    def train(self, gradient_steps: int, batch_size: int = 32) -> None:
        """Gradient steps on n-step returns; their targets share one pass."""
        if not self.replay_buffer.ready:
            return
        self.policy.set_training_mode(True)
        self._update_learning_rate(self.policy.optimizer)
        shared = self.device.type == "cpu"
        if not shared:
            self._split()
        batch = self.replay_buffer.sample(gradient_steps * batch_size)
        target = self._n_calls // max(self.target_update_interval // self.n_envs, 1)
        values = self.replay_buffer.values(batch, target, self.split_target.maxima)
        targets = torch.from_numpy(batch.rewards + batch.discounts * values).to(self.device)
        inputs = torch.from_numpy(batch.inputs).to(self.device)
        losses: list[float] = []
        for start in range(0, len(inputs), batch_size):
            stop = start + batch_size
            losses.append(self.differentiate(inputs[start:stop], targets[start:stop]))
            self._joint.descend(self.max_grad_norm)
        if not shared:
            self._split()
        self._n_updates += gradient_steps
        self.logger.record("train/n_updates", self._n_updates, exclude="tensorboard")
        if losses:
            self.logger.record("train/loss", sum(losses) / len(losses))

    def differentiate(self, inputs: Tensor, targets: Tensor) -> float:
        """Write the gradient of the loss to the parameters of Q; returns the loss."""
        if self._arrays is not None:
            weights, gradients = self._arrays
            return float(
                differentiate_values(inputs.numpy(), targets.numpy(), SLOPE, weights, gradients)
            )
        (found,) = self._joint.forward(inputs)
        error = found[:, 0] - targets
        self._joint.backward([(error.clamp(-1.0, 1.0) / len(error))[:, None]])
        return float(nn.functional.smooth_l1_loss(found[:, 0], targets))

    # -- checkpoints

    def extra_state(self) -> dict[str, Any]:
        """Plain values that a checkpoint needs beside policy, optimiser and environment."""
        return {
            "calls": self._n_calls,
            "updates": self._n_updates,
            "episodes": self._episode_num,
            "exploration_rate": float(self.exploration_rate),
            "rng": self._rng.bit_generator.state,
            "buffer": self.replay_buffer.state(),
        }

    def extra_arrays(self) -> dict[str, Array | JoinedRows]:
        """Arrays that a checkpoint needs: the replay buffer."""
        return self.replay_buffer.arrays()

    def restore_extra(self, state: Mapping[str, Any], arrays: Mapping[str, Array]) -> None:
        """Go on from :meth:`extra_state` and :meth:`extra_arrays`."""
        self._n_calls = int(state["calls"])
        self._n_updates = int(state["updates"])
        self._episode_num = int(state["episodes"])
        self.exploration_rate = float(state["exploration_rate"])
        self._rng.bit_generator.state = state["rng"]
        self.replay_buffer.restore(state["buffer"], arrays)


@dataclass(frozen=True)
class IterativeConfig(TrainConfig):
    """Settings of `iterative`."""

    method = "iterative"
    paper = {**TrainConfig.paper, "tau": 0.05, "target_every": 10_000}  # noqa: RUF012

    learning_rate: float = with_default(TrainConfig, "learning_rate", 1e-4)
    batch_size: int = with_default(TrainConfig, "batch_size", 32)
    gamma: float = with_default(TrainConfig, "gamma", 0.95)
    max_grad_norm: float = with_default(TrainConfig, "max_grad_norm", 10.0)
    n_step: int = setting(5, "length of the returns that Q is fitted to", least=1)
    buffer: int = setting(50_000, "transitions that are remembered", least=1)
    train_every: int = setting(4, "environment steps per gradient step", least=1)
    target_every: int = setting(1000, "environment steps between target updates", least=1)
    tau: float = setting(1.0, "share of the new weights in a target update", least=0.0, most=1.0)
    exploration: float = setting(
        0.5, "share of the steps over which epsilon falls from 1 to 0.05", least=0.0, most=1.0
    )
    reduce: int = setting(
        0,
        "dimensions that action vectors are reduced to by principal components; 0 keeps all",
        least=0,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.hidden:
            raise UsageError("hidden=[]: a Q network needs a hidden layer")


class IterativeMethod(Method):
    """Takes the valid action of the largest Q; explores by epsilon."""

    name = "iterative"
    label = "iterative"
    look = Look("#009e73", "triangle-up")
    config = IterativeConfig
    facts_schema: Schema = FACTS

    def env(
        self,
        problem: type[Problem],
        instances: Sequence[Instance],
        space: LatentSpace | None,
        config: IterativeConfig,
        pad_to: Sequence[Instance] = (),
    ) -> ProblemVecEnv:
        if space is None:
            raise UsageError("iterative needs a latent space")
        standardised = config.preset != "paper"
        options = vec_env_options(config)
        return IterativeVecEnv(problem, instances, space, standardised=standardised, **options)

    def model(self, env: ProblemVecEnv, config: IterativeConfig) -> BaseAlgorithm:
        assert isinstance(env, IterativeVecEnv)
        width = env.space.scale.width
        every = max(1, round(config.train_every / config.envs))
        keywords = {
            "net_arch": list(config.hidden),
            "activation_fn": nn.LeakyReLU,
            "optimizer_kwargs": policy_arguments(config)["optimizer_kwargs"],
            "action_width": width,
        }
        return IterativeDQN(
            QPolicy,
            env,
            learning_rate=config.learning_rate,
            buffer_size=config.buffer,
            learning_starts=_WARM_UP,
            batch_size=config.batch_size,
            tau=config.tau,
            gamma=config.gamma,
            train_freq=every,
            gradient_steps=max(1, round(every * config.envs / config.train_every)),
            replay_buffer_class=ActionReplayBuffer,  # type: ignore[arg-type]
            replay_buffer_kwargs={
                "action_width": width,
                "n_steps": config.n_step,
                "gamma": config.gamma,
                "seed": config.seed,
            },
            target_update_interval=config.target_every,
            exploration_fraction=config.exploration,
            exploration_final_eps=EPSILON,
            max_grad_norm=config.max_grad_norm,
            policy_kwargs=keywords,
            seed=config.seed,
            device=torch_device(config.device),
        )

    def weights(self, model: BaseAlgorithm) -> dict[str, Array]:
        assert isinstance(model, IterativeDQN)
        return layer_arrays("q", model.q_net)

    def facts(self, env: ProblemVecEnv) -> dict[str, Any]:
        assert isinstance(env, IterativeVecEnv)
        return {"standardised": env.standardised}

    def check(self, tensors: Tensors, facts: Mapping[str, Any], space: LatentSpace | None) -> None:
        assert space is not None
        take_network(tensors, "q", outputs=1)
        if tensors["q.0.weight"].shape[1] <= space.scale.width:
            raise tensors.refused("Q takes no observation beside the action")

    def actor(
        self,
        env: ContinuousEnv,
        weights: Weights,
        facts: Mapping[str, Any],
        space: LatentSpace | None,
        decoder: Decoder | None,
    ) -> IterativeActor:
        """See :class:`~lagco.agents.method.Method`; there are no points to decode."""
        assert space is not None
        view = observed_space(space, bool(facts["standardised"])).view(env)
        return IterativeActor(view, weights)


class IterativeActor:
    """Looks at every valid action; explores by epsilon."""

    def __init__(self, view: LatentView, weights: Weights) -> None:
        self.view = view
        layers = stored_layers(weights, "q")
        expected = view.observation_width + view.space.scale.width
        check_width("the network 'q' takes", layers[0][0].shape[1], expected)
        self._q = SplitQ(layers, view.observation_width)
        self._observation = np.empty((1, view.observation_width), np.float32)
        self._fallback = PaddedActions(view.env, 0)

    def act(self, rng: np.random.Generator, explore: bool) -> Any:
        view = self.view
        view.refresh()
        rows, actions = read_actions(view, rng)
        if not len(actions):
            return self._fallback.outside
        if explore and rng.random() < EPSILON:
            position = int(rng.integers(len(actions)))
        else:
            view.observation(self._observation[0])
            position = int(self._q.best(self._observation, [actions])[1][0])
        return plain_action(view.raw(rows[actions.place(position)][None])[0])

    def timed(self, rng: np.random.Generator) -> dict[str, float]:
        """One decision without exploring, and the seconds that its parts took."""
        view = self.view
        began = time.perf_counter()
        view.refresh()
        encoded = time.perf_counter()
        view.actions()
        read = time.perf_counter()
        view.observation(self._observation[0])
        observed = time.perf_counter()
        rows, actions = read_actions(view, rng)
        listed = time.perf_counter()
        position = int(self._q.best(self._observation, [actions])[1][0])
        plain_action(view.raw(rows[actions.place(position)][None])[0])
        return {
            "encode": encoded - began,
            "actions": read - encoded,
            "observe": observed - read,
            "list": listed - observed,
            "values": time.perf_counter() - listed,
        }


METHOD = IterativeMethod()
