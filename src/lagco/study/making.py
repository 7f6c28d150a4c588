"""Making what tasks share: data sets and encoders, each once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lagco.embedding.config import EncoderConfig, PretrainConfig
from lagco.embedding.encoder import Encoder
from lagco.embedding.pretrain import pretrain
from lagco.embedding.storage import ENCODER
from lagco.generation import generate
from lagco.instances import DataSet, Instance
from lagco.problems import problem_class
from lagco.study.ledger import Ledger, significant
from lagco.study.work import Context, Outcome


def make_data(context: Context) -> Outcome:
    """Do a `data` task."""
    spec = context.spec
    data = generate(
        spec["problem"],
        spec["n"],
        seed=spec["seed"],
        out=context.folder,
        sizes=spec["sizes"],
        references=spec["references"],
        sweeps=spec["sweeps"],
        workers=1,
        progress=False,
    )
    return {
        "checksum": data.checksum,
        "instances": [_described(index, data) for index in range(len(data))],
    }, {}


def _described(index: int, data: DataSet) -> dict[str, Any]:
    entry, solver = data.entries[index], data[index].references.solver
    return {
        "index": index,
        "name": entry.name,
        "size": entry.size,
        "checksum": entry.checksum,
        "extents": dict(entry.extents),
        "solver_status": None if solver is None else solver.status,
    }


def make_encoder(context: Context) -> Outcome:
    """Do an `encoder` task."""
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
    """The encoder that a task names; None if it names none."""
    return None if key is None else Encoder.load(ledger.folder(ledger.find("encoder", key)))


def chosen(data: DataSet, indices: Sequence[int]) -> list[Instance]:
    """Some instances of a data set."""
    return [data[index] for index in indices]
