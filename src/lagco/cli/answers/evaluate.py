"""The command `evaluate`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from lagco.cli.options import Data, Decoder, Neighbours, OtherProblem, names, whole
from lagco.cli.output import AsJson, print_json, print_table
from lagco.errors import UnknownName, UsageError, suggest
from lagco.policies import POLICIES
from lagco.results.evaluation import Evaluation, by_training
from lagco.results.measures import MEASURES, RETURN
from lagco.results.numbers import of_things, significant


def evaluate(
    data: Data,
    agent: Annotated[
        list[str] | None,
        typer.Argument(
            help="Folders of trained agents. default, or the name of a problem, stands for the "
            "agent that comes with lagco.",
            show_default=False,
        ),
    ] = None,
    policy: Annotated[
        str | None,
        typer.Option(
            help="Policies to compare with: random, greedy, solver (its reference values), or "
            "several with commas. Default: all that apply."
        ),
    ] = None,
    decoder: Decoder = None,
    k: Neighbours = 10,
    episodes: Annotated[int, whole("Episodes per instance.")] = 5,
    seed: Annotated[
        int | None, whole("Seed of the first episode. Default: the paper's test seeds.")
    ] = None,
    start: Annotated[
        str | None,
        typer.Option(
            help="State to start from: worst, current or default. Default: the problem's own."
        ),
    ] = None,
    problem: OtherProblem = None,
    per_instance: Annotated[
        bool, typer.Option("--per-instance", help="Also print every instance in a row of its own.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Evaluate agents and plain policies on every instance of a data set.

    Instances that an agent was trained on are listed separately. An instance that a policy refused
    or did not solve counts as score 0 with an infinite gap.
    """
    import lagco
    from lagco.commands.evaluate import solver_evaluation
    from lagco.core.env import Previews
    from lagco.problems import problem_class

    if decoder is not None and not agent:
        raise UsageError(f"--decoder {decoder}: applies to agents, and none is given")
    chosen = None if policy is None else names(policy)
    for name in chosen or ():
        if name not in (*POLICIES, "solver"):
            raise UnknownName(suggest("policy", name, (*POLICIES, "solver")))
    evaluations = []
    how: dict[str, Any] = {"episodes": episodes, "seed": seed, "start": start}
    for folder in agent or ():
        if folder in (*POLICIES, "solver") and not Path(folder).exists():
            raise UsageError(f"{folder}: a policy, not an agent; give it as --policy {folder}")
        default = folder == "default"
        bundle = folder if default else lagco.load(folder, problem, decoder=decoder)
        found = lagco.evaluate(bundle, data, problem=problem, decoder=decoder, k=k, **how)
        label = f"{folder}: {found.policy}" if len(agent or ()) > 1 else found.policy
        evaluations.append(replace(found, policy=f"{label}, {decoder}" if decoder else label))
    if problem is None and evaluations:  # a file may serve several problems
        problem = evaluations[0].problem
    if chosen is None:
        able = problem is None or issubclass(problem_class(problem), Previews)
        chosen = ["random", "greedy", "solver"] if able else ["random", "solver"]
    evaluations += [
        lagco.evaluate(name, data, problem=problem, **how) for name in chosen if name in POLICIES
    ]
    if "solver" in chosen:
        solver = solver_evaluation(data, problem, start)
        if solver is not None:
            evaluations.append(solver)
        elif policy is not None:
            raise UsageError(
                f"--policy solver: {data} holds no values of the solver; generate it with "
                "--references both"
            )
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
    """Print one table for seen and one for unseen instances, with a row per policy.

    Interquartile means, with 95 % bootstrap intervals for the best.
    """
    for part, restricted in by_training(evaluations).items():
        count = len(restricted[0].results)
        kind = of_things(count, f"{part} instances" if agents else "instances")
        _print_scores(kind.join(title), restricted, episodes)
    if any(result.seen for evaluation in evaluations for result in evaluation.results):
        typer.echo("seen: at least one of the agents was trained on the instance")
    if any(evaluation.refused or evaluation.infeasible for evaluation in evaluations):
        returned = any(RETURN in result.measures for result in evaluations[0].results)
        worst = "return -inf" if returned else "score 0, gap infinite"
        typer.echo(f"an instance that was refused or not solved counts as {worst}")


def print_refusals(evaluations: list[Evaluation]) -> None:
    """Print how many instances each policy refused, and the first reason."""
    for evaluation in evaluations:
        reasons = [result.refused for result in evaluation.results if result.refused]
        if reasons:
            count = f"{len(reasons)} of {of_things(len(evaluation.results), 'instances')}"
            typer.echo(f"{evaluation.policy} refused {count}: {reasons[0]}")


