"""Heads of a policy: drawing actions from its outputs, and the gradient of PPO's loss.

A head draws the actions of a rollout from the outputs of the policy network and, in an update,
differentiates the clipped loss of Stable-Baselines3's PPO with respect to these outputs.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import numpy as np
import torch
from numba import njit

from lagco.arrays import Array

_HALF_LOG_TWO_PI = 0.5 * math.log(2.0 * math.pi)
#: logit in place of an output that does not count, that of MaskablePPO
MASKED = np.float32(-1e8)


class Rollout(NamedTuple):
    """Transitions of a rollout, one behind the other: observations (T, w), the rest (T,).

    actions: as the head drew them, (T,) or (T, d).
    """

    observations: Any
    actions: Array
    log_probs: Array
    advantages: Array
    returns: Array


class Weighting(NamedTuple):
    """Weights of the parts of the loss: clipping range, entropy bonus, value error."""

    clip: float
    entropy: float
    value: float


class Listed(NamedTuple):
    """Outputs of a network that are asked for, row by row; (B, M), :data:`MASKED` behind a row's.

    numbers: (T, ·) of the outputs, of which the first `counts` (T,) are meant.
    chosen: rows of these that are passed (B,).
    most: M, outputs of the row that has most of them.
    few: whether so few of all outputs are asked for that each is sooner passed by itself.
    """

    numbers: Array
    counts: Array
    chosen: Array
    most: int
    few: bool


class Head(ABC):
    """Meaning of a policy's outputs.

    Attributes:
        extra: parameter beside those of the networks, such as a deviation; None where there is
            none.
    """

    extra: torch.nn.Parameter | None = None

    def begin(self, steps: int, envs: int) -> None:  # noqa: B027
        """A rollout of so many steps of so many environments begins."""

    @abstractmethod
    def draw(self, outputs: Array, step: int) -> tuple[Array, Array]:
        """Actions for the outputs (N, d) of a step of the rollout, and their log-probabilities."""

    def executed(self, actions: Array) -> Array:
        """Actions as the environment takes them."""
        return actions

    def listed(self, chosen: Array) -> Listed | None:
        """The outputs that count in the chosen transitions of a rollout; None where all do."""
        return None

    @abstractmethod
    def loss(
        self,
        outputs: Array,
        values: Array,
        rollout: Rollout,
        chosen: Array,
        weighting: Weighting,
    ) -> Loss:
        """The loss over the chosen transitions and its gradient.

        Args:
            outputs: (B, d) for these transitions, as the policy is now, or those :meth:`listed`.
            values: (B,) likewise.
            rollout: all transitions.
            chosen: numbers of the transitions (B,).
            weighting: of the parts of the loss.
        """


class Loss(NamedTuple):
    """Gradients with respect to outputs, values and :attr:`Head.extra`; parts of the loss.

    parts: policy loss, value loss, mean entropy, approximate KL divergence, clipped share.
    """

    outputs: Array
    values: Array
    extra: Array
    parts: Array


class GaussianHead(Head):
    """Outputs are the means of independent normal distributions; the deviations are shared.

    Args:
        log_std: parameter (d,).
        low, high: actions are cut to these before they are executed.
    """

    def __init__(self, log_std: torch.nn.Parameter, low: Array, high: Array) -> None:
        self.extra = log_std
        self._low, self._high = low, high
        self.begin(0, 0)

    def begin(self, steps: int, envs: int) -> None:
        log_std = host(self.extra)
        self._deviation = np.exp(log_std)
        self._constant = (log_std + _HALF_LOG_TWO_PI).sum()

    def draw(self, outputs: Array, step: int) -> tuple[Array, Array]:
        noise = torch.randn(outputs.shape).numpy()
        log_probs = -0.5 * np.square(noise).sum(axis=1) - self._constant
        return outputs + self._deviation * noise, log_probs

    def executed(self, actions: Array) -> Array:
        return np.minimum(np.maximum(actions, self._low), self._high)  # np.clip is slower

    def loss(
        self, outputs: Array, values: Array, rollout: Rollout, chosen: Array, weighting: Weighting
    ) -> Loss:
        found = empty_loss(outputs, values, outputs.shape[1])
        _gaussian_loss(
            outputs, host(self.extra), values, rollout.actions, rollout.log_probs,
            rollout.advantages, rollout.returns, chosen, *weighting, *found,
        )  # fmt: skip
        return found


class CategoricalHead(Head):
    """Outputs are logits of numbered actions, all of which count."""

    def draw(self, outputs: Array, step: int) -> tuple[Array, Array]:
        shifted, powers = softmax(outputs)
        actions, log_probs = np.empty(len(outputs), np.int64), np.empty(len(outputs), np.float32)
        draw_categorical(shifted, powers, torch.rand(len(outputs)).numpy(), actions, log_probs)
        return actions, log_probs

    def loss(
        self, outputs: Array, values: Array, rollout: Rollout, chosen: Array, weighting: Weighting
    ) -> Loss:
        return categorical_loss(outputs, values, rollout.actions, rollout, chosen, weighting)


def host(tensor: Any) -> Array:
    """A tensor as an array; the same memory where it is on the CPU."""
    found: Array = tensor.detach().cpu().numpy()
    return found


def empty_loss(outputs: Array, values: Array, extra: int) -> Loss:
    """Room for gradients, :attr:`Head.extra` of so many numbers."""
    return Loss(
        np.empty_like(outputs),
        np.empty_like(values),
        np.zeros(extra, dtype=np.float32),
        np.zeros(5),
    )


@njit(cache=True)
def normalised(advantages, chosen):  # type: ignore[no-untyped-def]
    """Advantages of the chosen transitions less their mean, over their deviation."""
    count = chosen.shape[0]
    mean = 0.0
    for i in range(count):
        mean += advantages[chosen[i]]
    mean /= count
    square = 0.0
    for i in range(count):
        square += (advantages[chosen[i]] - mean) ** 2
    found = np.empty(count)
    deviation = math.sqrt(square / (count - 1)) + 1e-8 if count > 1 else 1.0
    for i in range(count):
        found[i] = (advantages[chosen[i]] - (mean if count > 1 else 0.0)) / deviation
    return found


@njit(cache=True)
def clipped(log_prob, before, advantage, clip, count, parts):  # type: ignore[no-untyped-def]
    """Gradient of the clipped loss with respect to a log-probability; adds to the parts."""
    change = log_prob - before
    ratio = math.exp(change)
    bounded = min(max(ratio, 1.0 - clip), 1.0 + clip)
    parts[0] -= min(advantage * ratio, advantage * bounded) / count
    parts[3] += (ratio - 1.0 - change) / count
    if abs(ratio - 1.0) > clip:
        parts[4] += 1.0 / count
    return -advantage * ratio / count if advantage * ratio <= advantage * bounded else 0.0


@njit(cache=True)
def value_loss(values, returns, chosen, weight, change, parts):  # type: ignore[no-untyped-def]
    """Gradient of the mean squared error of the values."""
    count = chosen.shape[0]
    for b in range(count):
        error = values[b] - returns[chosen[b]]
        change[b] = 2.0 * weight * error / count
        parts[1] += error * error / count


@njit(cache=True)
def _gaussian_loss(  # type: ignore[no-untyped-def]
    means, log_std, values, actions, before, advantages, returns, chosen, clip, entropy, weight,
    d_means, d_values, d_log_std, parts,
):  # fmt: skip
    count, width = means.shape
    advantage = normalised(advantages, chosen)
    factor = np.exp(-log_std)
    constant = 0.0
    for c in range(width):
        constant += log_std[c] + _HALF_LOG_TWO_PI
    apart = np.empty_like(factor)
    for b in range(count):
        taken, mean, into = actions[chosen[b]], means[b], d_means[b]  # rows make vectors of loops
        for c in range(width):
            apart[c] = (taken[c] - mean[c]) * factor[c]
        log_prob = -constant
        for z in apart:
            log_prob -= 0.5 * z * z
        change = clipped(log_prob, before[chosen[b]], advantage[b], clip, count, parts)
        for c in range(width):
            z = apart[c]
            into[c] = change * z * factor[c]
            d_log_std[c] += change * (z * z - 1.0)
    for c in range(width):
        d_log_std[c] -= entropy
    parts[2] = constant + 0.5 * width
    value_loss(values, returns, chosen, weight, d_values, parts)


def softmax(logits: Array) -> tuple[Array, Array]:
    """Logits (B, d) less the largest one of their row, and e to their power."""
    shifted = np.empty_like(logits)
    _shift(logits, shifted)
    return shifted, np.exp(shifted)  # numpy's is vectorised


def categorical_loss(
    logits: Array,
    values: Array,
    actions: Array,
    rollout: Rollout,
    chosen: Array,
    weighting: Weighting,
) -> Loss:
    """The loss of a softmax over logits (B, d), `actions` (T,) being the columns drawn."""
    found = empty_loss(logits, values, 0)
    shifted, powers = softmax(logits)
    _categorical_loss(
        shifted, powers, values, actions, rollout.log_probs, rollout.advantages, rollout.returns,
        chosen, *weighting, found.outputs, found.values, found.parts,
    )  # fmt: skip
    return found


@njit(cache=True)
def _shift(logits, out):  # type: ignore[no-untyped-def]
    for b in range(logits.shape[0]):
        row, into = logits[b], out[b]
        largest = row[0]
        for a in range(row.shape[0]):
            largest = max(largest, row[a])
        for a in range(row.shape[0]):
            into[a] = row[a] - largest


@njit(cache=True)
def draw_categorical(shifted, powers, drawn, actions, log_probs):  # type: ignore[no-untyped-def]
    """Draw a column of each row (B, d) by numbers `drawn` (B,) from 0 to 1."""
    for b in range(shifted.shape[0]):
        total = 0.0
        for a in range(shifted.shape[1]):
            total += powers[b, a]
        actions[b] = position(powers[b], drawn[b] * total)
        log_probs[b] = shifted[b, actions[b]] - math.log(total)


@njit(cache=True)
def position(powers, bound):  # type: ignore[no-untyped-def]
    """First entry at which the running sum exceeds `bound`; the last positive one at most."""
    total = 0.0
    last = 0
    for a in range(powers.shape[0]):
        if powers[a] > 0.0:
            last = a
            total += powers[a]
            if total > bound:
                break
    return last


@njit(cache=True, fastmath={"contract", "reassoc"})
def _categorical_loss(  # type: ignore[no-untyped-def]
    shifted, powers, values, actions, before, advantages, returns, chosen, clip, entropy, weight,
    d_logits, d_values, parts,
):  # fmt: skip
    count, width = shifted.shape
    advantage = normalised(advantages, chosen)
    for b in range(count):
        total = np.float32(0.0)
        weighed = np.float32(0.0)
        for a in range(width):
            total += powers[b, a]
            weighed += powers[b, a] * shifted[b, a]
        log_total = np.float32(math.log(total))
        mean = weighed / total - log_total  # of the log-probability
        parts[2] -= mean / count
        action = actions[chosen[b]]
        log_prob = shifted[b, action] - log_total
        change = np.float32(clipped(log_prob, before[chosen[b]], advantage[b], clip, count, parts))
        bonus = np.float32(entropy / count)
        inverse = np.float32(1.0) / total
        for a in range(width):
            log_p = shifted[b, a] - log_total
            d_logits[b, a] = powers[b, a] * inverse * (bonus * (log_p - mean) - change)
        d_logits[b, action] += change
    value_loss(values, returns, chosen, weight, d_values, parts)
