"""Described files taken apart, changed, and put together again under right checksums."""

from __future__ import annotations

import json
from dataclasses import dataclass

import numpy as np

from lagco.errors import LagcoError
from lagco.store.kind import _tensor_parts
from lagco.store.npy import npy_bytes, parse_npy
from lagco.store.tensors import header_of, tensor_chunks, unpack_tensors
from tests.attack.mutate import (
    misspelled,
    mutated_arrays,
    mutated_bytes,
    mutated_json,
    with_extreme_tensor,
)
from tests.store.forging import members_of, packed, unchecked

_OWN = ("format", "version", "measured", "sha256")
_META = "meta.json"


@dataclass(frozen=True)
class Layer:
    """One described file, or a description with its tensors.

    Attributes:
        kind: of the file.
        prefix: folder inside the material.
        file: name of the description; of the only file where tensors are in it.
        form: ``plain``, ``header`` (tensors that carry it) or ``zip`` (an instance).
        holder: number of the layer that names this one by its checksum, and in which field.
    """

    kind: object
    file: str
    prefix: str = ""
    form: str = "plain"
    holder: tuple[int, str] | None = None

    @property
    def place(self):
        return self.prefix + self.file

    def description(self, files):
        body = files[self.place]
        if self.form == "header":
            return json.loads(header_of(body))
        if self.form == "zip":
            return json.loads(members_of(body)[_META])
        return json.loads(body)

    def parts(self, files):
        """Arrays by name; of an instance, bytes by name."""
        if self.form == "zip":
            members = members_of(files[self.place])
            del members[_META]
            return members
        if self.form == "plain" and not self.kind.tensors:
            return {}
        place = self.place if self.form == "header" else self.prefix + self.kind.tensors
        found = unpack_tensors("original", files[place], self.kind.error, finite=False)
        return {name: np.array(array) for name, array in found.items()}

    def write(self, files, content, parts, measured):
        """Seal `content` and `parts` into `files`; the checksum."""
        sealing = unchecked(self.kind)
        listed = sorted(parts.items()) if self.form == "zip" else _tensor_parts(parts)
        sealed = sealing.sealed("mutant", content, listed)
        sealed["measured"] = measured
        text = json.dumps(sealed).encode()
        if self.form == "zip":
            files[self.place] = packed({_META: text} | parts)
        elif self.form == "header":
            files[self.place] = b"".join(tensor_chunks(parts, text.decode()))
        else:
            files[self.place] = text
            if self.kind.tensors:
                files[self.prefix + self.kind.tensors] = b"".join(tensor_chunks(parts))
        return sealed["sha256"]


def unsealed_mutant(rng, files, layers):
    """Bytes or JSON changed while the checksum stays as it was."""
    found = dict(files)
    layer = rng.choice(layers) if layers else None
    if layer is None or layer.form != "plain" or rng.random() < 0.4:
        place = rng.choice(sorted(found))
        found[place] = mutated_bytes(rng, found[place])
        return found
    description = layer.description(files)
    if rng.random() < 0.2:
        found[layer.place] = misspelled(rng, description)
    else:
        found[layer.place] = json.dumps(mutated_json(rng, description)).encode()
    return found


def sealed_mutant(rng, files, layers):
    """Content or arrays changed under right checksums, also of the files that name the changed."""
    found = dict(files)
    at = rng.randrange(len(layers))
    layer = layers[at]
    description, parts = layer.description(files), layer.parts(files)
    content = {name: value for name, value in description.items() if name not in _OWN}
    measured = description["measured"]
    choice = rng.random()
    if parts and choice < 0.5:
        if layer.form == "zip":
            parts = _mutated_members(rng, parts)
        else:
            change = with_extreme_tensor if rng.random() < 0.4 else mutated_arrays
            with np.errstate(all="ignore"):
                parts = change(rng, parts)
    elif choice < 0.55:
        measured = mutated_json(rng, measured)
    else:
        content = mutated_json(rng, content)
        if not isinstance(content, dict):
            content = {"content": content}
        content = {name: value for name, value in content.items() if name not in _OWN}
    try:
        checksum = layer.write(found, content, parts, measured)
    except LagcoError:  # what is not finite has no checksum
        return unsealed_mutant(rng, files, layers)
    while layer.holder is not None:
        at, field = layer.holder
        layer = layers[at]
        description = layer.description(found)
        content = {name: value for name, value in description.items() if name not in _OWN}
        content[field] = checksum
        checksum = layer.write(found, content, layer.parts(found), description["measured"])
    return found


def _mutated_members(rng, members):
    """Arrays of an instance changed as arrays, or the bytes of one of them."""
    if rng.random() < 0.3:
        name = rng.choice(sorted(members))
        return members | {name: mutated_bytes(rng, members[name][:200]) + members[name][200:]}
    arrays = mutated_arrays(rng, {name: parse_npy(body) for name, body in members.items()})
    return {name: npy_bytes(np.asarray(array)) for name, array in arrays.items()}
