"""The most hosts that attacks can own: every sequence of attacks is tried."""

from __future__ import annotations

from typing import Any

import numpy as np
from answering import Arrays, Solver, answer


def exhaustive(instance: Arrays) -> Solver:
    """All sets of facts (owned, administrator, stopped) that any attacks lead to, from any start.

    The bits of a state are n owned hosts, n with admin privilege, n that are stopped.
    """
    n = int(instance["hosts"])
    # host, number, owns, escalates, stops, local, privilege that is needed (0, 1, 2)
    weak = instance["vulnerabilities"].tolist()
    reach = instance["reach"]

    def attacks(state: int) -> list[tuple[int, tuple[int, int, int]]]:
        owned, admin, stopped = (state >> (k * n) & (1 << n) - 1 for k in range(3))
        found = []
        for number, (target, name, owns, escalates, stops, local, needed) in enumerate(weak):
            if stopped >> target & 1:
                continue
            for source in range(n):
                able = owned >> source & 1 and not stopped >> source & 1
                near = source == target or (not local and reach[source, number])
                privilege = (owned >> source & 1) + (admin >> source & 1)
                if not (able and near and privilege >= needed):
                    continue
                after = state | (1 << target) * bool(owns)
                after |= (1 << n + target) * bool(escalates)
                after |= (1 << 2 * n + target) * bool(stops)
                if after != state:
                    found.append((after, (source, target, name)))
        return found

    def solve(_: float) -> dict[str, Any]:
        best, kept = 0, []
        for start in range(n):
            before: dict[int, tuple[int, tuple[int, int, int]] | None] = {1 << start: None}
            left = [1 << start]
            while left:
                state = left.pop()
                if (state & (1 << n) - 1).bit_count() > best:
                    best, kept, at = (state & (1 << n) - 1).bit_count(), [], before[state]
                    while at is not None:
                        kept.append(at[1])
                        at = before[at[0]]
                for after, step in attacks(state):
                    if after not in before:
                        before[after] = (state, step)
                        left.append(after)
        return {"solution": np.array(kept[::-1]).reshape(-1, 3), "bound": best, "proven": True}

    return solve


if __name__ == "__main__":
    answer({"exhaustive (proven)": exhaustive})
