"""Encoders on disk: ``encoder.json`` and ``encoder.safetensors`` in a folder.

The JSON file holds the configuration and layout of every view, the curves and what determined the
training, under one checksum with the tensors. Callables are stored by name only. Reading checks
everything and runs nothing.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import numpy as np

from lagco.arrays import Array
from lagco.core.pooling import POOLINGS
from lagco.core.spec import Attribute
from lagco.embedding.config import ACTIVATIONS, AGGREGATIONS, LAYERS, OWN, EncoderConfig
from lagco.embedding.encoder import Encoder, NetworkClass, ViewEncoder
from lagco.embedding.features.extraction import AttributeReader
from lagco.embedding.features.layout import (
    TableLayout,
    ViewLayout,
    attribute_from_signature,
    table_layout,
)
from lagco.embedding.features.reduction import Reduction
from lagco.embedding.messages import message_width
from lagco.embedding.network.shapes import decoder_shapes, network_shapes
from lagco.errors import LagcoError
from lagco.store import (
    COUNT,
    MAX_WEIGHT,
    TEXT,
    Described,
    Kind,
    Schema,
    Tensors,
    array_of,
    object_of,
    write_atomically,
)

_WIDEST = 1_000_000
_NAME: Schema = {"type": "string", "maxLength": 500}
_CALLABLE: Schema = object_of(callable=_NAME)
_CHANNELS: Schema = {"type": "integer", "minimum": 1, "maximum": 65536}
_WEIGHT: Schema = {"type": "number"}
_CONFIG: dict[str, Schema] = {
    "layers": {"type": "array", "minItems": 1, "maxItems": 64, "items": {"enum": [*LAYERS, OWN]}},
    "hidden_channels": _CHANNELS,
    "out_channels": _CHANNELS,
    "edge_channels": _CHANNELS,
    "decoder_channels": _CHANNELS,
    "activation": {"enum": list(ACTIVATIONS)},
    "aggregation": {"enum": list(AGGREGATIONS)},
    "batch_norm": {"type": "boolean"},
    "normalise": {"type": "boolean"},
    "variational": {"type": "boolean"},
    "alpha": _WEIGHT,
    "beta": _WEIGHT,
    "gamma": _WEIGHT,
    "kl_weight": _WEIGHT,
    "temperature": {"type": "number", "exclusiveMinimum": 0},
    "negatives": _CHANNELS,
    "text_width": {"type": ["integer", "null"], "minimum": 1, "maximum": 65536},
}
assert _CONFIG.keys() == {field.name for field in fields(EncoderConfig)}
_WIDTH: Schema = {"type": "integer", "minimum": 1, "maximum": _WIDEST}
_ATTRIBUTE: dict[str, Schema] = {
    "start": COUNT,
    "width": _WIDTH,
    "type": {"enum": ["binary", "categorical", "continuous"]},
    "norm": {"type": ["string", "null"]},
    "extractor": {"anyOf": [{"type": "null"}, _CALLABLE, TEXT]},
    "size": _WIDTH,
    "categories": {
        "anyOf": [
            {"type": "null"},
            {"type": "integer", "minimum": 1, "maximum": _WIDEST},
            {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/category"}},
        ]
    },
    "pooling": {"anyOf": [_CALLABLE, {"enum": list(POOLINGS)}]},
    "reduce": {"type": ["integer", "null"], "minimum": 1, "maximum": _WIDEST},
    "static": {"type": "boolean"},
}
_TABLE: Schema = {
    "type": "object",
    "additionalProperties": object_of(**_ATTRIBUTE),
}


class EncoderFileError(LagcoError, ValueError):
    """An encoder cannot be read; the message names the file."""


ENCODER = Kind(
    format="lagco-encoder",
    version=2,
    noun="an encoder",
    remedy="pre-train it again with this lagco, or take another copy",
    error=EncoderFileError,
    description="encoder.json",
    tensors="encoder.safetensors",
    largest=MAX_WEIGHT,
    schema={
        "required": ["layout_hash", "text_model", "training", "views", "curves"],
        "additionalProperties": False,
        "properties": {
            "layout_hash": _NAME,
            "text_model": {"type": ["string", "null"], "maxLength": 500},
            "training": {"type": "object"},
            "views": {
                "type": "object",
                "minProperties": 1,
                "additionalProperties": object_of(
                    index={"type": "integer"},
                    config=object_of(**_CONFIG),
                    layout=object_of(directed={"type": "boolean"}, nodes=_TABLE, edges=_TABLE),
                    reductions=array_of(
                        {
                            "type": "array",
                            "minItems": 2,
                            "maxItems": 2,
                            "prefixItems": [{"enum": ["nodes", "edges"]}, _NAME],
                        }
                    ),
                ),
            },
            "curves": array_of(
                object_of(
                    view=_NAME,
                    step={"type": "integer"},
                    split={"enum": ["train", "held-out"]},
                    head=_NAME,
                    loss={"type": ["number", "null"]},
                )
            ),
        },
        "$defs": {
            "category": {
                "anyOf": [
                    {"type": ["string", "number", "boolean", "null"]},
                    object_of(tuple=array_of({"$ref": "#/$defs/category"})),
                ]
            }
        },
    },
)


# -- writing


def save_encoder(encoder: Encoder, folder: Path) -> str:
    """Write `encoder` to `folder`, each file atomically, the description last; its checksum."""
    tensors: dict[str, Array] = {}
    views: dict[str, Any] = {}
    for index, (name, view) in enumerate(encoder.views.items()):
        for part, weights in (("encoder", view.weights), ("decoder", view.decoder_weights)):
            tensors |= {f"{index}.{part}.{key}": value for key, value in weights.items()}
        reductions: list[list[str]] = []
        for kind, readers in (("nodes", view.node_readers), ("edges", view.edge_readers)):
            for attribute, reader in readers.items():
                if reader.reduction is not None:
                    key = f"{index}.reduction.{len(reductions)}"
                    reductions.append([kind, attribute])
                    tensors[f"{key}.mean"] = reader.reduction.mean
                    tensors[f"{key}.components"] = reader.reduction.components
        views[name] = {
            "index": index,
            "config": asdict(view.config),
            "layout": view.layout.signature(),
            "reductions": reductions,
        }
    description = {
        "layout_hash": encoder.layout_hash,
        "text_model": encoder.text_model,
        "training": encoder.training,
        "views": views,
        "curves": encoder.curves,
    }
    return ENCODER.write(folder, description, tensors, encoder.measured)


def write_curves(curves: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Write loss curves as CSV: view, step, split, head, loss."""
    stream = io.StringIO()
    writer = csv.DictWriter(stream, ["view", "step", "split", "head", "loss"], lineterminator="\n")
    writer.writeheader()
    writer.writerows(curves)
    write_atomically(path, stream.getvalue().encode())


