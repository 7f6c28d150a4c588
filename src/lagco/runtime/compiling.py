"""Time without what compiling takes, so that a first call searches as long as later ones do.

Compiled code is kept from one process to the next (:mod:`lagco.runtime.compiled_code`). The first
call that needs some compiles it, for seconds that cannot be cut short. Numba tells when it begins
and ends; code that is merely loaded is not compiled.
"""

from __future__ import annotations

from time import perf_counter

from numba.core import event


class Compilations(event.Listener):
    """Notes when something was compiled in this process.

    Attributes:
        ended: beginning and end of every compilation by ``time.perf_counter``, in order; one within
            another is a part of it.
        began: of the one under way; None without.
    """

    def __init__(self) -> None:
        self.ended: list[tuple[float, float]] = []
        self.began: float | None = None
        self._depth = 0

    def on_start(self, event: event.Event) -> None:
        """Numba begins to compile a function, perhaps within another."""
        if self._depth == 0:
            self.began = perf_counter()
        self._depth += 1

    def on_end(self, event: event.Event) -> None:
        """Numba has compiled it, or failed to."""
        self._depth -= 1
        if self._depth == 0 and self.began is not None:
            self.ended.append((self.began, perf_counter()))
            self.began = None

    def until(self, moment: float) -> float:
        """Seconds of compiling before a moment."""
        ended = sum(min(end, moment) - began for began, end in self.ended if began < moment)
        began = self.began
        return ended + (0.0 if began is None else max(0.0, moment - began))


#: of this process
compilations = Compilations()
event.register("numba:compile", compilations)


def working_time(moment: float | None = None) -> float:
    """A clock that stands still while code is compiled, in seconds.

    Args:
        moment: value of ``time.perf_counter()`` for which the time is wanted; now without.
    """
    if moment is None:
        moment = perf_counter()
    return moment - compilations.until(moment)
