"""The command `train`."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

import typer

from lagco.cli.options import Data, Encoder, Problem, kept, whole
from lagco.cli.output import AsJson, duration, print_facts, print_json
from lagco.errors import UsageError


def train(
    problem: Problem,
    data: Data,
    out: Annotated[Path, typer.Option(help="Folder for the agent.")],
    method: Annotated[str | None, typer.Option(help="projection, soft-projection, …")] = None,
    strategy: Annotated[
        str | None, typer.Option(help="varied (all instances), small, medium or large (one).")
    ] = None,
    steps: Annotated[int | None, whole("Environment steps; 100000 by default.")] = None,
    seed: Annotated[int | None, whole("Seed of everything random; 0 by default.")] = None,
    features: Annotated[str | None, typer.Option(help="Feature set: full or paper.")] = None,
    encoder: Encoder = None,
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
    evaluate_every: Annotated[int | None, whole("Steps between evaluations on it.")] = None,
    patience: Annotated[
        int | None, whole("Stop after so many evaluations without a better one.")
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

    if validation is None and evaluate_every is not None:
        raise UsageError(f"--evaluate-every {evaluate_every}: of --validation, which is not given")
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
    began = time.perf_counter()
    with kept(f"{out} keeps the last checkpoint, if any; the same command goes on from there"):
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
            progress=not as_json,
        )
    if as_json:
        print_json({"kind": "agent", **agent.description})
    else:
        print_facts(_summary(agent, out, time.perf_counter() - began))


def _summary(agent: Any, out: Path, seconds: float) -> dict[str, Any]:
    """Score, time and path of a trained agent."""
    import csv

    from lagco.agents.training import CURVE

    training = agent.description["training"]
    with (out / CURVE).open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    known = [row for row in rows if row["score"] or row["return"]]
    last: dict[str, str] = known[-1] if known else {}
    name = "score" if last.get("score") else "return"
    found: dict[str, Any] = {
        "agent": f"{agent.name} for {agent.problem.name}, {training['steps']} steps on "
        f"{len(training['instances'])} instances",
        f"{name} in training": float(last[name]) if last else None,
    }
    if "validation" in training:
        found["validation"] = training["validation"]["value"]
    found |= {"time": duration(seconds), "written to": str(out)}
    found["try it"] = f"lagco evaluate {out} --data DATA"
    return found
