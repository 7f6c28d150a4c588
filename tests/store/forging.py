"""Files that were changed by someone who also made their checksums right again."""

from __future__ import annotations

import io
import json
import zipfile

import numpy as np

from lagco.instances.native import INSTANCE
from lagco.store.tensors import unpack_tensors


def forge(kind, folder, change=None, tensors=None):
    """Change the description or the arrays of a described folder, under a valid checksum."""
    content = json.loads((folder / kind.description).read_bytes())
    measured = content.pop("measured")
    arrays = {}
    if kind.tensors:
        path = folder / kind.tensors
        found = unpack_tensors(path, path.read_bytes(), kind.error)
        arrays = {name: np.array(array) for name, array in found.items()}
    for key in ("format", "version", "sha256"):
        content.pop(key)
    if tensors is not None:
        tensors(arrays)
    if change is not None:
        change(content)
    unchecked(kind).write(folder, content, arrays, measured)


def unchecked(kind):
    """The kind without its schema, for writing what should not be written."""
    from dataclasses import replace

    return replace(kind, schema={})


def put(*path, value):
    """A change that sets what stands at `path`."""

    def change(content):
        for key in path[:-1]:
            content = content[key]
        content[path[-1]] = value

    return change


def members_of(content):
    """The parts of an instance file."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def packed(members):
    """An instance file of these parts."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def forged_instance(content, change=None, parts=None):
    """An instance file with another description or other arrays, under a valid checksum."""
    members = members_of(content)
    meta = json.loads(members.pop("meta.json"))
    for key in ("format", "version", "measured", "sha256"):
        meta.pop(key)
    if change is not None:
        change(meta)
    members |= parts or {}
    ordered = sorted(members.items())
    sealed = unchecked(INSTANCE).sealed("forged", meta, ordered)
    return packed({"meta.json": json.dumps(sealed).encode()} | members)
