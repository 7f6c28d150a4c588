"""Make ``catalogue_embeddings.npz``: sentence embeddings of the catalogue and their reduction.

``python benchmarks/embed_catalogue.py [FILE]``; needs the extra ``text``.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np

import lagco.problems.cyber_path
from lagco.arrays import Array
from lagco.embedding.text.extractor import embed_texts, model_name
from lagco.errors import UsageError
from lagco.instances.catalogue import load_catalogue
from lagco.problems.cyber_path.catalogue.vectors import FILE, REDUCED_WIDTH, TEXT_WIDTH
from lagco.store import write_atomically


def embed_catalogue(embed: Callable[[list[str]], Array], model: str, path: Path) -> None:
    """Embed every entry of the catalogue and write the file.

    Args:
        embed: from k texts to vectors (k, 384).
        model: its name.
        path: the file; its bytes depend on the vectors alone.
    """
    catalogue = load_catalogue()
    services, vulnerabilities = catalogue.texts()
    vectors = np.asarray(embed([*services, *vulnerabilities]), dtype=np.float16)
    if vectors.shape != (len(services) + len(vulnerabilities), TEXT_WIDTH):
        raise UsageError(f"the model gives vectors of shape {vectors.shape}, not (k, {TEXT_WIDTH})")
    mean, components = principal_components(vectors.astype(np.float64), REDUCED_WIDTH)
    buffer = io.BytesIO()
    np.savez_compressed(
        buffer,
        services=vectors[: len(services)],
        vulnerabilities=vectors[len(services) :],
        mean=mean,
        components=components,
        model=np.array(model),
        digest=np.array(catalogue.text_digest),
    )
    write_atomically(path, buffer.getvalue())


def principal_components(vectors: Array, width: int) -> tuple[Array, Array]:
    """Mean (d,) and the `width` leading directions (d, width), largest entry of each positive."""
    mean = vectors.mean(axis=0)
    directions = np.linalg.svd(vectors - mean, full_matrices=False)[2][:width]
    signs = np.sign(directions[np.arange(width), np.abs(directions).argmax(axis=1)])
    return mean.astype(np.float32), (directions * signs[:, None]).T.astype(np.float32)


def main() -> None:
    """Write the file with the text model of lagco."""
    folder = Path(lagco.problems.cyber_path.__file__).parent
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else folder / FILE
    embed_catalogue(embed_texts, model_name(), path)
    print(f"{path}: {path.stat().st_size} bytes, model {model_name()}")


if __name__ == "__main__":
    main()
