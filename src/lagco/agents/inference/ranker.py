"""The network behind the decoder ``ranked``, compiled: attention among candidates.

Every candidate is a row of features; pairs of candidates may have features of their own, which are
added to the attention scores. Standardised inputs are clipped at 5 deviations. The pass equals that
of :class:`~lagco.agents.teaching.ranker_network.RankerNetwork` up to rounding.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numba import njit

from lagco.arrays import Array
from lagco.embedding.inference.row_sums import add_products
from lagco.errors import UsageError
from lagco.store import Tensors

PREFIX = "ranker."
#: standardised inputs are clipped to this many deviations
FAR = 5.0
_EPSILON = 1e-5
#: layers of a ranker at most
_MOST = 64


class RankerWeights(NamedTuple):
    """Arrays of the compiled pass, transposed, gains of norms folded into the layers after them.

    Attributes:
        mean, factor: (f,) of the inputs, `pair_mean` and `pair_factor` (g,) of those of pairs.
        first: (1, f, width) and `second` (1, width, width), with their biases (width,).
        pair_bias: (layers · heads, g)
        mixing: (layers, width, 3 width) to queries, keys and values; `joined` (layers, width,
            width); `wide` (layers, width, 2 width) and `narrow` (layers, 2 width, width), with
            their biases by layer.
        last: (width,) and `last_bias` (1,).
    """

    mean: Array
    factor: Array
    first: Array
    first_bias: Array
    second: Array
    second_bias: Array
    pair_mean: Array
    pair_factor: Array
    pair_bias: Array
    mixing: Array
    mixing_bias: Array
    joined: Array
    joined_bias: Array
    wide: Array
    wide_bias: Array
    narrow: Array
    narrow_bias: Array
    last: Array
    last_bias: Array


class Ranker:
    """The attention network, compiled.

    Args:
        weights: with the names that :meth:`RankerNetwork.arrays` gives.

    Attributes:
        features: numbers per candidate, f.
        pairs: numbers per pair, g.
    """

    def __init__(self, weights: Mapping[str, Array]) -> None:
        own = {n.removeprefix(PREFIX): w for n, w in weights.items() if n.startswith(PREFIX)}
        self._weights = _folded(own)
        self._heads = int(own["heads"][0])
        self.features = int(own["mean"].shape[0])
        self.pairs = int(own["pair_mean"].shape[0])

    def __call__(self, candidates: Array, pairs: Array | None) -> Array:
        """Logits (k,) of candidates (k, f) with pair features (k, k, g) or None."""
        count = len(candidates)
        if pairs is None:
            pairs = np.zeros((count, count, 0), np.float32)
        if candidates.shape[1] != self.features or pairs.shape != (count, count, self.pairs):
            raise UsageError(
                f"the ranker was trained on {self.features} features of candidates and "
                f"{self.pairs} of pairs, here are {candidates.shape[1]} and {pairs.shape[2]}; was "
                "it trained for another problem?"
            )
        found: Array = rank(candidates, pairs, self._heads, self._weights)
        return found


class LinearRanker:
    """Weighted sums of the standardised columns of each candidate, without features of pairs.

    Args:
        weights: with the names that :meth:`LinearRankerNetwork.arrays` gives.
    """

    def __init__(self, weights: Mapping[str, Array]) -> None:
        self._mean, self._factor = weights[PREFIX + "mean"], weights[PREFIX + "factor"]
        self._last = weights[PREFIX + "last.weight"][0]

    def __call__(self, candidates: Array, pairs: Array | None) -> Array:
        """Logits (k,) of candidates (k, f)."""
        if candidates.shape[1] != len(self._mean):
            raise UsageError(
                f"the ranker was trained on {len(self._mean)} features of candidates, here are "
                f"{candidates.shape[1]}; was it trained for another problem?"
            )
        inputs = np.clip((candidates - self._mean) * self._factor, -FAR, FAR)
        logits: Array = inputs @ self._last
        return logits


def make_ranker(weights: Mapping[str, Array]) -> Ranker | LinearRanker:
    """The ranker of an agent: with layers of attention, or linear."""
    return (Ranker if PREFIX + "first.weight" in weights else LinearRanker)(weights)


def take_ranker(tensors: Tensors) -> None:
    """Take the arrays of a ranker from a file; refuse those that do not fit each other."""
    features = int(tensors.take(PREFIX + "mean", (None,)).shape[0])
    if PREFIX + "first.weight" not in tensors:
        for name, shape in linear_ranker_shapes(features).items():
            tensors.take(PREFIX + name, shape)
        return
    pairs = int(tensors.take(PREFIX + "pair_mean", (None,)).shape[0])
    width = int(tensors.take(PREFIX + "first.weight", (None, features)).shape[0])
    layers = sum(name.startswith(PREFIX + "joined.") for name in tensors) // 2
    heads = tensors.take(PREFIX + "heads", (1,), np.int64)
    if not (1 <= int(heads[0]) <= width and width % int(heads[0]) == 0 and 1 <= layers <= _MOST):
        raise tensors.refused(
            f"a ranker of {layers} layers of width {width} with {int(heads[0])} heads"
        )
    for name, shape in ranker_shapes(features, pairs, width, layers, int(heads[0])).items():
        tensors.take(PREFIX + name, shape)


def linear_ranker_shapes(features: int) -> dict[str, tuple[int, ...]]:
    """Shapes of the arrays of a `LinearRankerNetwork`."""
    return {
        "mean": (features,),
        "factor": (features,),
        "pair_mean": (0,),
        "pair_factor": (0,),
        "last.weight": (1, features),
    }


def ranker_shapes(
    features: int, pairs: int, width: int, layers: int, heads: int
) -> dict[str, tuple[int, ...]]:
    """Shapes of the arrays of a :class:`~lagco.agents.teaching.ranker_network.RankerNetwork`."""
    found: dict[str, tuple[int, ...]] = {
        "mean": (features,),
        "factor": (features,),
        "pair_mean": (pairs,),
        "pair_factor": (pairs,),
        "pair_bias": (layers * heads, pairs),
    }
    linear = {"first": (width, features), "second": (width, width), "last": (1, width)}
    norms = ["last_norm"]
    for i in range(layers):
        norms += [f"attend_norms.{i}", f"think_norms.{i}"]
        linear[f"query_key_value.{i}"] = (3 * width, width)
        linear[f"joined.{i}"] = (width, width)
        linear[f"wide.{i}"] = (2 * width, width)
        linear[f"narrow.{i}"] = (width, 2 * width)
    for name, shape in linear.items():
        found |= {f"{name}.weight": shape, f"{name}.bias": shape[:1]}
    for name in norms:
        found |= {f"{name}.weight": (width,), f"{name}.bias": (width,)}
    return found


def _folded(own: Mapping[str, Array]) -> RankerWeights:
    """Arrays of the compiled pass: transposed, gains of norms folded into the layers after them."""
    layers = sum(name.startswith("joined.") for name in own) // 2
    width, heads = own["first.weight"].shape[0], int(own["heads"][0])

    def folded(norm: str, layer: str) -> tuple[Array, Array]:
        weight, bias = own[f"{layer}.weight"], own[f"{layer}.bias"]
        gain, shift = own[f"{norm}.weight"], own[f"{norm}.bias"]
        return (weight * gain[None]).T, bias + weight @ shift

    attend = [folded(f"attend_norms.{i}", f"query_key_value.{i}") for i in range(layers)]
    scale = np.ones(3 * width, np.float32)
    scale[:width] = (width // heads) ** -0.5
    think = [folded(f"think_norms.{i}", f"wide.{i}") for i in range(layers)]
    last_weight, last_bias = folded("last_norm", "last")
    arrays = (
        own["mean"],
        own["factor"],
        own["first.weight"].T[None],
        own["first.bias"],
        own["second.weight"].T[None],
        own["second.bias"],
        own["pair_mean"],
        own["pair_factor"],
        own["pair_bias"],
        np.stack([weight * scale for weight, _ in attend]),
        np.stack([bias * scale for _, bias in attend]),
        np.stack([own[f"joined.{i}.weight"].T for i in range(layers)]),
        np.stack([own[f"joined.{i}.bias"] for i in range(layers)]),
        np.stack([weight for weight, _ in think]),
        np.stack([bias for _, bias in think]),
        np.stack([own[f"narrow.{i}.weight"].T for i in range(layers)]),
        np.stack([own[f"narrow.{i}.bias"] for i in range(layers)]),
        last_weight[:, 0],
        last_bias,
    )
    return RankerWeights(*[np.ascontiguousarray(array, dtype=np.float32) for array in arrays])


@njit(cache=True, fastmath={"contract", "reassoc"})
def _normalise(x, out):  # type: ignore[no-untyped-def]
    for i in range(x.shape[0]):
        mean = np.float32(0.0)
        for t in range(x.shape[1]):
            mean += x[i, t]
        mean /= np.float32(x.shape[1])
        spread = np.float32(0.0)
        for t in range(x.shape[1]):
            spread += (x[i, t] - mean) ** 2
        factor = np.float32(1.0) / np.sqrt(spread / np.float32(x.shape[1]) + np.float32(_EPSILON))
        for t in range(x.shape[1]):
            out[i, t] = (x[i, t] - mean) * factor


@njit(cache=True)
def _linear(x, weights, layer, bias, rows, out):  # type: ignore[no-untyped-def]
    """out (k, ·) = x (k, ·) @ weights[layer] + bias; rows: 0 … k - 1."""
    for i in range(out.shape[0]):
        for t in range(out.shape[1]):
            out[i, t] = bias[t]
    add_products(out, rows, out.shape[0], x, x.shape[1], weights, layer)


@njit(cache=True, fastmath={"contract", "reassoc", "nnan", "nsz"})
def _exponentiate(values, highest, bits, powers):  # type: ignore[no-untyped-def]
    """values (k,) = exp(values - highest), of which none exceeds 1; several at a time.

    bits (k,): room for integers, the same memory as `powers`, floats.
    """
    for i in range(
        values.shape[0]
    ):  # exp(x) = 2^whole exp(x - whole log 2), the latter by a series
        x = max(values[i] - highest[i], np.float32(-87.0))
        whole = np.floor(x * np.float32(1.4426950) + np.float32(0.5))
        x = x - whole * np.float32(0.693359375) + whole * np.float32(2.12194440e-4)
        y = np.float32(1.9875691500e-4)
        y = y * x + np.float32(1.3981999507e-3)
        y = y * x + np.float32(8.3334519073e-3)
        y = y * x + np.float32(4.1665795894e-2)
        y = y * x + np.float32(1.6666665459e-1)
        y = y * x + np.float32(5.0000001201e-1)
        values[i] = y * x * x + x + np.float32(1.0)
        bits[i] = (np.int32(whole) + np.int32(127)) << np.int32(23)
    for i in range(values.shape[0]):
        values[i] *= powers[i]


@njit(cache=True, fastmath={"contract", "reassoc", "nnan", "nsz"})
def _attend(mixed, heads, bias, rows, seen):  # type: ignore[no-untyped-def]
    """Write what the candidates see to seen (k, width).

    mixed: (k, 3 width) queries, keys and values; bias: (heads, k, k), by candidate seen and seeing,
    overwritten. Columns are the candidates that see, so that all of them are handled at a time.
    """
    k, width = seen.shape
    each = width // heads
    query, key = np.empty((1, each, k), np.float32), np.empty((k, each), np.float32)
    value, found = np.empty((each, k), np.float32), np.empty((each, k), np.float32)
    highest, norm = np.empty(k, np.float32), np.empty(k, np.float32)
    bits = np.empty(k, np.int32)
    powers = bits.view(np.float32)
    for head in range(heads):
        at, share = head * each, bias[head]
        for i in range(k):
            for t in range(each):
                query[0, t, i] = mixed[i, at + t]
                key[i, t] = mixed[i, width + at + t]
                value[t, i] = mixed[i, 2 * width + at + t]
        add_products(share, rows, k, key, each, query, 0)
        highest[:] = share[0]
        for j in range(1, k):
            for i in range(k):
                highest[i] = max(highest[i], share[j, i])
        norm[:] = 0.0
        for j in range(k):
            _exponentiate(share[j], highest, bits, powers)
            for i in range(k):
                norm[i] += share[j, i]
        found[:] = 0.0
        add_products(found, rows, each, value, k, bias, head)
        for i in range(k):
            norm[i] = np.float32(1.0) / norm[i]
        for t in range(each):
            for i in range(k):
                seen[i, at + t] = found[t, i] * norm[i]


@njit(cache=True, fastmath={"contract", "reassoc"})
def rank(candidates, pairs, heads, weights):  # type: ignore[no-untyped-def]
    """Logits (k,) of candidates (k, f); pairs (k, k, g); weights: :class:`RankerWeights`.

    :class:`~lagco.agents.teaching.ranker_network.RankerNetwork` is the same in torch.
    """
    (
        mean, factor, first, first_bias, second, second_bias, pair_mean, pair_factor, pair_bias,
        mixing, mixing_bias, joined, joined_bias, wide, wide_bias, narrow, narrow_bias, last,
        last_bias,
    ) = weights  # fmt: skip
    far = np.float32(FAR)
    zero = np.float32(0.0)
    k, f = candidates.shape
    g = pairs.shape[2]
    layers, width = mixing.shape[0], mixing.shape[1]
    inputs = np.empty((k, f), np.float32)
    for i in range(k):
        for t in range(f):
            value = (candidates[i, t] - mean[t]) * factor[t]
            inputs[i, t] = min(far, max(-far, value))
    rows = np.arange(max(k, layers * heads, width // heads))
    y = np.empty((k, width), np.float32)
    x = np.empty((k, width), np.float32)
    _linear(inputs, first, 0, first_bias, rows, y)
    for i in range(k):
        for t in range(width):
            y[i, t] = max(y[i, t], zero)
    _linear(y, second, 0, second_bias, rows, x)
    bias = np.zeros((layers * heads, k * k), np.float32)
    if g:
        given = np.empty((1, g, k * k), np.float32)
        for i in range(k):
            for j in range(k):
                for t in range(g):
                    value = (pairs[i, j, t] - pair_mean[t]) * pair_factor[t]
                    given[0, t, j * k + i] = min(far, max(-far, value))
        add_products(bias, rows, layers * heads, pair_bias, g, given, 0)
    biases = bias.reshape(layers, heads, k, k)
    mixed = np.empty((k, 3 * width), np.float32)
    hidden = np.empty((k, wide.shape[2]), np.float32)
    seen = np.empty((k, width), np.float32)
    for layer in range(layers):
        _normalise(x, y)
        _linear(y, mixing, layer, mixing_bias[layer], rows, mixed)
        _attend(mixed, heads, biases[layer], rows, seen)
        _linear(seen, joined, layer, joined_bias[layer], rows, y)
        for i in range(k):
            for t in range(width):
                x[i, t] += y[i, t]
        _normalise(x, y)
        _linear(y, wide, layer, wide_bias[layer], rows, hidden)
        for i in range(k):
            for t in range(hidden.shape[1]):
                hidden[i, t] = max(hidden[i, t], zero)
        _linear(hidden, narrow, layer, narrow_bias[layer], rows, y)
        for i in range(k):
            for t in range(width):
                x[i, t] += y[i, t]
    _normalise(x, y)
    logits = np.empty(k, np.float32)
    for i in range(k):
        total = last_bias[0]
        for t in range(width):
            total += y[i, t] * last[t]
        logits[i] = total
    return logits
