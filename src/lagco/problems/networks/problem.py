"""What `ospf` and `traffic` have in common: a network, its two views, how full its links are."""

from __future__ import annotations

import numpy as np

from lagco.arrays import Array
from lagco.core.graph import GraphView
from lagco.core.problem import Problem
from lagco.core.spec import Attribute, Function
from lagco.problems.networks.network import Network
from lagco.problems.networks.progress import logarithmic_change
from lagco.problems.networks.views import COMMUNICATION, TRAFFIC


class NetworkProblem(Problem):
    """Demands over a network, the fullest link of which is to become less full."""

    score_from_start = True

    _network: Network
    _communication: GraphView
    _traffic: GraphView
    _largest: float
    _level_before: float
    _level_now: float

    def _clear_state(self, network: Network) -> None:
        """Columns of the communication view, and nothing measured yet."""
        n, links = network.num_nodes, network.num_links
        self._network = network
        self._largest = self._level_before = self._level_now = 0.0
        self._load_column = np.zeros(links, dtype=np.float32)
        self._utilisation = np.zeros(links, dtype=np.float32)
        self._return_utilisation = np.zeros(links, dtype=np.float32)
        self._peak = np.zeros(n, dtype=np.float32)
        self._hot = np.zeros(n, dtype=np.int8)

    def _full_node_columns(self) -> dict[str, Array]:
        return {"peak": self._peak, "hot": self._hot}

    @staticmethod
    def _full_node_attributes() -> dict[str, Attribute]:
        return {"peak": Attribute(low=0.0, high=1.0), "hot": Attribute(type="binary")}

    def _full_observation(self) -> dict[str, Function]:
        return {
            "level": Function(self._level, graph=COMMUNICATION),
            "steps_left": Function(self._steps_left, graph=COMMUNICATION),
        }

    def _level(self, view: GraphView) -> float:
        return self._largest / self._start_objective

    def _steps_left(self, view: GraphView) -> float:
        return 1.0 - self._steps / self.episode_length

    def get_graphs(self) -> dict[str, GraphView]:
        """The views ``comm_G`` and ``traffic_G``."""
        return {COMMUNICATION: self._communication, TRAFFIC: self._traffic}

    def _touch_links(self) -> None:
        """Note that any link may be used otherwise."""
        view = self._communication
        view.touch_edge("utilisation")
        if self.features == "full":
            view.touch_edge("return_utilisation")
            view.touch_node("peak")
            view.touch_node("hot")
        else:
            view.touch_edge("load")

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
