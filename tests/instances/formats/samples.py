"""The sample files of our own writing, in every format."""

from __future__ import annotations

from pathlib import Path

DATA = Path(__file__).resolve().parents[2] / "data"

#: file: its format
FORMATS = {
    "towns.tsp": "tsplib",
    "harbours.tsp": "tsplib",
    "legs.tsp": "tsplib",
    "ring.rud": "gset",
    "kite.col": "dimacs",
    "kite.gr": "pace",
    "islands.txt": "sndlib",
    "islands.xml": "sndlib-xml",
    "backbone.graphml": "graphml",
    "loop.graph": "repetita",
    "cluster.json": "placement-json",
    "cluster.csv": "placement-csv",
    "office.json": "hosts",
}
#: file of demands: network it goes with
DEMANDS = {
    "backbone-demands.csv": "backbone.graphml",
    "islands-matrix.csv": "islands.txt",
    "loop.demands": "loop.graph",
}


def sample(name: str) -> Path:
    """Path of a sample file."""
    return DATA / name


def written(folder: Path, content: str | bytes, name: str = "file") -> Path:
    """A file with that content."""
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path
