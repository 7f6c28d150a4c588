"""Knowledge of the agent: one row per visible host, in the order in which they became visible.

Rows beyond the last visible host are zero, so a host that is not visible leaves no trace; neither
does a feature group that has not been shown. Validity, previews, features and observations read
nothing but these arrays.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lagco.arrays import Array
from lagco.instances.catalogue import LOCAL_BIT, OUTCOMES, PRIVILEGE_BIT
from lagco.problems.cyber_path.catalogue.outcomes import (
    COLLECTION,
    DENIAL,
    DISCOVERY,
    EVASION,
    EXFILTRATION,
    OWNING,
    PERSISTENCE,
    RECON,
)
from lagco.problems.cyber_path.kernels import Known, are_valid, list_valid, reaches, valid_mask
from lagco.problems.cyber_path.network import (
    DATA,
    GROUP_COLUMNS,
    GROUPS,
    VULNERABILITIES,
    Network,
    host_columns,
)

#: what `ahead` says of each vulnerability: promise, fresh outcomes, and what it opens
AHEAD = 1 + len(OUTCOMES) + 4
#: columns that a survey writes, all rows of each
SURVEYED = (("gain", None), ("risk", None), ("locked", None), ("base", None), ("ahead", None))

#: outcomes that leave a flag on the host: bits, column
FLAG_COLUMNS = (
    (OWNING, "owned"),
    (RECON, "scouted"),
    (DISCOVERY, "explored"),
    (EVASION, "evaded"),
    (COLLECTION, "collected"),
    (EXFILTRATION, "exfiltrated"),
    (PERSISTENCE, "persistent"),
    (DENIAL, "stopped"),
)


class Knowledge:
    """The known part of a network.

    Attributes:
        size: number of visible hosts k.
        host: int64 (n,), host of each row; -1 beyond.
        taken: int32 (n,), outcomes that took effect, as bits.
        counts: int32 (n,), known vulnerabilities.
        codes: int32 (n, V), their codes.
        data_chance: float64 (n,), chance that there is data: 0 or 1 once shown.
        columns: named feature arrays, n rows each.
        ahead: float32 (n, V, AHEAD), what each known vulnerability promises.
        arrays: the arrays that compiled code reads and writes.
        vulns: list per visible host of its known vulnerabilities (entries of the catalogue, for own
            ones those that stand in).
        touched: columns and rows written since :meth:`clear_touched`.
    """

    def __init__(self, network: Network, features: str) -> None:
        n = network.size
        self.network = network
        self.hidden_columns = host_columns(network, features)
        self.lists: list[list[int]] = [
            network.stand_in[row[:count]].tolist()
            for row, count in zip(network.vulns, network.counts, strict=True)
        ]
        self.size = 0
        self.unshown = 0  # feature groups of visible hosts that are not shown
        self.host = np.full(n, -1, dtype=np.int64)
        self.taken = np.zeros(n, dtype=np.int32)
        self.counts = np.zeros(n, dtype=np.int32)
        self.codes = np.zeros((n, network.width), dtype=np.int32)
        self.data_chance = np.zeros(n)
        self.ahead = np.zeros((n, network.width, AHEAD), dtype=np.float32)
        self.columns: dict[str, Array] = {
            "visible": np.zeros(n, dtype=np.int8),
            "shown": np.zeros((n, len(GROUPS)), dtype=np.int8),
            "privilege": np.zeros(n, dtype=np.int8),
            "gain": np.zeros(n, dtype=np.float32),
            "risk": np.zeros(n, dtype=np.float32),
            "locked": np.zeros(n, dtype=np.int8),
            "base": np.zeros(n, dtype=np.int8),
            **{name: np.zeros(n, dtype=np.int8) for _, name in FLAG_COLUMNS},
            **{name: np.zeros_like(column) for name, column in self.hidden_columns.items()},
        }
        self.shown = self.columns["shown"]
        self.privilege = self.columns["privilege"]
        self.gain = self.columns["gain"]
        self.risk = self.columns["risk"]
        self.locked = self.columns["locked"]
        self.base = self.columns["base"]
        self.arrays = Known(
            self.taken, self.privilege, self.counts, self.codes, self.shown, self.data_chance,
            self.gain, self.risk, self.locked, self.base, self.ahead, self.host, network.reach,
        )  # fmt: skip
        self.vulns: list[list[int]] = []
        self.touched: list[tuple[str, Any]] = []

    def forget(self) -> None:
        """Back to knowing nothing."""
        self.size = self.unshown = 0
        self.host[:] = -1
        for array in (self.taken, self.counts, self.codes, self.data_chance, self.ahead):
            array[:] = 0
        for column in self.columns.values():
            column[:] = 0
        self.vulns = []
        self.touched.clear()

    def add(self, hosts: Array, shown: Array) -> None:
        """Let `hosts` (m,) become visible, with the feature groups `shown` bool (m, 4)."""
        first, self.size = self.size, self.size + len(hosts)
        rows = np.arange(first, self.size)
        self.host[rows] = hosts
        self.columns["visible"][rows] = 1
        self.data_chance[rows] = self.network.chances["p_data_present"]
        self.vulns.extend([] for _ in rows)
        self.unshown += shown.size
        for group in range(len(GROUPS)):
            chosen = rows[shown[:, group]]
            if len(chosen):
                self._show(chosen, group)

    def show(self, row: int, group: int) -> None:
        """Show a feature group of the host in a row, unless it is shown already."""
        if not self.shown[row, group]:
            self._show(row, group)

    def show_all(self, row: int) -> None:
        """Show everything about the host in a row."""
        for group in range(len(GROUPS)):
            self.show(row, group)

    def explore(self) -> None:
        """Show everything about every visible host."""
        if not self.unshown:
            return
        for group in range(len(GROUPS)):
            rows = np.flatnonzero(self.shown[: self.size, group] == 0)
            if len(rows):
                self._show(rows, group)

    def _show(self, rows: Any, group: int) -> None:
        hosts = self.host[rows]
        self.unshown -= hosts.size
        self.shown[rows, group] = 1
        self.touched.append(("shown", rows))
        for name in GROUP_COLUMNS[group]:
            self.columns[name][rows] = self.hidden_columns[name][hosts]
            self.touched.append((name, rows))
        if group == DATA:
            self.data_chance[rows] = self.network.data[hosts]
        elif group == VULNERABILITIES:
            self.counts[rows] = self.network.counts[hosts]
            self.codes[rows] = self.network.codes[hosts]
            for row in np.atleast_1d(rows):
                self.vulns[row] = list(self.lists[self.host[row]])
            self.touched.append(("vulns", rows))

    def take(self, row: int, outcomes: int) -> None:
        """Note that `outcomes` took effect on the host in a row."""
        self.taken[row] |= outcomes
        for bits, name in FLAG_COLUMNS:
            if outcomes & bits:
                self.columns[name][row] = 1
                self.touched.append((name, row))

    def raise_privilege(self, row: int, level: int) -> None:
        """Hold at least `level` on the host in a row."""
        if self.privilege[row] < level:
            self.privilege[row] = level
            self.touched.append(("privilege", row))

    # -- attacks that can be tried

    def may_try(self, source: int, target: int, position: int) -> bool:
        """Whether an attack is known and can be tried."""
        if not (0 <= source < self.size and 0 <= target < self.size):
            return False
        held = int(self.taken[source])
        if not held & OWNING or (held | int(self.taken[target])) & DENIAL:
            return False
        if not 0 <= position < self.counts[target]:
            return False
        code = int(self.codes[target, position])
        if code >> LOCAL_BIT & 1 and source != target:
            return False
        if not reaches(self.network.reach, self.host[source], self.host[target], position):
            return False
        return bool(self.privilege[source] >= code >> PRIVILEGE_BIT)

    def are_open(self, attacks: Array) -> Array:
        """The same for attacks (k, 3): (k,)."""
        found: Array = are_valid(attacks, self.arrays)
        return found

    def open_mask(self) -> Array:
        """The same for all triples of source, target and position: (n·n·V,)."""
        found: Array = valid_mask(self.size, self.arrays)
        return found

    def list_open(self, first: int, total: int) -> Array:
        """So many attacks that can be tried, in order from number `first`: (total, 3)."""
        found: Array = list_valid(first, total, self.size, self.arrays)
        return found
