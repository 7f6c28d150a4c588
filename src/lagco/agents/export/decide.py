"""A policy that decides with numpy alone.

`policy.json` and `policy.npz` lie beside this file, which needs nothing but numpy::

    from decide import Policy

    policy = Policy()
    action = policy.decide(
        {"graph": {"nodes": {"load": load}, "edges": edges, "edge_attributes": {"cost": cost}}},
        functions={"steps_left": 0.5},
        valid=lambda actions: fits(actions),
    )

A state is a dictionary per view: ``nodes`` (attribute to array (n, …)), ``edges`` (int (2, E)) and
``edge_attributes``. An action is a number per component: of a node or edge, or of a choice.
"""

# mypy: disable-error-code="no-untyped-def, operator"
import json
import pathlib

import numpy as np

_MOST_ACTIONS = 5_000_000
_MESSAGES = 4096
_CUT = 5.0
_DESCRIPTORS = {
    "get_num_nodes": lambda n, e, ends: n,
    "get_num_edges": lambda n, e, ends: e,
    "get_mean_degree": lambda n, e, ends: ends / max(n, 1),
    "get_density": lambda n, e, ends: 0.0 if n < 2 else ends / (n * (n - 1)),
    "get_log_num_nodes": lambda n, e, ends: np.log1p(n),
    "get_log_num_edges": lambda n, e, ends: np.log1p(e),
    "get_log_mean_degree": lambda n, e, ends: np.log1p(ends / max(n, 1)),
}


