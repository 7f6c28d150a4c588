"""The table of problems, and their registration with Gymnasium.

A package adds a problem by an entry point of the group ``lagco.problems``: its name and the class.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING, Any

from lagco.registry import Registry, origin_of

if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec
    from importlib.metadata import EntryPoint


@dataclass(frozen=True)
class ProblemEntry:
    """A registered problem.

    Attributes:
        name: in commands and files.
        env_id: for Gymnasium.
        entry_point: ``module:Class``.
        summary: one sentence about it.
        unit: what the size of an instance counts.
        drawn_unit: what the size counts that instances are drawn by, where that is another.
        objective: what its objective is, for a reader of the value.
    """

    name: str
    env_id: str
    entry_point: str
    summary: str
    unit: str = "size"
    drawn_unit: str = ""
    objective: str = ""

    def load(self) -> Any:
        """The class, imported when it is asked for."""
        module, _, name = self.entry_point.partition(":")
        return getattr(importlib.import_module(module), name)


_OWN = {
    entry.name: entry
    for entry in (
        ProblemEntry(
            "tsp",
            "lagco/TSP-v0",
            "lagco.problems.tsp:TSP",
            "shortest closed tour; decide on the next city",
            "cities",
            objective="length of the tour",
        ),
        ProblemEntry(
            "min-vertex",
            "lagco/MinVertex-v0",
            "lagco.problems.min_vertex:MinVertex",
            "fewest nodes that cover all edges; decide on the next node",
            "nodes",
            objective="nodes of the cover",
        ),
        ProblemEntry(
            "max-cut",
            "lagco/MaxCut-v0",
            "lagco.problems.max_cut:MaxCut",
            "two sides with the most weight between; decide on the node to move",
            "nodes",
            objective="weight between the sides",
        ),
        ProblemEntry(
            "placement",
            "lagco/Placement-v0",
            "lagco.problems.placement:Placement",
            "virtual machines on physical ones, five aims; decide on a machine and its new host",
            "virtual machines",
            objective="mean of five aims, each from 0 to 1",
        ),
        ProblemEntry(
            "ospf",
            "lagco/OSPF-v0",
            "lagco.problems.ospf:OSPF",
            "link weights that keep the fullest link low; decide on a link and its weight's change",
            "links",
            "routers",
            objective="load of the fullest link, 1 is full",
        ),
        ProblemEntry(
            "traffic",
            "lagco/Traffic-v0",
            "lagco.problems.traffic:Traffic",
            "paths that keep the fullest link low; decide on a demand and its path",
            "demands",
            "routers",
            objective="load of the fullest link, 1 is full",
        ),
        ProblemEntry(
            "cyber-path",
            "lagco/CyberPath-v0",
            "lagco.problems.cyber_path:CyberPath",
            "own the hosts of a partly visible network; decide on source, target, vulnerability",
            "hosts",
            objective="owned hosts",
        ),
    )
}


def _added(point: EntryPoint) -> ProblemEntry:
    camel = "".join(part.capitalize() for part in point.name.split("-"))
    return ProblemEntry(point.name, f"lagco/{camel}-v0", point.value, f"from {origin_of(point)}")


_GYMNASIUM = "gymnasium"
#: every problem by name
ENTRIES: Registry[ProblemEntry] = Registry("problem", "lagco.problems", _OWN, _added)

#: environments of deciding again and again while an instance changes, and their problems
_LIVE: Mapping[str, Mapping[str, Any]] = {
    "lagco/LiveOSPF-v0": {"problem": "ospf"},
    "lagco/LiveTraffic-v0": {"problem": "traffic"},
    "lagco/LivePlacement-v0": {"problem": "placement", "grows": True},
}


def register_environments() -> None:
    """Register every problem with Gymnasium, now or as soon as that is imported.

    A problem's class is imported when one is made.
    """
    if _GYMNASIUM in sys.modules:
        _register()
    elif not any(isinstance(finder, _Registering) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Registering())


class _Registering:
    """Registers the problems once Gymnasium was imported, which takes longer than lagco itself."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Import specification of Gymnasium; None for other modules."""
        if fullname != _GYMNASIUM:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(fullname)
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def execute_and_register(module: ModuleType) -> None:
                execute(module)
                _register()

            spec.loader.exec_module = execute_and_register  # type: ignore[method-assign]
        return spec


def _register() -> None:
    from gymnasium.envs.registration import register, registry

    for entry in ENTRIES.values():
        if entry.env_id not in registry:
            register(entry.env_id, entry_point=entry.entry_point, disable_env_checker=True)
    for env_id, options in _LIVE.items():
        if env_id not in registry:
            register(
                env_id,
                entry_point="lagco.live.environment:LiveEnv",
                disable_env_checker=True,
                kwargs=dict(options),
            )
