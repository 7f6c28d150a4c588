"""Encoders on disk: ``encoder.json`` and ``encoder.safetensors`` in a folder.

The JSON file holds the format version, the configuration, the layout of every view, the curves and
the checksum of the tensor file; it is written last, so a folder with it is whole. Callables are
stored by name only. Reading checks everything and runs nothing.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import numpy as np

from lagco.arrays import Array
from lagco.core.spec import Attribute
from lagco.embedding.config import EncoderConfig
from lagco.embedding.encoder import Encoder, ViewEncoder
from lagco.embedding.extraction import AttributeReader
from lagco.embedding.layout import TableLayout, ViewLayout, attribute_from_signature, table_layout
from lagco.embedding.messages import message_width
from lagco.embedding.reduction import Reduction
from lagco.embedding.shapes import decoder_shapes, network_shapes
from lagco.errors import LagcoError, UsageError
from lagco.files import canonical_json, readable_json, sha256, write_atomically

FORMAT = "lagco-encoder"
VERSION = 1
DESCRIPTION = "encoder.json"
TENSORS = "encoder.safetensors"
#: Larger files are not opened: no encoder comes near it.
_MOST_BYTES = 2**30


class EncoderFileError(LagcoError, ValueError):
    """An encoder cannot be read; the message names the file."""


# -- writing


def save_encoder(encoder: Encoder, folder: Path) -> None:
    """Write `encoder` to `folder`, each file atomically, the description last."""
    from safetensors.numpy import save

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
    content = save({key: np.array(value, order="C") for key, value in tensors.items()})
    description: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "layout_hash": encoder.layout_hash,
        "text_model": encoder.text_model,
        "training": encoder.training,
        "views": views,
        "curves": encoder.curves,
        "tensors": {"file": TENSORS, "sha256": sha256(content)},
    }
    description["sha256"] = sha256(canonical_json(description).encode())
    write_atomically(folder / TENSORS, content)
    write_atomically(folder / DESCRIPTION, readable_json(description))


def write_curves(curves: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Write loss curves as CSV: view, step, split, head, loss."""
    stream = io.StringIO()
    writer = csv.DictWriter(stream, ["view", "step", "split", "head", "loss"], lineterminator="\n")
    writer.writeheader()
    writer.writerows(curves)
    write_atomically(path, stream.getvalue().encode())


# -- reading


def load_encoder(folder: Path) -> Encoder:
    """Read the encoder in `folder`.

    Raises:
        EncoderFileError: a file is missing, damaged, of another version, or does not fit.
    """
    path = folder / DESCRIPTION
    description = _read_description(path)
    try:
        tensor_file = description["tensors"]["file"]
        wanted = description["tensors"]["sha256"]
        views = description["views"]
        if not isinstance(views, dict) or not views:
            raise ValueError("no views")
        if not isinstance(tensor_file, str) or Path(tensor_file).name != tensor_file:
            raise EncoderFileError(f"{path}: tensor file {tensor_file!r} is outside the folder")
        tensors_path = folder / tensor_file
        tensors = _read_tensors(tensors_path, wanted)
        encoders = {
            name: _view_encoder(name, index, content, tensors, tensors_path)
            for index, (name, content) in enumerate(views.items())
        }
        encoder = Encoder(
            encoders,
            list(description["curves"]),
            dict(description["training"]),
            description["text_model"],
        )
    except EncoderFileError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise EncoderFileError(f"{path}: not a valid encoder description ({error!r})") from error
    if tensors:
        extra = ", ".join(sorted(tensors)[:5])
        raise EncoderFileError(f"{tensors_path}: holds tensors that belong nowhere: {extra}")
    if encoder.layout_hash != description["layout_hash"]:
        raise EncoderFileError(f"{path}: its layout does not match its hash")
    return encoder


def _read_bytes(path: Path) -> bytes:
    try:
        if path.is_symlink():
            raise EncoderFileError(f"{path}: is a link; an encoder's files must be files")
        if path.stat().st_size > _MOST_BYTES:
            raise EncoderFileError(f"{path}: {path.stat().st_size} bytes, too large for an encoder")
        return path.read_bytes()
    except FileNotFoundError:
        what = "no such file" if path.parent.is_dir() else "no such folder"
        raise EncoderFileError(f"{path}: {what}; is this the folder of an encoder?") from None
    except OSError as error:
        raise EncoderFileError(f"{path}: cannot be read ({error})") from error


