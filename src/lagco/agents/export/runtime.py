"""An agent as a folder that decides with numpy alone: ``decide.py`` and what it reads."""

from __future__ import annotations

import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from lagco.agents.agent import Agent
from lagco.agents.inference.perceptron import Perceptron
from lagco.agents.methods.projection import ProjectionActor
from lagco.arrays import Array
from lagco.core.declaring.declaration import Declaration, read_declaration
from lagco.core.declaring.descriptors import STRUCTURAL
from lagco.core.pooling import POOLINGS, Concat
from lagco.core.spec import Component, Edge, Function, Graph, Node, Object
from lagco.embedding.encoder import ViewEncoder
from lagco.embedding.features.layout import TableLayout
from lagco.errors import UsageError
from lagco.instances import Instance
from lagco.latent.observation import pooling_codes
from lagco.latent.space import LatentView
from lagco.store import readable_json, write_atomically

PROGRAM, DESCRIPTION, ARRAYS = "decide.py", "policy.json", "policy.npz"
#: what a spec may ask for
_PLAIN = (bool, int, float, str, np.bool_, np.integer, np.floating)


def export_runtime(agent: Agent, folder: str | Path, instance: Instance | None = None) -> None:
    """Write the folder.

    Args:
        agent: one that decides by the nearest action to a point.
        folder: to write to.
        instance: any one of the problem, where that cannot draw instances itself.

    Raises:
        UsageError: names everything that the folder could not do.
    """
    if instance is None and not agent.problem.defines("draw"):
        raise UsageError(f"{agent.problem.name} draws no instances; give instance=, any one of it")
    env = agent.problem(
        instance or agent.problem.generate(agent.problem.default_size), features=agent.features
    )
    env.reset(seed=0)
    actor = agent.actor(env)
    declared = read_declaration(env, env.graph_views())
    refused = _refused(agent, actor, declared)
    if refused:
        raise UsageError(f"a folder for numpy alone cannot hold this agent: {'; '.join(refused)}")
    assert isinstance(actor, ProjectionActor)
    assert isinstance(actor.network, Perceptron)
    space, view = actor.view.space, actor.view
    arrays: dict[str, Array] = {
        "mean": view.layout.mean,
        "factor": view.layout.factor,
        "low": np.broadcast_to(actor.low, space.scale.width),
        "high": np.broadcast_to(actor.high, space.scale.width),
    }
    if space.observation_mean is not None and space.observation_factor is not None:
        arrays["observation_mean"] = space.observation_mean
        arrays["observation_factor"] = space.observation_factor
    for number, (weight, bias) in enumerate(actor.network.layers):
        arrays |= {f"network/{number}.weight": weight, f"network/{number}.bias": bias}
    description = {
        "problem": agent.problem.name,
        "method": agent.name,
        "metric": agent.method.metric,
        "network": {"layers": len(actor.network.layers), "activation": actor.network.activation},
        "views": {name: _view(v, arrays) for name, v in space.encoder.views.items()},
        "components": _components(declared, view, arrays),
        "observation": [_part(name, part) for name, part in declared.observation.items()],
        "summary": [repr(pooling) for pooling in space.summary],
    }
    stream = io.BytesIO()
    np.savez(stream, allow_pickle=False, **arrays)
    folder = Path(folder)
    write_atomically(folder / ARRAYS, stream.getvalue())
    write_atomically(folder / DESCRIPTION, readable_json(description))
    write_atomically(folder / PROGRAM, Path(__file__).with_name(PROGRAM).read_bytes())


# -- what the folder cannot do


def _refused(agent: Agent, actor: Any, declared: Declaration) -> list[str]:
    if not isinstance(actor, ProjectionActor):
        return [f"{agent.name} does not decide by the nearest action to a point"]
    found = []
    if actor.decoder != "nearest":
        found.append(f"the decoder {actor.decoder!r} (nearest is supported)")
    if not isinstance(actor.network, Perceptron):
        found.append("a policy network of the user's own")
    space = actor.view.space
    if space.scale.projection is not None:
        found.append("reduced action vectors (reduce=)")
    for name, view in space.encoder.views.items():
        if view.compiled_weights is None:
            layers = ",".join(view.config.layers)
            found.append(f"view {name!r}: the layers {layers} (nnconv,sage,… is supported)")
        for kind, table in (("node", view.layout.nodes), ("edge", view.layout.edges)):
            found += [
                f"view {name!r}, {kind} attribute {entry.name!r}: the extractor "
                f"{entry.attribute.extractor!r}"
                for entry in table
                if entry.attribute.extractor not in (None, "onehot")
            ]
    found += [f"observation {n!r}: {r}" for n, p in declared.observation.items() for r in _odd(p)]
    found += [f"action {n!r}: {r}" for n, c in declared.action.items() for r in _odd(c)]
    return found


