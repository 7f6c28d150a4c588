"""Files that clients send, read into instances: in a worker, with limits, without their paths."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from lagco.core.problem import Problem
from lagco.errors import InstanceError, LagcoError, UsageError, suggest
from lagco.instances import Instance
from lagco.instances.formats import read
from lagco.instances.formats.registry import read_opened
from lagco.live.contract import live_instance
from lagco.serve.options import ServeOptions
from lagco.solving.changes.limiting import limits_from, with_incumbent

#: characters of file names that are kept, and how many of them
_OTHER, _MOST = re.compile(r"[^A-Za-z0-9._ -]"), 100
#: what the files of a request are
FILES = ("file", "demands", "incumbent", "fixed")


def read_upload(
    asked: Mapping[str, Any],
    blobs: Sequence[bytes],
    problems: Mapping[str, type[Problem]],
    options: ServeOptions,
) -> tuple[type[Problem], Instance]:
    """The instance in the files of a request, with a configuration in force.

    Args:
        asked: ``names``, the files' names by what they are; ``problem`` and ``max_changes``.
        blobs: the files, in the order of their names.
        problems: classes of those that are served, by name.
        options: limits of what is read.

    Raises:
        LagcoError: a file cannot be used; its message holds no path of this machine.
    """
    with tempfile.TemporaryDirectory(prefix="lagco-") as folder:
        try:
            return _read(asked, _written(Path(folder), asked["names"], blobs), problems, options)
        except LagcoError as error:
            text = re.sub(re.escape(folder) + r"/(file|demands|incumbent|fixed)/", "", str(error))
            kind = InstanceError if isinstance(error, InstanceError) else UsageError
            raise kind(text.replace(folder, "")) from None


def instance_of(content: bytes) -> Instance:
    """The instance in the bytes that a worker wrote of it."""
    with tempfile.TemporaryFile(prefix="lagco-") as stream:
        stream.write(content)
        stream.seek(0)
        return read_opened("instance.npz", stream)


def _written(folder: Path, names: Mapping[str, str], blobs: Sequence[bytes]) -> dict[str, Path]:
    paths = {}
    for (what, name), content in zip(names.items(), blobs, strict=True):
        assert what in FILES
        path = folder / what / plain_name(name)
        path.parent.mkdir()
        path.write_bytes(content)
        paths[what] = path
    return paths


def plain_name(name: str) -> str:
    """A file's name without folders and unusual characters; its end stays, which has the suffix."""
    last = name.replace("\\", "/").rpartition("/")[2]
    return _OTHER.sub("_", last)[-_MOST:].strip(". ") or "instance"


def _read(
    asked: Mapping[str, Any],
    paths: Mapping[str, Path],
    problems: Mapping[str, type[Problem]],
    options: ServeOptions,
) -> tuple[type[Problem], Instance]:
    wanted = asked.get("problem")
    if wanted is not None and wanted not in problems:
        raise UsageError(suggest("problem", wanted, problems))
    instance = read(paths["file"], wanted, paths.get("demands"))
    cls = problems.get(instance.problem)
    if cls is None:
        raise UsageError(
            f"{instance.name!r} is for {instance.problem!r}, and served are "
            f"{', '.join(problems)}: say which it is meant for with problem="
        )
    _check_size(instance, options)
    if "incumbent" in paths:
        instance = with_incumbent(cls, instance, paths["incumbent"])
    if "fixed" in paths:
        instance = live_instance(cls, instance, None)
        limits = limits_from(cls, instance, paths["fixed"])
        instance = replace(instance, arrays={**instance.arrays, **limits})
    return cls, live_instance(cls, instance, asked.get("max_changes"))


def _check_size(instance: Instance, options: ServeOptions) -> None:
    nodes = instance.params.get("nodes", 0)
    if isinstance(nodes, int) and nodes > options.max_nodes:
        raise UsageError(f"{instance.name!r} has {nodes} nodes; at most {options.max_nodes}")
    largest = max([instance.size, *(max(a.shape, default=0) for a in instance.arrays.values())])
    if largest > options.max_size:
        raise UsageError(
            f"{instance.name!r} has {largest} variables, demands, …; at most {options.max_size}"
        )