def _read_description(path: Path) -> dict[str, Any]:
    content = _read_bytes(path)
    try:
        description = json.loads(content, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise EncoderFileError(f"{path}: damaged, not JSON ({error})") from error
    if not isinstance(description, dict) or description.get("format") != FORMAT:
        raise EncoderFileError(f"{path}: not an encoder (no format {FORMAT!r})")
    if description.get("version") != VERSION:
        raise EncoderFileError(
            f"{path}: encoder format version {description.get('version')!r} is not supported, this "
            f"lagco reads version {VERSION}"
        )
    declared = description.pop("sha256", None)
    if declared != sha256(canonical_json(description).encode()):
        raise EncoderFileError(f"{path}: damaged, it does not match its checksum")
    return description


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no number")


def _read_tensors(path: Path, wanted: str) -> dict[str, Array]:
    from safetensors import SafetensorError
    from safetensors.numpy import load

    content = _read_bytes(path)
    if sha256(content) != wanted:
        raise EncoderFileError(f"{path}: damaged, it does not match its checksum")
    try:
        tensors = load(content)
    except (SafetensorError, ValueError, KeyError, TypeError) as error:
        raise EncoderFileError(f"{path}: not a safetensors file ({error})") from error
    for name, array in tensors.items():
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise EncoderFileError(f"{path}: tensor {name!r} holds numbers that are not finite")
    return dict(tensors)


def _view_encoder(
    name: str, index: int, content: Mapping[str, Any], tensors: dict[str, Array], path: Path
) -> ViewEncoder:
    if content["index"] != index:  # checksums do not see the order of keys
        raise ValueError(f"view {name!r} stands at {index}, not {content['index']!r}")
    config = _config(content["config"])
    layout = content["layout"]
    view_layout = ViewLayout(
        _table(layout["nodes"]), _table(layout["edges"]), bool(layout["directed"])
    )
    reductions: dict[tuple[str, str], Reduction] = {}
    for number, (kind, attribute) in enumerate(content["reductions"]):
        key = f"{index}.reduction.{number}"
        mean = _take(tensors, f"{key}.mean", None, path)
        table = view_layout.nodes if kind == "nodes" else view_layout.edges
        shape = (len(mean), table[attribute].width)
        components = _take(tensors, f"{key}.components", shape, path)
        reductions[kind, attribute] = Reduction(mean, components)
    width = message_width(view_layout)
    weights = {
        key: _take(tensors, f"{index}.encoder.{key}", shape, path)
        for key, shape in network_shapes(config, view_layout.nodes.width, width).items()
    }
    decoder_weights = {
        key: _take(tensors, f"{index}.decoder.{key}", shape, path)
        for key, shape in decoder_shapes(config, view_layout).items()
    }
    return ViewEncoder(
        name,
        config,
        view_layout,
        _readers(name, "nodes", view_layout.nodes, reductions),
        _readers(name, "edges", view_layout.edges, reductions),
        weights,
        decoder_weights,
    )


def _take(tensors: dict[str, Array], name: str, shape: tuple[int, ...] | None, path: Path) -> Array:
    array = tensors.pop(name, None)
    if array is None:
        raise EncoderFileError(f"{path}: tensor {name!r} is missing")
    if (array.ndim != 1) if shape is None else (array.shape != shape):
        wanted = "one axis" if shape is None else f"shape {shape}"
        raise EncoderFileError(f"{path}: tensor {name!r} has shape {array.shape}, needs {wanted}")
    kind = "i" if name.endswith("num_batches_tracked") else "f"
    if array.dtype != (np.int64 if kind == "i" else np.float32):
        raise EncoderFileError(f"{path}: tensor {name!r} has the type {array.dtype}")
    return array


def _config(content: Mapping[str, Any]) -> EncoderConfig:
    known = {field.name: field.default for field in fields(EncoderConfig)}
    for name, value in content.items():
        default = known.get(name)
        if name not in known:
            raise ValueError(f"configuration names {name!r}")
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if isinstance(default, bool) and not isinstance(value, bool):
            raise ValueError(f"configuration {name}={value!r}")
        if name == "text_width" and value is None:
            continue
        if type(default) is int and not (isinstance(value, int) and number and value <= 65536):
            raise ValueError(f"configuration {name}={value!r}")
        if isinstance(default, float) and not (number and math.isfinite(value)):
            raise ValueError(f"configuration {name}={value!r}")
        if isinstance(default, str) and not isinstance(value, str):
            raise ValueError(f"configuration {name}={value!r}")
    if len(content["layers"]) > 64:
        raise ValueError(f"{len(content['layers'])} layers")
    return EncoderConfig(**content)


def _table(content: Mapping[str, Any]) -> TableLayout:
    attributes: dict[str, Attribute] = {}
    widths: dict[str, int] = {}
    for name, signature in content.items():
        width = signature["width"]
        if not isinstance(width, int) or isinstance(width, bool) or not 1 <= width <= 1_000_000:
            raise ValueError(f"attribute {name!r} has the width {width!r}")
        if signature["start"] != sum(widths.values()):
            raise ValueError(f"attribute {name!r} starts at {signature['start']!r}")
        attributes[name] = attribute_from_signature(signature)
        widths[name] = width
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


__all__ = ["EncoderFileError", "UsageError", "load_encoder", "save_encoder", "write_curves"]
