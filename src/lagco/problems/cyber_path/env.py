"""Cyber-attack path prediction: own the hosts of a simulated network, seeing a part of it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import gymnasium as gym
import numpy as np

from lagco.arrays import Array
from lagco.core.candidates import CandidateFeatures
from lagco.core.events import Draft, Event
from lagco.core.graph import GraphView
from lagco.core.problem import Problem
from lagco.core.rewards.references import named_start, reference_value
from lagco.core.spec import Attribute, Function
from lagco.errors import UsageError
from lagco.instances import Instance, References
from lagco.problems.cyber_path.attack_graph import AttackGraph
from lagco.problems.cyber_path.catalogue.outcomes import (
    ADMIN,
    ALL_OUTCOMES,
    DETECTED_POINTS,
    DISCOVERY,
    ESCALATION,
    EVASION,
    EXFILTRATION,
    MOST_RISK,
    ONCE,
    OWNED_POINTS,
    OWNING,
    RECON,
    RECON_POINTS,
    USER,
)
from lagco.problems.cyber_path.catalogue.vectors import load_vectors
from lagco.problems.cyber_path.declarations import (
    VIEW,
    action_type,
    edge_attributes,
    node_attributes,
    observation_type,
    observed_attributes,
)
from lagco.problems.cyber_path.events import (
    EVENTS,
    NOTHING,
    begun_at,
    draw_changes,
    forget_impossible,
)
from lagco.problems.cyber_path.generator import draw_network
from lagco.problems.cyber_path.kernels import promises, survey
from lagco.problems.cyber_path.knowledge import SURVEYED, Knowledge
from lagco.problems.cyber_path.network import DATA, FLAGS, FORM, GROUPS, read_network
from lagco.problems.cyber_path.planner import EACH, attack_worths, describe_attacks
from lagco.problems.cyber_path.reachability import replay

#: what expected points count to the planner, which thus breaks ties by them
_LEAST_WORTH = 1e-6
_ROUNDING = 1e-9


class CyberPath(Problem):
    """Attack host after host of a network that becomes visible on the way.

    A simulated, abstract benchmark: hosts, services and vulnerability classes come from a catalogue
    of neutral descriptions.

    Instance: ``services`` (n, S) and ``vulns`` (n, V), ids of the catalogue padded with ``""``;
    ``data`` (n,) 0 or 1; ``reach`` (n, n, V) where not every source reaches every service;
    ``own_vulnerabilities`` in ``params`` beside the catalogue, the chances ``p_recon``,
    ``p_feature_visible``, ``p_detection`` and ``p_data_present``, and ``vigilance`` (0 where it is
    left out).
    Start: one host is owned with user privilege (drawn at random; ``current``: ``params["start"]``
    where there is one; a host given as a number; or steps taken so far, after which only the hosts
    on the way are visible), every other host is visible with chance
    p_recon. When a host becomes visible, each of its feature groups (services, vulnerabilities,
    data, flags) shows with chance p_feature_visible.

    Order of discovery: visible hosts are numbered 0 … k-1 as they become visible, in the view, in
    the observation and in actions alike, so that neither the numbers nor the size k of the view say
    anything about hidden hosts. Row 0 is the start; hosts that become visible together follow in
    the order of the instance. ``host_of`` maps rows to hosts. (Only the fixed shapes of observation
    and action space tell n, as for every problem.)

    View ``attack_G`` (directed, grows): the k visible hosts; an edge for every (source, target)
    with an executed attack, a loop for a local one; ``vulnerability`` (E, w) is the mean vector of
    those used. Nodes: ``service_text``, ``vulnerability_text`` (k, w), mean vectors of what is
    shown (w = 32 principal components in `full`, 384 in `paper`), and attributes of the
    observation; ``vulns`` lists the known vulnerabilities, ``ahead`` (k, V, 15) is for each of
    these its expected reward over that of owning a host, which of its outcomes would be new, and
    what it opens: hosts that it may find, hosts whose vulnerabilities it shows, hosts that admin
    privilege gained by it unlocks (log1p each), and by how much it lowers the risk.
    What is not shown is 0, the list empty.
    Action: ``MultiDiscrete([n, n, V])`` = (source, target, position in the target's list): the
    source is owned, the target visible, neither is stopped, the vulnerability is known, local ones
    need source = target, and the source holds the privilege it needs.
    Observation: n rows in the order of discovery, zeros beyond k: ``visible`` (n,), ``shown``
    (n, 4) feature groups, ``owned``, ``privilege`` (0 none, 1 user, 2 admin), ``data``, flags of
    outcomes that took effect (``evaded``, ``exfiltrated``, ``persistent``, ``stopped``; `full` also
    ``scouted``, ``explored``, ``collected``), ``num_services``, ``num_vulns`` (log1p in `full`),
    and over the known vulnerabilities ``outcomes`` (n, 10) and ``requirements`` (n, 3) as shares;
    `full` also ``local``, ``gain`` (n,), the best expected reward of a valid attack on the host
    over that of owning one, ``risk`` (n,), the chance that an attempt on it is detected, and
    ``locked`` (n,), whether all known ways into it need more privilege than is held, and ``base``
    (n,), the first of the sources with the highest privilege: what can be tried from afar can be
    tried from there. Agents observe
    in `full` also a ``situation`` (6,): risk; hosts that reconnaissance may find, hosts whose
    vulnerabilities are unknown, hosts that are locked (log1p each); share of the visible hosts that
    is owned; share of the steps that is left.
    An attempt is detected, and fails, with chance p_detection + vigilance x traces, unless the
    target is evaded; traces do not raise that above 0.9. An attempt on a target that is not evaded
    leaves a trace; defence evasion, also when repeated, removes all of them.
    Otherwise all outcomes take effect, and each pays once per host: lateral movement or credential
    access owns the target with user privilege (+20), privilege escalation gives admin privilege
    (+3), reconnaissance makes each hidden host visible with chance p_recon (+3 per host), discovery
    shows everything about all visible hosts (+2), defence evasion (+2), collection (+1),
    exfiltration where there is data (+1), persistence (+1), denial of service stops the target
    (-10), which can then be neither source nor target and stays owned if it was. Detection costs 1.
    Owning a host shows everything about it; a successful attack shows the target's flags,
    exfiltration whether it has data.
    Reward: these points / (20 n), each in ``info["reward_terms"]``; it is not the score.
    Score: owned hosts / n; on the solver's scale over the hosts that can be owned.
    End: all hosts are owned, or 3 n steps.
    """

    name = "cyber-path"
    candidate_columns = EACH
    events = EVENTS
    form = FORM
    maximise = True
    episode_coefficient = 3
    reward_is_score = False
    #: never in ``info``: an expectation does not foretell the outcome of one random attempt
    preview_key = "expected_reward"

    @classmethod
    def draw(
        cls, rng: np.random.Generator, size: int | None = None, profile: str = "guarded"
    ) -> Instance:
        """10 to 20 hosts with 5 vulnerabilities each, of which at least 90 % can be owned.

        Args:
            rng: source of everything random.
            size: number of hosts.
            profile: ``guarded``: one way into each host, half of them for administrators only, and
                a network that watches; ``open``: several ways into most hosts, for every user;
                ``released``: likewise, with more in sight.
        """
        return draw_network(rng, size, profile)

    @classmethod
    def sweep(cls, instance: Instance, sweeps: int | None, seed: int) -> References:
        """The plain bounds: every host, and none. Nothing is swept."""
        from lagco.problems.cyber_path.reachability import plain_bounds

        return References(sweeps=plain_bounds(instance))

    @classmethod
    def solve(cls, instance: Instance, seed: int, effort: float = 1.0) -> References:
        """The most hosts that can be owned, from the best start and with luck (optimal)."""
        from lagco.problems.cyber_path.reachability import solve_reachability

        return References(solver=solve_reachability(instance))

    @classmethod
    def improve(
        cls, instance: Instance, solution: Array | None, seed: int, effort: float = 1.0
    ) -> Array:
        """The attacks that own the most hosts with luck, from the same start."""
        from lagco.problems.cyber_path.reachability import improve_attacks

        return improve_attacks(instance, solution)

    @classmethod
    def bound(cls, instance: Instance, seconds: float | None = None) -> float | None:
        """The most hosts that can be owned, from the best start and with luck."""
        from lagco.problems.cyber_path.reachability import solve_reachability

        found = solve_reachability(instance)
        return found.value if found.status == "optimal" else None

    @classmethod
    def extents(cls, instance: Instance) -> dict[str, int]:
        """Nodes, edges of the view at most, vulnerabilities per host, and raw actions."""
        n, width = instance.array("vulns").shape
        edges = min(n * n, cls.episode_coefficient * n)
        return {"nodes": n, "edges": edges, "vulns": width, "actions": n * n * width}

    @classmethod
    def evaluate_solution(cls, instance: Instance, solution: Array) -> float:
        """Hosts owned after attack steps (k, 3) as in :meth:`solution`, all of them successful."""
        return float(replay(read_network(instance), solution, instance.name))

    @classmethod
    def repair(cls, draft: Draft) -> None:
        """Steps that the network no longer allows are forgotten, and what they led to."""
        forget_impossible(draft)

    @classmethod
    def draw_events(
        cls, instance: Instance, rng: np.random.Generator, step: float = 60.0
    ) -> Iterator[tuple[float, Event]]:
        """Patches, hosts that come and hosts that are cut off: one every `step` seconds."""
        return draw_changes(instance, rng, step)

    def event_state(self) -> Array:
        """Where the attack began, and the steps that succeeded since: (k + 1, 3)."""
        return begun_at(self._first, self.solution())

    def _load(self, instance: Instance) -> None:
        n = instance.size
        self._network = read_network(instance)
        vectors = load_vectors(self.features)
        self._knowledge = Knowledge(self._network, self.features)
        self._node_attributes = node_attributes(self.features)
        self._edge_attributes = edge_attributes(self.features)
        self._observation_type = observation_type(self.features)
        if self.features == "full":
            self._observation_type["situation"] = Function(self._situation, VIEW, size=6)
        self._action_type = action_type(self.features)
        names = tuple(self._node_attributes)
        self._graph = AttackGraph(
            self._knowledge, names, vectors.vulnerabilities, self.episode_length
        )
        self._hidden = np.ones(n, dtype=bool)
        self._executed = np.zeros((self.episode_length, 3), dtype=np.int64)
        self._unit_reward = 1.0 / (OWNED_POINTS * n)
        self.action_space = gym.spaces.MultiDiscrete([n, n, self._network.width])

    def _situation(self, view: GraphView) -> Array:
        """Risk; hosts expected, unknown, locked (log1p); share owned of those seen; time left."""
        hosts = [math.log1p(count) for count in (self._new_hosts, self._unknown, self._locked)]
        owned = self._owned / self._knowledge.size
        return np.array([self._risk, *hosts, owned, 1.0 - self._steps / self.episode_length])

    def _dynamic_columns(self) -> list[tuple[str, Attribute, Array]]:
        columns = self._knowledge.columns
        attributes = observed_attributes(self.features)
        return [(name, attribute, columns[name]) for name, attribute in attributes.items()]

    def padded_attributes(self) -> list[str] | None:
        """All with `full` features; with `paper` ones those of hosts, but not the attacks."""
        return None if self.features == "full" else list(observed_attributes(self.features))

    def get_graphs(self) -> dict[str, GraphView]:
        """The view ``attack_G``."""
        return {VIEW: self._graph.view}

    @property
    def host_of(self) -> Array:
        """Host of each visible row: (k,)."""
        return self._knowledge.host[: self._knowledge.size].copy()

    # -- the episode

    def _begin(self, start: Any, rng: np.random.Generator) -> None:
        n = self._network.size
        if isinstance(start, np.ndarray | list | tuple):
            self._go_on_from(np.asarray(start, dtype=np.int64).reshape(-1, 3))
            return
        first = self._start_host(start)
        if first is None:
            first = int(rng.integers(n))
        knowledge = self._knowledge
        knowledge.forget()
        self._graph.clear()
        self._hidden[:] = True
        self._hidden[first] = False
        self._first = first
        self._owned = 1
        self._scans = 0
        self._num_executed = 0
        self._detected = False
        self._set_traces(0)
        knowledge.add(np.array([first]), np.ones((1, len(GROUPS)), dtype=bool))
        knowledge.take(0, OWNING)
        knowledge.raise_privilege(0, USER)
        self._scan(rng)
        self._publish()

    def _go_on_from(self, steps: Array) -> None:
        """Begin where attack steps have led; no other host is visible."""
        first, taken = int(steps[0, 0]), steps[steps[:, 2] != NOTHING]
        replay(self._network, taken, self.instance.name)  # says what is wrong with them
        self._first = first
        self._scans = 1
        self._detected = False
        self._executed = np.zeros((len(taken) + self.episode_length, 3), dtype=np.int64)
        self._executed[: len(taken)] = taken
        self._num_executed = len(taken)
        self._set_traces(0)
        self._graph.show([[first, first, NOTHING], *taken.tolist()])
        self._hidden[:] = True
        self._hidden[self._knowledge.host[: self._knowledge.size]] = False
        self._owned = int(self.recompute_objective())
        self._publish()

    def _start_host(self, start: Any) -> int | None:
        n = self._network.size
        if isinstance(start, str):
            if named_start(start) != "current":
                return None
            start = self.instance.params.get("start")
            if start is None:
                return None
        if not isinstance(start, int | np.integer) or not 0 <= start < n:
            raise UsageError(f"start={start!r}: give a name or a host from 0 to {n - 1}")
        return int(start)

    def _scan(self, rng: np.random.Generator) -> int:
        """Let each hidden host become visible with chance p_recon; return how many did."""
        chances = self._network.chances
        self._scans += 1
        hidden = self._hidden.nonzero()[0]
        if not len(hidden):
            return 0
        found = hidden[rng.random(len(hidden)) < chances["p_recon"]]
        if len(found):
            shown = rng.random((len(found), len(GROUPS))) < chances["p_feature_visible"]
            self._hidden[found] = False
            self._knowledge.add(found, shown)
        return len(found)

    def _apply(self, action: Any) -> Mapping[str, float]:
        source, target, position = _parts(action)
        rng, knowledge, network = self.np_random, self._knowledge, self._network
        done = int(knowledge.taken[target])
        alarm = rng.random() < self._risk
        self._detected = bool(alarm) and not done & EVASION
        if not done & EVASION:
            self._set_traces(self._traces + 1)
        if self._detected:
            if network.vigilance:
                self._publish()
            return {"detection": DETECTED_POINTS * self._unit_reward}
        host = int(knowledge.host[target])
        vulnerability = int(network.vulns[host, position])
        outcomes = int(knowledge.codes[target, position]) & ALL_OUTCOMES
        fresh = outcomes & ~done
        points: dict[str, float] = {}
        knowledge.show(target, FLAGS)
        if outcomes & OWNING:
            if not done & OWNING:
                points["ownership"] = OWNED_POINTS
                self._owned += 1
                knowledge.raise_privilege(target, USER)
                knowledge.show_all(target)
            fresh |= OWNING
        if fresh & ESCALATION:
            knowledge.raise_privilege(target, ADMIN)
        if fresh & EXFILTRATION:
            knowledge.show(target, DATA)
            if not network.data[host]:
                fresh &= ~EXFILTRATION
        if outcomes & RECON:
            found = self._scan(rng)
            if found:
                points["reconnaissance"] = RECON_POINTS * found
        if outcomes & DISCOVERY:
            knowledge.explore()
        if outcomes & EVASION:
            self._set_traces(0)
        for bit, name, worth in ONCE:
            if fresh & bit:
                points[name] = worth
        if fresh:
            knowledge.take(target, fresh)
        source_host = knowledge.host[source]
        self._executed[self._num_executed] = source_host, host, vulnerability
        self._num_executed += 1
        self._graph.record(source, target, int(network.stand_in[vulnerability]))
        self._publish()
        return {name: worth * self._unit_reward for name, worth in points.items()}

    def _set_traces(self, traces: int) -> None:
        """Note how many traces there are, and what chance of detection they make."""
        least = self._network.chances["p_detection"]
        self._traces = traces
        self._risk = max(least, min(least + self._network.vigilance * traces, MOST_RISK))

    def _publish(self) -> None:
        """Survey what can be done now and bring the view up to date."""
        known = self._knowledge
        self._new_hosts = self._expected_new_hosts()
        least = self._network.chances["p_detection"]
        found = survey(known.size, known.arrays, self._risk, least, self._new_hosts)
        self._num_valid, self._unknown, self._locked = found
        known.touched.extend(SURVEYED)
        self._graph.publish()

    def _expected_new_hosts(self) -> float:
        """Hosts that reconnaissance is expected to show, judged by what is visible.

        After s scans a host is visible with chance q = 1 - (1 - p_recon)^s, so that v visible hosts
        beside the start stand for v (1 - q) / q hidden ones.
        """
        p = self._network.chances["p_recon"]
        seen = 1.0 - (1.0 - p) ** self._scans
        if seen <= 0.0:
            return 0.0
        return p * max(self._knowledge.size - 1, 1) * (1.0 - seen) / seen

    def objective(self) -> float:
        """Owned hosts."""
        return float(self._owned)

    def recompute_objective(self) -> float:
        """The same from the flags alone."""
        return float(self._knowledge.columns["owned"].sum())

    def score(self, objective: float, reference: str = "sweeps") -> float | None:
        """Owned over all hosts; for ``solver`` over the hosts that can be owned."""
        best = reference_value(self.instance.references, reference)
        if reference == "sweeps":
            best = float(self._network.size)
        return None if best is None else float(objective / best)

    def _set_scale(self) -> None:
        super()._set_scale()
        self._zero = 0.0
        self._scale = self._pending = 0.0  # all rewards are terms

    def solution(self) -> Array:
        """Executed attacks in order: (k, 3) source host, target host, vulnerability (catalogue)."""
        return self._executed[: self._num_executed].copy()

    def details(self) -> dict[str, Any]:
        """Visible hosts, and whether the last attempt was detected."""
        return {"visible": self._knowledge.size, "detected": self._detected}

    def is_complete(self) -> bool:
        """Every host is owned."""
        return self._owned == self._network.size

    # -- actions

    def has_valid_action(self) -> bool:
        """An attack is known that can be tried."""
        return self._num_valid > 0

    def is_valid_action(self, action: Any) -> bool:
        """The attack is known and can be tried."""
        return self._knowledge.may_try(*_parts(action))

    def are_valid_actions(self, actions: Array) -> Array:
        """The same for actions (k, 3): (k,)."""
        return self._knowledge.are_open(np.asarray(actions, dtype=np.int64))

    def action_mask(self) -> Array:
        """Validity of every raw action: (n·n·V,)."""
        return self._knowledge.open_mask()

    def valid_actions(self) -> Array:
        """Every valid raw action: (k, 3)."""
        return self._knowledge.list_open(0, self._num_valid)

    def sample_valid_action(self, rng: np.random.Generator | None = None) -> Array | None:
        """A valid attack, uniformly; None if there is none."""
        if not self._num_valid:
            return None
        chosen = int((rng or self.np_random).integers(self._num_valid))
        action: Array = self._knowledge.list_open(chosen, 1)[0]
        return action

    def preview(self, actions: Array) -> Array:
        """Expected points of each attack, from what the agent knows: (k,)."""
        known = self._knowledge
        rows = np.asarray(actions, dtype=np.int64)
        values: Array = promises(
            rows, known.taken, known.codes, known.data_chance, self._risk, self._new_hosts
        )
        return values

    def candidate_features(self, actions: Array) -> CandidateFeatures:
        """Promise, risk, what would be new, what it opens, and the privileges of attacks."""
        known = self._knowledge
        rows = np.ascontiguousarray(actions, dtype=np.int64)
        each = EACH.records(len(rows))
        situation = self._situation(self._graph.view)
        describe_attacks(rows, self._network.vigilance, situation, known.size, known.arrays, each)
        return CandidateFeatures(EACH.matrix(each))

    def advise(self) -> Array:
        """The attacks that a planner finds most worth trying: from the base, or local (k, 3)."""
        known = self._knowledge
        rows = self.valid_actions()
        if not self._network.reach.size:  # else not all can be tried from the base
            rows = rows[(known.base[rows[:, 0]] == 1) | (rows[:, 0] == rows[:, 1])]
        if not len(rows):
            return rows
        worths: Array = attack_worths(rows, self._network.vigilance, known.size, known.arrays)
        worths += _LEAST_WORTH * self.preview(rows)
        return rows[worths >= worths.max() - _ROUNDING]

    def show(self, solution: Array) -> None:
        """Go to where these attacks (k, 3) lead if all succeed; nothing else is visible."""
        steps = [[int(part) for part in step] for step in solution]
        if not steps:
            return
        self.reset(seed=0, options={"start": steps[0][0]})
        self._graph.show(steps)
        self._owned = int(self.recompute_objective())
        self._publish()

    def reopened(self, solution: Array, share: float, rng: np.random.Generator) -> Any:
        """None: attacks succeed by chance, so no part of them can be kept."""
        return None

    def draw_on(self, axes: Any) -> None:
        """Visible hosts by what was achieved on them, and the attacks so far."""
        from lagco.problems.cyber_path.viewer import draw_attacks

        draw_attacks(axes, self.instance, self._graph.view, self.host_of)


def _parts(action: Any) -> list[int]:
    """The three parts of a raw action as Python numbers."""
    if isinstance(action, np.ndarray):
        parts: list[int] = action.tolist()
        return parts
    return [int(part) for part in action]
