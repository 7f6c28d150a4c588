"""Projection that decodes points by their Euclidean distance."""

from __future__ import annotations

from dataclasses import dataclass

from lagco.agents.config import setting
from lagco.agents.method import PlotStyle
from lagco.agents.methods.projection import ProjectionConfig, ProjectionMethod


@dataclass(frozen=True)
class NearProjectionConfig(ProjectionConfig):
    """Settings of `near-projection`."""

    method = "near-projection"

    log_std: float = setting(-2.0, "logarithm of the deviation with which exploration begins")


class NearProjection(ProjectionMethod):
    """Gaussian over the Box; the nearest valid action by Euclidean distance."""

    name = "near-projection"
    label = "near (ours)"
    style = PlotStyle("#123456", "hexagram")
    config = NearProjectionConfig
    metric = "l2"


METHOD = NearProjection()
