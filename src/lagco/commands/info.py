"""Description and verification of the files and folders that lagco writes or reads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from lagco.errors import InstanceError, LagcoError
from lagco.instances import DataSet, Instance, read
from lagco.instances.dataset import MANIFEST, TIMES, TIMINGS
from lagco.instances.native import SUFFIX
from lagco.problem_table import ENTRIES
from lagco.store import parse_json, read_text


def info(path: str | Path) -> dict[str, Any]:
    """Describe, and verify, any file or folder that lagco writes or reads.

    That is an instance file in any format; the folder of a data set, demonstrations, an agent, an
    exported policy, an encoder, a latent space, a training run or a study; a record of a study; or
    the file of all its records that ``lagco study export`` writes. ``kind`` says which. The name of
    a problem, where there is no such file, is the agent that comes with lagco for it.
    """
    path = Path(path)
    if not path.exists():
        if str(path) in ("default", *ENTRIES):
            from lagco.agents.bundle import folder_of

            return _about_agent(folder_of(str(path)))
        raise InstanceError(f"{path}: no such file or folder")
    if path.is_dir():
        for sign, about in _FOLDERS.items():
            if (path / sign).exists():
                return about(path)
        if any(path.glob(f"[0-9]*{SUFFIX}")):  # of a data set: says what is missing
            return _about_data_folder(path)
        raise InstanceError(
            f"{path}: holds nothing that lagco wrote; give an instance file, or the folder of a "
            "data set, demonstrations, an agent, an encoder, a training run or a study"
        )
    if path.suffix == ".xz":
        return _about_study(path)
    written = _format_of(path)
    return _FILES[written](path) if written in _FILES else _about_instance(read(path))


def _format_of(path: Path) -> str | None:
    """The entry ``format`` of a JSON file; None for any other file."""
    try:
        content = parse_json(read_text(path)) if path.suffix == ".json" else None
    except Exception:  # the readers of instances say what is wrong with it
        return None
    return str(content.get("format")) if isinstance(content, dict) else None


def _about_agent(folder: Path) -> dict[str, Any]:
    from lagco.agents.bundle import load, read_description

    description = read_description(folder)
    described = {"kind": "agent", **description}
    if description["problem"] in ENTRIES:  # of another's problem, only the description is read
        agent = load(folder, decoder="nearest")  # a rule that it names is not imported
        described["sees"] = agent.sees()
    return described


def _about_demonstrations(folder: Path) -> dict[str, Any]:
    from lagco.agents.teaching.demonstrations import KIND

    file = KIND.read(folder)
    return {
        "kind": "demonstrations",
        **{name: file.content[name] for name in ("problem", "teacher", "seed", "features")},
        "instances": len(file.content["instances"]),
        "episodes": len(file.tensors["episodes"]),
        "states": len(file.tensors["choices"]) - 1,
        **file.measured,
        "sha256": file.checksum,
    }


def _about_exported(folder: Path) -> dict[str, Any]:
    """A folder of ``agent.export``, which decides without lagco."""
    path = folder / "policy.json"
    try:
        content = parse_json(read_text(path))
    except ValueError as error:
        raise LagcoError(f"{path}: not an exported policy ({error}); export it again") from error
    names = ("problem", "method", "metric")
    return {"kind": "exported policy", **{n: content[n] for n in names if n in content}}


def _about_run(folder: Path) -> dict[str, Any]:
    """A training run that has not ended with an agent."""
    from lagco.agents.training.curve import read_rows
    from lagco.agents.training.trainer import CHECKPOINT, CURVE, RUN_KIND

    config = RUN_KIND.read(folder).content["config"]
    rows = read_rows(folder / CURVE) if (folder / CURVE).exists() else []
    return {
        "kind": "unfinished training run",
        "method": config.get("method"),
        "strategy": config.get("strategy"),
        "seed": config.get("seed"),
        "steps done": int(rows[-1]["steps"]) if rows else 0,
        "checkpoint": (folder / CHECKPOINT).exists(),
        "to go on": "the same lagco train command",
    }


def _about_encoder(folder: Path) -> dict[str, Any]:
    from lagco.embedding.storage import ENCODER

    file = ENCODER.read(folder)
    views = {
        name: f"{', '.join(view['config']['layers'])}, {view['config']['out_channels']} wide"
        for name, view in file.content["views"].items()
    }
    last = {
        f"{row['view']}/{row['head']}": row["loss"]
        for row in file.content["curves"]
        if row["split"] == "held-out"
    }
    return {
        "kind": "encoder",
        "views": views,
        "training": file.content["training"],
        "held-out loss": last,
        "measured": file.measured,
        "sha256": file.checksum,
    }


def _about_space(folder: Path) -> dict[str, Any]:
    from lagco.latent.files import SPACE

    file = SPACE.read(folder)
    names = ("summary", "positions")
    found = {name: file.content[name] for name in names}
    return {"kind": "latent space", **found, "sha256": file.checksum}


def _about_study(place: Path) -> dict[str, Any]:
    from lagco.study import Snapshot

    ledger = Snapshot(place)
    records = ledger.records()
    methods = (record.spec.get("config", {}).get("method") for record in records)
    return {
        "kind": "records of a study" if ledger.is_file else "study",
        "records": dict(Counter(record.kind for record in records)),
        "problems": sorted({str(record.spec["problem"]) for record in records}),
        "methods": sorted({str(method) for method in methods if method}),
        "failures": len(ledger.failures()),
        "studies started": sorted(ledger.settings()),
        "seconds": round(sum(float(r.measured.get("seconds") or 0.0) for r in records), 1),
    }


def _about_record(path: Path) -> dict[str, Any]:
    from lagco.study.records.ledger import RECORD

    file = RECORD.read_file(path)
    content, spec = file.content, file.content["spec"]
    described = {
        name: spec[name]
        for name in ("problem", "policy", "strategy", "seed", "size")
        if name in spec
    }
    return {
        "kind": f"record of a study: {content['kind']}",
        "name": content["name"],
        **described,
        "result": sorted(content["result"]),
        "measured": file.measured,
    }


def _about_failure(path: Path) -> dict[str, Any]:
    from lagco.study.records.ledger import FAILURE

    content = FAILURE.read_file(path).content
    names = ("name", "error", "attempts")
    return {"kind": f"failure of a {content['kind']}", **{n: content[n] for n in names}}


def _about_settings(path: Path) -> dict[str, Any]:
    from lagco.study.records.ledger import NOTE

    content = NOTE.read_file(path).content
    return {"kind": f"settings of the study {content['study']}", **content["settings"]}


def _about_data_folder(folder: Path) -> dict[str, Any]:
    return _about_data(DataSet.load(folder))


#: descriptions of folders, by the file or folder that gives their kind away
_FOLDERS: dict[str, Callable[[Path], dict[str, Any]]] = {
    "agent.json": _about_agent,
    "run.json": _about_run,
    "encoder.json": _about_encoder,
    "latent.json": _about_space,
    "demonstrations.json": _about_demonstrations,
    "policy.json": _about_exported,
    "records": _about_study,
    "studies": _about_study,
    MANIFEST: _about_data_folder,
}
#: descriptions of files other than instances, by their entry ``format``
_FILES: dict[str, Callable[[Path], dict[str, Any]]] = {
    "lagco-record": _about_record,
    "lagco-failure": _about_failure,
    "lagco-study": _about_settings,
    "lagco-agent": lambda path: _about_agent(path.parent),
    "lagco-demonstrations": lambda path: _about_demonstrations(path.parent),
    "lagco-encoder": lambda path: _about_encoder(path.parent),
    "lagco-run": lambda path: info(path.parent),
    "lagco-dataset": lambda path: _about_data_folder(path.parent),
}


def _about_instance(instance: Instance) -> dict[str, Any]:
    return {
        "kind": "instance",
        "problem": instance.problem,
        "name": instance.name,
        "size": instance.size,
        "checksum": instance.checksum,
        "params": dict(instance.params),
        "arrays": {
            name: f"{array.dtype} {list(array.shape)}" for name, array in instance.arrays.items()
        },
        "references": {
            kind: {k: v for k, v in asdict(reference).items() if not isinstance(v, np.ndarray)}
            for kind in ("sweeps", "solver")
            if (reference := getattr(instance.references, kind)) is not None
        },
        "origin": dict(instance.origin),
    }


def _about_data(data: DataSet) -> dict[str, Any]:
    sizes = [entry.size for entry in data.entries]
    statuses: dict[str, int] = {}
    for instance in data:  # reading verifies
        solver = instance.references.solver
        # some solvers write a value of the instance in brackets behind their name
        status = "none" if solver is None else f"{solver.solver.split(' (')[0]} ({solver.status})"
        statuses[status] = statuses.get(status, 0) + 1
    described: dict[str, Any] = {
        "kind": "data set",
        "problem": data.problem,
        "instances": len(data),
        "sizes": {
            name: int(of(sizes))
            for name, of in (("smallest", min), ("median", np.median), ("largest", max))
            if sizes
        },
        "extents": data.extents,
        "solver": statuses,
        "generation": dict(data.generation),
        "checksum": data.checksum,
    }
    timings = data.folder / TIMINGS
    if timings.exists():
        try:
            per_file = TIMES.read(data.folder).measured
            totals: dict[str, float] = {}
            for seconds in per_file.values():
                for kind, value in seconds.items():
                    totals[kind] = totals.get(kind, 0.0) + value
            described["seconds"] = {kind: round(value, 3) for kind, value in totals.items()}
        except (InstanceError, AttributeError, TypeError):
            described["seconds"] = f"{TIMINGS} is damaged (it is not needed)"
    return described
