"""Benchmarks: `bench decode`, `bench encode`."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from lagco.cli.options import CONTEXT, Features, whole, whole_numbers
from lagco.cli.output import AsJson, print_json, print_table
from lagco.errors import UsageError

ProblemName = Annotated[str, typer.Option(help="Name of a problem.")]
Method = Annotated[str, typer.Option(help="Method.")]
group = typer.Typer(
    help="Measure speed; every figure in the documents comes from here.",
    no_args_is_help=True,
    context_settings=CONTEXT,
    add_completion=False,
)


@group.command(context_settings=CONTEXT)
def decode(
    structures: Annotated[
        str, typer.Option(help="Among pairs, triples, paths, with commas.")
    ] = "pairs,triples,paths",
    actions: Annotated[
        str | None, typer.Option(help="Numbers of actions with commas, such as 1e3,1e6.")
    ] = None,
    metrics: Annotated[str, typer.Option(help="Among l2, inner, cosine.")] = "l2,inner,cosine",
    validities: Annotated[
        str, typer.Option(help="Among all, random, blocks.")
    ] = "all,random,blocks",
    repeats: Annotated[int, typer.Option(help="Queries per case.")] = 7,
    seed: Annotated[int, typer.Option(help="Seed of vectors and queries.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Nearest-action search against FAISS flat, build included, on one thread."""
    from lagco.search.bench import bench_decode

    sizes = None if actions is None else _sizes("--actions", actions)
    options: dict[str, Any] = {} if sizes is None else {"actions": sizes}
    records = bench_decode(
        structures.split(","),
        metrics=metrics.split(","),
        validities=validities.split(","),
        repeats=repeats,
        seed=seed,
        **options,
    )
    _print("nearest-action search", records, as_json)


@group.command(context_settings=CONTEXT)
def encode(
    problem: ProblemName = "tsp",
    size: Annotated[int, typer.Option(help="Decision variables of the instance.")] = 100,
    as_json: AsJson = False,
) -> None:
    """Encoding a changed state: compiled, batched, and in torch, on one thread."""
    from lagco.embedding.bench import bench_encode
    from lagco.problems import problem_class

    _print("encoding", [bench_encode(problem_class(problem), size=size)], as_json)


@group.command(context_settings=CONTEXT)
def latency(
    problem: ProblemName = "tsp",
    sizes: Annotated[str, typer.Option(help="Sizes with commas.")] = "20,50,100,150",
    method: Method = "projection",
    features: Features = "full",
    as_json: AsJson = False,
) -> None:
    """Whole decisions and their parts, on one thread."""
    from lagco.agents.bench import bench_latency
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
        str, typer.Option(help="Problems with commas, sizes after a colon.")
    ] = "tsp:50,min-vertex:30,max-cut:50,placement:30,ospf:20,traffic:15,cyber-path:15",
    methods: Annotated[
        str | None, typer.Option(help="Methods with commas; all that no teacher is needed for.")
    ] = None,
    features: Features = "full",
    steps: Annotated[int, whole("Steps to time, after a first rollout.")] = 8192,
    as_json: AsJson = False,
) -> None:
    """Training steps per second, beside SB3's PPO on CartPole, and microseconds of each part."""
    from lagco.agents.registry import METHODS
    from lagco.agents.throughput import bench_throughput
    from lagco.problems import problem_class

    sizes = {}
    for entry in problems.split(","):
        name, _, size = entry.partition(":")
        cls = problem_class(name)
        sizes[cls] = _sizes("--problems", size)[0] if size else cls.default_size
    every = [name for name, method in METHODS.items() if not method.taught]
    chosen = every if methods is None else methods.split(",")
    records = bench_throughput(sizes, chosen, features=features, steps=steps)
    _print("training", records, as_json)


def _print(title: str, records: list[dict[str, Any]], as_json: bool) -> None:
    if as_json:
        print_json(records)
    else:
        print_table(title, records[0], [record.values() for record in records])


def _sizes(option: str, text: str) -> list[int]:
    """Positive numbers with commas; 1e6 is one too."""
    try:
        found = whole_numbers(option, text)
    except UsageError:
        found = []
    if not found or min(found) < 1:
        raise UsageError(f"{option} {text}: positive numbers with commas, such as 20,50 or 1e6")
    return found
