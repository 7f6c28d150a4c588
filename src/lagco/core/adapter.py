"""Plain environments as problems: a class of problems made out of any :class:`ContinuousEnv`.

One mechanism lets data sets, encoders, agents, evaluation, `solve` and studies work on an
environment that knows nothing of instances: an instance is what ``reset`` is called with.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar, TypeAlias, cast

import gymnasium as gym
import numpy as np

from lagco.arrays import Array
from lagco.core.env import ContinuousEnv, draw_valid_action
from lagco.core.graph import GraphView
from lagco.core.hooks import kebab
from lagco.core.problem import Problem
from lagco.core.rewards.references import named_start
from lagco.errors import InstanceError, ResetNeeded, SpecError, UsageError
from lagco.instances import Instance
from lagco.results.numbers import of_things
from lagco.store import canonical_json

#: A class of environments that takes no arguments, or a function that makes one.
EnvMaker: TypeAlias = Callable[[], gym.Env[Any, Any]]
#: What ``reset(options=...)`` is given.
Options: TypeAlias = Mapping[str, Any]

#: entries of ``info`` that the problem itself writes
_OWN_ENTRIES = {"objective", "objective_best", "reward_terms", "shaped_reward"}
_OWN_ENTRIES |= {"score", "score_best", "reason", "feasible"}
#: hooks that a problem has only where the environment defines them itself
_HOOKS = (
    "all_actions",
    "action_mask",
    "possible_parts",
    "actions_from_parts",
    "parts_from_actions",
    "preview",
    "candidate_features",
    "suggested_actions",
    "draw_on",
)
#: an episode without an end is cut after this many steps, or ten times its nodes if that is more
_LONGEST = 1000
_USUAL = 50
_SURVEYED = 200
_SEEDS = 2**31


class EnvProblem(Problem):
    """An environment as a problem.

    Instance: ``params["seed"]`` and, where given, ``params["options"]``: the arguments of the
    environment's ``reset``. Its size is the number of nodes over all views after that reset.
    Views, declarations, action space, validity, ``preview`` and further hooks, and the raw
    observation are the environment's own, and so is the reward. Objective: the return so far, to be
    maximised; only finished episodes count as solutions, and a solution is the raw actions taken.
    There are no references, so scores are null. Where the environment is ``stochastic``, it goes on
    from that reset with a random stream that follows from the seed of the episode. An invalid
    action, which only unmasked methods take, leaves the state and costs 10 / length. End: as the
    environment says, where nothing is valid, or after `episode_length` steps.
    """

    maximise: ClassVar[bool] = True
    reward_is_score: ClassVar[bool] = False
    default_size: ClassVar[int] = 0
    reusable: ClassVar[bool] = False  # an environment may hold anything
    #: what makes the environment
    source: ClassVar[EnvMaker]
    _extents: ClassVar[dict[str, dict[str, int]]]

    _wrapped: gym.Env[Any, Any] | None = None  # the environment as it was made
    _core: ContinuousEnv  # the same without wrappers

    # -- instances

    @classmethod
    def instance_of(
        cls, seed: int = 0, options: Options | None = None, env: EnvProblem | None = None
    ) -> Instance:
        """The instance that ``reset(seed=seed, options=options)`` begins.

        Args:
            seed: a number from 0.
            options: JSON values.
            env: a problem of this class to reuse for reading the size.
        """
        params: dict[str, Any] = {"seed": _checked_seed(seed)}
        name = f"{cls.name}-{params['seed']}"
        if options is not None:
            params["options"] = _checked_options(options)
            name = f"{name}-{_spelled(params['options'])}"
        unsized = Instance(cls.name, name, 0, {}, params)
        env = cls(unsized) if env is None else env
        if env.instance is not unsized:
            env._use(unsized)
        size = sum(view.num_nodes for view in env.graph_views().values())
        return Instance(cls.name, name, size, {}, unsized.params)

    @classmethod
    def draw(cls, rng: np.random.Generator, size: int | None = None) -> Instance:
        """A random seed, with the option that `size_option` of the environment names for sizes."""
        seed, options = int(rng.integers(_SEEDS)), None
        if size:
            option = getattr(cls._kind, "size_option", None)
            if option is None:
                raise UsageError(
                    f"size={size}: {cls._kind.__name__} does not say which option of reset() sets "
                    "the size; name it in size_option, or give options="
                )
            options = {option: size}
        return cls.instance_of(seed, options)

    @classmethod
    def extents(cls, instance: Instance) -> dict[str, int]:
        """Raw actions, and nodes and edges per view; views that grow get twice what was seen."""
        known = cls._extents.get(instance.checksum)
        if known is None:
            known = cls._extents[instance.checksum] = cls(instance)._survey()
        return known

    @classmethod
    def evaluate_solution(cls, instance: Instance, solution: Array) -> float:
        """The return of these actions, replayed."""
        env = cls(instance)
        env.reset(options={"start": solution})
        return env.objective()

    def _survey(self) -> dict[str, int]:
        self.reset(seed=0)
        rng = np.random.default_rng(0)
        views = self.graph_views().items()
        first = {name: (view.num_nodes, view.num_edges) for name, view in views}
        most, actions = dict(first), self.num_actions
        for _ in range(_SURVEYED):
            if self._ended or not self.has_valid_action():
                break
            self.step(draw_valid_action(self._core, rng))
            actions = max(actions, self.num_actions)
            for name, view in self.graph_views().items():
                nodes, edges = most[name]
                most[name] = max(nodes, view.num_nodes), max(edges, view.num_edges)
        found = {"actions": actions}
        for name, counts in most.items():
            for kind, count, began in zip(("nodes", "edges"), counts, first[name], strict=True):
                found[f"{name}.{kind}"] = count if count == began else 2 * count
        return found

    # -- the environment

    _kind: ClassVar[type[ContinuousEnv]]

    @classmethod
    def make(cls) -> gym.Env[Any, Any]:
        """A new environment, wrapped as it was made."""
        return made(cls.source)

    def _load(self, instance: Instance) -> None:
        if "seed" not in instance.params:
            raise InstanceError(
                f"instance {instance.name!r} has no params['seed'], what "
                f"{self._kind.__name__}.reset() is called with; make it with lagco.generate"
            )
        if self._wrapped is None:
            self._wrapped = self.make()
            self._core = cast("ContinuousEnv", self._wrapped.unwrapped)
        self._reset_env()
        self._fresh = True

    def _reset_env(self) -> None:
        assert self._wrapped is not None
        params = self.instance.params
        options = params.get("options")
        self._observation, self._details = self._wrapped.reset(
            seed=params["seed"], options=None if options is None else dict(options)
        )
        self._taken: list[Any] = []
        self._return = 0.0
        self._stop: tuple[bool, bool, str] | None = None
        self._finished = False
        self._look_rng = np.random.default_rng(0)
        core: Any = self._core
        # dictionaries, since the default of a class that declares none cannot be copied
        self._node_attributes = dict(core._node_attributes)
        self._edge_attributes = dict(core._edge_attributes)
        self._observation_type = dict(core._observation_type)
        self._action_type = dict(core._action_type)
        self.action_space = core.action_space

    def _use(self, instance: Instance | str | Path) -> None:
        super()._use(instance)
        self.observation_space = self._core.observation_space

    def _dynamic_columns(self) -> list[Any]:
        return []  # the observation is the environment's own

    def _observe(self) -> Any:
        return self._observation

    def close(self) -> None:
        """Close the environment."""
        if self._wrapped is not None:
            self._wrapped.close()

    # -- the episode

    def _begin(self, start: Any, rng: np.random.Generator) -> None:
        if not self._fresh:
            self._reset_env()
        self._fresh = False
        if self.stochastic:  # the instance is drawn; what happens is drawn by the episode's seed
            self._core.np_random = np.random.default_rng(rng.integers(_SEEDS, size=4))
        if isinstance(start, str):
            named_start(start)  # all three mean what reset() begins with
            return
        for action in start:
            if self._stop is not None:
                raise UsageError(
                    f"start: the episode ends after {len(self._taken)} of "
                    f"{of_things(len(start), 'actions')}"
                )
            self._apply(action if np.ndim(action) else int(action))
        self._finished = len(start) > 0

    def _apply(self, action: Any) -> None:
        assert self._wrapped is not None
        if self._stop is not None:
            raise ResetNeeded(f"{self._kind.__name__}: the episode is over, call reset()")
        found = self._wrapped.step(action)
        self._observation, reward, terminated, truncated, self._details = found
        who = f"{self._kind.__name__}.step()"
        try:
            reward = float(reward)
        except (TypeError, ValueError):
            raise SpecError(
                f"{who} returned the reward {reward!r} for {action!r}; return a number"
            ) from None
        if not math.isfinite(reward):
            raise SpecError(
                f"{who} returned the reward {reward} for {action!r}; return a finite number"
            )
        self._taken.append(action)
        self._return += reward
        self.action_space = self._core.action_space
        if terminated or truncated:
            reason = self._details.get("reason", "complete" if terminated else "truncated")
            self._stop = bool(terminated), bool(truncated), str(reason)
            self._finished = True

    def _end(self) -> tuple[bool, bool, str]:
        found = self._stop or super()._end()
        if (found[0] or found[1]) and not self._finished:
            # an episode that is cut after steps that did nothing has no return to speak of
            self._finished = found[0] or len(self._taken) == self._steps
            self._note_best()
        return found

    def is_complete(self) -> bool:
        """Whether the environment has said that its episode is over."""
        return self._stop is not None

    def conclude(self) -> None:
        """What was done is all there is to do: its return counts."""
        self._finished = True

    def has_valid_action(self) -> bool:
        """Whether a valid action can be sampled."""
        return draw_valid_action(self._core, self._look_rng) is not None

    def objective(self) -> float:
        """The return so far."""
        return self._return

    def solution(self) -> Array:
        """The raw actions taken so far: (t,) or (t, m)."""
        return np.array(self._taken)

    def is_feasible(self) -> bool:
        """Whether the episode is over; the return of an unfinished one says nothing."""
        return self._finished

    def reopened(self, solution: Array, share: float, rng: np.random.Generator) -> Any:
        """None: nothing may be decided after the end of an episode."""
        return None

    def details(self) -> dict[str, Any]:
        """The environment's own ``info``."""
        return {k: v for k, v in self._details.items() if k not in _OWN_ENTRIES}

    @property
    def episode_length(self) -> int:
        """Most steps an episode may take; what the environment's spec says, or a generous bound."""
        if self.horizon is not None:
            return self.horizon
        assert self._wrapped is not None
        spec = self._wrapped.spec
        limit = None if spec is None else spec.max_episode_steps
        return int(limit or max(_LONGEST, 10 * self.instance.size))

    @property
    def usual_length(self) -> int:
        """Steps of a usual episode, as far as that is known."""
        return min(self.episode_length, _USUAL)

    @property
    def reward_factor(self) -> float:
        """Rewards are learned from as they are."""
        return 1.0

    # -- what the environment declares

    def get_graphs(self) -> Mapping[str, GraphView]:
        """The environment's views."""
        return self._core.graph_views()

    graph_views = get_graphs  # type: ignore[assignment]

    def is_valid_action(self, action: Any) -> bool:
        """Whether the environment says so; False for what is not in its action space."""
        return _within(self.action_space, action) and bool(self._core.is_valid_action(action))

    def are_valid_actions(self, actions: Array) -> Array:
        """The environment's own."""
        return self._core.are_valid_actions(actions)

    def sample_valid_action(self, rng: np.random.Generator | None = None) -> Any:
        """The environment's own."""
        return draw_valid_action(self._core, rng or self.np_random)

    @property
    def num_actions(self) -> int:
        """Size of the environment's raw action space."""
        return self._core.num_actions


