"""The flat FAISS index that the benchmark compares with."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from lagco.search.metrics import Floats, Ints
from lagco.search.paths.search import PathSpace
from lagco.search.validity import Predicate

_CHUNK = 262_144
_OVERSAMPLED = 2048  # beyond this many candidates, validity of all actions is given at once


def flat_bytes(actions: int, width: int) -> float:
    """Memory of a flat index with its index rows, while it grows."""
    return actions * (2.0 * 4 * width + 8 * 3)


class FlatIndex:
    """All actions of a space in a flat FAISS index, filled at construction. One thread."""

    def __init__(self, space: Any, rows: Ints, metric: str) -> None:
        # Its stubs lack the keyword constructors that the package adds at import.
        faiss: Any = importlib.import_module("faiss")
        faiss.omp_set_num_threads(1)
        self.space, self.rows, self.metric = space, rows, metric
        self._faiss = faiss
        kind = faiss.IndexFlatL2 if metric == "l2" else faiss.IndexFlatIP
        self.index = kind(space.width)
        for start in range(0, len(rows), _CHUNK):
            vectors = self._single(rows[start : start + _CHUNK])
            if metric == "cosine":
                faiss.normalize_L2(vectors)
            self.index.add(vectors)

    def _single(self, rows: Ints) -> Any:
        """Vectors in single precision, gathered component by component into one array."""
        space = self.space
        out = np.zeros((len(rows), space.width), np.float32)
        if isinstance(space, PathSpace):
            assert space.demand_table is not None
            width = space.node_width
            out[:, :width] = space.demand_table[rows[:, 0]]
            padded = np.concatenate([space.tables, np.zeros((1, width), np.float32)])
            for t in range(space.paths.positions):
                out[:, (t + 1) * width : (t + 2) * width] = padded[rows[:, t + 1]]
            return out
        at = 0
        for c, table in enumerate(space.tables):
            out[:, at : at + table.shape[1]] = table[rows[:, c]]
            at += table.shape[1]
        return out

    def nearest(self, query: Floats, valid: Predicate | None) -> int:
        """Position of the nearest valid action, -1 if none: more and more candidates are asked
        for, and in the end the index is told which actions are valid."""
        single = query.astype(np.float32)[None]
        if valid is None:
            return int(self.index.search(single, 1)[1][0, 0])
        count = 16
        while count <= min(_OVERSAMPLED, len(self.rows)):
            found = self.index.search(single, count)[1][0]
            good = found[valid(self.rows[found])]
            if len(good):
                return int(good[0])
            count *= 8
        mask = np.concatenate(
            [valid(self.rows[s : s + _CHUNK]) for s in range(0, len(self.rows), _CHUNK)]
        )
        bits = np.packbits(mask, bitorder="little")
        selector = self._faiss.IDSelectorBitmap(bits)
        chosen = self._faiss.SearchParameters(sel=selector)
        return int(self.index.search(single, 1, params=chosen)[1][0, 0])

    def as_good(self, query: Floats, ours: Ints, position: int) -> bool:
        """Whether our action is this one, or as near to single precision."""
        theirs = self.rows[position]
        if np.array_equal(ours, theirs):
            return True
        a, b = self.space.vectors(np.stack([ours, theirs]))
        if self.metric == "l2":
            gap = ((query - a) ** 2).sum() - ((query - b) ** 2).sum()
            scale = (query**2).sum() + (b**2).sum()
        elif self.metric == "inner":
            gap, scale = query @ b - query @ a, np.linalg.norm(query) * np.linalg.norm(b)
        else:
            gap = query @ b / np.linalg.norm(b) - query @ a / np.linalg.norm(a)
            scale = np.linalg.norm(query)
        return bool(gap <= 1e-5 * scale)
