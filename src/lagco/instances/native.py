"""lagco's own instance file: a zip of numpy arrays and one JSON text, readable by ``numpy.load``.

Reading one never runs code (no pickled arrays), never allocates more than the file declares and
the file can hold, and says what is wrong with a damaged or foreign file. The bytes depend on the
content alone, so the same instance gives the same file on every machine.
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from lagco.arrays import Array
from lagco.errors import InstanceError
from lagco.files import canonical_json, write_atomically
from lagco.instances.instance import Instance, References, SolverReference, SweepReference

FORMAT = "lagco-instance"
VERSION = 1
SUFFIX = ".npz"

_META = "meta.json"
_MAX_BYTES = 8 << 30
_MAX_RATIO = 1200  # deflate cannot shrink by more; above it the sizes in the file are made up
_REFERENCE_ARRAYS = {
    "sweeps": ("best_solution", "worst_solution"),
    "solver": ("solution",),
}


def write_instance(instance: Instance, path: str | Path) -> None:
    """Write `instance` to `path`, atomically."""
    write_atomically(path, instance_bytes(instance))


def instance_bytes(instance: Instance) -> bytes:
    """The content of the file of `instance`; equal instances give equal bytes."""
    arrays = {f"data/{name}": array for name, array in instance.arrays.items()}
    references, reference_arrays = _pack_references(instance.references)
    arrays |= reference_arrays
    members = {f"{name}.npy": _npy_bytes(arrays[name]) for name in sorted(arrays)}
    meta = {
        "format": FORMAT,
        "version": VERSION,
        "problem": instance.problem,
        "name": instance.name,
        "size": instance.size,
        "params": dict(instance.params),
        "origin": dict(instance.origin),
        "references": references,
    }
    meta["sha256"] = _content_digest(meta, members)
    members = {_META: canonical_json(meta).encode()} | members
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            entry = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, content)
    return buffer.getvalue()


def read_instance(path: str | Path) -> Instance:
    """Read an instance file written by :func:`write_instance`.

    Raises:
        InstanceError: the file is missing, damaged, of another format or of a newer version;
            the message names the file and the reason.
    """
    path = Path(path)
    try:
        members = _read_members(path)
    except FileNotFoundError:
        raise InstanceError(f"{path}: no such file") from None
    except Exception as error:  # a damaged zip raises a dozen kinds, down to RuntimeError
        raise InstanceError(f"{path}: not a readable lagco instance ({error})") from error
    meta = _parse_meta(path, members.pop(_META, None))
    declared = meta.pop("sha256", None)
    if declared != _content_digest(meta, members):
        raise InstanceError(
            f"{path}: damaged, the content does not match its checksum {declared!r}; "
            "generate it again or take another copy"
        )
    try:
        arrays = {name.removesuffix(".npy"): _load_npy(data) for name, data in members.items()}
        return Instance(
            problem=str(meta["problem"]),
            name=str(meta["name"]),
            size=int(meta["size"]),
            params=dict(meta["params"]),
            origin=dict(meta["origin"]),
            arrays={
                name.removeprefix("data/"): array
                for name, array in arrays.items()
                if name.startswith("data/")
            },
            references=_unpack_references(dict(meta["references"]), arrays),
        )
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError, EOFError) as error:
        raise InstanceError(f"{path}: not a valid instance ({error!r})") from error


def _read_members(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        entries = archive.infolist()
        if _META not in archive.namelist():
            raise ValueError(f"it holds no {_META}, so it was not written by lagco")
        total = sum(entry.file_size for entry in entries)
        if total > min(_MAX_BYTES, _MAX_RATIO * (path.stat().st_size + 1)):
            raise ValueError(f"it declares {total} bytes, more than it can hold")
        return {entry.filename: archive.read(entry) for entry in entries}


def _parse_meta(path: Path, content: bytes | None) -> dict[str, Any]:
    try:
        meta = json.loads(content or b"null")
    except (ValueError, RecursionError) as error:
        raise InstanceError(f"{path}: damaged, {_META} is not JSON ({error})") from error
    if not isinstance(meta, dict) or meta.get("format") != FORMAT:
        kind = meta.get("format") if isinstance(meta, dict) else type(meta).__name__
        raise InstanceError(f"{path}: not an instance file (format {kind!r}, expected {FORMAT!r})")
    if meta.get("version") != VERSION:
        raise InstanceError(
            f"{path}: instance format version {meta.get('version')!r} is not supported by this "
            f"lagco, which reads version {VERSION}; install the version that wrote it"
        )
    return meta


def _content_digest(meta: dict[str, Any], members: dict[str, bytes]) -> str:
    digest = hashlib.sha256(canonical_json(meta).encode())
    for name in sorted(members):
        digest.update(f"\0{name}\0{len(members[name])}\0".encode())
        digest.update(members[name])
    return digest.hexdigest()


def _npy_bytes(array: Array) -> bytes:
    stream = io.BytesIO()
    np.lib.format.write_array(stream, np.ascontiguousarray(array), allow_pickle=False)
    return stream.getvalue()


def _load_npy(content: bytes) -> Array:
    array: Array = np.lib.format.read_array(io.BytesIO(content), allow_pickle=False)
    return array


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
    sweeps, solver = packed.get("sweeps"), packed.get("solver")
    return References(
        sweeps=sweeps
        and SweepReference(
            best=float(sweeps["best"]),
            worst=float(sweeps["worst"]),
            best_solution=arrays.get("sweeps/best_solution"),
            worst_solution=arrays.get("sweeps/worst_solution"),
            sweeps=int(sweeps["sweeps"]),
            bounds={name: (float(a), float(b)) for name, (a, b) in sweeps["bounds"].items()},
        ),
        solver=solver
        and SolverReference(
            value=float(solver["value"]),
            status=solver["status"],
            solver=str(solver["solver"]),
            solution=arrays.get("solver/solution"),
        ),
    )
