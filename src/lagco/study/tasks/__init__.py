"""Kinds of tasks, one module each.

A module has a function that specifies a task from plain values, and ``do(context)``, which does it
and returns its result and its measurements. What needs torch is imported in ``do``, so that
planning a study stays quick.
"""

from __future__ import annotations

#: module of every kind
KINDS = {
    "data": "lagco.study.tasks.data",
    "encoder": "lagco.study.tasks.encoder",
    "policy": "lagco.study.tasks.policy",
    "run": "lagco.study.tasks.run",
    "training": "lagco.study.tasks.training",
    "throughput": "lagco.study.tasks.throughput",
    "latency": "lagco.study.tasks.latency",
    "embedding": "lagco.study.tasks.embedding",
    "trial": "lagco.study.tasks.trial",
    "tune": "lagco.study.tasks.tune",
}
