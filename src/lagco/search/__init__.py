"""Exact nearest-action search, without listing actions; and strategies on top of it.

Knows arrays, indices and predicates only. Describe the actions (`FlatSpace`, `ProductSpace`,
`PathSpace`, `SubgraphSpace`), ask `space.nearest(query, k, metric, valid)`; `space.plan(metric)`
says how it is done.
"""

from lagco.search.errors import NoValidAction, TooManyActions
from lagco.search.flat import FlatSpace
from lagco.search.metrics import METRICS, Metric, Neighbours
from lagco.search.paths.graph_paths import PathSet
from lagco.search.paths.search import PathSpace
from lagco.search.plan import Plan, Space
from lagco.search.products.axes import Dependence
from lagco.search.products.search import LISTED, ProductSpace
from lagco.search.strategies import Ranked, Strategy, make_strategy
from lagco.search.subgraphs.connected import SubgraphSet
from lagco.search.subgraphs.search import SubgraphSpace
from lagco.search.validity import RowPredicate, Validity

__all__ = [
    "LISTED",
    "METRICS",
    "Dependence",
    "FlatSpace",
    "Metric",
    "Neighbours",
    "NoValidAction",
    "PathSet",
    "PathSpace",
    "Plan",
    "ProductSpace",
    "Ranked",
    "RowPredicate",
    "Space",
    "Strategy",
    "SubgraphSet",
    "SubgraphSpace",
    "TooManyActions",
    "Validity",
    "make_strategy",
]
