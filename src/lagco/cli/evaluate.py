"""The command `evaluate`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lagco.cli.output import AsJson, print_json, print_table

if TYPE_CHECKING:
    from lagco.evaluation import Evaluation


def evaluate(
    data: Annotated[Path, typer.Option(help="Folder of a data set, or an instance file.")],
    agent: Annotated[
        list[Path] | None, typer.Argument(help="Folders of trained agents.", show_default=False)
    ] = None,
    policy: Annotated[
        str, typer.Option(help="random, greedy, or several with commas.")
    ] = "random,greedy",
    decoder: Annotated[
        str | None,
        typer.Option(help="nearest, sampled, rule:module:function, scored or preview."),
    ] = None,
    k: Annotated[int, typer.Option("--k", help="Nearest actions the decoder sees.")] = 10,
    episodes: Annotated[int, typer.Option(help="Episodes per instance.")] = 5,
    problem: Annotated[
        str | None, typer.Option(help="module:Class, if the problem is not one of lagco's.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Evaluate agents and plain policies on every instance of a data set, on both scales."""
    import lagco
    from lagco.evaluation import solver_evaluation
    from lagco.problems import problem_class

    evaluations = []
    for folder in agent or ():
        bundle = lagco.load(folder, problem, decoder=decoder)
        found = lagco.evaluate(
            bundle, data, episodes=episodes, problem=problem, decoder=decoder, k=k
        )
        label = f"{folder}: {found.policy}" if len(agent or ()) > 1 else found.policy
        evaluations.append(replace(found, policy=f"{label}, {decoder}" if decoder else label))
    evaluations += [
        lagco.evaluate(name.strip(), data, episodes=episodes, problem=problem)
        for name in policy.split(",")
        if name.strip()
    ]
    solver = solver_evaluation(data, problem)
    if solver is not None:
        evaluations.append(solver)
    if as_json:
        print_json([evaluation.as_dict() for evaluation in evaluations])
    else:
        title = f"{evaluations[0].problem}, {len(evaluations[0].results)} instances, {data}"
        maximise = problem_class(problem or evaluations[0].problem).maximise
        print_evaluations(title, evaluations, episodes, maximise)


def print_evaluations(
    title: str, evaluations: list[Evaluation], episodes: int, maximise: bool = True
) -> None:
    """One row per policy: interquartile means, with 95 % bootstrap intervals for the best.

    Objectives where there is no reference; then who refused what.
    """
    if any(entry for evaluation in evaluations for entry in evaluation.summary().values()):
        _print_scores(title, evaluations, episodes)
    else:
        _print_objectives(title, evaluations, episodes, max if maximise else min)
    for evaluation in evaluations:
        refused = [result for result in evaluation.results if result.refused]
        if refused:
            count = f"{len(refused)} of {len(evaluation.results)} instances"
            typer.echo(f"{evaluation.policy} refused {count}: {refused[0].refused}")


def _print_objectives(
    title: str, evaluations: list[Evaluation], episodes: int, better: Callable[..., float]
) -> None:
    columns = ("policy", "instance", "objective: first", f"best of {episodes}")
    rows = []
    for evaluation in evaluations:
        for result in evaluation.results:
            found = [e.objective_best for e in result.episodes if e.objective_best is not None]
            first = result.first("objective_best")
            cells = [first, better(found) if found else None]
            shown = ["-" if value is None else f"{value:.6g}" for value in cells]
            rows.append([evaluation.policy, result.instance, *shown])
    print_table(title, columns, rows)


def _print_scores(title: str, evaluations: list[Evaluation], episodes: int) -> None:
    columns = (
        "policy",
        "score: first",
        f"best of {episodes}",
        "best state",
        "solver scale: first",
        f"best of {episodes} ",
        "best state ",
        "gap %",
    )
    rows = []
    for evaluation in evaluations:
        summary = evaluation.summary()
        cells = [evaluation.policy]
        for key, interval in (
            ("score/first", False),
            ("score/best", True),
            ("score_best/best", False),
            ("solver_score/first", False),
            ("solver_score/best", True),
            ("solver_score_best/best", False),
            ("gap/best", False),
        ):
            entry = summary[key]
            if entry is None:
                cells.append("-")
            elif interval:
                cells.append(f"{entry.iqm:.3f} [{entry.low:.3f}, {entry.high:.3f}]")
            else:
                cells.append(f"{entry.iqm:.2f}" if key == "gap/best" else f"{entry.iqm:.3f}")
        rows.append(cells)
    print_table(title, columns, rows)
