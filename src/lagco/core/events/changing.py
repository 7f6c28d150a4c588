"""Instances that change under a running state.

The class method `after` defines the changed instance, with the configuration in force carried over
and repaired. Applying an event to a running problem leads to the state that it would have if that
instance were loaded anew. A problem may get there faster by `_take_over`; a test compares both.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from inspect import signature
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, cast

import numpy as np

from lagco.core.events.declaring import EventType, checked_event
from lagco.core.events.draft import Draft
from lagco.core.rewards.scoring import Scored
from lagco.core.scenarios import has_scenarios
from lagco.errors import InstanceError, UsageError, suggest
from lagco.instances import Instance
from lagco.instances.timelines import Event, Moment, Timeline

if TYPE_CHECKING:
    from lagco.core.problem import Problem


#: seconds of a day
DAY = 86400.0
#: sets the stream of events apart from those of episodes
_STREAM = 31


class Changed(NamedTuple):
    """An instance after an event.

    Attributes:
        instance: the changed instance; its incumbent is the configuration in force, repaired.
        start: the state as a start, for problems whose instances hold no configuration.
    """

    instance: Instance
    start: Any = None


class Changing(Scored):
    """A problem whose instances may change; see :class:`~lagco.core.events.EventType`."""

    #: what may happen to an instance, by name
    events: ClassVar[Mapping[str, EventType]] = MappingProxyType({})

    @classmethod
    def after(
        cls, instance: Instance, event: Event | Mapping[str, Any], start: Any = None
    ) -> Changed:
        """The instance after an event, with its incumbent carried over and repaired.

        Args:
            instance: before.
            event: one that the problem declares, or a mapping as a line of a timeline.
            start: the state, where instances of the problem hold none.

        Raises:
            InstanceError: there is no such event, a field is wrong, or it cannot happen now.
        """
        if has_scenarios(instance):
            raise InstanceError(
                f"instance {instance.name!r} has scenarios; events happen to one without"
            )
        event = Event.of(event)
        known = cls.check_event(event)
        draft = Draft(cast("type[Problem]", cls), instance, start)
        fields = {name: event.fields.get(name) for name in known.fields}
        try:
            known.change(draft, **fields)
            cls.repair(draft)
        except InstanceError as error:
            raise InstanceError(f"event {event.kind!r}: {error}") from None
        return Changed(draft.finish(), draft.solution)

    @classmethod
    def check_event(cls, event: Event) -> EventType:
        """The declaration of an event; an :class:`InstanceError` where it fits none."""
        return checked_event(cls.events, event, cls.name)

    @classmethod
    def draw_events(
        cls, instance: Instance, rng: np.random.Generator
    ) -> Iterator[tuple[float, Event]]:
        """Times and synthetic events without end, as they may happen to an instance.

        A problem's own may have further arguments, each with a default.
        """
        raise UsageError(
            f"{cls.name} has no generator of events; define draw_events(cls, instance, rng), or "
            "give a timeline"
        )

    @classmethod
    def draw_timeline(
        cls, instance: Instance, *, seed: int = 42, until: float = DAY, **options: Any
    ) -> Timeline:
        """A synthetic timeline: the same for the same seed.

        Args:
            instance: what there is at the beginning.
            seed: of all that is drawn.
            until: seconds after which it ends.
            options: keyword arguments of :meth:`draw_events`.
        """
        draw: Callable[..., Iterator[tuple[float, Event]]] = cls.draw_events
        known = [name for name in signature(draw).parameters if name not in ("instance", "rng")]
        for name in options:
            if name not in known:
                raise UsageError(suggest(f"option of the events of {cls.name}", name, known))

        def moments() -> Iterator[Moment]:
            for time, event in draw(instance, np.random.default_rng([seed, _STREAM]), **options):
                if time > until:
                    return
                yield Moment(time, event)

        origin = {"generator": cls.name, "seed": seed, "until": until, "options": options}
        return Timeline(cls.name, instance, moments, f"{instance.name}-{seed}", origin)

    @classmethod
    def repair(cls, draft: Draft) -> None:
        """Make the configuration in force valid again, by the problem's rule, after any event."""

    @classmethod
    def unserved(cls, instance: Instance) -> float:
        """Share of the demand that cannot be served, because something is down or full."""
        return 0.0

    def apply(self, event: Event | Mapping[str, Any]) -> None:
        """Apply an event to the instance under the present state.

        The state is repaired by the problem's rule and becomes the incumbent of the changed
        instance. Steps, rewards and the best state count from there. Where nodes or edges come or
        go, spaces and views may be new objects.

        Raises:
            InstanceError: as :meth:`after`; the state is then unchanged.
        """
        before = self.instance
        held = None if self.builds_up else self.present
        state = self.event_state()
        if held is not None:
            before = replace(before, arrays={**before.arrays, held: state})
        self.go_on_with(*type(self).after(before, event, None if held is not None else state))

    def event_state(self) -> Any:
        """The present state, as `after` takes it and an episode may start from it."""
        return self.solution()

    @abstractmethod
    def go_on_with(self, instance: Instance, start: Any = None, *, seed: int | None = None) -> None:
        """Begin anew with a changed instance, from the configuration in force.

        It costs less than loading the instance if little has changed.

        Args:
            instance: as returned by `after`.
            start: the state, for problems whose instances hold no configuration.
            seed: reseeds the environment's randomness.

        Raises:
            InstanceError: it cannot be used; instance and state are then unchanged.
        """

    def _take_over(self, instance: Instance) -> bool:
        """Update the arrays in place for a changed instance; False if it must be loaded anew.

        After True, the state, the views and everything made by `_load` and `_begin` must be as if
        the instance had been loaded and begun from its incumbent.
        """
        return False