def _odd(part: Graph | Function | Component) -> list[str]:
    """Unsupported part of an observation or a component."""
    if isinstance(part, Function):
        return []
    found = [f"the condition on {n!r} is a function" for n, v in part.spec.items() if callable(v)]
    found += [
        f"the condition on {name!r} is {value!r}"
        for name, value in part.spec.items()
        if not callable(value) and not isinstance(value, _PLAIN)
    ]
    if isinstance(part, Graph):
        if pooling_codes(part.poolings) is None:
            found.append("a pooling of its own")
        return found
    if not isinstance(part, Node | Edge | Object):
        return [*found, f"{type(part).__name__} components"]
    if isinstance(part, Node | Edge) and part.none:
        found.append('the choice of "none"')
    if isinstance(part, Object) and part.choices is None:
        found.append("objects in the attributes of others")
    if isinstance(part, Edge) and part.pooling is not Concat:
        found.append(f"the pooling {part.pooling!r} of the ends")
    linked = [link for link in part.linked() if link != "reference" or isinstance(part, Object)]
    return found + [f"{link}=" for link in linked]


# -- what it holds


def _view(view: ViewEncoder, arrays: dict[str, Array]) -> dict[str, Any]:
    folded = view.compiled_weights
    for name in ("edge_w", "edge_b", "w", "root", "bias"):
        arrays[f"{view.name}/{name}"] = getattr(folded, name)
    for number, layer in enumerate(folded.layers):
        arrays[f"{view.name}/sage{number}.w"] = layer.w[0]
        arrays[f"{view.name}/sage{number}.bias"] = layer.bias
    return {
        "directed": view.layout.directed,
        "slope": float(folded.slope),
        "normalise": bool(folded.normalise),
        "layers": len(folded.layers),
        "nodes": _table(view.layout.nodes),
        "edges": _table(view.layout.edges),
    }


def _table(table: TableLayout) -> list[dict[str, Any]]:
    found = []
    for entry in table:
        signature = entry.signature()
        onehot = entry.type == "categorical" or entry.attribute.extractor == "onehot"
        found.append(
            {
                "name": entry.name,
                "width": entry.width,
                "norm": signature["norm"],
                "categories": signature["categories"] if onehot else None,
            }
        )
    return found


def _components(
    declared: Declaration, view: LatentView, arrays: dict[str, Array]
) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for name, component in declared.action.items():
        entry: dict[str, Any] = {"name": name, "start": view.layout.columns[name].start}
        if isinstance(component, Object):
            objects = view.space.objects[name]
            rows = objects.rows([_hashable(choice) for choice in component.choices or ()])
            arrays[f"choices/{name}"] = objects.table[rows]
            entry |= {"kind": "choice"}
        else:
            layout = view.space.encoder.views[component.graph or ""].layout
            on_edges = isinstance(component, Edge)
            table = layout.edges if on_edges else layout.nodes
            entry |= {
                "kind": "edge" if on_edges else "node",
                "view": component.graph,
                "spec": _plain(component.spec),
                "columns": table.columns(tuple(component.attributes)),
            }
        found.append(entry)
    return found


def _part(name: str, part: Graph | Function) -> dict[str, Any]:
    found: dict[str, Any]
    if isinstance(part, Graph):
        names = [known for p in part.poolings for known, q in POOLINGS.items() if p is q]
        found = {"kind": "pooled", "spec": _plain(part.spec), "poolings": names}
    elif part.function in STRUCTURAL:
        found = {"kind": "descriptor", "function": part.function.__name__}
    else:
        found = {"kind": "given", "size": part.size}
    return {"name": name, "view": part.graph, **found}


def _plain(spec: Mapping[str, Any]) -> dict[str, Any]:
    return {n: v.item() if isinstance(v, np.generic) else v for n, v in spec.items()}


def _hashable(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
