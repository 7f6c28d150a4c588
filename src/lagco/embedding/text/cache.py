"""Cache of text vectors on disk, one small file per text, by a hash of the text."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np
from platformdirs import user_cache_dir

from lagco.arrays import Array
from lagco.store import sha256, write_atomically

_MAGIC = b"lagco-text-1\n"


def cache_folder() -> Path:
    """``$LAGCO_CACHE``, or the folder for caches of this platform."""
    return Path(os.environ.get("LAGCO_CACHE") or user_cache_dir("lagco", appauthor=False))


class TextCache:
    """Vectors of one model. What cannot be read is computed again.

    A file holds a magic line, the SHA-256 of the rest, and float32 numbers.
    """

    def __init__(self, model: str) -> None:
        self._folder = cache_folder() / "text" / sha256(model.encode())[:16]

    def path(self, text: str) -> Path:
        """File of a text."""
        digest = sha256(text.encode("utf-8", "surrogatepass"))
        return self._folder / digest[:2] / f"{digest}.vec"

    def read(self, texts: Iterable[str]) -> dict[str, Array]:
        """The vectors that are there and whole."""
        found = {}
        for text in texts:
            try:
                content = self.path(text).read_bytes()
            except OSError:
                continue
            body = content[len(_MAGIC) + 32 :]
            digest = content[len(_MAGIC) : len(_MAGIC) + 32]
            whole = content.startswith(_MAGIC) and hashlib.sha256(body).digest() == digest
            if whole and body and len(body) % 4 == 0:
                vector = np.frombuffer(body, dtype="<f4").astype(np.float32)
                if np.isfinite(vector).all():
                    found[text] = vector
        return found

    def write(self, vectors: Mapping[str, Array]) -> None:
        """Keep vectors; a folder that cannot be written to is no error."""
        for text, vector in vectors.items():
            body = np.ascontiguousarray(vector, dtype="<f4").tobytes()
            try:
                write_atomically(self.path(text), _MAGIC + hashlib.sha256(body).digest() + body)
            except OSError:
                return