def checked_horizon(kind: type[ContinuousEnv]) -> int | None:
    """The horizon of a class, if it is a number of steps."""
    found = kind.horizon
    if found is not None and (isinstance(found, bool) or not isinstance(found, int) or found < 1):
        raise SpecError(f"{kind.__name__}.horizon is {found!r}; give a number of steps, or None")
    return found


_ADAPTED: dict[Any, type[EnvProblem]] = {}


def adapted(source: EnvMaker) -> type[EnvProblem]:
    """The class of problems of an environment: the same one for the same `source`.

    Args:
        source: a class derived from :class:`ContinuousEnv`, or a function without arguments that
            makes such an environment, wrapped or not.
    """
    known = _ADAPTED.get(source)
    if known is not None:
        return known
    kind = source if isinstance(source, type) else type(made(source).unwrapped)
    if not issubclass(kind, ContinuousEnv):
        raise UsageError(
            f"{kind.__name__} is not a lagco.ContinuousEnv; derive it from lagco.ContinuousEnv "
            "beside its Gymnasium class"
        )
    given = getattr(kind, "name", None)
    namespace: dict[str, Any] = {
        "__doc__": f"{kind.__name__} as a problem; see :class:`EnvProblem`.",
        "__module__": getattr(source, "__module__", kind.__module__),
        "name": given if isinstance(given, str) and given else kebab(kind.__name__),
        "source": staticmethod(source),
        "candidate_columns": kind.candidate_columns,
        "pair_columns": kind.pair_columns,
        "hints": kind.hints,
        "solution_form": kind.solution_form,
        "stochastic": kind.stochastic,
        "horizon": checked_horizon(kind),
        "_kind": kind,
        "_extents": {},
    }
    for hook in _HOOKS:
        own = getattr(kind, hook, None)
        if own is not None and own is not getattr(Problem, hook, None):
            namespace[hook] = _delegate(hook, own)
    found = type(kind.__name__, (EnvProblem,), namespace)
    _ADAPTED[source] = found
    return found


