"""The controller that changes nothing."""

from __future__ import annotations

from lagco.arrays import Array
from lagco.live.contract import Situation


class Hold:
    """Leaves all as it is."""

    name = "hold"

    def decide(self, situation: Situation) -> Array | None:
        """Nothing."""
        return None
