"""A latent space on disk: JSON and safetensors beside the encoder's own folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load as load_tensors
from safetensors.numpy import save as save_tensors

from lagco.core.declaration import Declaration
from lagco.core.pooling import POOLINGS, Pooling
from lagco.core.spec import Object
from lagco.embedding.encoder import Encoder
from lagco.embedding.reduction import Reduction
from lagco.errors import LagcoError, UsageError
from lagco.files import readable_json, sha256, write_atomically
from lagco.latent.components import ObjectVectors
from lagco.latent.scale import ActionScale
from lagco.latent.space import LatentSpace

FORMAT = "lagco-latent-space"
VERSION = 1
_JSON, _TENSORS, _ENCODER = "latent.json", "latent.safetensors", "encoder"


def save_space(space: LatentSpace, folder: str | Path) -> None:
    """Write a latent space and its encoder into `folder`."""
    folder = Path(folder)
    space.encoder.save(folder / _ENCODER)
    scale = space.scale
    tensors = {
        "mean": scale.mean,
        "deviation": scale.deviation,
        "low": scale.low,
        "high": scale.high,
    }
    if scale.projection is not None:
        tensors["projection"] = scale.projection
    if space.observation_mean is not None and space.observation_factor is not None:
        tensors["observation_mean"] = space.observation_mean
        tensors["observation_factor"] = space.observation_factor
    objects: dict[str, Any] = {}
    for name, vectors in space.objects.items():
        codes = None if vectors.codes is None else list(vectors.codes)
        objects[name] = {"width": vectors.width, "codes": codes}
        if vectors.reduction is not None:
            tensors[f"objects/{name}/mean"] = vectors.reduction.mean
            tensors[f"objects/{name}/components"] = vectors.reduction.components
    for pooling in space.summary:
        if not isinstance(pooling, Pooling) or POOLINGS.get(pooling.name) is not pooling:
            raise UsageError(f"the summary pooling {pooling!r} cannot be written to a file")
    content = save_tensors({k: np.ascontiguousarray(v) for k, v in sorted(tensors.items())})
    description = {
        "format": FORMAT,
        "version": VERSION,
        "summary": [repr(pooling) for pooling in space.summary],
        "positions": space.positions,
        "objects": objects,
        "sha256": sha256(content),
    }
    write_atomically(folder / _TENSORS, content)
    write_atomically(folder / _JSON, readable_json(description))


def load_space(folder: str | Path, declaration: Declaration | None = None) -> LatentSpace:
    """Read a latent space.

    Args:
        folder: what :func:`save_space` wrote.
        declaration: of the problem, which supplies the extractors that are functions.

    Raises:
        LagcoError: the message names the file and what is wrong with it.
    """
    folder = Path(folder)
    path = folder / _JSON
    try:
        description = json.loads(path.read_bytes())
        content = (folder / _TENSORS).read_bytes()
    except OSError as error:
        raise LagcoError(f"{folder}: not a latent space ({error})") from error
    except (ValueError, RecursionError) as error:
        raise LagcoError(f"{path}: damaged, not JSON ({error})") from error
    if not isinstance(description, dict) or description.get("format") != FORMAT:
        raise LagcoError(f"{path}: not a latent space (no format {FORMAT!r})")
    if description.get("version") != VERSION:
        raise LagcoError(
            f"{path}: version {description.get('version')!r} is not supported, this lagco reads "
            f"version {VERSION}"
        )
    if description.get("sha256") != sha256(content):
        raise LagcoError(f"{folder / _TENSORS}: damaged, it does not match its checksum")
    try:
        tensors = load_tensors(content)
        objects = _read_objects(description, tensors, declaration)
        summary = tuple(POOLINGS[name] for name in description["summary"])
        positions = {str(k): int(v) for k, v in description["positions"].items()}
        scale = ActionScale(
            tensors["mean"],
            tensors["deviation"],
            tensors["low"],
            tensors["high"],
            tensors.get("projection"),
        )
        _check_scale(scale)
        observation = tensors.get("observation_mean"), tensors.get("observation_factor")
        for array in observation:
            if array is not None and not (array.ndim == 1 and np.isfinite(array).all()):
                raise ValueError("the standardisation of observations is not finite")
    except (KeyError, TypeError, ValueError, AttributeError, SafetensorError) as error:
        raise LagcoError(f"{folder}: not a valid latent space ({error!r})") from error
    encoder = Encoder.load(folder / _ENCODER, declaration)
    return LatentSpace(encoder, scale, objects, positions, summary, *observation)


def _check_scale(scale: ActionScale) -> None:
    width = len(scale.mean)
    reach = width if scale.projection is None else scale.projection.shape[1]
    shapes: dict[str, tuple[Any, tuple[int, ...]]] = {
        "mean": (scale.mean, (width,)),
        "deviation": (scale.deviation, (width,)),
        "low": (scale.low, (reach,)),
        "high": (scale.high, (reach,)),
    }
    if scale.projection is not None:
        shapes["projection"] = (scale.projection, (width, reach))
    for name, (array, wanted) in shapes.items():
        if array.shape != wanted or not np.isfinite(array).all():
            raise ValueError(f"{name} has shape {array.shape}, expected finite {wanted}")
    if (scale.deviation <= 0).any():
        raise ValueError("a standard deviation is not positive")


def _read_objects(
    description: dict[str, Any], tensors: dict[str, Any], declaration: Declaration | None
) -> dict[str, ObjectVectors]:
    objects: dict[str, ObjectVectors] = {}
    for name, entry in description["objects"].items():
        component = None if declaration is None else declaration.action.get(name)
        if not isinstance(component, Object):
            raise UsageError(
                f"the latent space has an object component {name!r}, which the problem declares; "
                "load the agent with problem= and instance=, or a space with its declaration"
            )
        reduction = None
        if f"objects/{name}/mean" in tensors:
            reduction = Reduction(
                tensors[f"objects/{name}/mean"], tensors[f"objects/{name}/components"]
            )
        codes = entry["codes"]
        if codes is not None:
            listed = [tuple(c) if isinstance(c, list) else c for c in codes]
            codes = {value: code for code, value in enumerate(listed)}
        extractor = "onehot" if codes is not None else component.extractor
        objects[name] = ObjectVectors(extractor, int(entry["width"]), reduction, codes)
    return objects
