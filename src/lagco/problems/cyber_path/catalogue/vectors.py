"""Vectors of the catalogue's entries, precomputed: no text model is needed to run an episode.

``catalogue_embeddings.npz`` holds sentence embeddings of all entries and a fixed linear reduction
of them; ``benchmarks/embed_catalogue.py`` makes it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from importlib import resources

import numpy as np

from lagco.arrays import Array
from lagco.errors import InstanceError
from lagco.instances.catalogue import LOCAL_BIT, OUTCOMES, PRIVILEGE_BIT, PRIVILEGES, load_catalogue
from lagco.problems.cyber_path.catalogue.outcomes import ALL_OUTCOMES

FILE = "catalogue_embeddings.npz"
TEXT_WIDTH = 384
REDUCED_WIDTH = 32


@dataclass(frozen=True)
class Vectors:
    """Vectors of a feature set.

    Attributes:
        services: float32 (S, w).
        vulnerabilities: float32 (K, w).
        objects: float32 (K, w') of vulnerabilities as parts of an action.
    """

    services: Array
    vulnerabilities: Array
    objects: Array

    @property
    def width(self) -> int:
        """Numbers per text: 32 in `full`, 384 in `paper`."""
        return int(self.services.shape[1])


@lru_cache(maxsize=2)
def load_vectors(features: str) -> Vectors:
    """Vectors of all entries.

    `full`: principal components (32), and as a part of an action also the outcomes (10), whether it
    is local, and the privilege it needs (3). `paper`: the embeddings (384) over their L1 norm.
    """
    content = _read()
    services, vulnerabilities = content["services"], content["vulnerabilities"]
    if features == "paper":
        services, vulnerabilities = _l1(services), _l1(vulnerabilities)
        return Vectors(services, vulnerabilities, vulnerabilities)
    services = (services - content["mean"]) @ content["components"]
    vulnerabilities = (vulnerabilities - content["mean"]) @ content["components"]
    codes = load_catalogue().codes
    objects = np.hstack(
        [vulnerabilities, outcome_flags(codes), local_flags(codes)[:, None], needed_flags(codes)]
    )
    return Vectors(services, vulnerabilities, objects)


def vulnerability_vector(vulnerability: int) -> Array:
    """Extractor of the part ``vuln`` in `full`: text, outcomes, access, privilege (46,)."""
    return np.asarray(load_vectors("full").objects[vulnerability])


def vulnerability_text_vector(vulnerability: int) -> Array:
    """Extractor of the part ``vuln`` in `paper`: the embedding over its L1 norm (384,)."""
    return np.asarray(load_vectors("paper").objects[vulnerability])


def outcome_flags(codes: Array) -> Array:
    """Outcomes of codes (...,): float32 (..., 10)."""
    bits = np.arange(len(OUTCOMES))
    return ((codes[..., None] & ALL_OUTCOMES) >> bits & 1).astype(np.float32)


def local_flags(codes: Array) -> Array:
    """Whether codes are local: float32."""
    return (codes >> LOCAL_BIT & 1).astype(np.float32)


def needed_flags(codes: Array) -> Array:
    """Privilege that codes (...,) need, one-hot: float32 (..., 3)."""
    return ((codes >> PRIVILEGE_BIT)[..., None] == np.arange(len(PRIVILEGES))).astype(np.float32)


def _read() -> dict[str, Array]:
    catalogue = load_catalogue()
    file = resources.files("lagco.problems.cyber_path") / FILE
    remedy = "make it again with python benchmarks/embed_catalogue.py"
    try:
        with file.open("rb") as stream, np.load(stream, allow_pickle=False) as archive:
            content = {name: archive[name] for name in archive.files}
    except FileNotFoundError:
        raise InstanceError(f"{FILE} is missing; {remedy}") from None
    if str(content.pop("digest", "")) != catalogue.text_digest:
        raise InstanceError(f"{FILE} belongs to another catalogue; {remedy}")
    content.pop("model", None)
    shapes = {
        "services": (len(catalogue.services), TEXT_WIDTH),
        "vulnerabilities": (len(catalogue.vulnerabilities), TEXT_WIDTH),
        "mean": (TEXT_WIDTH,),
        "components": (TEXT_WIDTH, REDUCED_WIDTH),
    }
    for name, shape in shapes.items():
        found = content[name].shape if name in content else None
        if found != shape:
            raise InstanceError(f"{FILE}: {name!r} has shape {found}, not {shape}; {remedy}")
    return {name: content[name].astype(np.float32) for name in shapes}


def _l1(vectors: Array) -> Array:
    return np.asarray(vectors / np.abs(vectors).sum(axis=1, keepdims=True))
