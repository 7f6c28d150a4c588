"""Series of traffic matrices as timelines: SNDlib's dynamic archives, and CSV.

A series is an archive (``.tgz``, ``.tar``) or a folder with a matrix per file, whose name or
``<time>`` says when, or one CSV with the columns time, source, target and volume.
"""

from __future__ import annotations

import re
import tarfile
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from lagco.errors import InstanceError, UsageError, suggest
from lagco.instances.formats.networks import demands as demand_table
from lagco.instances.formats.networks.topology import Topology, node_names
from lagco.instances.formats.source import MAX_BYTES, MAX_TREE_BYTES, Source
from lagco.instances.formats.table import header, rows
from lagco.instances.instance import Instance
from lagco.instances.timelines.event import Event
from lagco.instances.timelines.timeline import Moment, Timeline
from lagco.store import shown

#: what is done about matrices that are missing or empty
HOLES = ("skip", "hold")
_MOST_MEMBERS = 200_000
_STAMP = re.compile(
    r"(?<!\d)(\d{4})-?(\d{2})-?(\d{2})(?:[-_T]?(\d{2}):?(\d{2})(?::?(\d{2}))?)?(?!\d)"
)
_COUNTER = re.compile(r"(\d+)\D*$")
_COLUMNS = ("time", "source", "target", "volume")
#: holes that a note names
_NAMED = 5

Member = tuple[float, str, Callable[[], Source]]


def read_series(path: str | Path, instance: Instance, *, holes: str = "skip") -> Timeline:
    """A series of traffic matrices of a network, each an event ``matrix``.

    Times are seconds since the first matrix; matrices without a date are numbered, an hour apart.
    Missing and empty ones are listed in ``timeline.notes`` once they were reached.

    Args:
        path: the archive, folder or table.
        instance: the network, of `ospf` or `traffic`.
        holes: ``skip`` leaves missing and empty matrices out, ``hold`` repeats the one before.

    Raises:
        InstanceError: names the file or member, the line and the reason.
    """
    if holes not in HOLES:
        raise UsageError(suggest("value of holes", holes, HOLES))
    path = Path(path)
    notes: list[str] = []
    known = node_names(instance)

    def moments() -> Iterator[Moment]:
        return _filled(_matrices(path, known), holes, notes)

    return Timeline(
        instance.problem, instance, moments, path.stem, {"file": path.name, "holes": holes}, notes
    )


def _matrices(path: Path, names: list[str]) -> Iterator[tuple[float, list[Any], str]]:
    """Time, rows and place of every matrix."""
    if path.is_dir():
        members = _of_folder(path)
    elif _is_archive(path):
        members = _of_archive(path)
    else:
        yield from _of_table(path, names)
        return
    for time, where, load in members:
        yield time, _volumes(load(), names), where


def _volumes(source: Source, names: list[str]) -> list[Any]:
    """Source, target and volume of the demands of one matrix."""
    matrix = Topology("series", names=list(names), positions=[None] * len(names))
    if source.text.strip():
        demand_table.add_demands(matrix, source)
    sums: dict[tuple[int, int], float] = {}
    for s, t, volume in matrix.demands:
        sums[s, t] = sums.get((s, t), 0.0) + volume
    return [(names[s], names[t], volume) for (s, t), volume in sums.items()]


def _filled(
    matrices: Iterator[tuple[float, list[Any], str]], holes: str, notes: list[str]
) -> Iterator[Moment]:
    """Matrices as moments; what is missing or empty is noted, and held if that is wanted."""
    last: Event | None = None
    empty: list[str] = []
    missing: list[str] = []
    times: list[float] = []
    step = 0.0
    for time, volumes, where in matrices:
        if times and time > times[-1]:
            step = min(step or time - times[-1], time - times[-1])
            gap = round((time - times[-1]) / step) - 1
            for number in range(1, gap + 1):
                at = times[-1] + number * step
                missing.append(f"{at:g} s")
                if holes == "hold" and last is not None:
                    yield Moment(at, last, f"{where}: before it")
        times.append(time)
        if not any(volume > 0.0 for _, _, volume in volumes):
            empty.append(f"{time:g} s")
            if holes == "hold" and last is not None:
                yield Moment(time, last, where)
        else:
            last = Event("matrix", volumes=volumes)
            yield Moment(time, last, where)
        notes[:] = _notes(empty, missing, holes)
    if last is None:
        raise InstanceError("the series has no matrix with a demand")


def _notes(empty: list[str], missing: list[str], holes: str) -> list[str]:
    done = "the one before repeated, if any" if holes == "hold" else "left out"
    found = []
    for kind, places in (("empty", empty), ("missing", missing)):
        if places:
            named = ", ".join(places[:_NAMED]) + (", …" if len(places) > _NAMED else "")
            noun = "matrix" if len(places) == 1 else "matrices"
            found.append(f"{len(places)} {kind} {noun}, {done}: {named}")
    return found


def _is_archive(path: Path) -> bool:
    try:
        return tarfile.is_tarfile(path)
    except OSError as error:
        raise InstanceError(f"{path}: cannot be read ({error.strerror or error})") from None


