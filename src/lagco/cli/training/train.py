"""The command `train`."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

import typer

from lagco.agents.registry import method_names
from lagco.cli.options import Encoder, Problem, kept, whole
from lagco.cli.output import AsJson, duration, print_facts, print_json
from lagco.errors import UsageError
from lagco.results.numbers import of_things


def train(
    problem: Problem,
    data: Annotated[
        Path | None,
        typer.Option(
            help="Folder of a data set, or an instance file. Default: the problem draws instances "
            "for training and validation."
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder for the agent. Default: runs/PROBLEM-METHOD."),
    ] = None,
    method: Annotated[
        str | None, typer.Option(help=f"{', '.join(method_names())}. Default: projection.")
    ] = None,
    strategy: Annotated[
        str | None,
        typer.Option(
            help="Training instances: varied (all), or small, medium or large (one of that size). "
            "Default: varied."
        ),
    ] = None,
    steps: Annotated[int | None, whole("Environment steps. Default: 100000.")] = None,
    seed: Annotated[int | None, whole("Random seed. Default: 42.")] = None,
    features: Annotated[
        str | None,
        typer.Option(help="Feature set: full, paper, budget or unplanned. Default: full."),
    ] = None,
    encoder: Encoder = None,
    init: Annotated[
        str | None,
        typer.Option(help="Folder of an agent whose weights to start from, or default."),
    ] = None,
    teacher: Annotated[
        str | None,
        typer.Option(
            help="Imitate a teacher: solver, search, greedy, auto (the problem's own), "
            "default (the agent that comes with lagco), the folder of demonstrations or of an "
            "agent; or learn from own episodes: self. Implies --method taught-projection."
        ),
    ] = None,
    encoder_training: Annotated[
        str | None,
        typer.Option(
            help="Encoder during training: frozen, or fine-tuned (only with taught-projection). "
            "Default: frozen."
        ),
    ] = None,
    decoder: Annotated[
        str | None,
        typer.Option(
            help="How points are decoded to actions: nearest, sampled, preview, scored, ranked or "
            "rule:module:function."
        ),
    ] = None,
    k: Annotated[
        int | None,
        typer.Option("--k", help="Number of nearest actions the decoder chooses from."),
    ] = None,
    envs: Annotated[
        int | None, typer.Option(help="Number of environments stepped together.")
    ] = None,
    validation: Annotated[
        Path | None,
        typer.Option(help="Data set by whose scores the best weights are chosen."),
    ] = None,
    evaluate_every: Annotated[int | None, whole("Steps between two validations.")] = None,
    patience: Annotated[
        int | None, whole("Stop after this many validations without improvement.")
    ] = None,
    device: Annotated[
        str | None,
        typer.Option(help="Where networks are trained: cpu, cuda or auto. Default: cpu."),
    ] = None,
    logger: Annotated[
        str | None,
        typer.Option(help="Where metrics go: tensorboard, csv, wandb, or several with commas."),
    ] = None,
    cache: Annotated[
        bool, typer.Option(help="Reuse pre-trained encoders from the user's cache folder.")
    ] = True,
    preset: Annotated[
        str | None, typer.Option(help="Settings to start from: default or paper.")
    ] = None,
    config: Annotated[Path | None, typer.Option(help="TOML file with settings.")] = None,
    setting: Annotated[
        list[str] | None,
        typer.Option("--set", help="Any setting of the method, as NAME=VALUE. Can be repeated."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Train an agent. The same command resumes an interrupted run; more --steps extend one."""
    import lagco
    from lagco.agents.config import parse_settings, train_config
    from lagco.problems import problem_class

    if validation is None and data is not None and evaluate_every is not None:
        raise UsageError(f"--evaluate-every {evaluate_every}: needs --validation, a data set")
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
    if out is None:
        out = Path("runs") / f"{problem_class(problem).name}-{settings.method}"
    began = time.perf_counter()
    with kept(lambda: f"{out} keeps the last checkpoint, if any; the same command continues"):
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
        print_facts(_summary(agent, problem, out, time.perf_counter() - began))


def _summary(agent: Any, problem: str, out: Path, seconds: float) -> dict[str, Any]:
    """Score, time and path of a trained agent."""
    import csv

    from lagco.agents.training.trainer import CURVE

    training = agent.description["training"]
    with (out / CURVE).open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    known = [row for row in rows if row["score"] or row["return"]]
    last: dict[str, str] = known[-1] if known else {}
    name = "score" if last.get("score") else "return"
    found: dict[str, Any] = {
        "agent": f"{agent.name} for {agent.problem.name}, {agent.facts()['trained']}",
        f"{name} in training": float(last[name]) if last else None,
    }
    if "validation" in training:
        found["validation"] = training["validation"]["value"]
    facts = agent.description["facts"]
    if "teacher" in facts:
        found["teacher"] = f"{facts['teacher']}: {facts['teacher_because']}"
    found |= {"time": duration(seconds), "written to": str(out)}
    if agent.comparison is not None:
        found["tested on"] = (
            f"{of_things(agent.comparison.instances, 'validation instances')}, best of 5 episodes "
            f"in {duration(agent.comparison.seconds)} of the processor; search had as long"
        )
        found |= agent.comparison.sentences()
    of_problem = f" --problem {problem}" if ":" in problem else ""
    found["try it"] = f"lagco evaluate {out} --data DATA{of_problem}"
    return found
