"""Reinforcement learning on graph combinatorial optimisation, in a latent action space.

Declare a decision problem on a graph with :class:`ContinuousEnv` or :class:`Problem`, check it with
:func:`check_problem`, and use every command of the command line as a function of the same name.
Everything else is imported from where it lives (``lagco.errors``, ``lagco.instances``, …). Names
are imported when they are first used, so ``import lagco`` is quick.
"""

from __future__ import annotations

import importlib
import time
from typing import TYPE_CHECKING, Any

from lagco.version import __version__

#: when lagco was imported, by ``time.perf_counter()``: a command's time counts from there
BEGAN = time.perf_counter()

#: parts that are imported when they are first used, like everything at the root
_PARTS = (
    "agents",
    "client",
    "core",
    "embedding",
    "errors",
    "instances",
    "latent",
    "live",
    "problems",
    "report",
    "results",
    "serve",
    "solving",
    "study",
)
_HOMES = {
    # to declare a problem
    "lagco.core.env": ("ContinuousEnv",),
    "lagco.core.graph": ("GraphView",),
    "lagco.core.pooling": ("Concat", "Max", "Mean", "Min", "RootSum", "Sum"),
    "lagco.core.problem": ("Problem",),
    "lagco.core.spec": (
        "Attribute",
        "Edge",
        "Function",
        "Graph",
        "Node",
        "Object",
        "Path",
        "SubGraph",
    ),
    # the commands
    "lagco.agents.bundle": ("load",),
    "lagco.agents.teaching.demonstrations": ("demonstrate",),
    "lagco.agents.training.trainer": ("train",),
    "lagco.commands.check": ("check", "check_problem"),
    "lagco.commands.evaluate": ("evaluate",),
    "lagco.commands.generate": ("generate",),
    "lagco.commands.info": ("info",),
    "lagco.latent.wrapper": ("wrap",),
    "lagco.commands.pretrain": ("embed", "pretrain"),
    "lagco.commands.render": ("render",),
    "lagco.samples": ("sample",),
    "lagco.solving": ("solve",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = ["__version__", *sorted(_HOME_OF)]

if TYPE_CHECKING:
    from lagco.agents.bundle import load as load
    from lagco.agents.teaching.demonstrations import demonstrate as demonstrate
    from lagco.agents.training.trainer import train as train
    from lagco.commands.check import check as check
    from lagco.commands.check import check_problem as check_problem
    from lagco.commands.evaluate import evaluate as evaluate
    from lagco.commands.generate import generate as generate
    from lagco.commands.info import info as info
    from lagco.commands.pretrain import embed as embed
    from lagco.commands.pretrain import pretrain as pretrain
    from lagco.commands.render import render as render
    from lagco.core.env import ContinuousEnv as ContinuousEnv
    from lagco.core.graph import GraphView as GraphView
    from lagco.core.pooling import Concat as Concat
    from lagco.core.pooling import Max as Max
    from lagco.core.pooling import Mean as Mean
    from lagco.core.pooling import Min as Min
    from lagco.core.pooling import RootSum as RootSum
    from lagco.core.pooling import Sum as Sum
    from lagco.core.problem import Problem as Problem
    from lagco.core.spec import Attribute as Attribute
    from lagco.core.spec import Edge as Edge
    from lagco.core.spec import Function as Function
    from lagco.core.spec import Graph as Graph
    from lagco.core.spec import Node as Node
    from lagco.core.spec import Object as Object
    from lagco.core.spec import Path as Path
    from lagco.core.spec import SubGraph as SubGraph
    from lagco.latent.wrapper import wrap as wrap
    from lagco.samples import sample as sample
    from lagco.solving import solve as solve


def __getattr__(name: str) -> Any:
    if name in _PARTS:
        return importlib.import_module(f"lagco.{name}")
    if name not in _HOME_OF:
        raise AttributeError(f"module 'lagco' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOME_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*__all__, *_PARTS])


from lagco.problem_table import register_environments  # noqa: E402
from lagco.runtime.compiled_code import choose_folder, prepare_compiler  # noqa: E402 - after BEGAN

choose_folder()  # before anything is compiled
prepare_compiler()
register_environments()  # cheap: a problem's class is imported when one is made