def _of_folder(path: Path) -> Iterator[Member]:
    files = sorted(p for p in path.iterdir() if p.is_file() and not p.name.startswith("."))
    times = _times(path, [file.name for file in files])
    order = sorted(range(len(files)), key=times.__getitem__)
    for place in order:
        file = files[place]
        yield times[place], str(file), lambda file=file: Source.load(file)  # type: ignore[misc]


def _of_archive(path: Path) -> Iterator[Member]:
    """Members of an archive: from one end to the other if they stand in order of time."""
    try:
        with tarfile.open(path, "r:*") as archive:
            names = _member_names(path, archive)
        times = dict(zip(names, _times(path, names), strict=True))
        ordered = sorted(names, key=times.__getitem__)
        with tarfile.open(path, "r:*") as archive:
            contents = _contents(path, archive, ordered)
            for name in ordered:
                where, content = f"{path}, {name.rpartition('/')[2]}", contents(name)
                yield times[name], where, lambda w=where, c=content: Source(w, c)  # type: ignore[misc]
    except (tarfile.TarError, EOFError, OSError) as error:
        raise InstanceError(f"{path}: damaged archive ({error})") from None


def _member_names(path: Path, archive: tarfile.TarFile) -> list[str]:
    names: list[str] = []
    for member in archive:
        if not member.isfile():
            continue
        if len(names) >= _MOST_MEMBERS or member.size > MAX_TREE_BYTES:
            raise InstanceError(
                f"{path}: more than {_MOST_MEMBERS} matrices, or one of more than "
                f"{MAX_TREE_BYTES >> 20} MiB, is not read"
            )
        names.append(member.name)
    if not names:
        raise InstanceError(f"{path}: an archive without files")
    return names


def _contents(path: Path, archive: tarfile.TarFile, ordered: list[str]) -> Callable[[str], bytes]:
    """Content of a member by name; members that stand further back are read on the way."""
    waiting: dict[str, bytes] = {}
    members = iter(archive)
    wanted, held = set(ordered), 0

    def content(name: str) -> bytes:
        nonlocal held
        while name not in waiting:
            member = next(members)
            if member.name not in wanted or not member.isfile():
                continue
            stream = archive.extractfile(member)
            assert stream is not None
            waiting[member.name] = stream.read()
            held += member.size
            archive.members = []  # type: ignore[attr-defined]  # or it keeps all it has met
            if held > MAX_BYTES:
                raise InstanceError(f"{path}: its matrices are not in order of time; sort them")
        found = waiting.pop(name)
        held -= len(found)
        return found

    return content


def _times(path: Path, names: list[str]) -> list[float]:
    """Seconds since the first, by the dates or the numbers in names."""
    bare = [name.rpartition("/")[2].partition(".")[0] for name in names]
    stamps = [_STAMP.search(name) for name in bare]
    if all(stamps):
        moments = [_seconds(path, name, stamp) for name, stamp in zip(bare, stamps, strict=True)]
    else:
        counters = [_COUNTER.search(name) for name in bare]
        if not all(counters):
            lacking = next(n for n, c in zip(names, counters, strict=True) if not c)
            raise InstanceError(
                f"{path}: {shown(lacking)} has neither a date nor a number in its name, which say "
                "when a matrix was measured"
            )
        moments = [3600.0 * float(found[1]) for found in counters if found]
    counts = Counter(moments)
    twice = next((i for i, m in enumerate(moments) if counts[m] > 1), None)
    if twice is not None:
        raise InstanceError(f"{path}: {shown(names[twice])} is one of two matrices of that time")
    first = min(moments)
    return [moment - first for moment in moments]


def _seconds(path: Path, name: str, stamp: Any) -> float:
    parts = [int(part) for part in stamp.groups(default="0")]
    try:
        return datetime(*parts, tzinfo=UTC).timestamp()  # type: ignore[arg-type, misc]
    except ValueError as error:
        raise InstanceError(f"{path}: the date in {shown(name)} is none ({error})") from None


def _of_table(path: Path, names: list[str]) -> Iterator[tuple[float, list[Any], str]]:
    source = Source.load(path)
    if header(source) != list(_COLUMNS):
        raise source.error(
            f"neither an archive of matrices nor a table with the columns {', '.join(_COLUMNS)}", 1
        )
    table = rows(source)
    next(table)
    now, begin = None, 0.0
    volumes: dict[tuple[str, str], float] = {}
    first_line = 2
    for line, cells in table:
        if len(cells) != len(_COLUMNS):
            raise source.error(f"expected {', '.join(_COLUMNS)}, got {shown(cells)}", line)
        time = source.real(cells[0], "the time", line)
        for name in cells[1:3]:
            if name not in names:
                raise source.error(suggest("node", name, names), line)
        volume = source.real(cells[3], "a volume", line, low=0.0)
        if now is None:
            now = begin = time
        elif time < now:
            raise source.error(f"time runs backwards, from {now:g} to {time:g}", line)
        elif time > now:
            yield now - begin, _triples(volumes), f"{path}, line {first_line}"
            now, volumes, first_line = time, {}, line
        if cells[1] != cells[2]:
            pair = cells[1], cells[2]
            volumes[pair] = volumes.get(pair, 0.0) + volume
    if now is not None:
        yield now - begin, _triples(volumes), f"{path}, line {first_line}"


def _triples(volumes: dict[tuple[str, str], float]) -> list[Any]:
    return [(source, target, volume) for (source, target), volume in volumes.items()]
