"""Policy and value network over padded observations, whose columns mostly belong to the instance.

The same arithmetic as :class:`~lagco.agents.joint_network.TwinNetwork` with less of it
(:mod:`lagco.agents.constant_columns`, :mod:`lagco.agents.varying_columns`): a pass of the first
layer multiplies what differs between the states of an instance, and what they have in common once
for all of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numba import njit
from torch import Tensor

from lagco.agents.compiled_network import multiply, sum_columns
from lagco.agents.constant_columns import AdamStep, ConstantColumns, ConstantWeights, adam_step
from lagco.agents.heads import Listed, Loss
from lagco.agents.joint_network import JointNetwork, TwinNetwork
from lagco.agents.network import SLOPE, Perceptron, layer_arrays, stored_layers
from lagco.agents.varying_columns import VaryingWeights
from lagco.arrays import Array
from lagco.embedding.row_sums import add_messages

#: instances of a rollout up to which their columns are looked at apart
_MOST_GROUPS = 48
#: numbers that all steps of an update are taken with while they are in the cache
_PART = 2048
#: columns of which nothing is noted where none of them differs
_PIECE = 32


class PaddedNetwork(TwinNetwork):
    """Networks of a policy that observes padded arrays.

    On other devices than the CPU, and for other layers than the usual ones, it is a
    :class:`TwinNetwork`.

    Args:
        policy: with separate networks for policy and value.
        groups: gives the number of every environment's instance now: (N,).
    """

    def __init__(self, policy: Any, groups: Callable[[], Array]) -> None:
        super().__init__(policy)
        self._ask = groups
        self._groups: list[Array] = []
        self._columns: ConstantColumns | None = None
        self._update: _Update | None = None

    def policy(self) -> Callable[[Array], Array]:
        """See :class:`TwinNetwork`; a rollout begins."""
        self._groups, self._columns = [], None
        if not self._compiled:
            return super().policy()
        pass_few = _FewPadded(*self._policy)

        def outputs(observations: Array) -> Array:
            self._groups.append(np.array(self._ask()))
            return pass_few(observations, self._groups[-1])

        return outputs

    def values(self, observations: Tensor) -> Tensor:
        """See :class:`TwinNetwork`; of all observations of a rollout."""
        if not self._compiled:
            return super().values(observations)
        columns = self._columns_of(observations)
        first, rest = self.joint.layers
        width = rest[-1][0].weight.shape[1]
        weight, bias = first.weight[-width:], first.bias[-width:]
        constant = torch.from_numpy(columns.of_groups)
        common = torch.addmm(bias, constant, weight[:, columns.constant].t())
        entered = torch.addmm(
            common[columns.group], torch.from_numpy(columns.of_rows), weight[:, columns.varying].t()
        )
        return self.joint.pass_last(entered)[:, 0]

    def _columns_of(self, observations: Tensor) -> ConstantColumns:
        if self._columns is None:
            groups = np.concatenate([*self._groups, np.zeros(0, np.int64)])
            if len(groups) != len(observations):  # of no rollout that was collected with this
                groups = np.zeros(len(observations), np.int64)
            self._columns = ConstantColumns(observations.numpy(), groups, _MOST_GROUPS)
        return self._columns

    def begin(self, observations: Tensor) -> None:
        if self._compiled:
            self._update = _Update(self.joint, self._columns_of(observations))

    def finish(self) -> None:
        if self._update is not None:
            self._update.finish()
            self._update = None

    def descend(self, most: float) -> None:
        if self._update is None:
            super().descend(most)
        else:
            self._update.descend(most)

    def differentiate(
        self,
        observations: Tensor,
        chosen: Array,
        loss: Callable[[Array, Array], Loss],
        listed: Listed | None = None,
    ) -> Loss:
        if self._update is None:
            return super().differentiate(observations, chosen, loss, listed)
        buffers = self.buffers(len(chosen))
        entered = buffers.first.numpy()
        self._update.forward(chosen, entered)
        found = buffers.differentiate(entered, loss, listed)
        self._update.backward(buffers.changes.numpy())
        return found


class _Update:
    """The first layer while it is updated by one rollout, apart by what its columns do.

    Args:
        joint: whose first layer it is.
        columns: of the rollout.
    """

    def __init__(self, joint: JointNetwork, columns: ConstantColumns) -> None:
        self._joint, self._columns = joint, columns
        first = joint.layers[0]
        size, flat = first.weight.numel(), (joint.flat, joint.gradient, *joint.moments[:2])
        #: weights, gradients, means and squares; of the first layer and of all that is behind it
        self._first = [array[:size].view(first.weight.shape).numpy() for array in flat]
        self._rest = [array[size:] for array in flat]
        weight, _, mean, square = (a.take(columns.varying, axis=1) for a in self._first)
        self._varying = VaryingWeights(columns.of_rows, weight, mean, square)
        weight, _, mean, square = (a.take(columns.constant, axis=1) for a in self._first)
        self._constant = ConstantWeights(columns.of_groups, weight, mean, square)
        self._bias, self._bias_gradient = first.bias.numpy(), first.bias_gradient.numpy()
        self._constant.pass_on(self._bias)
        self._changes = np.zeros_like(self._constant.sums)
        self._square = 0.0
        self._taken: list[AdamStep] = []

    def forward(self, chosen: Array, out: Array) -> None:
        """Write what leaves the first layer for some rows."""
        self._groups = self._columns.group[chosen]
        np.take(self._constant.sums, self._groups, axis=0, out=out)
        self._varying.forward(chosen, out)

    def backward(self, changes: Array) -> None:
        """Gradients for that of what left the layer in the last pass."""
        self._square = self._varying.backward(changes)
        sum_columns(changes, self._bias_gradient)
        _sum_groups(changes, self._groups, self._changes)

    def descend(self, most: float) -> None:
        """A step of Adam for all parameters."""
        of_rest = self._rest[1]
        square = float(of_rest.norm()) ** 2 + self._square
        square += self._constant.squared_norm(self._changes)
        factor = min(most / (math.sqrt(square) + 1e-6), 1.0)
        if factor < 1.0:
            of_rest.mul_(factor)
            self._changes *= np.float32(factor)
        joint = self._joint
        joint.moments[2].add_(1.0)
        joint.adam([self._rest])
        self._taken.append(AdamStep.of(joint.group, float(joint.moments[2])))
        self._varying.descend(factor, self._taken[-1])
        self._constant.descend(self._changes, self._bias, self._taken[-1])

    def finish(self) -> None:
        """Write everything back to the parameters and to what Adam keeps of them."""
        columns = self._columns
        weight, mean, square = self._constant.arrays()
        constant = [weight, self._constant.gradient(self._changes), mean, square]
        idle = [array.take(columns.idle, axis=1) for array in self._first]
        idle[1][:] = 0.0
        if self._taken:
            weight, _, mean, square = (array.reshape(-1) for array in idle)
            _decay(weight, mean, square, np.array(self._taken))
        varying = self._varying.arrays()
        for k, array in enumerate(self._first):
            array[:, columns.varying] = varying[k]
            array[:, columns.constant] = constant[k]
            array[:, columns.idle] = idle[k]


class _FewPadded:
    """The policy over few observations: what differs from the first one of the same instance.

    Args:
        modules: of the policy.
    """

    def __init__(self, *modules: Any) -> None:
        (weight, self._bias), *rest = stored_layers(layer_arrays("policy", *modules), "policy")
        self._weight = np.ascontiguousarray(weight.T)
        self._rest = Perceptron(rest)
        self._slots: dict[int, int] = {}
        self._seen = np.empty((0, len(self._weight)), np.float32)
        self._sums = np.empty((0, len(self._bias)), np.float32)

    def __call__(self, observations: Array, groups: Array) -> Array:
        """Outputs (N, d) for observations (N, w) of instances (N,)."""
        slots = np.array([self._slot(*pair) for pair in zip(groups, observations, strict=True)])
        entered = np.empty((len(observations), len(self._bias)), np.float32)
        _pass_differences(observations, slots, self._seen, self._sums, self._weight, SLOPE, entered)
        return self._rest.of_few(entered)

    def _slot(self, group: int, observation: Array) -> int:
        slot = self._slots.setdefault(int(group), len(self._slots))
        if slot == len(self._seen):
            sums = np.empty((1, len(self._bias)), np.float32)
            multiply(observation[None], self._weight, self._bias, sums)
            self._seen = np.concatenate([self._seen, observation[None]])
            self._sums = np.concatenate([self._sums, sums])
        return slot


@njit(cache=True)
def _decay(weight, mean, square, taken):  # type: ignore[no-untyped-def]
    """Steps of Adam without a gradient over arrays (n,): all of them while a part is cached."""
    none = np.zeros(_PART, np.float32)
    for low in range(0, weight.shape[0], _PART):
        high = min(low + _PART, weight.shape[0])
        w, m, v, g = weight[low:high], mean[low:high], square[low:high], none[: high - low]
        if not m.any() and not w.any():
            continue
        for t in range(taken.shape[0]):
            adam_step(
                w, m, v, g, taken[t, 0], taken[t, 1], taken[t, 2], taken[t, 3], taken[t, 4],
                taken[t, 5],
            )  # fmt: skip


@njit(cache=True)
def _sum_groups(changes, groups, out):  # type: ignore[no-untyped-def]
    out[:] = 0.0
    for b in range(changes.shape[0]):
        row, into = changes[b], out[groups[b]]
        for c in range(changes.shape[1]):
            into[c] += row[c]


@njit(cache=True)
def _pass_differences(observations, slots, seen, sums, weight, slope, out):  # type: ignore[no-untyped-def]
    """The first layer, activated: sums of what was seen, and products of what differs from it."""
    width = observations.shape[1]
    differences = np.empty((1, width), np.float32)
    columns = np.empty(width, np.int64)
    for b in range(observations.shape[0]):
        row, other = observations[b], seen[slots[b]]
        count = 0
        for low in range(0, width, _PIECE):
            high = min(low + _PIECE, width)
            same = True
            for c in range(low, high):
                same &= row[c] == other[c]
            if not same:
                for c in range(low, high):
                    if row[c] != other[c]:
                        differences[0, c] = row[c] - other[c]
                        columns[count] = c
                        count += 1
        out[b] = sums[slots[b]]
        add_messages(out, b, differences, 0, weight, columns, columns, 0, count)
        for j in range(out.shape[1]):
            out[b, j] = max(out[b, j], slope * out[b, j])
