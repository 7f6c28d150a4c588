"""A ledger with every kind of record, written by its documented format alone: made-up figures."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from lagco.agents.config import train_config
from lagco.store import canonical_json, sha256
from lagco.study.records.ledger import FAILURE, NOTE, RECORD
from lagco.study.settings import TIMED, known_methods

MEASURES = ("score", "score_best", "solver_score", "solver_score_best", "gap")
QUANTILES = (0.0, 0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 1.0)
SEEDS = (42, 100, 123, 200, 300)
SELECTING = ("projection", "soft-projection", "iterative", "faiss-flat")
#: made-up skill per method: score on unseen instances of a medium size, and what size costs
_SKILL = {
    "p-discrete": (0.18, 0.25),
    "p-discrete-m": (0.45, 0.30),
    "g-discrete": (0.25, 0.10),
    "g-discrete-m": (0.52, 0.12),
    "iterative": (0.66, 0.22),
    "projection": (0.81, 0.06),
    "soft-projection": (0.93, 0.03),
    "taught-projection": (0.97, 0.02),
}


@dataclass(frozen=True)
class Extent:
    """How much to make up."""

    problems: tuple[str, ...] = ("tsp", "ospf")
    methods: tuple[str, ...] = known_methods()
    strategies: tuple[str, ...] = ("small", "varied")
    seeds: tuple[int, ...] = SEEDS[:2]
    instances: int = 12
    episodes: int = 5
    steps: int = 2048
    sizes: tuple[int, ...] = (20, 40, 80, 160)
    missing: int = 1  # runs at the end of the list that are not there
    word: str = ""  # put into whatever else a file may name: parts, views, machines, parameters


SMALL = Extent()


class Writer:
    """Writes records; what they say depends on the seed alone."""

    def __init__(self, folder: Path, word: str = "", seed: int = 0) -> None:
        self.folder = folder
        self.word = word
        self.rng = np.random.default_rng(seed)
        self._written = 0

    def write(self, kind, name, spec, result, measured=None):
        """Add a record; returns its key."""
        key = sha256(canonical_json([kind, spec]).encode())
        content = {
            "kind": kind,
            "name": name,
            "key": key,
            "revision": 1,
            "spec": spec,
            "result": result,
            "environment": {
                "python": "3.11.9",
                "lagco": "0.1.0",
                "torch": f"2.4.0{self.word}",
                "numpy": "1.26.4",
                "scipy": "1.11.4",
            },
        }
        self._written += 1
        seconds = self._written % 60
        circumstances = {
            "seconds": 1.5,
            "cpu_s": 1.0,
            "host": f"node-1{self.word}",
            "cpu": f"Imaginary CPU 3000{self.word}",
            "finished": f"2026-01-02T03:{self._written // 60 % 60:02d}:{seconds:02d}.000+00:00",
            **(measured or {}),
        }
        path = self.folder / "records" / kind / f"{file_name(name, key)}.json"
        RECORD.write_file(path, content, circumstances)
        return key


def file_name(name, key):
    """What files and folders of a task are called."""
    return f"{re.sub(r'[^A-Za-z0-9.+-]', '_', name)[:80]}-{key[:16]}"


def write_ledger(folder: Path, extent: Extent = SMALL, seed: int = 0) -> Path:
    """A folder with every kind of record."""
    writer = Writer(folder, extent.word, seed)
    runs = []
    used = {}
    for problem in extent.problems:
        used[problem] = data = _data(writer, problem, extent)
        _policies(writer, problem, data, extent)
        runs += _planned_runs(problem, data, extent)
    writer.write("encoder", "tsp-full", ENCODER, {"sha256": "0" * 64})
    for arguments in runs[: len(runs) - extent.missing]:
        _run(writer, *arguments, extent)
    for problem in extent.problems:
        _latencies(writer, problem, extent)
        _throughputs(writer, problem, extent)
        _trainings(writer, problem, used[problem], extent)
        _embedding(writer, problem)
    _tuning(writer, extent.problems[0])
    _failure(folder, runs[-1], extent.word)
    _studies(folder, extent)
    return folder


CODE = {"version": "0.1.0", "hash": "0" * 64}
ENCODER = {"problem": "tsp", "features": "full", "seed": 42, "code": CODE}
ENCODER_KEY = sha256(canonical_json(["encoder", ENCODER]).encode())


def _data(writer, problem, extent):
    spec = {
        "problem": problem,
        "n": extent.instances,
        "seed": 42,
        "sizes": None,
        "sweeps": None,
        "references": ["sweeps", "solver"],
        "code": CODE,
    }
    instances = [
        {
            "index": index,
            "name": f"instance-{index}{extent.word}",
            "size": size,
            "checksum": sha256(f"{problem}{index}".encode()),
            "extents": {"nodes": size},
            "solver_status": "best-known",
        }
        for index, size in enumerate(sizes_of(extent))
    ]
    result = {"checksum": sha256(problem.encode()), "instances": instances}
    key = writer.write("data", f"{problem}-{extent.instances}", spec, result)
    return {"data": key, "data_checksum": result["checksum"]}


def sizes_of(extent):
    """Sizes of the instances of every data set."""
    return np.linspace(10, 100, extent.instances).astype(int).tolist()


def _policies(writer, problem, data, extent):
    levels = {
        "random": 0.15,
        "greedy": 0.8,
        "solver": 1.05,
        "solver-in-time": 1.0,
        "annealing": 0.7,
    }
    for policy, level in levels.items():
        spec = {
            "problem": problem,
            **data,
            "policy": policy,
            "instances": extent.instances,
            "episodes": extent.episodes,
            "code": CODE,
        }
        spec |= {"pace": sha256(b"run"), "paced_by": "projection"} if policy in TIMED else {}
        rows = _instances(writer.rng, extent, [], level, 0.02, 0.0)
        writer.write(
            "policy", f"{problem}-{policy}", spec, {"instances": rows, "summary": _summary(rows)}
        )


def _planned_runs(problem, data, extent):
    return [
        (problem, data, method, strategy, fold, seed)
        for fold, seed in enumerate(extent.seeds)
        for strategy in extent.strategies
        for method in extent.methods
    ]


def _run_spec(problem, data, method, strategy, fold, seed, extent):
    order = np.random.default_rng(42).permutation(extent.instances)
    share = max(1, extent.instances // 5)
    train = {
        "small": [fold],
        "medium": [extent.instances // 2 + fold],
        "large": [extent.instances - 1 - fold],
        "varied": sorted(order[fold * share : (fold + 1) * share].tolist()),
    }[strategy]
    config = train_config(method=method, strategy=strategy, steps=extent.steps, seed=seed)
    return {
        "problem": problem,
        **data,
        "strategy": strategy,
        "fold": fold,
        "instances": extent.instances,
        "seed": seed,
        "train": train,
        "config": config.as_dict(),
        "overrides": {},
        "encoder": None if "discrete" in method else ENCODER_KEY,
        "episodes": extent.episodes,
        "code": CODE,
    }


def _run(writer, problem, data, method, strategy, fold, seed, extent):
    rng = writer.rng
    spec = _run_spec(problem, data, method, strategy, fold, seed, extent)
    skill, cost = _SKILL[method]
    skill += {"small": -0.08, "medium": -0.03, "large": -0.02, "varied": 0.0}[strategy]
    skill += rng.normal(0, 0.02)
    refuse = max(sizes_of(extent)) - 5 if method.startswith("p-") else None
    rows = _instances(rng, extent, spec["train"], skill, 0.06, cost, refuse)
    steps = np.linspace(extent.steps / 20, extent.steps, 20)
    rise = skill * (1 - np.exp(-4 * steps / extent.steps)) + rng.normal(0, 0.02, len(steps))
    curve = {
        "steps": steps.round().tolist(),
        "episodes": (steps / 20).round().tolist(),
        "score": [None, *rise[1:].round(4).tolist()],
        "score_best": [None, *(rise[1:] + 0.02).round(4).tolist()],
        "return": rise.round(4).tolist(),
        "length": [20.0] * len(steps),
    }
    rate = {"iterative": 700.0}.get(method, 2500.0) * rng.uniform(0.9, 1.1)
    writer.write(
        "run",
        f"{problem}-{method}-{strategy}-{seed}",
        spec,
        {
            "instances": rows,
            "summary": _summary(rows),
            "curve": curve,
            "training": {"steps": extent.steps, "instances": [], "sizes": []},
            "weights": "0" * 64,
        },
        {
            "seconds": round(extent.steps / rate, 2) + 1.0,
            "cpu_s": 0.9 * extent.steps / rate,
            "train_s": round(extent.steps / rate, 2),
            "train_cpu_s": round(0.9 * extent.steps / rate, 2),
            "evaluate_s": 1.0,
            "steps_per_s": round(rate, 1),
            "curve_s": (steps / rate).round(2).tolist(),
        },
    )


def _instances(rng, extent, seen, skill, noise, cost, refuse_above=None):
    rows = []
    for index, size in enumerate(sizes_of(extent)):
        row = {"index": index, "size": size, "seen": index in seen, "refused": None}
        row["measures"] = [*MEASURES, "start_score"]
        if refuse_above is not None and size > refuse_above and not row["seen"]:
            row["refused"] = f"{size} nodes, the agent takes at most {refuse_above}"
            names = ("steps", *row["measures"], "objective", "objective_best")
            rows.append(row | {name: [] for name in names})
            continue
        level = skill - cost * (size - 55) / 90 + (0.05 if row["seen"] else 0.0)
        scores = np.clip(level + rng.normal(0, noise, extent.episodes), 0, 1.4).round(4)
        best = (scores + 0.01).round(4)
        row |= {
            "steps": [size] * extent.episodes,
            "score": scores.tolist(),
            "score_best": best.tolist(),
            "solver_score": (scores * 0.9).round(4).tolist(),
            "solver_score_best": (best * 0.9).round(4).tolist(),
            "gap": (100 * (1.1 - best)).clip(0).round(3).tolist(),
            "start_score": (best * 0.5).round(4).tolist(),
            "objective": (10 - scores).round(4).tolist(),
            "objective_best": (10 - best).round(4).tolist(),
        }
        rows.append(row)
    return rows


def _summary(rows):
    found = {"delta": {}}
    for part, seen in (("unseen", False), ("seen", True)):
        found[part] = {}
        for measure in (*MEASURES, "episode_return"):
            values = [row[measure] for row in rows if row["seen"] == seen and row.get(measure)]
            best = min if measure == "gap" else max
            found[part][measure] = {
                "first": float(np.mean([v[0] for v in values])) if values else None,
                "best": float(np.mean([best(v) for v in values])) if values else None,
                "all": float(np.mean(values)) if values else None,
            }
    return found


def _spread(times):
    return {
        "median": float(np.median(times)),
        "mean": float(np.mean(times)),
        "quantiles": np.quantile(times, QUANTILES).tolist(),
    }


def _latencies(writer, problem, extent):
    rng = writer.rng
    for method in SELECTING:
        for size in extent.sizes:
            spec = {
                "problem": problem,
                "method": method,
                "size": size,
                "features": "full",
                "decisions": 50,
                "seconds": 30.0,
                "seed": 0,
                "code": CODE,
            }
            refused = method == "faiss-flat" and size == extent.sizes[-1]
            result = {
                "nodes": None if refused else size,
                "actions": None if refused else float(size),
                "raw_actions": None if refused else size,
                "complete": not refused,
                "refused": f"too many actions to list{extent.word}" if refused else None,
            }
            if refused:
                writer.write("latency", f"{problem}-{method}-{size}-full", spec, result)
                continue
            slope = {"iterative": 1.4, "faiss-flat": 1.1}.get(method, 0.5)
            parts = {
                "encode": 20 * size**0.3 * rng.lognormal(0, 0.1, 50),
                "actions": 4 * size**0.4 * rng.lognormal(0, 0.1, 50),
                "observe": 8 * rng.lognormal(0, 0.1, 50),
                "policy": 12 * rng.lognormal(0, 0.1, 50),
                f"search{extent.word}": 2 * size**slope * rng.lognormal(0, 0.15, 50),
            }
            measured = {
                "decisions": 50,
                "decision_us": _spread(sum(parts.values())),
                "parts_us": {part: _spread(times) for part, times in parts.items()},
                "policy_us": 26.0,
            }
            writer.write("latency", f"{problem}-{method}-{size}-full", spec, result, measured)


def _throughputs(writer, problem, extent):
    for method in extent.methods:
        spec = {
            "problem": problem,
            "data": sha256(b"data"),
            "data_checksum": sha256(b"checksum"),
            "method": method,
            "features": "full",
            "steps": 8192,
            "cartpole": True,
            "instances": 8,
            "sizes": None,
            "config": train_config(method=method).as_dict(),
            "encoder": None,
            "seed": 0,
            "code": CODE,
        }
        rate = 700.0 if method == "iterative" else 2400.0
        measured = {
            "steps_per_s": rate,
            "cartpole_steps_per_s": 3400.0,
            "decisions_per_s": 9000.0,
            "episode_steps": 50.0,
            "space_s": 0.4,
        }
        writer.write("throughput", f"{problem}-{method}-full", spec, {"sizes": [20]}, measured)


def _trainings(writer, problem, data, extent):
    for method in extent.methods:
        for fold, seed in enumerate(extent.seeds):
            spec = _run_spec(problem, data, method, "varied", fold, seed, extent)
            del spec["episodes"]
            seconds = {"iterative": 300.0}.get(method, 100.0) + fold
            result = {"training": {"steps": extent.steps}, "weights": "0" * 64}
            measured = {"train_s": seconds, "steps_per_s": extent.steps / seconds}
            writer.write("training", f"{problem}-{method}-varied-{seed}", spec, result, measured)


def _embedding(writer, problem):
    rng = writer.rng
    spec = {
        "problem": problem,
        "data": sha256(b"data"),
        "data_checksum": sha256(b"checksum"),
        "features": "full",
        "size": 20,
        "instances": 20,
        "shown": 2,
        "states": 400,
        "encoder": ENCODER_KEY,
        "seed": 42,
        "code": CODE,
    }
    pictures = []
    for index in range(2):
        picture = {"index": 20 + index, "size": 20}
        for part, shade in (("actions", "shade"), ("random", "shade"), ("states", "progress")):
            points = rng.normal(0, 3, (60, 2)) + rng.choice([-6, 0, 6], (60, 1))
            picture[part] = {
                "x": points[:, 0].round(3).tolist(),
                "y": points[:, 1].round(3).tolist(),
                shade: rng.uniform(0, 1, 60).round(3).tolist(),
            }
        pictures.append(picture)
    result = {
        "actions": 380.0,
        "cmp": {"3": 6.1, "5": 4.9, "10": None},
        "cmp_random": {"3": 3.0, "5": 2.5, "10": None},
        "pictures": pictures,
        "heads": [
            {
                "view": f"G{writer.word}",
                "head": "adjacency",
                "measure": "auc",
                "trained": 0.97,
                "random": 0.71,
            },
            {"view": "G", "head": "demand", "measure": "r2", "trained": 0.88, "random": None},
        ],
    }
    writer.write("embedding", f"{problem}-full", spec, result)


def _tuning(writer, problem):
    rng = writer.rng
    trials = []
    for number in range(8):
        params = {
            "agent.learning_rate": float(rng.choice([1e-5, 1e-4, 1e-3])),
            f"agent.batch_size{writer.word}": int(rng.choice([32, 64, 128])),
        }
        value = None if number == 3 else round(float(rng.uniform(0.3, 0.9)), 4)
        spec = {
            "problem": problem,
            "data": sha256(b"data"),
            "data_checksum": sha256(b"checksum"),
            "space": "projection",
            "params": params,
            "config": train_config(method="projection", seed=number).as_dict(),
            "encoder": None,
            "train": [0, 1],
            "validation": [2, 3],
            "episodes": 5,
            "measure": "score",
            "code": CODE,
        }
        key = writer.write(
            "trial", f"{problem}-projection-full", spec, {"value": value, "summary": None}
        )
        trials.append({"number": number, "params": params, "key": key, "value": value})
    best = max((t for t in trials if t["value"] is not None), key=lambda t: t["value"])
    spec = {
        "problem": problem,
        "space": "projection",
        "method": "projection",
        "features": "full",
        "domains": {
            "agent.learning_rate": [1e-5, 1e-4, 1e-3],
            f"agent.batch_size{writer.word}": [32, 64, 128],
        },
        "trials": trials,
        "batch": 4,
        "steps": 20000,
        "test": [4, 5],
        "episodes": 5,
        "measure": "score",
        "seed": 42,
        "code": CODE,
    }
    test = {"unseen": {m: {"first": 0.6, "best": 0.7, "all": 0.6} for m in MEASURES}}
    writer.write(
        "tune",
        f"{problem}-projection-full",
        spec,
        {"trials": trials, "best": {**best, "test": test}},
    )


def _failure(folder, run, word):
    problem, _, method, strategy, _, seed = run
    content = {
        "kind": "run",
        "name": f"{problem}-{method}-{strategy}-{seed}",
        "key": "f" * 64,
        "error": f"MemoryError: out of memory{word}",
        "traceback": f'Traceback:\n  File "x.py", line 1\nMemoryError: out of memory{word}\n',
        "attempts": 2,
    }
    circumstances = {
        "host": "node-1",
        "cpu": "Imaginary CPU 3000",
        "finished": "2026-01-02T04:00:00.000+00:00",
    }
    path = folder / "failures" / "run" / f"{file_name(content['name'], content['key'])}.json"
    FAILURE.write_file(path, content, circumstances)


def _studies(folder, extent):
    settings = {
        "problems": list(extent.problems),
        "methods": list(extent.methods),
        "features": ["full"],
        "strategies": list(extent.strategies),
        "seeds": list(extent.seeds),
        "steps": [extent.steps],
        "instances": extent.instances,
        "episodes": extent.episodes,
        "training": "default",
        "policies": ["random", "greedy", "solver"],
    }
    content = {"study": "generalization", "settings": settings}
    NOTE.write_file(folder / "studies" / "generalization.json", content, {"lagco": "0.1.0"})


FULL = Extent(
    problems=("tsp", "min-vertex", "max-cut", "placement", "ospf", "traffic", "cyber-path"),
    strategies=("small", "medium", "large", "varied"),
    seeds=SEEDS,
    instances=40,
    steps=100_000,
    sizes=(20, 40, 70, 100, 200, 400, 700, 1000),
    missing=3,
)


if __name__ == "__main__":  # python -m tests.report.fabricated FOLDER: a full one, to look at
    import sys

    write_ledger(Path(sys.argv[1]), FULL)
    print(json.dumps(asdict(FULL)))
