"""Shapes of all tensors of an encoder, from its configuration and layout, without building it."""

from __future__ import annotations

from lagco.embedding.config import EncoderConfig
from lagco.embedding.features.layout import TableLayout, ViewLayout

Shapes = dict[str, tuple[int, ...]]


def network_shapes(config: EncoderConfig, node_width: int, message_width: int) -> Shapes:
    """Of :class:`~lagco.embedding.network.module.GraphEncoder`."""
    count = len(config.layers)
    widths = [config.hidden_channels] * (count - 1) + [config.out_channels]
    inputs = [node_width, *widths[:-1]]
    shapes: Shapes = {
        "node_scale": (node_width,),
        "edge_scale": (message_width,),
        "edge_shift": (message_width,),
    }
    for index, kind in enumerate(config.layers):
        layer = _layer(kind, config, inputs[index], widths[index], message_width)
        shapes |= {f"layers.{index}.{name}": shape for name, shape in layer.items()}
        if index < count - 1 and config.batch_norm:
            for name in ("weight", "bias", "running_mean", "running_var"):
                shapes[f"norms.{index}.{name}"] = (widths[index],)
            shapes[f"norms.{index}.num_batches_tracked"] = ()
    if config.variational:
        layer = _layer(config.layers[-1], config, inputs[-1], widths[-1], message_width)
        shapes |= {f"log_variance.{name}": shape for name, shape in layer.items()}
    return shapes


def _layer(kind: str, config: EncoderConfig, i: int, o: int, message_width: int) -> Shapes:
    if kind == "nnconv":
        k = config.edge_channels
        return {
            "bias": (o,),
            "lin.weight": (o, i),
            "nn.0.weight": (k, message_width),
            "nn.0.bias": (k,),
            "nn.2.weight": (i * o, k),
            "nn.2.bias": (i * o,),
        }
    if kind == "sage":
        return {"lin_l.weight": (o, i), "lin_l.bias": (o,), "lin_r.weight": (o, i)}
    if kind == "gcn":
        return {"bias": (o,), "lin.weight": (o, i)}
    if kind == "gat":
        return {
            "att_src": (1, 1, o),
            "att_dst": (1, 1, o),
            "att_edge": (1, 1, o),
            "bias": (o,),
            "lin.weight": (o, i),
            "lin_edge.weight": (o, message_width),
        }
    first = 2 * i if kind == "edgeconv" else i
    shapes: Shapes = {
        "nn.0.weight": (o, first),
        "nn.0.bias": (o,),
        "nn.2.weight": (o, o),
        "nn.2.bias": (o,),
    }
    if kind == "gin":
        shapes |= {"eps": (1,), "lin.weight": (i, message_width), "lin.bias": (i,)}
    return shapes


def decoder_shapes(config: EncoderConfig, layout: ViewLayout) -> Shapes:
    """Of :class:`~lagco.embedding.pretraining.reconstruction.GraphDecoder`."""
    p = config.out_channels
    shapes: Shapes = {}
    for part, table, width in (("nodes", layout.nodes, p), ("edges", layout.edges, 2 * p)):
        heads = _table(table, width, config.decoder_channels)
        shapes |= {f"{part}.{name}": shape for name, shape in heads.items()}
    return shapes


def _table(table: TableLayout, width: int, hidden: int) -> Shapes:
    shapes: Shapes = dict.fromkeys(("mean", "deviation", "weight_1", "weight_0"), (table.width,))
    for kind in ("binary", "categorical", "continuous"):
        outputs = sum(entry.width for entry in table if entry.type == kind)
        if outputs:
            shapes[f"heads.{kind}.0.weight"] = (hidden, width)
            shapes[f"heads.{kind}.0.bias"] = (hidden,)
            shapes[f"heads.{kind}.2.weight"] = (outputs, hidden)
            shapes[f"heads.{kind}.2.bias"] = (outputs,)
    return shapes
