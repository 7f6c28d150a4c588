"""The main job, small: train two agents on small instances, test them on larger unseen ones.

    python examples/demo.py [--problem tsp] [--steps 40000] [--out demo]

Prints the table against random, greedy and the solver, and writes a page with the learning curves
and a drawn episode.
"""

from __future__ import annotations

import argparse
import base64
import csv
import html
import io
import time
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

import lagco
from lagco.agents.agent import Agent
from lagco.commands.evaluate import solver_evaluation
from lagco.instances import Instance
from lagco.problems import problem_class
from lagco.results.evaluation import Evaluation
from lagco.rollout import Episode

METHODS = ("soft-projection", "projection")
#: training range and test sizes
SIZES = {
    "tsp": ("10-20", (20, 50, 100)),
    "min-vertex": ("10-20", (20, 35, 50)),
    "max-cut": ("10-20", (20, 50, 100)),
    "placement": ("10-15", (15, 25, 40)),
    "ospf": ("10-14", (15, 20, 30)),
    "traffic": ("10-13", (13, 17, 22)),
    "cyber-path": ("10-13", (13, 16, 20)),
}


def main() -> None:
    """Generate, train, test, draw."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--problem", default="tsp", choices=list(SIZES))
    parser.add_argument("--steps", type=int, default=40_000)
    parser.add_argument("--out", type=Path, default=Path("demo"))
    arguments = parser.parse_args()
    out = arguments.out / arguments.problem
    training, testing = SIZES[arguments.problem]
    name = arguments.problem
    began = time.perf_counter()
    train = lagco.generate(name, 20, out=out / "train", sizes=training)
    tests = {n: lagco.generate(name, 5, seed=7, out=out / f"test-{n}", sizes=n) for n in testing}
    agents = {}
    encoder = None
    for method in METHODS:
        print(f"training {method} on {training} ({arguments.steps} steps)", flush=True)
        agents[method] = lagco.train(
            name, train, out / method, method=method, steps=arguments.steps, encoder=encoder
        )
        encoder = out / METHODS[0] / "space" / "encoder"  # shared by the methods
    rows = []
    for policy in (*agents.values(), "random", "greedy"):
        found = [lagco.evaluate(policy, data) for data in tests.values()]
        rows.append((found[0].policy, found))
    solved = [solver_evaluation(data) for data in tests.values()]
    rows.append(("solver", [s for s in solved if s is not None]))
    header = ["policy", *(f"{name} {n}" for n in testing)]
    table = [[label, *(_cell(e) for e in found)] for label, found in rows]
    print(f"\nscore against the solver, and gap in percent (best of 5, unseen {name} instances)")
    for row in [header, *table]:
        print("  ".join(f"{cell:>18}" for cell in row))
    page = out / "index.html"
    shown = tests[testing[0]][0]
    page.write_text(_page(name, header, table, out, agents["soft-projection"], shown))
    seconds = time.perf_counter() - began
    print(f"\n{page} has the learning curves and a drawn episode ({seconds:.0f} s)")


def _cell(evaluation: Evaluation) -> str:
    summary = evaluation.summary()
    score, gap = summary["solver_score_best/best"], summary["gap/best"]
    score_text = "-" if score is None else f"{score.iqm:.3f}"
    return score_text if gap is None else f"{score_text} ({gap.iqm:.1f} %)"


def _page(
    name: str,
    header: list[str],
    table: list[list[str]],
    out: Path,
    agent: Agent,
    instance: Instance,
) -> str:
    head = "".join(f"<th>{html.escape(cell)}</th>" for cell in header)
    body = "".join(
        "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in table
    )
    episode = "".join(f'<img src="{picture}" alt="state">' for picture in _episode(agent, instance))
    return f"""<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>lagco demo: {html.escape(name)}</title>
<style>
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto;
padding: 0 1rem }}
table {{ border-collapse: collapse }} td, th {{ padding: .3rem .8rem; text-align: right;
border-bottom: 1px solid #ddd }} td:first-child, th:first-child {{ text-align: left }}
img {{ max-width: 100%; width: 19rem }} img.wide {{ width: 36rem }}
</style>
<h1>lagco: {html.escape(name)}</h1>
<p>Score against the solver's value and gap in percent, best of five episodes, on instances that
were not trained on.</p>
<table><tr>{head}</tr>{body}</table>
<h2>Learning curves</h2><img class="wide" src="{_curves(out)}" alt="learning curves">
<h2>An episode of soft-projection</h2>{episode}
</html>
"""


def _curves(out: Path) -> str:
    figure = Figure(figsize=(7, 3.6), dpi=110)
    axes = figure.subplots()
    for method in METHODS:
        rows = list(csv.DictReader((out / method / "progress.csv").open()))
        shown = [row for row in rows if row["score"]]
        steps = [int(row["steps"]) for row in shown]
        axes.plot(steps, [float(row["score"]) for row in shown], label=method)
    axes.set_xlabel("environment steps")
    axes.set_ylabel("score, mean of 100 episodes")
    axes.legend()
    figure.tight_layout()
    return _png(figure)


def _episode(agent: Agent, instance: Instance) -> list[str]:
    env = problem_class(agent.problem)(instance, features=agent.features)
    pictures = []
    for episode in Episode(env, seed=42, explore=False).states(agent):
        if len(episode.actions) % max(1, env.episode_length // 2) == 0:
            pictures.append(_drawn(env))
    return [*pictures[:2], _drawn(env)]


def _drawn(env: Any) -> str:
    figure = Figure(figsize=(4, 4.2), dpi=100)
    axes = figure.add_axes((0.02, 0.02, 0.96, 0.9))
    axes.set_axis_off()
    axes.set_aspect("equal")
    env.draw_on(axes)
    return _png(figure)


def _png(figure: Figure) -> str:
    stream = io.BytesIO()
    figure.savefig(stream, format="png")
    return "data:image/png;base64," + base64.b64encode(stream.getvalue()).decode()


if __name__ == "__main__":
    main()