# -- reading


def load_encoder(
    folder: Path, expected: str | None = None, encoder_class: NetworkClass | None = None
) -> Encoder:
    """Read the encoder in `folder`.

    Args:
        folder: where :func:`save_encoder` wrote it.
        expected: checksum by which another file refers to it.
        encoder_class: what made the module in pre-training, where that is of the user's own.

    Raises:
        EncoderFileError: a file is missing, damaged, of another version, or does not fit.
    """
    file = ENCODER.read(folder, expected)
    content = file.content
    try:
        encoder = Encoder(
            {
                name: _view_encoder(name, index, view, file.tensors, encoder_class)
                for index, (name, view) in enumerate(content["views"].items())
            },
            content["curves"],
            content["training"],
            content["text_model"],
            file.measured,
        )
        hashed = encoder.layout_hash
    except EncoderFileError:
        raise
    except (LagcoError, ValueError, TypeError) as error:
        raise _refused(file, str(error)) from error
    file.tensors.refuse_others()
    if hashed != content["layout_hash"]:
        raise _refused(file, "its layout does not match its hash")
    return encoder


def _refused(file: Described, reason: str) -> EncoderFileError:
    return EncoderFileError(f"{file.path}: not a valid encoder: {reason}; {ENCODER.remedy}")


def _view_encoder(
    name: str,
    index: int,
    content: Mapping[str, Any],
    tensors: Tensors,
    encoder_class: NetworkClass | None,
) -> ViewEncoder:
    if content["index"] != index:
        raise ValueError(f"view {name!r} stands at {index}, not {content['index']!r}")
    config = EncoderConfig(**content["config"])
    layout = content["layout"]
    view_layout = ViewLayout(_table(layout["nodes"]), _table(layout["edges"]), layout["directed"])
    reductions: dict[tuple[str, str], Reduction] = {}
    for number, (kind, attribute) in enumerate(content["reductions"]):
        key = f"{index}.reduction.{number}"
        table = view_layout.nodes if kind == "nodes" else view_layout.edges
        mean = tensors.take(f"{key}.mean", (None,))
        shape = (len(mean), table[attribute].width)
        reductions[kind, attribute] = Reduction(mean, tensors.take(f"{key}.components", shape))
    _check_widths(name, view_layout, reductions)
    decoder_weights = {
        key: _take(tensors, f"{index}.decoder.{key}", shape)
        for key, shape in decoder_shapes(config, view_layout).items()
    }
    encoder = ViewEncoder(
        name,
        config,
        view_layout,
        _readers(name, "nodes", view_layout.nodes, reductions),
        _readers(name, "edges", view_layout.edges, reductions),
        decoder_weights=decoder_weights,
        network_class=encoder_class if config.layers == (OWN,) else None,
    )
    encoder.weights = _network_weights(encoder, f"{index}.encoder.", tensors)
    return encoder