def made(source: EnvMaker) -> gym.Env[Any, Any]:
    """The environment that a class or function without arguments makes."""
    name = getattr(source, "__name__", repr(source))
    try:
        inspect.signature(source).bind()
    except TypeError as error:
        raise UsageError(
            f"{name} cannot be made without arguments ({error}); give them defaults, or give a "
            f"function that makes one, such as lambda: {name}(...)"
        ) from None
    except ValueError:  # no signature is known
        pass
    env = source()
    if not isinstance(env, gym.Env):
        raise UsageError(
            f"{name}() made {env!r}; give a class of environments or a function that returns one"
        )
    if not isinstance(env.unwrapped, ContinuousEnv):
        raise UsageError(
            f"{name}() made a {type(env.unwrapped).__name__}, which is not a lagco.ContinuousEnv; "
            "derive it from lagco.ContinuousEnv beside its Gymnasium class"
        )
    return env


def _delegate(hook: str, own: Callable[..., Any]) -> Callable[..., Any]:
    def delegated(self: EnvProblem, *args: Any) -> Any:
        return getattr(self._core, hook)(*args)

    delegated.__name__, delegated.__doc__ = hook, own.__doc__
    return delegated


def _within(space: gym.Space[Any], action: Any) -> bool:
    """Whether an action is in the action space, whatever its integer type."""
    if isinstance(space, gym.spaces.Discrete):
        return np.ndim(action) == 0 and bool(space.start <= action < space.start + space.n)
    if isinstance(space, gym.spaces.MultiDiscrete):
        values = np.asarray(action) - space.start
        return values.shape == space.nvec.shape and bool(
            ((values >= 0) & (values < space.nvec)).all()
        )
    return bool(space.contains(action))


def _checked_seed(seed: Any) -> int:
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise UsageError(f"seeds: {seed!r} is not a seed; give whole numbers from 0")
    return int(seed)


def _checked_options(options: Any) -> dict[str, Any]:
    if not isinstance(options, Mapping):
        raise UsageError(f"options={options!r}: give a mapping, as reset(options=...) takes it")
    # the instance makes Python numbers of numpy's, and names what no file can hold
    return dict(Instance("", "options of reset()", 0, {}, options).params)


def _spelled(options: Mapping[str, Any]) -> str:
    text = ",".join(f"{key}={canonical_json(value)}" for key, value in options.items())
    return text if len(text) <= 60 else f"{text[:59]}…"
