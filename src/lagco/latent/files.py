"""Latent spaces on disk: JSON and safetensors next to the encoder's folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lagco.arrays import Array
from lagco.core.declaring.declaration import Declaration
from lagco.core.pooling import POOLINGS, Pooling
from lagco.core.spec import Object
from lagco.embedding.encoder import NetworkClass
from lagco.embedding.features.reduction import Reduction
from lagco.embedding.storage import load_encoder, save_encoder
from lagco.errors import LagcoError, UsageError
from lagco.latent.actions.components import ObjectVectors
from lagco.latent.scale import ActionScale
from lagco.latent.space import LatentSpace
from lagco.results.numbers import of_things
from lagco.store import MAX_WEIGHT, SHA256, Described, Kind, Schema, Tensors, array_of, object_of

_ENCODER = "encoder"
_SCALAR: Schema = {"type": ["string", "number", "boolean", "null"]}
SPACE = Kind(
    format="lagco-latent-space",
    version=2,
    noun="a latent space",
    remedy="train the agent again with this lagco, or take another copy",
    description="latent.json",
    tensors="latent.safetensors",
    largest=MAX_WEIGHT,
    schema=object_of(
        summary={
            "type": "array",
            "maxItems": 16,
            "items": {"enum": ["Mean", "Max", "Min", "Sum", "RootSum"]},
        },
        positions={
            "type": "object",
            "additionalProperties": {"type": "integer", "minimum": 2, "maximum": 10_000},
        },
        objects={
            "type": "object",
            "additionalProperties": object_of(
                width={"type": "integer", "minimum": 1, "maximum": 1_000_000},
                codes={
                    "type": ["array", "null"],
                    "minItems": 1,
                    "items": {"anyOf": [array_of(_SCALAR), _SCALAR]},
                },
            ),
        },
        encoder=SHA256,
    ),
)


def save_space(space: LatentSpace, folder: str | Path) -> str:
    """Write a latent space and its encoder into `folder`; returns its checksum."""
    folder = Path(folder)
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
    content = {
        "summary": [repr(pooling) for pooling in space.summary],
        "positions": space.positions,
        "objects": objects,
        "encoder": save_encoder(space.encoder, folder / _ENCODER),
    }
    return SPACE.write(folder, content, tensors)


def load_space(
    folder: str | Path,
    declaration: Declaration | None = None,
    expected: str | None = None,
    encoder_class: NetworkClass | None = None,
) -> LatentSpace:
    """Read a latent space.

    Args:
        folder: what :func:`save_space` wrote.
        declaration: of the problem, which supplies the extractors that are functions.
        expected: checksum by which another file refers to it.
        encoder_class: what made the encoder's module, where that is of the user's own.

    Raises:
        LagcoError: the message names the file and what is wrong with it.
    """
    folder = Path(folder)
    file = SPACE.read(folder, expected)
    content, tensors = file.content, file.tensors
    encoder = load_encoder(folder / _ENCODER, content["encoder"], encoder_class)
    if declaration is not None:
        encoder.bind(declaration)
    scale = _scale(tensors)
    observation: tuple[Array | None, Array | None] = (None, None)
    if "observation_mean" in tensors:
        mean = tensors.take("observation_mean", (None,))
        observation = (mean, tensors.take("observation_factor", mean.shape))
    objects = _read_objects(file, declaration)
    tensors.refuse_others()
    summary = tuple(POOLINGS[name] for name in content["summary"])
    return LatentSpace(encoder, scale, objects, content["positions"], summary, *observation)


def _scale(tensors: Tensors) -> ActionScale:
    mean = tensors.take("mean", (None,))
    deviation = tensors.take("deviation", mean.shape)
    projection = None
    reach = len(mean)
    if "projection" in tensors:
        projection = tensors.take("projection", (len(mean), None))
        reach = projection.shape[1]
    if not reach or not len(mean):
        raise tensors.refused("action vectors have no numbers")
    if (deviation <= 0).any():
        raise tensors.refused("a standard deviation is not positive")
    low, high = tensors.take("low", (reach,)), tensors.take("high", (reach,))
    return ActionScale(mean, deviation, low, high, projection)


def _read_objects(file: Described, declaration: Declaration | None) -> dict[str, ObjectVectors]:
    objects: dict[str, ObjectVectors] = {}
    tensors = file.tensors
    for name, entry in file.content["objects"].items():
        component = None if declaration is None else declaration.action.get(name)
        if not isinstance(component, Object):
            raise UsageError(
                f"{file.path}: the latent space has an object component {name!r}, which the "
                "problem declares; load the agent with problem= and instance=, or a space with its "
                "declaration"
            )
        width, codes, reduction = entry["width"], entry["codes"], None
        if f"objects/{name}/mean" in tensors:
            mean = tensors.take(f"objects/{name}/mean", (None,))
            components = tensors.take(f"objects/{name}/components", (len(mean), width))
            reduction = Reduction(mean, components)
        if codes is not None:
            listed = [tuple(c) if isinstance(c, list) else c for c in codes]
            codes = {value: code for code, value in enumerate(listed)}
            if not len(codes) == len(listed) == width:
                raise LagcoError(
                    f"{file.path}: objects.{name} has {of_things(len(listed), 'codes')}, "
                    f"{len(codes)} of them different, for the width {width}; {SPACE.remedy}"
                )
        extractor = "onehot" if codes is not None else component.extractor
        objects[name] = ObjectVectors(extractor, width, reduction, codes)
    return objects