def _network_weights(encoder: ViewEncoder, prefix: str, tensors: Tensors) -> dict[str, Array]:
    if encoder.config.layers == (OWN,):
        import torch

        with torch.random.fork_rng(devices=[]):  # making a module draws from it
            fresh = encoder.new_network().state_dict()
        state = {name: tensor.numpy() for name, tensor in fresh.items()}
        return {k: tensors.take(f"{prefix}{k}", a.shape, a.dtype) for k, a in state.items()}
    layout = encoder.layout
    shapes = network_shapes(encoder.config, layout.nodes.width, message_width(layout))
    return {key: _take(tensors, f"{prefix}{key}", shape) for key, shape in shapes.items()}


def _check_widths(
    view: str, layout: ViewLayout, reductions: Mapping[tuple[str, str], Reduction]
) -> None:
    """Attributes have the columns that their declarations imply."""
    for kind, table in (("nodes", layout.nodes), ("edges", layout.edges)):
        for entry in table:
            attribute = entry.attribute
            implied: int | None = None
            if attribute.type == "categorical" or attribute.extractor == "onehot":
                implied = attribute.num_categories
            elif attribute.extractor is None:
                implied = attribute.size
            if implied is not None and (kind, entry.name) in reductions:
                raise ValueError(f"view {view!r}: {entry.name!r} has a reduction, but no extractor")
            if implied not in (None, entry.width):
                raise ValueError(
                    f"view {view!r}: {entry.name!r} has the width {entry.width}, its declaration "
                    f"implies {implied}"
                )


def _take(tensors: Tensors, name: str, shape: tuple[int, ...]) -> Array:
    dtype = np.int64 if name.endswith("num_batches_tracked") else np.float32
    return tensors.take(name, shape, dtype, low=0.0 if name.endswith("running_var") else None)


def _table(content: Mapping[str, Any]) -> TableLayout:
    attributes: dict[str, Attribute] = {}
    widths: dict[str, int] = {}
    for name, signature in content.items():
        if signature["start"] != sum(widths.values()):
            raise ValueError(f"attribute {name!r} starts at {signature['start']!r}")
        attributes[name] = attribute_from_signature(signature)
        widths[name] = signature["width"]
    return table_layout(attributes, widths)


def _readers(
    view: str, kind: str, table: TableLayout, reductions: Mapping[tuple[str, str], Reduction]
) -> dict[str, AttributeReader]:
    return {
        entry.name: AttributeReader(
            f"view {view!r}, {kind[:-1]} attribute {entry.name!r}",
            entry.attribute,
            entry.width,
            reductions.get((kind, entry.name)),
        )
        for entry in table
    }