class Policy:
    """The policy in a folder, by default that of this file."""

    def __init__(self, folder=None):
        folder = pathlib.Path(__file__).parent if folder is None else pathlib.Path(folder)
        self.about = json.loads((folder / "policy.json").read_text())
        with np.load(folder / "policy.npz", allow_pickle=False) as file:
            self.arrays = {name: file[name] for name in file.files}

    def decide(self, views, functions=None, valid=None):
        """The action to take, a number (several components: a tuple); None where none is valid.

        functions: values of the declared functions that are not descriptors of the graph.
        valid: from actions (k,), of several components (k, m), to k flags; None: all are valid.
        """
        state = self._state(views)
        tables = self._tables(state)
        proto = self._forward(self._observation(state, tables, functions or {}))
        return self._nearest(np.clip(proto, self.arrays["low"], self.arrays["high"]), tables, valid)

    def observe(self, views, functions=None):
        """Input of the policy network: float32 (w,)."""
        state = self._state(views)
        return self._observation(state, self._tables(state), functions or {})

    # -- embeddings

    def _state(self, views):
        state = {}
        for name, view in self.about["views"].items():
            given = views[name]
            edges = np.asarray(given["edges"], dtype=np.int64).reshape(2, -1)
            sizes = [len(np.asarray(column)) for column in given["nodes"].values()]
            count = sizes[0] if sizes else int(given["num_nodes"])
            nodes = _features(view["nodes"], given["nodes"], count)
            links = _features(view["edges"], given.get("edge_attributes", {}), edges.shape[1])
            state[name] = {
                "given": given,
                "edges": edges,
                "count": count,
                "directed": view["directed"],
                "nodes": nodes,
                "links": links,
                "z": self._embed(name, view, nodes, links, edges),
            }
        return state

    def _embed(self, name, view, nodes, links, edges):
        def weight(key):
            return self.arrays[f"{name}/{key}"]

        n, slope = len(nodes), view["slope"]
        both = np.flatnonzero(edges[0] != edges[1])
        source = np.concatenate([edges[0], edges[1, both]])
        target = np.concatenate([edges[1], edges[0, both]])
        sent = np.concatenate([links, links[both]])
        if view["directed"]:
            side = np.repeat(np.array([0, 1], np.float32), [edges.shape[1], len(both)])
            sent = np.concatenate([sent, side[:, None]], axis=1)
        w = weight("w")  # (d, k + 1, out)
        x = nodes @ weight("root") + weight("bias")
        for start in range(0, len(source), _MESSAGES):
            chunk = slice(start, start + _MESSAGES)
            hidden = np.maximum(sent[chunk] @ weight("edge_w") + weight("edge_b"), 0)
            hidden = np.concatenate([hidden, np.ones((len(hidden), 1), np.float32)], axis=1)
            pairs = nodes[source[chunk]][:, :, None] * hidden[:, None, :]
            np.add.at(x, target[chunk], pairs.reshape(len(hidden), -1) @ w.reshape(-1, w.shape[2]))
        x = np.where(x > 0, x, x * np.float32(slope))
        degree = np.maximum(np.bincount(target, minlength=n), 1)[:, None].astype(np.float32)
        for number in range(view["layers"]):
            both_w, width = weight(f"sage{number}.w"), len(weight(f"sage{number}.bias"))
            total = np.zeros((n, width), np.float32)
            np.add.at(total, target, (x @ both_w[:, :width])[source])
            x = total / degree + x @ both_w[:, width:] + weight(f"sage{number}.bias")
            if number < view["layers"] - 1:
                x = np.where(x > 0, x, x * np.float32(slope))
        if view["normalise"]:
            x = x / np.maximum(np.sqrt((x * x).sum(axis=1, keepdims=True)), np.float32(1e-12))
        return x.astype(np.float32)

    # -- actions and observation

    def _tables(self, state):
        tables = []
        for component in self.about["components"]:
            if component["kind"] == "choice":
                rows = self.arrays[f"choices/{component['name']}"]
                values = np.arange(len(rows))
            else:
                view = state[component["view"]]
                on_edges = component["kind"] == "edge"
                count = view["edges"].shape[1] if on_edges else view["count"]
                values = _selected(view["given"], component["spec"], count, on_edges)
                if on_edges:
                    ends = [view["z"][view["edges"][side, values]] for side in (0, 1)]
                    parts = [*ends, view["links"][values][:, component["columns"]]]
                else:
                    parts = [view["z"][values], view["nodes"][values][:, component["columns"]]]
                rows = np.concatenate(parts, axis=1)
            at = slice(component["start"], component["start"] + rows.shape[1])
            rows = (rows - self.arrays["mean"][at]) * self.arrays["factor"][at]
            tables.append((values, rows.astype(np.float32)))
        return tables

    def _observation(self, state, tables, functions):
        parts = []
        for part in self.about["observation"]:
            view = state[part["view"]]
            if part["kind"] == "pooled":
                rows = _selected(view["given"], part["spec"], view["count"], False)
                parts += [_pooled(name, view["z"][rows]) for name in part["poolings"]]
            elif part["kind"] == "descriptor":
                edges = view["edges"].shape[1]
                ends = edges if view["directed"] else 2 * edges
                parts.append(_DESCRIPTORS[part["function"]](view["count"], edges, ends))
            elif part["name"] not in functions:
                raise KeyError(
                    f"functions={{{part['name']!r}: …}} is missing: {part['size']} numbers"
                )
            else:
                parts.append(np.reshape(functions[part["name"]], part["size"]))
        size = float(np.prod([len(values) for values, _ in tables]))
        for name in self.about["summary"]:
            for _, rows in tables:
                factor = {"Sum": size, "RootSum": np.sqrt(size)}.get(name)
                if factor is None:
                    parts.append(_pooled(name, rows))
                else:
                    parts.append(_pooled("Mean", rows) * np.float32(factor))
        found = np.concatenate([np.ravel(part) for part in parts]).astype(np.float32)
        if "observation_mean" in self.arrays:
            found = (found - self.arrays["observation_mean"]) * self.arrays["observation_factor"]
            found = np.clip(found, -_CUT, _CUT)
        return found.astype(np.float32)

    def _forward(self, x):
        for number in range(self.about["network"]["layers"]):
            if number:
                x = _activated(self.about["network"]["activation"], x)
            x = x @ self.arrays[f"network/{number}.weight"] + self.arrays[f"network/{number}.bias"]
        return x

    def _nearest(self, proto, tables, valid):
        sizes = [len(values) for values, _ in tables]
        if np.prod(sizes, dtype=np.float64) > _MOST_ACTIONS:
            raise ValueError(f"{sizes} choices: this file lists at most {_MOST_ACTIONS} actions")
        dot, norm, start = np.zeros(()), np.zeros(()), 0
        for _, rows in tables:
            rows = rows.astype(np.float64)
            asked = proto[start : start + rows.shape[1]].astype(np.float64)
            dot, norm = np.add.outer(dot, rows @ asked), np.add.outer(norm, (rows**2).sum(axis=1))
            start += rows.shape[1]
        cost = -dot.ravel()
        if self.about["metric"] == "cosine":
            squares = norm.ravel()
            safe = np.where(squares > 0, squares, 1.0)
            cost = np.where(squares > 0, np.sign(cost) * cost * cost / safe, 0.0)
        order = np.argsort(cost, kind="stable")
        for begin in range(0, len(order), 256):
            rows = np.unravel_index(order[begin : begin + 256], sizes)
            found = np.stack([v[r] for (v, _), r in zip(tables, rows, strict=True)], axis=1)
            found = found[:, 0] if len(tables) == 1 else found
            fits = np.arange(len(found)) if valid is None else np.flatnonzero(valid(found))
            if len(fits):
                first = found[fits[0]]
                return int(first) if len(tables) == 1 else tuple(first.tolist())
        return None


