"""Tasks that make what others share: data sets and encoders."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from lagco.embedding.config import EncoderConfig, PretrainConfig
from lagco.generation import REFERENCES
from lagco.problems import problem_class
from lagco.study.code import code_version
from lagco.study.ledger import Ledger, Record
from lagco.study.task import Task

#: seed of instances and splits, as in the paper
DATA_SEED = 42


def data_task(
    problem: str,
    n: int,
    *,
    sizes: str | None = None,
    sweeps: int | None = None,
    references: Sequence[str] = REFERENCES,
    seed: int = DATA_SEED,
) -> Task:
    """Generate a data set, with those of the references that the problem can make."""
    cls = problem_class(problem)
    hooks = {"sweeps": "sweep", "solver": "solve"}
    references = [name for name in references if cls.defines(hooks[name])]
    spec = {
        "problem": problem,
        "n": n,
        "seed": seed,
        "sizes": sizes,
        "sweeps": sweeps,
        "references": references,
        "code": code_version(problem),
    }
    return Task("data", f"{problem}-{n}", spec)


def used_data(ledger: Ledger, task: Task) -> tuple[dict[str, Any], Record | None]:
    """The entries of a specification that name a data set, and its record once it is made."""
    record = ledger.get(task)
    checksum = None if record is None else record.result["checksum"]
    return {"data": task.key, "data_checksum": checksum}, record


def encoder_task(
    problem: str,
    data: Mapping[str, Any],
    train: Sequence[int],
    *,
    name: str,
    features: str,
    seed: int,
    shape: Mapping[str, Any] | None = None,
    pretraining: Mapping[str, Any] | None = None,
    **place: Any,
) -> Task:
    """Pre-train an encoder on some instances of a data set.

    Args:
        problem: as the user typed it.
        data: entries that name the data set.
        train: indices of the instances.
        name: for people.
        features: feature set.
        seed: of the pre-training.
        shape: settings of :class:`EncoderConfig`.
        pretraining: settings of :class:`PretrainConfig`.
        place: what it belongs to in a study (strategy, fold).
    """
    text_width = None if features == "paper" else 32
    config = EncoderConfig(**({"text_width": text_width} | dict(shape or {})))
    spec = {
        "problem": problem,
        **data,
        "train": list(train),
        "features": features,
        "seed": seed,
        "shape": asdict(config) | {"layers": list(config.layers)},
        "pretraining": asdict(PretrainConfig(**(pretraining or {}))),
        "code": code_version(problem),
        **place,
    }
    return Task("encoder", name, spec, needs=(str(data["data"]),))
