"""The command `train`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from lagco.cli.output import AsJson, print_facts, print_json


def train(
    problem: Annotated[str, typer.Argument(help="Name of a problem, or module:Class.")],
    data: Annotated[Path, typer.Option(help="Folder of a data set, or an instance file.")],
    out: Annotated[Path, typer.Option(help="Folder for the agent.")],
    method: Annotated[str | None, typer.Option(help="projection, soft-projection, …")] = None,
    strategy: Annotated[
        str | None, typer.Option(help="varied (all instances), small, medium or large (one).")
    ] = None,
    steps: Annotated[int | None, typer.Option(help="Environment steps.")] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of everything random.")] = None,
    features: Annotated[str | None, typer.Option(help="Feature set: full or paper.")] = None,
    encoder: Annotated[
        Path | None, typer.Option(help="Folder of an encoder; pre-trained on the data without.")
    ] = None,
    init: Annotated[Path | None, typer.Option(help="Agent to start from.")] = None,
    teacher: Annotated[
        str | None,
        typer.Option(
            help="Imitate a teacher: solver, search, greedy, auto for the problem's own, or a "
            "folder of demonstrations. The method is then taught-projection."
        ),
    ] = None,
    encoder_training: Annotated[
        str | None, typer.Option(help="frozen or fine-tuned (with the policy; taught-projection).")
    ] = None,
    decoder: Annotated[
        str | None,
        typer.Option(help="nearest, sampled, rule:module:function, scored, preview or ranked."),
    ] = None,
    k: Annotated[int | None, typer.Option("--k", help="Nearest actions the decoder sees.")] = None,
    envs: Annotated[int | None, typer.Option(help="Environments stepped together.")] = None,
    validation: Annotated[
        Path | None, typer.Option(help="Data set that chooses the best weights and stops early.")
    ] = None,
    evaluate_every: Annotated[
        int | None, typer.Option(help="Steps between evaluations on it.")
    ] = None,
    patience: Annotated[
        int | None, typer.Option(help="Stop after so many evaluations without a better one.")
    ] = None,
    device: Annotated[str | None, typer.Option(help="cpu, cuda or auto.")] = None,
    logger: Annotated[
        str | None, typer.Option(help="tensorboard, csv, wandb; several with commas.")
    ] = None,
    cache: Annotated[
        bool, typer.Option(help="Use, and keep, encoders in the user's cache folder.")
    ] = True,
    preset: Annotated[str | None, typer.Option(help="default or paper.")] = None,
    config: Annotated[Path | None, typer.Option(help="TOML file with settings.")] = None,
    setting: Annotated[
        list[str] | None,
        typer.Option("--set", help="Any setting of the method, as NAME=VALUE; may be repeated."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Train an agent; a run that was interrupted, or is to have more steps, goes on."""
    import lagco
    from lagco.agents.config import parse_settings, train_config

    if teacher is not None and method is None:
        method = "taught-projection"
    named = {
        "method": method,
        "teacher": teacher,
        "strategy": strategy,
        "steps": steps,
        "seed": seed,
        "features": features,
        "encoder_training": encoder_training,
        "decoder": decoder,
        "k": k,
        "envs": envs,
        "preset": preset,
        "evaluate_every": evaluate_every,
        "patience": patience,
        "device": device,
    }
    given = {name: value for name, value in named.items() if value is not None}
    settings = train_config(config, **(parse_settings(setting or ()) | given))
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    with Progress(
        TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn(), disable=as_json
    ) as bar:
        task = bar.add_task("pre-training", total=settings.steps)

        def report(row: dict[str, Any]) -> None:
            text = f"{row['steps']} steps, score {row['score']}"
            bar.update(task, completed=row["steps"], description=text)

        agent = lagco.train(
            problem,
            data,
            out,
            config=settings,
            encoder=encoder,
            init=init,
            validation=validation,
            logger=logger,
            cache=cache,
            report=report,
        )
    described = {"kind": "agent", **agent.description}
    print_json(described) if as_json else print_facts(described)
