"""The defender's question: which vulnerabilities of a network to patch first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import gymnasium as gym
import numpy as np

from lagco.arrays import Array
from lagco.core.graph import GraphView
from lagco.core.pooling import Max, Mean
from lagco.core.problem import Problem
from lagco.core.rewards.references import named_start
from lagco.core.spec import Attribute, Graph, Node
from lagco.errors import UsageError
from lagco.instances import ArrayForm, Instance, InstanceForm, References
from lagco.instances.formats.solutions import SolutionForm
from lagco.instances.formats.source import Source
from lagco.instances.formats.table import header, table_of
from lagco.problems.cyber_path.network import FORM
from lagco.problems.cyber_path.patches.patching import (
    PATCHED,
    Patching,
    improved,
    patch_names,
    search,
)
from lagco.store import shown

_HEAD = "vulnerability"


def read_patches(source: Source, instance: Instance) -> Array:
    """Flags (m,) of the vulnerabilities that a CSV file lists."""
    places = {name: place for place, name in enumerate(patch_names(instance))}
    flags = np.zeros(len(places), dtype=np.int8)
    if header(source) != [_HEAD]:
        raise source.error(f"the first line must be {_HEAD}", 1)
    for row in table_of(source):
        if row[_HEAD] not in places:
            raise source.error(f"no host has {shown(row[_HEAD])}")
        flags[places[row[_HEAD]]] = 1
    return flags


def named_patches(instance: Instance, solution: Array) -> list[Any]:
    """The vulnerabilities that are patched."""
    return [name for name, flag in zip(patch_names(instance), solution, strict=True) if flag]


def write_patches(instance: Instance, solution: Array) -> str:
    """A CSV file with the vulnerabilities that are patched."""
    return "\n".join([_HEAD, *named_patches(instance, solution), ""])


#: sets of patches that are compared per number of patches to prove that none is better
_PROVING = 400


class Defence(Problem):
    """Close vulnerabilities, so that an attacker owns few hosts.

    Instance: as of `cyber-path`; ``patched`` (m,), the patches in force. A patch closes one of the
    m vulnerabilities on every host that has it.
    View ``patches``: a node per patch, joined where both stand on one host; ``patched``,
    ``hosts``, log1p of the hosts that have it.
    Action: ``Discrete(m)``, the patch to apply or to take back.
    Objective: hosts that an attacker owns with luck (all is visible, nothing is detected) from the
    instance's start; without one the mean over all starts.
    Change: a patch that is applied or taken back.
    Start: the patches in force, or flags (m,).
    """

    name = "cyber-path-fixes"
    solution_form = SolutionForm(
        read_patches, write_patches, named_patches, "0 or 1 per vulnerability"
    )
    present = PATCHED
    improves_within_limits = True
    score_from_start = True
    form = InstanceForm(
        arrays={**FORM.arrays, PATCHED: ArrayForm("integer", (None,), low=0, below=2)},
        params=FORM.params,
    )

    @classmethod
    def of(cls, instance: Instance) -> Instance:
        """The question about a network, where nothing is patched unless its instance says so."""
        none = np.zeros(len(patch_names(instance)), dtype=np.int8)
        arrays = {**instance.arrays, PATCHED: instance.arrays.get(PATCHED, none)}
        return replace(instance, problem=cls.name, arrays=arrays, references=References())

    @classmethod
    def element_names(cls, instance: Instance) -> Sequence[str]:
        """Ids of the vulnerabilities."""
        return patch_names(instance)

    @classmethod
    def value_text(cls, instance: Instance, element: int, value: Any) -> str:
        """Whether a vulnerability is patched."""
        return "patched" if value else "open"

    @classmethod
    def evaluate_solution(cls, instance: Instance, solution: Array) -> float:
        """Hosts that an attacker owns under these patches (m,)."""
        flags = _checked_flags(solution, instance)
        return Patching(instance).attack(frozenset(np.flatnonzero(flags).tolist())).owned

    @classmethod
    def improve(
        cls, instance: Instance, solution: Array | None, seed: int, effort: float = 1.0
    ) -> Array:
        """Sets of patches, each broadened by what the attack that is left uses."""
        return improved(instance, solution, effort)

    @classmethod
    def bound(cls, instance: Instance, seconds: float | None = None) -> float | None:
        """The fewest hosts within the limits where few sets matter; else the one at the start."""
        found, proven = search(instance, None, _PROVING)
        return cls.evaluate_solution(instance, found) if proven else 1.0

    def _load(self, instance: Instance) -> None:
        self._patching = Patching(instance)
        m, patch_of = self._patching.count, self._patching.patch_of
        self._patched = np.zeros(m, dtype=np.int8)
        joined = {
            (min(a, b), max(a, b))
            for row in patch_of.tolist()
            for a in row
            for b in row
            if 0 <= a < b or 0 <= b < a
        }
        hosts = np.bincount(patch_of[patch_of >= 0], minlength=m)
        self._view = GraphView(
            m,
            np.array(sorted(joined), dtype=np.int64).reshape(-1, 2).T,
            nodes={"patched": self._patched, "hosts": np.log1p(hosts).astype(np.float32)},
        )
        self._node_attributes = {
            "patched": Attribute(type="binary"),
            "hosts": Attribute(low=0.0, static=True),
        }
        self._observation_type = {"patches": Graph(poolings=[Mean, Max], graph="patches")}
        self._action_type = {"patch": Node(graph="patches")}
        self.action_space = gym.spaces.Discrete(m)

    def get_graphs(self) -> dict[str, GraphView]:
        """The view ``patches``."""
        return {"patches": self._view}

    def _begin(self, start: Any, rng: np.random.Generator) -> None:
        if isinstance(start, str):
            named_start(start)
            start = self.instance.array(PATCHED)
        self._patched[:] = _checked_flags(start, self.instance)

    def _apply(self, action: Any) -> None:
        self._patched[action] = 1 - self._patched[action]
        self._view.touch_node("patched", int(action))

    def objective(self) -> float:
        """Hosts that an attacker owns."""
        return self._patching.attack(self._present()).owned

    def _present(self) -> frozenset[int]:
        return frozenset(np.flatnonzero(self._patched).tolist())

    def solution(self) -> Array:
        """Which patches are applied: (m,)."""
        return self._patched.copy()

    def set_by(self, actions: Array) -> tuple[Array, Array]:
        """The patch of each action, and whether it is applied then."""
        patches = np.asarray(actions, dtype=np.int64).reshape(-1)
        return patches, 1 - self._patched[patches]

    def is_valid_action(self, action: Any) -> bool:
        """The patch exists."""
        return bool(0 <= action < len(self._patched))

    def preview(self, actions: Array) -> Array:
        """Minus the hosts that an attacker owns after each action, then over all starts: (k,)."""
        present = self._present()
        found = [self._patching.attack(present ^ {int(patch)}) for patch in actions]
        return -np.array([attack.owned for attack in found])

    def draw_on(self, axes: Any) -> None:
        """What an attacker owns after each single patch, those applied in colour."""
        from lagco.problems.cyber_path.viewer import draw_patches

        draw_patches(axes, self._patching, patch_names(self.instance), self._patched)


def _checked_flags(flags: Any, instance: Instance) -> Array:
    array, count = np.asarray(flags), len(patch_names(instance))
    if array.shape != (count,) or not np.isin(array, (0, 1)).all():
        raise UsageError(
            f"patches of {instance.name!r} must be {count} values 0 or 1, got shape {array.shape}"
        )
    return array.astype(np.int8)
