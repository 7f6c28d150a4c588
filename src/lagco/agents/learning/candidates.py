"""Softmax over the candidates of a state, by inner product with a proto-action.

An action's vector is a sum of component vectors, so its inner product with a proto-action is a sum
of the components' products. These are computed once per component row and gathered per candidate;
action vectors are never materialised.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from lagco.agents.inference.action_tables import ActionTables
from lagco.agents.learning.heads import MASKED, CategoricalHead
from lagco.arrays import Array


class CandidateBatch(NamedTuple):
    """Candidates of B states, padded to k per state and n_c rows per component c.

    tables: component vectors (B, n_c, d_c), per component.
    starts: where each component is added into an action's vector.
    members: the rows that candidates consist of, int32 (B, k) per component; none where candidate i
        is row i of the only component.
    valid: (B, k), False where a state has fewer candidates.
    """

    tables: tuple[Tensor, ...]
    starts: tuple[int, ...]
    members: tuple[Tensor, ...]
    valid: Tensor

    def products(self, protos: Tensor) -> Tensor:
        """Inner products (B, k) of candidates with proto-actions (B, d)."""
        found: Tensor | None = None
        for c, (table, start) in enumerate(zip(self.tables, self.starts, strict=True)):
            asked = protos[:, None, start : start + table.shape[2]]
            part = torch.bmm(asked, table.mT)[:, 0]  # table times a column takes six times as long
            if self.members:
                part = part.gather(1, self.members[c].long())
            found = part if found is None else found + part
        assert found is not None
        return found

    def of(self, chosen: Tensor) -> CandidateBatch:
        """The candidates of some of the states, by index (B',)."""
        return CandidateBatch(
            tuple([table.index_select(0, chosen) for table in self.tables]),
            self.starts,
            tuple([rows.index_select(0, chosen) for rows in self.members]),
            self.valid.index_select(0, chosen),
        )

    def to(self, device: torch.device) -> CandidateBatch:
        """The same on another device."""
        return CandidateBatch(
            tuple([table.to(device) for table in self.tables]),
            self.starts,
            tuple([rows.to(device) for rows in self.members]),
            self.valid.to(device),
        )


def pad_candidates(candidates: Sequence[ActionTables]) -> CandidateBatch:
    """The candidates of several states, padded; components that a state lacks are zeros."""
    counts = np.array([c.count for c in candidates])
    widest = max(candidates, key=lambda c: len(c.tables))
    tables, members = [], []
    for column, table in enumerate(widest.tables):
        empty = np.zeros((0, table.shape[1]), np.float32)
        rows = [c.tables[column] if column < len(c.tables) else empty for c in candidates]
        tables.append(_padded(rows, np.float32))
    if widest.index is not None:
        for column in range(len(tables)):
            members.append(_padded([_rows_of(c, column) for c in candidates], np.int32))
    valid = torch.from_numpy(np.arange(counts.max()) < counts[:, None])
    return CandidateBatch(tuple(tables), widest.starts, tuple(members), valid)


def _rows_of(candidates: ActionTables, column: int) -> Array:
    """Rows (k,) of a component; of one that the state lacks, a row of zeros."""
    index = candidates.index
    assert index is not None
    return index[:, column] if column < index.shape[1] else np.zeros(len(index), np.int32)


def _padded(arrays: Sequence[Array], dtype: type) -> Tensor:
    """Arrays (n, …) of different lengths as one (B, most, …), with zeros behind them."""
    lengths = np.array([len(array) for array in arrays])
    found = np.zeros((len(arrays), lengths.max(), *arrays[0].shape[1:]), dtype)
    found[np.arange(lengths.max()) < lengths[:, None]] = np.concatenate(arrays)
    return torch.from_numpy(found)


class CandidateHead(CategoricalHead):
    """Outputs are proto-actions; the policy is a softmax over the candidates of a state.

    Candidates stay fixed after the rollout.

    Args:
        outputs: width of a proto-action, d.
        offer: returns the candidates of the present states for proto-actions (N, d).
    """

    def __init__(self, outputs: int, offer: Callable[[Array], Sequence[ActionTables]]) -> None:
        super().__init__(outputs)
        self.log_temperature = nn.Parameter(torch.zeros(1))
        self._offer = offer
        self._kept: list[ActionTables] = []
        self._batch: CandidateBatch | None = None

    def begin(self, steps: int, envs: int) -> None:
        self._kept, self._batch = [], None

    def logits(self, outputs: Tensor, step: int | None) -> Tensor:
        protos = outputs.cpu().numpy()
        offered = self._offer(protos)
        if step is not None:
            self._kept += [candidates.trimmed() for candidates in offered]  # copies
        products = [c.products(proto) for c, proto in zip(offered, protos, strict=True)]
        found = np.full((len(products), max(map(len, products))), MASKED, np.float32)
        for row, product in zip(found, products, strict=True):
            row[: len(product)] = product
        return torch.from_numpy(found).to(outputs.device) * torch.exp(-self.log_temperature)

    def kept_logits(self, outputs: Tensor, chosen: Tensor) -> Tensor:
        if self._batch is None:
            self._batch = pad_candidates(self._kept).to(outputs.device)
        return self.scaled(outputs, self._batch.of(chosen))

    def scaled(self, protos: Tensor, batch: CandidateBatch) -> Tensor:
        """Logits (B, k) of candidates for proto-actions (B, d)."""
        logits = batch.products(protos) * torch.exp(-self.log_temperature)
        return logits.masked_fill(~batch.valid, MASKED)
