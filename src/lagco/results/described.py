"""One line about an object for a session, and a small table for a notebook."""

from __future__ import annotations

import html
from abc import ABC, abstractmethod
from collections.abc import Mapping


class SelfDescribing(ABC):
    """Base of objects that describe themselves in one line."""

    @abstractmethod
    def facts(self) -> Mapping[str, object]:
        """Names and values that describe it, the most telling first."""

    def __repr__(self) -> str:
        listed = ", ".join(f"{name} {value}" for name, value in self.facts().items())
        return f"<{type(self).__name__}: {listed}>"

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><th style='text-align:left'>{html.escape(name)}</th>"
            f"<td style='text-align:left'>{html.escape(str(value))}</td></tr>"
            for name, value in self.facts().items()
        )
        return f"<table><caption>{type(self).__name__}</caption>{rows}</table>"
