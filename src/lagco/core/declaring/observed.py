"""Observations of a problem: arrays that change within an episode, and their spaces."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np

from lagco.arrays import Array
from lagco.core.declaring.declaration import read_declaration
from lagco.core.env import ContinuousEnv
from lagco.core.spec import Attribute


def changing_columns(env: ContinuousEnv) -> list[tuple[str, Attribute, Array]]:
    """Names, attributes and arrays of the numeric columns of all views that are not static."""
    views = env.graph_views()
    declared = read_declaration(env, views)
    found = []
    for view, graph in views.items():
        for attributes, columns in (
            (declared.node_attributes[view], graph.nodes),
            (declared.edge_attributes[view], graph.edge_attributes),
        ):
            for name, attribute in attributes.items():
                column = columns[name]
                if attribute.static or not isinstance(column, np.ndarray):
                    continue
                if column.dtype.kind in "biuf":  # texts and objects have no Box
                    key = name if len(views) == 1 else f"{view}.{name}"
                    found.append((key, attribute, column))
    return found


def column_space(attribute: Attribute, column: Array) -> gym.Space[Any]:
    """Space of a column; bounds are those of its attribute."""
    if attribute.type == "binary" and column.size:  # MultiBinary cannot be empty
        return gym.spaces.MultiBinary(column.shape)
    low = -np.inf if attribute.low is None else attribute.low
    high = np.inf if attribute.high is None else attribute.high
    if column.dtype.kind in "iu":
        info = np.iinfo(column.dtype)
        low, high = max(low, info.min), min(high, info.max)
    return gym.spaces.Box(low, high, column.shape, column.dtype.type)
