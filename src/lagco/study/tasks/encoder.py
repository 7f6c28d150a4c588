"""Encoders: pre-trained once, shared by the tasks that use them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from lagco.embedding.config import EncoderConfig, PretrainConfig
from lagco.embedding.storage import ENCODER
from lagco.problems import problem_class
from lagco.study.records.ledger import Ledger, significant
from lagco.study.running.code import code_version
from lagco.study.running.worker import Context, Outcome
from lagco.study.task import Task
from lagco.study.tasks.data import chosen

if TYPE_CHECKING:
    from lagco.embedding.encoder import Encoder


def encoder_task(
    problem: str,
    data: Mapping[str, Any],
    train: Sequence[int],
    *,
    features: str,
    seed: int,
    strategy: str,
    shape: Mapping[str, Any] | None = None,
    pretraining: Mapping[str, Any] | None = None,
    **place: Any,
) -> Task:
    """Task of pre-training an encoder on some instances of a data set.

    Args:
        problem: as the user typed it.
        data: entries that name the data set.
        train: indices of the instances.
        features: feature set.
        seed: of the pre-training.
        strategy: by which the instances were chosen, or the study that chose them.
        shape: settings of :class:`EncoderConfig`.
        pretraining: settings of :class:`PretrainConfig`.
        place: further entries that say what it belongs to (fold, number of instances).
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
        "code": code_version(problem, ("lagco.embedding.pretraining.pretrain",)),
        "strategy": strategy,
        **place,
    }
    name = f"{problem}-{features}-{strategy}-{seed}"
    return Task("encoder", name, spec, needs=(str(data["data"]),))


def do(context: Context) -> Outcome:
    """Pre-train the encoder."""
    from lagco.embedding.pretraining.pretrain import pretrain

    spec = context.spec
    data = context.ledger.data(context.task)
    encoder = pretrain(
        problem_class(spec["problem"]),
        chosen(data, spec["train"]),
        context.folder,
        features=spec["features"],
        config=EncoderConfig(**spec["shape"]),
        training=PretrainConfig(**spec["pretraining"]),
        seed=spec["seed"],
        progress=False,
    )
    rows = [row | {"loss": significant(row["loss"])} for row in encoder.curves]
    last = {f"{r['view']}/{r['head']}": r["loss"] for r in rows if r["split"] == "held-out"}
    return {
        "sha256": ENCODER.read(context.folder).checksum,
        "layout_hash": encoder.layout_hash,
        "steps": encoder.training["steps"],
        "held_out_loss": last,
        "curves": rows,
    }, {}


def load_encoder(ledger: Ledger, key: str | None) -> Encoder | None:
    """Encoder that a task names; None if it names none."""
    from lagco.embedding.encoder import Encoder

    return None if key is None else Encoder.load(ledger.folder(ledger.find("encoder", key)))
