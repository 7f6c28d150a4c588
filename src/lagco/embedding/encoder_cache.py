"""Cache of pre-trained encoders on disk, by a hash of data, configuration and code."""

from __future__ import annotations

import contextlib
import hashlib
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from lagco.core.problem import Problem
from lagco.embedding.devices import torch_device
from lagco.embedding.encoder import Encoder
from lagco.embedding.pretraining.pretrain import pretrain
from lagco.embedding.text.cache import cache_folder
from lagco.errors import LagcoError
from lagco.instances import Instance
from lagco.store import canonical_json
from lagco.store.sources import sources


def cached_encoder(
    problem: type[Problem],
    instances: Sequence[Instance],
    *,
    features: str = "full",
    seed: int = 42,
    device: str = "cpu",
) -> Encoder:
    """The encoder that :func:`~lagco.embedding.pretraining.pretrain.pretrain` makes of the same
    arguments.

    It is read from the cache folder where it was made before, else made and kept there; a folder
    that cannot be read or written to is no error. The environment of a function or script is not
    kept: what it does cannot be told from files.
    """
    device = torch_device(device)
    folder = _folder(problem, instances, features, seed, device)
    if folder is not None and (folder / "encoder.json").exists():
        try:
            return Encoder.load(folder)
        except (LagcoError, OSError):
            pass  # it is made again
    encoder = pretrain(
        problem, instances, features=features, seed=seed, progress=False, device=device
    )
    if folder is not None:
        with contextlib.suppress(OSError):
            encoder.save(folder)
    return encoder


def _folder(
    problem: type[Problem], instances: Sequence[Instance], features: str, seed: int, device: str
) -> Path | None:
    """Folder of the encoder; None where its problem is not all in files."""
    import torch

    module = sys.modules.get(problem.__module__)
    if problem.__module__ == "__main__" or getattr(module, problem.__name__, None) is not problem:
        return None
    packages = {"lagco", problem.__module__.split(".")[0]}
    digest = hashlib.sha256()
    for name, content in sources(
        ["lagco.embedding.pretraining.pretrain", problem.__module__], packages
    ):
        digest.update(f"{name}\0{len(content)}\0".encode() + content)
    given = {
        "problem": f"{problem.__module__}:{problem.__qualname__}",
        "instances": [instance.checksum for instance in instances],
        "features": features,
        "seed": seed,
        "device": device,
        "versions": [torch.__version__, np.__version__],
    }
    digest.update(canonical_json(given).encode())
    return cache_folder() / "encoders" / digest.hexdigest()
