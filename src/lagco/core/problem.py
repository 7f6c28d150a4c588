"""`Problem`: the shared part of an environment that decides on one instance at a time.

It keeps the episode: starts, validity, reward as relative improvement, scores, and why it ended.
A problem adds its state, its objective and what an action does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from inspect import signature, unwrap
from pathlib import Path
from typing import Any, ClassVar

import gymnasium as gym
import numpy as np

from lagco.arrays import Array
from lagco.core.changes.limits import Limits, incumbent_of
from lagco.core.changes.observing import BUDGET, budget_shares
from lagco.core.changes.restricting import restrict
from lagco.core.declaring.observed import changing_columns, column_space
from lagco.core.events.changing import Changing
from lagco.core.graph import GraphView
from lagco.core.rewards.references import named_start
from lagco.core.scenarios import has_scenarios, variant
from lagco.core.scenarios.spanning import span, worst_scenario
from lagco.core.spec import Attribute, Function
from lagco.errors import InstanceError, LagcoError, ResetNeeded, SpecError, UsageError, suggest
from lagco.instances import Instance, InstanceForm, read

#: `budget` is `full` with what is left of a budget of changes
#: the feature set of `full` without plans of episodes: for agents that learn by themselves
UNPLANNED = "unplanned"
FEATURE_SETS = ("full", "paper", "budget", UNPLANNED)
INVALID_COST = 10.0


class Problem(Changing):
    """A graph decision problem on one instance.

    Observation: a ``Dict`` of the arrays that change within an episode, shapes set by the instance.
    Reward: change of the score that the state would have if it were completed in the problem's
    pessimistic way; the first one also carries the score of the start. Over an episode it sums to
    the final score plus the terms that each step lists in ``info["reward_terms"]``.
    End: `is_complete`, the episode length, no valid action, or (only with `stop_at_best`) the best
    known value; ``info["reason"]`` says which.

    Args:
        instance: an instance or the path of its file.
        size: instead: draw an instance of this size over the paper's ranges.
        features: ``full``, ``paper``, or ``budget``: ``full`` and the number of changes left.
        start: ``worst``, ``current``, ``default`` or a configuration of the problem's own.
        stop_at_best: end the episode at the sweeps' best value; for training only.
        rewards: False skips the objective of unfinished states, which takes long on large
            instances: the last reward carries what all of them sum to.
        render_mode: ``rgb_array`` or None.

    Subclasses define the class attributes below (`maximise` and `score_from_start` are in
    :class:`~lagco.core.rewards.scoring.Scored`), the five abstract methods and, as far as they
    apply, `is_complete`, `is_feasible`, `_sample` and `preview`.
    """

    metadata: dict[str, Any] = {"render_modes": ["rgb_array"], "render_fps": 4}  # noqa: RUF012

    #: episode length over decision variables
    episode_coefficient: ClassVar[int] = 1
    #: additional start for studies, if scores from the worst start hardly differ between agents
    compared_start: ClassVar[str | None] = None
    #: whether rewards sum to the score (plus declared terms)
    reward_is_score: ClassVar[bool] = True
    #: whether the objective is scaled by bounds that only the sweeps know
    scaled_by_sweeps: ClassVar[bool] = False
    #: entry of ``info`` by whose value after a step `preview` ranks actions
    preview_key: ClassVar[str] = "objective"
    #: teacher of agents that are taught, unless another is chosen: see
    #: ``lagco.agents.teaching.teachers``
    teacher: ClassVar[str] = "search"
    #: size used by ``make`` when neither instance nor size is given
    default_size: ClassVar[int] = 20
    #: whether training may keep problems loaded for when their instance comes again
    reusable: ClassVar[bool] = True
    #: what instances hold, checked whenever one is read or used
    form: ClassVar[InstanceForm] = InstanceForm()

    _builds: bool  # whether the start is no solution yet
    _limits: Limits | None  # of the instance, where actions set elements

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        restrict(cls)
        span(cls)

    def __init__(
        self,
        instance: Instance | str | Path | None = None,
        *,
        size: int | None = None,
        features: str = "full",
        start: Any = "worst",
        stop_at_best: bool = False,
        rewards: bool = True,
        render_mode: str | None = None,
    ) -> None:
        if features not in FEATURE_SETS:
            raise UsageError(suggest("feature set", features, FEATURE_SETS))
        if render_mode not in (None, "rgb_array"):
            raise UsageError(suggest("render mode", render_mode, ["rgb_array"]))
        if isinstance(start, str):
            named_start(start)
        if size is not None and not isinstance(size, int | np.integer):
            raise UsageError(f"size={size!r}: give a whole number")
        if instance is not None and size is not None:
            raise UsageError(f"give instance= or size={size}, not both")
        self.feature_set = features
        self.features = "paper" if features == "paper" else "full"
        self.shows_plans = features != UNPLANNED
        self.start = start
        self.stop_at_best = stop_at_best
        self.rewards = rewards
        self.render_mode = render_mode
        if instance is None:
            instance = self.generate(size or self.default_size)
        self._use(instance)

    # -- instances

    @classmethod
    def defines(cls, hook: str) -> bool:
        """Whether the class has a hook (``draw``, ``solve``, ``advise``, …) of its own."""
        own, base = getattr(cls, hook), getattr(Problem, hook)
        own, base = (getattr(method, "__func__", method) for method in (own, base))
        return unwrap(own) is not unwrap(base)

    @classmethod
    def generate(
        cls, size: int | None = None, seed: int = 42, index: int = 0, **options: Any
    ) -> Instance:
        """Instance number `index` of `seed`: the same in every process and in every order.

        `options` are keyword arguments of :meth:`draw`, where the problem defines any.
        """
        cls.check_options(options)
        sequence = np.random.SeedSequence([seed, index, *cls.name.encode()])
        draw: Callable[..., Instance] = cls.draw
        instance = draw(np.random.default_rng(sequence), size, **options)
        if not isinstance(instance, Instance):
            raise SpecError(f"{cls.__name__}.draw() returned {instance!r}; return an Instance")
        origin: dict[str, Any] = {"generator": cls.name, "seed": seed, "index": index}
        if options:
            origin["options"] = options
        return Instance(
            problem=instance.problem,
            name=instance.name or f"{cls.name}-{seed}-{index:04d}",
            size=instance.size,
            arrays=instance.arrays,
            params=instance.params,
            references=instance.references,
            origin=origin | dict(instance.origin),
        )

    @classmethod
    def check_options(cls, options: Mapping[str, Any]) -> None:
        """Refuse options that :meth:`draw` does not take."""
        known = [name for name in signature(cls.draw).parameters if name not in ("rng", "size")]
        for name in options:
            if name not in known:
                raise UsageError(
                    suggest("option", name, known)
                    if known
                    else f"option {name!r}: the generator of {cls.name} has no options"
                )

    # -- the episode

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Array], dict[str, Any]]:
        """Begin an episode.

        Args:
            seed: seeds the environment's randomness.
            options: ``instance`` (an instance or a path) changes the instance, and with it the
                spaces; ``start`` overrides the start of this episode.
        """
        super().reset(seed=seed)
        options = options or {}
        unknown = options.keys() - {"instance", "start"}
        if unknown:
            raise UsageError(suggest("reset option", unknown.pop(), ["instance", "start"]))
        if options.get("instance") is not None:
            self._use(options["instance"])
        start = self.start if options.get("start") is None else options["start"]
        if isinstance(start, str):
            named_start(start)
            if self._limits is not None and self._limits.before is not None:
                start = "current"  # changes are counted from there
        self._begin_at(start)
        info = {"objective": self._value, "reward_terms": {}, **self.details()}
        return self._observe(), info

    def _begin_at(self, start: Any) -> None:
        """Begin an episode from a start."""
        self._begin(start, self.np_random)
        for view in self.get_graphs().values():
            assert isinstance(view, GraphView)
            view.touch_all()
        self._count_from_here()

    def _count_from_here(self) -> None:
        """Let steps, rewards and the best state count from the present one."""
        self._steps = 0
        self._ended = False
        self._steps_so_far: list[Any] = []
        self._episode_memory: dict[str, Any] = {}
        self._set_scale()
        self._builds = not self.is_feasible()
        self._best_objective: float | None = None
        self._best_solution: Array | None = None
        self._note_best()

    def go_on_with(self, instance: Instance, start: Any = None, *, seed: int | None = None) -> None:
        """See :meth:`lagco.core.events.changing.Changing.go_on_with`."""
        gym.Env.reset(self, seed=seed)
        before, state = self.instance, self.event_state()
        if not has_scenarios(instance) and self._take_over(instance):
            self._count_from_here()
            return
        try:
            self._use(instance)
            self._begin_at("current" if start is None else start)
        except LagcoError:
            self._use(before)
            self._begin_at(state)
            raise

    def observation(self) -> Any:
        """The present state as :meth:`step` shows it."""
        return self._observe()

    @property
    def steps_taken(self) -> int:
        """Steps of this episode so far."""
        return self._steps

    @property
    def actions_taken(self) -> list[Any]:
        """Valid raw actions of this episode so far."""
        return self._steps_so_far

    @property
    def remembered(self) -> dict[str, Any]:
        """What others found out in this episode, by names of theirs; empty when one begins."""
        return self._episode_memory

    def step(self, action: Any) -> tuple[dict[str, Array], float, bool, bool, dict[str, Any]]:
        """Take an action; an invalid one leaves the state as it is and costs 10 / length.

        Where nothing is valid from the start, None ends the episode.
        """
        reward, terminated, truncated, info = self.advance(action)
        return self._observe(), reward, terminated, truncated, info

    def advance(self, action: Any) -> tuple[float, bool, bool, dict[str, Any]]:
        """:meth:`step` without the observation: reward, terminated, truncated, info."""
        if self._ended:
            raise ResetNeeded(f"{type(self).__name__}: the episode is over, call reset()")
        self._steps += 1
        reward, shaped = self._pending, 0.0
        terms: dict[str, float] = {}
        self._pending = 0.0
        if action is None and not self.has_valid_action():
            pass
        elif self.is_valid_action(action):
            extra = self._apply(action)
            self._steps_so_far.append(action)
            if extra:
                if not isinstance(extra, Mapping):
                    raise SpecError(
                        f"{type(self).__name__}._apply() returned {extra!r}; return nothing, or "
                        "reward terms by name"
                    )
                terms.update(extra)
            if self.rewards:
                before, self._value = self._value, self._objective()
                change = (self._value - before) * self._scale
                reward += change
                shaped = self.shaped_reward(before, change)
                self._note_best()
            elif self._builds and self.is_feasible():
                self._value = self._objective()
                self._note_best()
        else:
            terms["invalid"] = -INVALID_COST / self.episode_length
        terminated, truncated, reason = self._end()
        info = {"objective": self._value, "reward_terms": terms, **self.details()}
        rest = self._close(info, reason) if terminated or truncated else 0.0
        if terms:
            rest += sum(terms.values())
        reward += rest
        info["shaped_reward"] = shaped + rest
        return float(reward), terminated, truncated, info

    def carry_out(self, action: Any) -> None:
        """Take a valid action without the bookkeeping of the episode, as searches do."""
        self._apply(action)

    def conclude(self) -> None:
        """Note that nothing more will be carried out, before :meth:`is_feasible` is asked."""

    def _end(self) -> tuple[bool, bool, str]:
        if self.is_complete():
            return True, False, "complete"
        if self.stop_at_best and self._at_best():
            return True, False, "best known value reached"
        if self._steps >= self.episode_length:
            return False, True, "episode length"
        if not self.has_valid_action():
            return True, False, "no valid action"
        return False, False, ""

    def _close(self, info: dict[str, Any], reason: str) -> float:
        """Write the end of the episode into `info`; return what the last reward still lacks."""
        self._ended = True
        rest = 0.0
        if not self.rewards:
            self._value = self._objective()
            self._note_best()
            rest = (self._value - self._start_objective) * self._scale
        value = self.score(self._value)
        feasible = self.is_feasible()
        info["objective"] = self._value
        info["objective_best"] = self._best_objective
        info["reason"] = reason
        info["feasible"] = feasible
        info["score"], info["score_best"] = self.scores()
        if feasible or value is None or not self.reward_is_score:
            return rest
        # rewards add up to the completed state's score; an unfinished one gets 0
        return rest - value

    def shaped_reward(self, before: float, change: float) -> float:
        """Reward that an agent learns from, instead of the `change` of the score.

        Over an episode it should rank solutions as the score does, but it may spread differently
        over the steps, so that a discounted sum or a long tail of small gains teaches the same.
        ``info["shaped_reward"]`` carries it, with the reward's terms added.

        Args:
            before: objective before the step.
            change: of the score.
        """
        return change

    def steps_left(self, view: GraphView) -> float:
        """Share of the episode's steps that are left, as a function to observe."""
        return 1.0 - self._steps / self.episode_length

    def budget_left(self, view: GraphView) -> tuple[float, float]:
        """What is left of the budget of changes, as a function to observe."""
        return budget_shares(self)

    def has_valid_action(self) -> bool:
        """Whether anything can be done; override it where that is known without looking."""
        return bool(self.action_mask().any())

    @property
    def episode_length(self) -> int:
        """Most steps an episode may take."""
        return max(1, self.episode_coefficient * self.instance.size)

    @property
    def usual_length(self) -> int:
        """Steps of a usual episode, over which samples of its states are spread."""
        return self.episode_length

    @property
    def reward_factor(self) -> float:
        """Brings rewards to the same order at every size, where training scales them."""
        return float(self.episode_length)

    @property
    def best_objective(self) -> float | None:
        """Objective of the best feasible state of this episode so far, None before any."""
        return self._best_objective

    @property
    def best_solution(self) -> Array | None:
        """Configuration of the best feasible state of this episode so far, None before any."""
        return self._best_solution

    def _note_best(self) -> None:
        best = self._best_objective
        value = self._value
        if (best is None or self._improvement(value, best) > 0) and self.is_feasible():
            self._best_objective = value
            self._best_solution = self.solution()

    def _use(self, instance: Instance | str | Path) -> None:
        where = ""
        if not isinstance(instance, Instance):
            where = f"{instance}: "
            instance = read(instance, self.name)
        if instance.problem != self.name:
            raise InstanceError(
                f"instance {instance.name!r} is for the problem {instance.problem!r}, "
                f"{type(self).__name__} needs {self.name!r}"
            )
        try:
            self.form.check(instance)
            self.instance = instance
            self._limits = None
            self._load(self._shown(instance))
            if not hasattr(self, "action_space"):
                raise SpecError(
                    f"{type(self).__name__}._load() sets no action_space; set it to a Discrete or "
                    "MultiDiscrete of gymnasium.spaces"
                )
            self._set_limits()
            self._show_budget()
        except InstanceError as error:
            raise InstanceError(f"{where}{error}") if where else error from None
        self._observe_columns()
        self.observation_space = gym.spaces.Dict(
            {key: column_space(attribute, column) for key, attribute, column in self._dynamic}
        )
        self._ended = True

    @classmethod
    def _shown(cls, instance: Instance) -> Instance:
        """What views show: of several scenarios the worst one under the incumbent."""
        if not has_scenarios(instance):
            return instance
        incumbent = incumbent_of(cls, instance)
        worst = 0 if incumbent is None else worst_scenario(cls, instance, incumbent)
        return cls.shown_scenario(variant(instance, worst))

    def _set_limits(self) -> None:
        if self.defines("set_by") or self.defines("keep_limits"):
            self._limits = Limits.of(type(self), self.instance)

    def present_elements(self) -> Array:
        """Values of the elements in the present state; for problems that keep them at hand."""
        return self.elements(self.instance, self.solution())

    @property
    def limits(self) -> Limits | None:
        """Limits of the instance, where actions set elements; None where it has none."""
        return self._limits

    def changes_left(self) -> tuple[int | None, int | None]:
        """Changes that may still be made, and all that may be; None without a budget."""
        limits = self._limits
        return (None, None) if limits is None else (limits.left(self), limits.most)

    def _show_budget(self) -> None:
        if self.feature_set == BUDGET:
            view = next(iter(self.get_graphs()))
            shown = {BUDGET: Function(self.budget_left, graph=view, size=2)}
            self._observation_type = {**self._observation_type, **shown}

    def _observe_columns(self) -> None:
        self._dynamic = self._dynamic_columns()
        self._columns = [(key, column) for key, _, column in self._dynamic]

    # copies, also by pickle: they observe arrays of their own

    def __getstate__(self) -> dict[str, Any]:
        left_out = ("_dynamic", "_columns")
        return {name: value for name, value in self.__dict__.items() if name not in left_out}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._observe_columns()

    def restore(self, snapshot: Any) -> None:
        """See :meth:`ContinuousEnv.restore`."""
        super().restore(snapshot)
        self._observe_columns()

    def _dynamic_columns(self) -> list[tuple[str, Attribute, Array]]:
        """Observation: arrays that change within an episode."""
        return changing_columns(self)

    def _observe(self) -> dict[str, Array]:
        return {key: column.copy() for key, column in self._columns}

    # -- pictures

    def show(self, solution: Array) -> None:
        """Go to the state of a solution as :meth:`solution` gives it, for a picture of it."""
        self.reset(seed=0, options={"start": solution})

    def render(self) -> Any:
        """The state as an RGB array (height, width, 3), in mode ``rgb_array``."""
        if self.render_mode != "rgb_array":
            gym.logger.warn("render() needs render_mode='rgb_array'")
            return None
        from lagco.core.pictures.files import rgb_array

        return rgb_array(self.draw_on)
