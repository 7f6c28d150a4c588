"""Exact nearest-action search, without listing actions; and strategies on top of it.

Knows arrays, indices and predicates only. Describe the actions (`FlatSpace`, `ProductSpace`,
`PathSpace`), ask `space.nearest(query, k, metric, valid)`; `plan_search` says how it is done.
"""

from lagco.search.axes import Dependence
from lagco.search.errors import NoValidAction, TooManyActions
from lagco.search.flat import FlatSpace
from lagco.search.metrics import METRICS, Metric, Neighbours
from lagco.search.path_space import PathSpace
from lagco.search.paths import PathSet
from lagco.search.planner import Plan, plan_search
from lagco.search.product import LISTED, ProductSpace
from lagco.search.strategies import Ranked, Strategy, make_strategy
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
    "Strategy",
    "TooManyActions",
    "Validity",
    "make_strategy",
    "plan_search",
]
