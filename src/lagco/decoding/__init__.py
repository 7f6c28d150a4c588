"""Exact nearest-action search, without listing actions; and strategies on top of it.

Knows arrays, indices and predicates only. Describe the actions (`FlatSpace`, `ProductSpace`,
`PathSpace`), ask `space.nearest(query, k, metric, valid)`; `plan_search` says how it is done.
"""

from lagco.decoding.axes import Dependence
from lagco.decoding.errors import NoValidAction, TooManyActions
from lagco.decoding.flat import FlatSpace
from lagco.decoding.metrics import METRICS, Metric, Neighbours
from lagco.decoding.path_space import PathSpace
from lagco.decoding.paths import PathSet
from lagco.decoding.planner import Plan, plan_search
from lagco.decoding.product import LISTED, ProductSpace
from lagco.decoding.strategies import Strategy, make_strategy
from lagco.decoding.validity import RowPredicate, Validity

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
    "RowPredicate",
    "Strategy",
    "TooManyActions",
    "Validity",
    "make_strategy",
    "plan_search",
]
