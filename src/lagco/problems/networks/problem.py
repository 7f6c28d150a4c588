"""Base class of `ospf` and `traffic`: a network, its two views, and the load of its links."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from lagco.arrays import Array
from lagco.core.events import Event
from lagco.core.graph import GraphView
from lagco.core.memory import SearchMemory
from lagco.core.problem import Problem
from lagco.core.spec import Attribute, Function
from lagco.instances import Instance
from lagco.problems.networks.events.changes import EVENTS, waiting_share
from lagco.problems.networks.events.day import draw_day
from lagco.problems.networks.events.failures import failures_of
from lagco.problems.networks.kernels import LinkColumns
from lagco.problems.networks.network import Network, differs_only_in
from lagco.problems.networks.progress import logarithmic_change
from lagco.problems.networks.tabu import Past, tenure_of
from lagco.problems.networks.views import (
    COMMUNICATION,
    TRAFFIC,
    communication_view,
    demand_view,
    network_observation,
    node_traffic,
    scaled,
    static_amount,
    traffic_attributes,
)

#: attributes of nodes and of edges that depend on the loads of all links, per feature set
LINKS = ("peak", "hot"), ("utilisation", "return_utilisation")
PLAIN_LINKS = (), ("utilisation", "load")


class NetworkProblem(Problem):
    """Demands over a network, the fullest link of which is to become less full."""

    score_from_start = True
    compared_start = "default"
    events = EVENTS

    _edge_attributes: dict[str, dict[str, Attribute]]
    _network: Network
    _communication: GraphView
    _traffic: GraphView
    _largest: float
    _level_before: float
    _level_now: float
    _norm: float  # 8-norm of all utilisations
    _fullest: int  # arc of the largest utilisation
    _least: float  # largest utilisation of this episode so far, at its lowest
    _least_norm: float  # norm, likewise
    _memory: SearchMemory  # of the links or demands that were changed

    @classmethod
    def draw_events(
        cls,
        instance: Instance,
        rng: np.random.Generator,
        step: float = 300.0,
        swing: float = 0.5,
        noise: float = 0.2,
        bursts: float = 0.1,
        failures: float = 0.0,
    ) -> Iterator[tuple[float, Event]]:
        """A matrix every `step` seconds that follows a daily curve, and links that fail.

        Args:
            instance: its demands are the mean of the day.
            rng: source of everything random.
            step: seconds between two matrices.
            swing: by which share traffic rises and falls over the day, by the hour of its source.
            noise: deviation of the logarithm of each demand, which forgets in about an hour.
            bursts: chance per step that a demand is several times as large for about half an hour.
            failures: chance per step that a link fails, for about an hour.
        """
        return draw_day(instance, rng, step, swing, noise, bursts, failures)

    @classmethod
    def unserved(cls, instance: Instance) -> float:
        """Share of the traffic whose ends no links in service join."""
        return waiting_share(instance)

    @classmethod
    def scenario_failures(
        cls, instance: Instance, given: str | Path
    ) -> Mapping[str, Mapping[str, Array]]:
        """Single links (``links``), or groups of links from a file."""
        return failures_of(instance, given)

    def _clear_state(self, network: Network, elements: int) -> None:
        """Columns of the communication view, nothing measured yet; what the memory is about."""
        n, links = network.num_nodes, network.num_links
        self._network = network
        self._largest = self._level_before = self._level_now = 0.0
        self._norm, self._fullest = 0.0, 0
        self._least = self._least_norm = np.inf
        self._memory = SearchMemory(elements, tenure_of(elements))
        self._load_column = np.zeros(links, dtype=np.float32)
        utilisation, back = (np.zeros(links, dtype=np.float32) for _ in range(2))
        peak, hot = np.zeros(n, dtype=np.float32), np.zeros(n, dtype=np.int8)
        self._link_columns = LinkColumns(utilisation, back, peak, hot)

    def _declare_views(
        self,
        links: Mapping[str, Any],
        link_attributes: Mapping[str, Attribute],
        demands: Mapping[str, Any] = MappingProxyType({}),
        demand_attributes: Mapping[str, Attribute] = MappingProxyType({}),
    ) -> None:
        """Build both views and declare what they show; the arguments are the problem's own."""
        network, full, columns = self._network, self.features == "full", self._link_columns
        traffic = node_traffic(network, full)
        nodes: dict[str, Any] = dict(traffic)
        edges: dict[str, Any] = {
            "capacity": scaled(network.link_capacities, full),
            "utilisation": columns.utilisation,
        }
        volumes = {"volume": scaled(network.volumes, full)}
        share, amount = Attribute(low=0.0, high=1.0), Attribute(norm="min_max", low=0.0)
        node_attributes = traffic_attributes(full)
        edge_attributes = {"capacity": static_amount(full)}
        self._observation_type = network_observation(self.features)
        if full:
            nodes |= {"peak": columns.peak, "hot": columns.hot}
            edges["return_utilisation"] = columns.return_utilisation
            node_attributes |= {"peak": share, "hot": Attribute(type="binary")}
            edge_attributes |= {"utilisation": share, "return_utilisation": share}
            edge_attributes |= link_attributes
            self._observation_type |= {
                "level": Function(self._level, graph=COMMUNICATION),
                "steps_left": Function(self.steps_left, graph=COMMUNICATION),
            }
        else:
            edges["load"] = self._load_column
            edge_attributes |= {"utilisation": amount, **link_attributes, "load": amount}
        self._communication = communication_view(network, nodes, {**edges, **links})
        self._traffic = demand_view(network, traffic, {**volumes, **demands})
        self._node_attributes = {COMMUNICATION: node_attributes, TRAFFIC: traffic_attributes(full)}
        self._edge_attributes = {
            COMMUNICATION: edge_attributes,
            TRAFFIC: {"volume": static_amount(full), **demand_attributes},
        }

    def padded_attributes(self) -> list[str] | None:
        """All with `full` features; with `paper` ones links by what is used, and demands."""
        if self.features == "full":
            return None
        return [
            f"{view}.{name}"
            for view, attributes in self._edge_attributes.items()
            for name in attributes
            if name != "utilisation"
        ]

    def _level(self, view: GraphView) -> float:
        return self._largest / self._start_objective

    def _take_over(self, instance: Instance) -> bool:
        """Where volumes alone differ, write these, and the loads that follow from them."""
        present = str(self.present)
        if present not in instance.arrays:
            return False
        if not differs_only_in(instance, self.instance, "volumes", present):
            return False
        self.instance = instance
        self._set_limits()
        volumes, network, full = instance.array("volumes"), self._network, self.features == "full"
        network.volumes[:] = volumes
        self._traffic.edge_attributes["volume"][:] = scaled(volumes, full)
        for name, column in node_traffic(network, full).items():
            self._communication.nodes[name][:] = column
            self._traffic.nodes[name][:] = column
        self._begin_search()
        self._carry_on()
        for view in (self._communication, self._traffic):
            view.touch(view.nodes, view.edge_attributes.keys() - {"capacity"})
        return True

    @abstractmethod
    def _carry_on(self) -> None:
        """Begin an episode with the configuration in force, after volumes changed."""

    def get_graphs(self) -> dict[str, GraphView]:
        """The views ``comm_G`` and ``traffic_G``."""
        return {COMMUNICATION: self._communication, TRAFFIC: self._traffic}

    def _touch_links(self) -> None:
        """Note that any link may be used otherwise."""
        full = self.features == "full"
        self._communication.touch(*(LINKS if full else PLAIN_LINKS))

    def _begin_search(self) -> None:
        """Forget what the last episode changed and reached."""
        self._memory.begin()
        self._least = self._least_norm = np.inf

    def _measured(self, largest: float, norm: float, fullest: int) -> None:
        """Keep how full the network is, from `measure`."""
        self._largest, self._norm, self._fullest = largest, norm, fullest
        self._least = min(self._least, largest)
        self._least_norm = min(self._least_norm, norm)

    def _past(self, elements: Array) -> Past:
        """Times of the last changes of some links or demands."""
        memory = self._memory
        return Past(memory.ages(elements), memory.tenure, memory.steps)

    def objective(self) -> float:
        """Largest utilisation of any link in any direction."""
        return float(self._largest)

    def shaped_reward(self, before: float, change: float) -> float:
        """The change on a logarithmic scale, so that late gains count too.

        With `full` features of the geometric mean of U and the 8-norm of all utilisations: relief
        for the second fullest link is worth something before it is the fullest.
        """
        after = self._value
        if self.features == "full":
            before, after = self._level_before, self._level_now
        return logarithmic_change(before, after, self._start_objective, self.instance)
