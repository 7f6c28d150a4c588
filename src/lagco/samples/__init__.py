"""Small instances that come with lagco, made up for it and free to use as lagco itself."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from lagco.errors import UnknownName, UsageError, suggest
from lagco.store import write_atomically


@dataclass(frozen=True)
class Sample:
    """An instance file of this package.

    Attributes:
        name: of the sample.
        file: its name.
        problem: that it is meant for.
        summary: one sentence about it.
        named: whether the problem has to be named, as the file serves others too.
        more: files that go with it.
    """

    name: str
    file: str
    problem: str
    summary: str
    named: bool = False
    more: tuple[str, ...] = ()


SAMPLES = {
    entry.name: entry
    for entry in (
        Sample("coast52", "coast52.tsp", "tsp", "52 made-up towns along a coast (TSPLIB)"),
        Sample(
            "quarters40", "quarters40.gr", "min-vertex", "graph of 40 crossings (PACE)", named=True
        ),
        Sample("lattice60", "lattice60.rud", "max-cut", "weighted graph of 60 nodes (rudy)"),
        Sample("cluster24", "cluster24.json", "placement", "24 virtual machines on 8 hosts (JSON)"),
        Sample(
            "archipelago", "archipelago.txt", "ospf", "12 islands, 20 links, 40 demands (SNDlib)"
        ),
        Sample(
            "valley", "valley.txt", "traffic", "10 towns, 16 links, 24 demands (SNDlib)", named=True
        ),
        Sample("germany14", "germany14.txt", "ospf", "14 cities, 23 links, 108 demands (SNDlib)"),
        Sample(
            "metro",
            "metro.graphml",
            "ospf",
            "12 places, 20 links with weights, two matrices (GraphML)",
            more=("metro-morning.csv", "metro-evening.csv"),
        ),
        Sample("office12", "office12.json", "cyber-path", "office network of 12 hosts (JSON)"),
        Sample(
            "plant14",
            "plant14.json",
            "cyber-path",
            "14 hosts of an office and a plant behind firewall rules, with CVEs (JSON)",
        ),
    )
}


def find_sample(name: str) -> Sample:
    """The sample of that name, or the first one for the problem of that name."""
    named = {entry.problem: entry for entry in reversed(SAMPLES.values())} | SAMPLES
    if name not in named:
        raise UnknownName(suggest("sample", name, named))
    return named[name]


def sample(name: str, out: str | Path | None = None) -> Path:
    """Write a sample to a file, beside it what goes with it, and return its path.

    Args:
        name: of the sample, or of a problem; ``lagco sample`` lists them.
        out: file, or folder to put it into; the current folder without.
    """
    entry = find_sample(name)
    path = Path(entry.file if out is None else out)
    if path.is_dir():
        path = path / entry.file
    written = {path: entry.file} | {path.parent / name: name for name in entry.more}
    contents = {to: (files("lagco.samples") / name).read_bytes() for to, name in written.items()}
    for to, content in contents.items():
        if to.exists() and to.read_bytes() != content:
            raise UsageError(f"out={str(to)!r}: is there already and differs; name another file")
    for to, content in contents.items():
        write_atomically(to, content)
    return path
