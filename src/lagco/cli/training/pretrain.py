"""The command `pretrain`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lagco.cli.options import SEED, Data, Device, Features, Problem, Seed, whole
from lagco.cli.output import AsJson, print_result


def pretrain(
    problem: Problem,
    data: Data,
    out: Annotated[Path, typer.Option(help="Folder for the encoder and its loss curves.")],
    features: Features = "full",
    seed: Seed = SEED,
    layers: Annotated[
        str,
        typer.Option(help="Layers in order, with commas: nnconv, sage, gcn, gat, gin or edgeconv."),
    ] = "nnconv,sage",
    variational: Annotated[
        bool, typer.Option(help="Train a variational auto-encoder (VGAE).")
    ] = False,
    steps: Annotated[int, whole("Largest number of gradient steps.")] = 500,
    device: Device = "cpu",
    as_json: AsJson = False,
) -> None:
    """Pre-train the graph encoder of a problem on random valid trajectories."""
    import lagco
    from lagco.embedding.config import EncoderConfig, PretrainConfig

    stack = tuple(layer.strip() for layer in layers.split(","))
    encoder = lagco.pretrain(
        problem,
        data,
        out,
        features=features,
        config=EncoderConfig(
            layers=stack,
            variational=variational,
            text_width=None if features == "paper" else 32,
        ),
        training=PretrainConfig(max_steps=steps),
        seed=seed,
        progress=not as_json,
        device=device,
    )
    last = {}
    for row in encoder.curves:
        if row["split"] == "held-out":
            last[f"{row['view']}/{row['head']}"] = row["loss"]
    described = {**encoder.training, **encoder.measured, "held-out loss": last, "out": str(out)}
    print_result(described, as_json)
