"""The commands `bench decode`, `encode`, `latency` and `throughput`."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from lagco.cli.options import CONTEXT, PROBLEM, SEED, Features, Seed, names, whole, whole_numbers
from lagco.cli.output import AsJson, print_json, print_table
from lagco.errors import UsageError

ProblemName = Annotated[str, typer.Option(help=f"{PROBLEM}.")]
Method = Annotated[str, typer.Option(help="Name of a method.")]
group = typer.Typer(
    help="Measure speed.",
    no_args_is_help=True,
    context_settings=CONTEXT,
    add_completion=False,
)


@group.command(context_settings=CONTEXT)
def decode(
    structures: Annotated[
        str, typer.Option(help="Action sets to search, with commas: pairs, triples, paths.")
    ] = "pairs,triples,paths",
    actions: Annotated[
        str | None, typer.Option(help="Numbers of actions, with commas, such as 1e3,1e6.")
    ] = None,
    metrics: Annotated[
        str, typer.Option(help="Metrics, with commas: l2, inner, cosine.")
    ] = "l2,inner,cosine",
    validities: Annotated[
        str,
        typer.Option(
            help="Valid actions, with commas: all of them, a random half (random), or whole "
            "blocks of them (blocks)."
        ),
    ] = "all,random,blocks",
    repeats: Annotated[int, typer.Option(help="Queries per case.")] = 7,
    seed: Seed = SEED,
    as_json: AsJson = False,
) -> None:
    """Nearest-action search compared with a flat FAISS index, on one thread."""
    from lagco.bench.decoding import bench_decode

    sizes = None if actions is None else _sizes("--actions", actions)
    options: dict[str, Any] = {} if sizes is None else {"actions": sizes}
    records = bench_decode(
        names(structures),
        metrics=names(metrics),
        validities=names(validities),
        repeats=repeats,
        seed=seed,
        **options,
    )
    _print("nearest-action search", records, as_json)


@group.command(context_settings=CONTEXT)
def encode(
    problem: ProblemName = "tsp",
    size: Annotated[int, typer.Option(help="Size of the instance.")] = 100,
    as_json: AsJson = False,
) -> None:
    """Encoding a changed state: compiled, batched, and in torch, on one thread."""
    from lagco.bench.encoding import bench_encode
    from lagco.problems import problem_class

    _print("encoding", [bench_encode(problem_class(problem), size=size)], as_json)


@group.command(context_settings=CONTEXT)
def latency(
    problem: ProblemName = "tsp",
    sizes: Annotated[str, typer.Option(help="Sizes, with commas.")] = "20,50,100,150",
    method: Method = "projection",
    features: Features = "full",
    as_json: AsJson = False,
) -> None:
    """Whole decisions and their parts, on one thread."""
    from lagco.bench.decisions import bench_latency
    from lagco.problems import problem_class

    listed = _sizes("--sizes", sizes)
    _print(
        "decisions",
        bench_latency(problem_class(problem), listed, method, features=features),
        as_json,
    )


@group.command(context_settings=CONTEXT)
def throughput(
    problems: Annotated[
        str, typer.Option(help="Problems with their sizes, as NAME:SIZE, with commas.")
    ] = "tsp:50,min-vertex:30,max-cut:50,placement:30,ospf:20,traffic:15,cyber-path:15",
    methods: Annotated[
        str | None, typer.Option(help="Methods, with commas. Default: all that need no teacher.")
    ] = None,
    features: Features = "full",
    steps: Annotated[int, whole("Steps to time, after a first rollout.")] = 8192,
    as_json: AsJson = False,
) -> None:
    """Training steps per second, compared with SB3's PPO on CartPole, and the time of each part."""
    from lagco.agents.registry import METHODS
    from lagco.bench.training import bench_throughput
    from lagco.problems import problem_class

    sizes = {}
    for entry in names(problems):
        name, _, size = entry.rpartition(":")
        if not size.isdigit():  # of module:Class
            name, size = entry, ""
        cls = problem_class(name)
        sizes[cls] = _sizes("--problems", size)[0] if size else cls.default_size
    every = [name for name, method in METHODS.items() if not method.taught]
    chosen = every if methods is None else names(methods)
    records = bench_throughput(sizes, chosen, features=features, steps=steps)
    _print("training", records, as_json)


def _print(title: str, records: list[dict[str, Any]], as_json: bool) -> None:
    if as_json:
        print_json(records)
    else:
        print_table(title, records[0], [record.values() for record in records])


def _sizes(option: str, text: str) -> list[int]:
    """Positive whole numbers from a comma-separated list; 1e6 counts as one."""
    try:
        found = whole_numbers(option, text)
    except UsageError:
        found = []
    if not found or min(found) < 1:
        raise UsageError(f"{option} {text}: expected positive whole numbers, such as 20,50 or 1e6")
    return found
