"""lagco's own instance file: a zip of numpy arrays and one JSON text, readable by ``numpy.load``.

Reading one never runs code, never allocates more than the file holds, and says what is wrong with a
damaged or foreign file. The bytes depend on the content alone, so the same instance gives the same
file on every machine.
"""

from __future__ import annotations

import io
import json
import os
import zipfile
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from lagco.arrays import Array
from lagco.errors import InstanceError
from lagco.instances.instance import Instance, References, SolverReference, SweepReference
from lagco.store import (
    COUNT,
    Kind,
    Schema,
    array_of,
    canonical_json,
    object_of,
    shown,
    write_atomically,
)
from lagco.store.npy import npy_bytes, parse_npy
from lagco.store.text import compact_json

SUFFIX = ".npz"

_META = "meta.json"
#: bytes that a file may unpack to: this many, and a hundred times its size
_SPARE_BYTES, _MAX_RATIO = 256 << 20, 100
#: decision variables that a file may declare beyond one per byte
_SPARE_SIZE = 1 << 20
_REFERENCE_ARRAYS = {
    "sweeps": ("best_solution", "worst_solution"),
    "solver": ("solution",),
}
_NUMBER: Schema = {"type": "number"}
_NAME: Schema = {"type": "string", "maxLength": 500}
INSTANCE = Kind(
    format="lagco-instance",
    version=2,
    noun="an instance file",
    remedy="generate it again, or convert it with the lagco that wrote it",
    error=InstanceError,
    schema=object_of(
        problem=_NAME,
        name=_NAME,
        size=COUNT,
        params={"type": "object"},
        origin={"type": "object"},
        references={
            "type": "object",
            "additionalProperties": False,
            "properties": {
                "sweeps": object_of(
                    best=_NUMBER,
                    worst=_NUMBER,
                    sweeps=COUNT,
                    bounds={
                        "type": "object",
                        "additionalProperties": {**array_of(_NUMBER), "minItems": 2, "maxItems": 2},
                    },
                ),
                "solver": object_of(
                    value=_NUMBER,
                    status={"enum": ["optimal", "best-known", "bound"]},
                    solver=_NAME,
                ),
            },
        },
    ),
)


def write_instance(instance: Instance, path: str | Path) -> None:
    """Write `instance` to `path`, atomically."""
    write_atomically(path, instance_bytes(instance))


def instance_bytes(instance: Instance) -> bytes:
    """The content of the file of `instance`; equal instances give equal bytes."""
    arrays = {f"data/{name}": array for name, array in instance.arrays.items()}
    references, reference_arrays = _pack_references(instance.references)
    arrays |= reference_arrays
    members = {f"{name}.npy": npy_bytes(arrays[name]) for name in sorted(arrays)}
    who = f"instance {instance.name!r}"
    content = {
        "problem": instance.problem,
        "name": instance.name,
        "size": instance.size,
        "params": dict(instance.params),
        "origin": dict(instance.origin),
        "references": references,
    }
    try:
        content = json.loads(canonical_json(content))  # one order of keys
    except (TypeError, ValueError) as error:
        raise InstanceError(
            f"{who}: parameters, origin and references must be JSON values and finite ({error})"
        ) from error
    meta = INSTANCE.sealed(who, content, members.items())
    members = {_META: compact_json(meta).encode()} | members
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, body in members.items():
            entry = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, body)
    return buffer.getvalue()


def read_instance(path: Path, stream: BinaryIO) -> Instance:
    """Read an instance file written by :func:`write_instance`.

    Args:
        path: of the file, for messages.
        stream: the file, open.

    Raises:
        InstanceError: the file is damaged or of another format or version; the message names the
            file and the reason.
    """
    try:
        members = _read_members(stream)
    except Exception as error:  # a damaged zip raises a dozen kinds, down to RuntimeError
        raise InstanceError(f"{path}: not a readable lagco instance ({error})") from error
    meta = INSTANCE.parsed(path, members.pop(_META))
    ordered = [(name, members[name]) for name in sorted(members)]
    content = INSTANCE.opened(path, meta, ordered).content
    present = sum(map(len, members.values()))
    if content["size"] > _SPARE_SIZE + present:
        raise InstanceError(
            f"{path}: declares the size {shown(content['size'])}, more than {present} bytes are "
            f"about (at most {_SPARE_SIZE + present})"
        )
    return _instance(path, content, _arrays(path, members))


def _read_members(stream: BinaryIO) -> dict[str, bytes]:
    with zipfile.ZipFile(stream) as archive:
        entries = archive.infolist()
        names = [entry.filename for entry in entries]
        if _META not in names:
            raise ValueError(f"it holds no {_META}, so it was not written by lagco")
        if len(set(names)) < len(names):
            raise ValueError("it holds two parts of one name")
        total = sum(entry.file_size for entry in entries)
        most = _SPARE_BYTES + _MAX_RATIO * os.fstat(stream.fileno()).st_size
        if total > most:
            raise ValueError(f"it declares {total} bytes, more than it can hold (at most {most})")
        return {entry.filename: archive.read(entry) for entry in entries}


def _arrays(path: Path, members: dict[str, bytes]) -> dict[str, Array]:
    arrays = {}
    for name, body in members.items():
        try:
            arrays[name.removesuffix(".npy")] = parse_npy(body)
        except ValueError as error:
            raise InstanceError(f"{path}: damaged, {shown(name)}: {error}") from error
    return arrays


def _instance(path: Path, content: dict[str, Any], arrays: dict[str, Array]) -> Instance:
    data = {n.removeprefix("data/"): a for n, a in arrays.items() if n.startswith("data/")}
    others = {n: a for n, a in arrays.items() if not n.startswith("data/")}
    references = _unpack_references(content.pop("references"), others)
    if others:
        raise InstanceError(f"{path}: damaged, {shown(min(others))} belongs nowhere")
    return Instance(**content, arrays=data, references=references)


def _pack_references(references: References) -> tuple[dict[str, Any], dict[str, Array]]:
    packed: dict[str, Any] = {}
    arrays: dict[str, Array] = {}
    if (sweeps := references.sweeps) is not None:
        packed["sweeps"] = {
            "best": float(sweeps.best),
            "worst": float(sweeps.worst),
            "sweeps": int(sweeps.sweeps),
            "bounds": {name: [float(a), float(b)] for name, (a, b) in sweeps.bounds.items()},
        }
    if (solver := references.solver) is not None:
        packed["solver"] = {
            "value": float(solver.value),
            "status": solver.status,
            "solver": solver.solver,
        }
    for kind, names in _REFERENCE_ARRAYS.items():
        for name in names:
            array = getattr(getattr(references, kind), name, None)
            if array is not None:
                arrays[f"{kind}/{name}"] = np.asarray(array)
    return packed, arrays


def _unpack_references(packed: dict[str, Any], arrays: dict[str, Array]) -> References:
    """The references; takes their arrays out of `arrays`."""
    sweeps, solver = packed.get("sweeps"), packed.get("solver")
    return References(
        sweeps=sweeps
        and SweepReference(
            best=float(sweeps["best"]),
            worst=float(sweeps["worst"]),
            best_solution=arrays.pop("sweeps/best_solution", None),
            worst_solution=arrays.pop("sweeps/worst_solution", None),
            sweeps=sweeps["sweeps"],
            bounds={name: (float(a), float(b)) for name, (a, b) in sweeps["bounds"].items()},
        ),
        solver=solver
        and SolverReference(
            value=float(solver["value"]),
            status=solver["status"],
            solver=solver["solver"],
            solution=arrays.pop("solver/solution", None),
        ),
    )