def _features(table, columns, count):
    """Feature matrix (count, width) of the attributes of a table; ones where it has none."""
    if not table:
        return np.ones((count, 1), np.float32)
    blocks = []
    for entry in table:
        column = np.asarray(columns[entry["name"]])
        if len(column) != count:
            raise ValueError(f"{entry['name']!r} has {len(column)} rows, there are {count}")
        if entry["categories"] is None:
            block = column.astype(np.float32).reshape(count, entry["width"])
        else:
            listed = entry["categories"]
            codes = (
                column if isinstance(listed, int) else [listed.index(v) for v in column.tolist()]
            )
            block = np.zeros((count, entry["width"]), np.float32)
            block[np.arange(count), np.asarray(codes, dtype=np.int64)] = 1.0
        blocks.append(_normed(entry["norm"], block))
    return np.concatenate(blocks, axis=1)


def _normed(norm, block):
    """An attribute scaled over its graph; what cannot be scaled becomes 0."""
    if norm is None or not block.size:
        return block
    values = block.astype(np.float64)
    if norm == "min_max":
        values = values - values.min(axis=0)
        by = values.max(axis=0)
    elif norm == "z_score":
        values = values - values.mean(axis=0)
        by = values.std(axis=0)
        by = np.where(by > 1e-12, by, 0.0)
    else:
        axis = 1 if values.shape[1] > 1 else 0
        by = (np.abs(values) if norm == "l1" else values**2).sum(axis=axis, keepdims=True)
        by = by if norm == "l1" else np.sqrt(by)
    return np.divide(values, by, out=np.zeros_like(values), where=by > 0).astype(np.float32)


def _selected(view, spec, count, on_edges):
    """Elements whose attributes have the given values, ascending."""
    chosen = np.ones(count, bool)
    for name, wanted in spec.items():
        chosen &= np.asarray(view["edge_attributes" if on_edges else "nodes"][name]) == wanted
    return np.flatnonzero(chosen)


def _pooled(name, rows):
    if not len(rows):
        return np.zeros(rows.shape[1], np.float32)
    if name == "RootSum":
        return rows.sum(axis=0) / np.sqrt(np.float32(len(rows)))
    return {"Mean": np.mean, "Max": np.max, "Min": np.min, "Sum": np.sum}[name](rows, axis=0)


def _activated(name, x):
    if name == "tanh":
        return np.tanh(x)
    if name == "elu":
        return np.where(x > 0, x, np.expm1(np.minimum(x, 0)))
    return np.maximum(x, np.float32(0.01 if name == "leaky_relu" else 0) * x)
