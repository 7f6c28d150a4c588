"""The command `evaluate`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lagco.cli.output import AsJson, print_json, print_table
from lagco.errors import UsageError
from lagco.results.measures import MEASURES, RETURN

if TYPE_CHECKING:
    from lagco.results.evaluation import Evaluation


def evaluate(
    data: Annotated[Path, typer.Option(help="Folder of a data set, or an instance file.")],
    agent: Annotated[
        list[Path] | None, typer.Argument(help="Folders of trained agents.", show_default=False)
    ] = None,
    policy: Annotated[
        str | None,
        typer.Option(help="random, greedy, or several with commas; by default those that can."),
    ] = None,
    decoder: Annotated[
        str | None,
        typer.Option(help="nearest, sampled, rule:module:function, scored or preview."),
    ] = None,
    k: Annotated[int, typer.Option("--k", help="Nearest actions the decoder sees.")] = 10,
    episodes: Annotated[int, typer.Option(help="Episodes per instance.")] = 5,
    problem: Annotated[
        str | None, typer.Option(help="module:Class, if the problem is not one of lagco's.")
    ] = None,
    per_instance: Annotated[
        bool, typer.Option("--per-instance", help="Also print a row per instance and policy.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Evaluate agents and plain policies on every instance of a data set, on both scales.

    Instances that an agent was trained on have a table of their own. Every row of a table is over
    the same instances: one that was refused or not solved counts as score 0 and an infinite gap.
    """
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
    if problem is None and evaluations:  # a file may serve several problems
        problem = evaluations[0].problem
    if policy is None:
        able = problem is None or hasattr(problem_class(problem), "preview")
        policy = "random,greedy" if able else "random"
    evaluations += [
        lagco.evaluate(name.strip(), data, episodes=episodes, problem=problem)
        for name in policy.split(",")
        if name.strip()
    ]
    solver = solver_evaluation(data, problem)
    if solver is not None:
        evaluations.append(solver)
    if not evaluations:
        raise UsageError("there is nothing to evaluate: give the folder of an agent or --policy")
    if as_json:
        print_json([evaluation.as_dict() for evaluation in evaluations])
    else:
        maximise = problem_class(problem or evaluations[0].problem).maximise
        titles = (f"{evaluations[0].problem}, ", f", {data}")
        print_scores(titles, evaluations, episodes, agents=bool(agent))
        scored = any(e.values(measure) for e in evaluations for measure in MEASURES)
        if per_instance or not scored:
            print_instances(titles, evaluations, episodes, maximise)
        print_refusals(evaluations)


def print_scores(
    title: tuple[str, str], evaluations: list[Evaluation], episodes: int, agents: bool
) -> None:
    """Seen and unseen instances in tables of their own, a row per policy.

    Interquartile means, with 95 % bootstrap intervals for the best.
    """
    from lagco.results.evaluation import by_training

    for part, restricted in by_training(evaluations).items():
        count = len(restricted[0].results)
        kind = f"{count} {part} instances" if agents else f"{count} instances"
        _print_scores(kind.join(title), restricted, episodes)
    if any(result.seen for evaluation in evaluations for result in evaluation.results):
        typer.echo("seen: at least one of the agents was trained on the instance")
    if any(evaluation.refused or evaluation.infeasible for evaluation in evaluations):
        typer.echo("an instance that was refused or not solved counts as score 0, gap infinite")


def print_refusals(evaluations: list[Evaluation]) -> None:
    """Who refused how many instances, and why."""
    for evaluation in evaluations:
        reasons = [result.refused for result in evaluation.results if result.refused]
        if reasons:
            count = f"{len(reasons)} of {len(evaluation.results)} instances"
            typer.echo(f"{evaluation.policy} refused {count}: {reasons[0]}")


def _print_scores(title: str, evaluations: list[Evaluation], episodes: int) -> None:
    shown = {
        "score/first": "score: first",
        "score/best": f"best of {episodes}",
        "score_best/best": "best state",
        "solver_score/first": "solver scale: first",
        "solver_score/best": f"best of {episodes}",
        "solver_score_best/best": "best state",
        "gap/best": "gap %",
        f"{RETURN}/first": "return: first",
        f"{RETURN}/best": f"best of {episodes}",
    }
    rows = []
    for evaluation in evaluations:
        count, summary = len(evaluation.results), evaluation.summary()
        decided = count - evaluation.refused
        infeasible = f"{evaluation.infeasible}/{decided}" if evaluation.infeasible else ""
        rows.append([evaluation.policy, f"{decided}/{count}", infeasible])
        for key in shown:
            entry = summary.get(key)
            text = "-" if entry is None else _number(entry.iqm, key)
            if entry is not None and key in ("score/best", "solver_score/best", f"{RETURN}/best"):
                low, high = (_number(value, key) for value in entry.iqm_interval)
                text += f" [{low}, {high}]"
            rows[-1].append(text)
    _print_filled(title, ("policy", "decided", "infeasible", *shown.values()), rows)


def print_instances(
    title: tuple[str, str], evaluations: list[Evaluation], episodes: int, maximise: bool
) -> None:
    """A row per instance and policy."""
    columns = (
        "instance",
        "size",
        "policy",
        "seen",
        "objective: first",
        f"best of {episodes}",
        f"score: best of {episodes}",
        f"solver scale: best of {episodes}",
        "gap %",
        "feasible",
    )
    rows = []
    for results in zip(*(evaluation.results for evaluation in evaluations), strict=True):
        for evaluation, result in zip(evaluations, results, strict=True):
            feasible = sum(episode.feasible for episode in result.episodes)
            measures = ("score", "solver_score", "gap")
            rows.append(
                [
                    result.instance,
                    str(result.size),
                    evaluation.policy,
                    "seen" if result.seen else "",
                    _number(result.first("objective_best")),
                    _number(result.best("objective_best", maximise=maximise)),
                    *(_number(result.best(measure), measure) for measure in measures),
                    "refused" if result.refused else f"{feasible}/{len(result.episodes)}",
                ]
            )
    count = len(evaluations[0].results)
    _print_filled(f"{count} instances".join(title), columns, rows)


def _print_filled(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A table without the columns in which no row says anything."""
    filled = [i for i in range(len(columns)) if any(row[i] not in ("", "-") for row in rows)]
    print_table(title, [columns[i] for i in filled], [[row[i] for i in filled] for row in rows])


def _number(value: float | None, key: str = "objective") -> str:
    if value is None or math.isinf(value):
        return "-" if value is None else "inf"
    if key.startswith("gap"):
        return f"{round(value, 2) + 0.0:.2f}"  # no minus before a zero
    return f"{value:.6g}" if key.startswith(("objective", RETURN)) else f"{value:.3f}"
