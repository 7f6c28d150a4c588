"""Progress of long work: a bar on a terminal, plain lines at a steady pace anywhere else.

Every function that may take long has ``progress=True``, and shows nothing with False. What is over
before the first line is due says nothing. Where the terminal is gone, the work goes on unseen.
"""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

Item = TypeVar("Item")

#: seconds between two lines where there is no terminal
PACE = 30.0

_silent = False


def silence(silent: bool = True) -> None:
    """Switch progress output off (or on) for all functions, whatever their arguments."""
    global _silent
    _silent = silent


class Progress:
    """Progress of one piece of work, to be used in a ``with``.

    Args:
        name: what is done.
        total: number of steps, None while it is not known.
        show: whether to show it at all.
        pace: seconds between lines where there is no terminal.
    """

    def __init__(
        self, name: str, total: float | None = None, *, show: bool = True, pace: float = PACE
    ) -> None:
        self._name, self._total, self._pace = name, total, pace
        self._show = show and not _silent
        self._done, self._text = 0.0, ""
        self._bar: Any = None
        self._over = threading.Event()
        self._began = time.monotonic()

    def __enter__(self) -> Progress:
        if not self._show:
            return self
        if sys.stderr.isatty():
            self._bar = _bar()
            with self._unless_gone():
                self._bar.start()
                self._task = self._bar.add_task(self._name, total=self._total)
        else:
            threading.Thread(target=self._write_lines, daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        self._over.set()
        if self._bar is not None:
            with self._unless_gone():
                self._bar.stop()

    def update(self, done: float, total: float | None = None, text: str = "") -> None:
        """Show the steps done, the number of all steps where it has changed, and a few words."""
        self._done, self._text = done, text or self._text
        self._total = self._total if total is None else total
        self._show_bar()

    def say(self, text: str) -> None:
        """Show a few words about the progress."""
        self._text = text
        self._show_bar()

    def _show_bar(self) -> None:
        if self._bar is not None:
            about = f"{self._name}: {self._text}" if self._text else self._name
            state = {"completed": self._done, "total": self._total, "description": about}
            with self._unless_gone():
                self._bar.update(self._task, **state)

    @contextlib.contextmanager
    def _unless_gone(self) -> Iterator[None]:
        """Show nothing more where the terminal is gone."""
        try:
            yield
        except (OSError, SystemExit):  # rich makes an exit of a closed pipe
            bar, self._bar = self._bar, None
            with contextlib.suppress(OSError, SystemExit):
                bar.stop()  # gives back sys.stdout

    def over(self, items: Iterable[Item]) -> Iterator[Item]:
        """Yield the items, counting each as a step."""
        for number, item in enumerate(items):
            self.update(number)
            yield item

    def line(self) -> str:
        """State in words."""
        of = "" if self._total is None else f" of {self._total:.0f}"
        text = f", {self._text}" if self._text else ""
        return f"{self._name}: {self._done:.0f}{of}{text}, after {_spoken(self._began)}"

    def _write_lines(self) -> None:
        while not self._over.wait(self._pace):
            sys.stderr.write(f"{self.line()}\n")
            sys.stderr.flush()


def _spoken(began: float) -> str:
    minutes, seconds = divmod(round(time.monotonic() - began), 60)
    return f"{minutes} min {seconds} s" if minutes else f"{seconds} s"


def _bar() -> Any:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    return Bar(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True, emoji=False),
        transient=True,
    )