def _print_scores(title: str, evaluations: list[Evaluation], episodes: int) -> None:
    stochastic = evaluations[0].stochastic
    returned = "average reward" if evaluations[0].endless else "return"
    shown = {
        "score/mean": f"final score: mean of {episodes}",
        "solver_score/mean": f"solver scale, final: mean of {episodes}",
        "gap/mean": f"gap % of best state: mean of {episodes}",
        f"{RETURN}/mean": f"{returned}: mean of {episodes}",
    }
    shown |= {
        "score/first": "final score: first",
        "score/best": f"final score: best of {episodes}",
        "score_best/best": "best state's score",
        "solver_score/first": "solver scale, final: first",
        "solver_score/best": f"solver scale, final: best of {episodes}",
        "solver_score_best/best": "solver scale, best state",
        "gap/best": "gap % of best state",
        f"{RETURN}/first": f"{returned}: first",
        f"{RETURN}/best": f"{returned}: best of {episodes}",
    }
    summaries = [evaluation.summary() for evaluation in evaluations]
    for name in ("score", "solver_score"):  # where every episode ends in its best state
        best, state = (
            [entry and entry.iqm for entry in (s.get(f"{key}/best") for s in summaries)]
            for key in (name, f"{name}_best")
        )
        if best == state:
            del shown[f"{name}_best/best"]
    rows = []
    for evaluation, summary in zip(evaluations, summaries, strict=True):
        count = len(evaluation.results)
        decided = count - evaluation.refused
        infeasible = f"{evaluation.infeasible}/{decided}" if evaluation.infeasible else ""
        rows.append([evaluation.policy, f"{decided}/{count}", infeasible])
        for key in shown:
            entry = summary.get(key)
            if entry is None:
                rows[-1].append("-")
                continue
            text = _number(entry.mean if stochastic else entry.iqm, key)
            if key in ("score/best", "solver_score/best", f"{RETURN}/best") or stochastic:
                interval = entry.mean_interval if stochastic else entry.iqm_interval
                low, high = (_number(value, key) for value in interval)
                text += f" [{low}, {high}]"
            rows[-1].append(text)
    _print_filled(title, ("policy", "decided", "infeasible", *shown.values()), rows)


def print_instances(
    title: tuple[str, str], evaluations: list[Evaluation], episodes: int, maximise: bool
) -> None:
    """A row per instance and policy."""
    stochastic = evaluations[0].stochastic
    which = "mean" if stochastic else "best"
    columns = (
        "instance",
        "policy",
        "size",
        "seen",
        "objective: first",
        f"objective: {which} of {episodes}",
        f"score: {which} of {episodes}",
        f"solver scale: {which} of {episodes}",
        "gap %",
        "feasible",
    )
    rows = []
    for results in zip(*(evaluation.results for evaluation in evaluations), strict=True):
        for evaluation, result in zip(evaluations, results, strict=True):
            feasible = sum(episode.feasible for episode in result.episodes)
            measures = ("score", "solver_score", "gap")
            if stochastic:
                first, chosen = None, result.mean("objective")
                measured = [result.mean(measure) for measure in measures]
            else:
                first = result.first("objective_best")
                chosen = result.best("objective_best", maximise=maximise)
                measured = [result.best(measure) for measure in measures]
            rows.append(
                [
                    result.instance,
                    evaluation.policy,
                    str(result.size),
                    "seen" if result.seen else "",
                    _number(first),
                    _number(chosen),
                    *map(_number, measured, measures),
                    "refused" if result.refused else f"{feasible}/{len(result.episodes)}",
                ]
            )
    count = len(evaluations[0].results)
    _print_filled(of_things(count, "instances").join(title), columns, rows)


def _print_filled(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table without its empty columns."""
    filled = [i for i in range(len(columns)) if any(row[i] not in ("", "-") for row in rows)]
    cells = [[row[i] for i in filled] for row in rows]
    print_table(title, [columns[i] for i in filled], cells)


def _number(value: float | None, key: str = "objective") -> str:
    if value is None or math.isinf(value):
        return "-" if value is None else str(value)  # inf for gaps, -inf for returns
    if key.startswith("gap"):
        return f"{round(value, 2) + 0.0:.2f}"  # no minus before a zero
    if not key.startswith(("objective", RETURN)):
        return f"{value:.3f}"
    whole = float(value).is_integer() and abs(value) < 1e6
    return f"{value:.0f}" if whole else significant(value, 6)
