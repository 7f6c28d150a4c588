"""Sentence embeddings of texts: the extractor ``'bert'``.

The default model is MiniLM (:mod:`lagco.embedding.text.minilm`, extra ``text``). Another one can be
put in its place, and vectors that were computed before can be supplied so that no model is needed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from lagco.arrays import Array
from lagco.embedding.features.layout import callable_name
from lagco.embedding.text import minilm
from lagco.embedding.text.cache import TextCache
from lagco.errors import UsageError
from lagco.results.numbers import of_things

#: From k texts to vectors (k, d).
TextEncoder: TypeAlias = Callable[[list[str]], Any]

#: Texts per call of the model.
BATCH = 64

_custom: TextEncoder | None = None
_custom_name: str | None = None
#: per model: text to vector
_known: dict[str, dict[str, Array]] = {}


def model_name() -> str:
    """Name of the model in use; stored with every encoder that reads texts."""
    return _custom_name or minilm.NAME


def use_text_encoder(encoder: TextEncoder | None, name: str | None = None) -> None:
    """Embed texts with `encoder` from now on; None goes back to MiniLM.

    Args:
        encoder: from k texts to vectors (k, d).
        name: identity of its results; by default module and name of the function.
    """
    global _custom, _custom_name
    _custom = encoder
    _custom_name = None if encoder is None else (name or callable_name(encoder))
    if _custom_name is not None:
        _known.pop(_custom_name, None)  # the name may stand for another function now


@contextmanager
def text_encoder(encoder: TextEncoder, name: str | None = None) -> Iterator[None]:
    """:func:`use_text_encoder` for the length of a ``with`` block."""
    before = (_custom, _custom_name)
    use_text_encoder(encoder, name)
    try:
        yield
    finally:
        use_text_encoder(*before)


def supply_vectors(vectors: Mapping[str, npt.ArrayLike], model: str = minilm.NAME) -> None:
    """Make known what `model` gives for some texts, so that it need not be installed for them."""
    known = _known.setdefault(model, {})
    for content, vector in vectors.items():
        known[content] = np.asarray(vector, dtype=np.float32)


def embed_texts(texts: Sequence[str]) -> Array:
    """Vectors (k, d) of `texts`, from memory, from the disk cache, or from the model."""
    if len(texts) == 0:
        raise UsageError("embed_texts needs at least one text")
    model = model_name()
    known = _known.setdefault(model, {})
    missing = [content for content in dict.fromkeys(texts) if content not in known]
    if missing and _custom is None:
        cache = TextCache(model)
        found = cache.read(missing)
        known.update(found)
        missing = [content for content in missing if content not in found]
        if missing:
            fresh = _in_batches(minilm.embed, missing)
            cache.write(fresh)
            known.update(fresh)
    elif missing:
        assert _custom is not None
        known.update(_in_batches(_custom, missing))
    return np.stack([known[content] for content in texts])


def _in_batches(encode: TextEncoder, texts: list[str]) -> dict[str, Array]:
    found: dict[str, Array] = {}
    # similar lengths together, so that little is padded
    ordered = sorted(texts, key=lambda content: (len(content), content))
    for k in range(0, len(ordered), BATCH):
        part = ordered[k : k + BATCH]
        vectors = np.asarray(encode(part), dtype=np.float32)
        if vectors.ndim != 2 or len(vectors) != len(part):
            raise UsageError(
                f"text encoder {model_name()!r} gave an array of shape {vectors.shape} for "
                f"{of_things(len(part), 'texts')}; it must be ({len(part)}, d)"
            )
        if not np.isfinite(vectors).all():
            raise UsageError(f"text encoder {model_name()!r} gave numbers that are not finite")
        found.update(zip(part, vectors, strict=True))
    return found
