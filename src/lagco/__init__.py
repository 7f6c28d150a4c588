"""Reinforcement learning on graph combinatorial optimisation, in a latent action space.

Declare a decision problem on a graph with :class:`ContinuousEnv` or :class:`Problem`, check it with
:func:`check_problem`, and use every command of the command line as a function of the same name.
Names are imported when they are first used, so ``import lagco`` is quick.
"""

from __future__ import annotations

import importlib
import time
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

#: when lagco was imported, by ``time.perf_counter()``: a command's time counts from there
BEGAN = time.perf_counter()

_HOMES = {
    "lagco.agents.agent": ("Agent",),
    "lagco.agents.bundle": ("load",),
    "lagco.agents.config": ("TrainConfig", "train_config"),
    "lagco.agents.demonstrations": ("demonstrate",),
    "lagco.agents.training": ("Trainer", "train"),
    "lagco.checking": ("check", "check_problem"),
    "lagco.core.descriptors": (
        "get_density",
        "get_log_mean_degree",
        "get_log_num_edges",
        "get_log_num_nodes",
        "get_mean_degree",
        "get_num_edges",
        "get_num_nodes",
    ),
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
    "lagco.errors": (
        "CheckError",
        "InstanceError",
        "LagcoError",
        "MissingExtra",
        "ResetNeeded",
        "SpecError",
        "UnknownName",
        "UsageError",
        "WriteError",
    ),
    "lagco.embedding.config": ("EncoderConfig", "PretrainConfig"),
    "lagco.embedding.encoder": ("Encoder",),
    "lagco.evaluation": ("evaluate",),
    "lagco.generation": ("generate",),
    "lagco.inspection": ("info",),
    "lagco.instances": (
        "DataSet",
        "Instance",
        "References",
        "SolverReference",
        "SweepReference",
        "read_instance",
        "write_instance",
    ),
    "lagco.latent.space": ("LatentSpace",),
    "lagco.latent.wrapper": ("wrap",),
    "lagco.pretraining": ("embed", "pretrain"),
    "lagco.rendering": ("render",),
    "lagco.samples": ("sample",),
    "lagco.solving": ("Answer", "solve"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = ["__version__", "problems", "study", *sorted(_HOME_OF)]

if TYPE_CHECKING:
    from lagco import problems as problems
    from lagco import study as study
    from lagco.agents.agent import Agent as Agent
    from lagco.agents.bundle import load as load
    from lagco.agents.config import TrainConfig as TrainConfig
    from lagco.agents.config import train_config as train_config
    from lagco.agents.demonstrations import demonstrate as demonstrate
    from lagco.agents.training import Trainer as Trainer
    from lagco.agents.training import train as train
    from lagco.checking import check as check
    from lagco.checking import check_problem as check_problem
    from lagco.core.descriptors import get_density as get_density
    from lagco.core.descriptors import get_log_mean_degree as get_log_mean_degree
    from lagco.core.descriptors import get_log_num_edges as get_log_num_edges
    from lagco.core.descriptors import get_log_num_nodes as get_log_num_nodes
    from lagco.core.descriptors import get_mean_degree as get_mean_degree
    from lagco.core.descriptors import get_num_edges as get_num_edges
    from lagco.core.descriptors import get_num_nodes as get_num_nodes
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
    from lagco.embedding.config import EncoderConfig as EncoderConfig
    from lagco.embedding.config import PretrainConfig as PretrainConfig
    from lagco.embedding.encoder import Encoder as Encoder
    from lagco.errors import CheckError as CheckError
    from lagco.errors import InstanceError as InstanceError
    from lagco.errors import LagcoError as LagcoError
    from lagco.errors import MissingExtra as MissingExtra
    from lagco.errors import ResetNeeded as ResetNeeded
    from lagco.errors import SpecError as SpecError
    from lagco.errors import UnknownName as UnknownName
    from lagco.errors import UsageError as UsageError
    from lagco.errors import WriteError as WriteError
    from lagco.evaluation import evaluate as evaluate
    from lagco.generation import generate as generate
    from lagco.inspection import info as info
    from lagco.instances import DataSet as DataSet
    from lagco.instances import Instance as Instance
    from lagco.instances import References as References
    from lagco.instances import SolverReference as SolverReference
    from lagco.instances import SweepReference as SweepReference
    from lagco.instances import read_instance as read_instance
    from lagco.instances import write_instance as write_instance
    from lagco.latent.space import LatentSpace as LatentSpace
    from lagco.latent.wrapper import wrap as wrap
    from lagco.pretraining import embed as embed
    from lagco.pretraining import pretrain as pretrain
    from lagco.rendering import render as render
    from lagco.samples import sample as sample
    from lagco.solving import Answer as Answer
    from lagco.solving import solve as solve


def __getattr__(name: str) -> Any:
    if name in ("problems", "report", "study"):
        return importlib.import_module(f"lagco.{name}")
    if name not in _HOME_OF:
        raise AttributeError(f"module 'lagco' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOME_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)


from lagco.compiled_code import choose_folder  # noqa: E402 - after BEGAN
from lagco.registration import register_environments  # noqa: E402

choose_folder()  # before anything is compiled
register_environments()  # cheap: a problem's class is imported when one is made
