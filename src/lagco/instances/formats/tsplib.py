"""TSPLIB: symmetric travelling salesman problems and tours (Reinelt 1991).

Coordinates under ``EUC_2D``, ``CEIL_2D``, ``ATT`` and ``GEO``, and ``EXPLICIT`` matrices in every
layout; edges that a tour has to use, and a tour in force (``TOUR_SECTION``, after all else).
Distances by other rules (``MAN_2D``, ``MAX_2D`` and those of three dimensions) become a matrix.
City k of the instance is the city with id k + 1; files with other ids keep them as names.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from lagco.arrays import Array
from lagco.errors import InstanceError, suggest
from lagco.instances.formats.format import Format, origin, spelled
from lagco.instances.formats.scaling import scaled_coordinates
from lagco.instances.formats.source import Lines, Source, clean
from lagco.instances.instance import Instance
from lagco.results.numbers import of_things
from lagco.store import shown

#: TSPLIB's name and ours
METRICS = {"EUC_2D": "euc_2d", "CEIL_2D": "ceil_2d", "ATT": "att", "GEO": "geo"}
#: rules by which distances are computed here, before they are rounded: (…, d) differences to (…,)
RULES: dict[str, Callable[[Array], Array]] = {
    "EUC": lambda apart: np.sqrt((apart**2).sum(axis=-1)),
    "MAN": lambda apart: np.abs(apart).sum(axis=-1),
    "MAX": lambda apart: np.abs(apart).max(axis=-1),
}
#: types whose distances become a matrix: their rule and their dimensions
COMPUTED = {
    "MAN_2D": ("MAN", 2),
    "MAX_2D": ("MAX", 2),
    "EUC_3D": ("EUC", 3),
    "MAN_3D": ("MAN", 3),
    "MAX_3D": ("MAX", 3),
}
EXPLICIT = "EXPLICIT"
#: types that name a program of their own instead of a rule
_PROGRAMS = ("XRAY1", "XRAY2", "SPECIAL")
#: layouts of a matrix: whether row i begins or ends at the diagonal, and whether it holds it
LAYOUTS = {
    "UPPER_ROW": (True, False),
    "UPPER_DIAG_ROW": (True, True),
    "LOWER_ROW": (False, False),
    "LOWER_DIAG_ROW": (False, True),
    # a symmetric matrix by columns is the other triangle by rows
    "LOWER_COL": (True, False),
    "LOWER_DIAG_COL": (True, True),
    "UPPER_COL": (False, False),
    "UPPER_DIAG_COL": (False, True),
}
FULL = "FULL_MATRIX"
#: largest matrix that is read; it takes half a gigabyte
MAX_EXPLICIT = 8_000

_WORDS = (
    "NAME", "TYPE", "COMMENT", "DIMENSION", "EDGE_WEIGHT_TYPE", "EDGE_WEIGHT_FORMAT",
    "NODE_COORD_TYPE", "DISPLAY_DATA_TYPE", "EDGE_DATA_FORMAT", "CAPACITY",
)  # fmt: skip
_SECTIONS = (
    "NODE_COORD_SECTION", "EDGE_WEIGHT_SECTION", "DISPLAY_DATA_SECTION", "TOUR_SECTION",
    "FIXED_EDGES_SECTION",
)  # fmt: skip
_TOKEN = re.compile(r"\S+")
_KEYWORD = re.compile(r"([A-Za-z_][A-Za-z_0-9]*+)\s*+:?\s*+(.*)", re.DOTALL)
_TOUR = re.compile(r"^[ \t]*+(?:TYPE\s*+:?\s*+TOUR\b|TOUR_SECTION)", re.MULTILINE)


@dataclass
class Cities:
    """Contents of a file of cities: ids, a metric, coordinates or a matrix."""

    name: str
    metric: str
    ids: Array
    coordinates: Array
    matrix: Array | None
    notes: list[str]
    fixed_edges: Array | None = None
    tour: Array | None = None

    def instance(self, source: Source, problem: str) -> Instance:
        """The instance of `tsp`."""
        n = len(self.ids)
        arrays = {"coordinates": self.coordinates}
        if self.matrix is not None:
            arrays["matrix"] = self.matrix
        if not np.array_equal(self.ids, np.arange(1, n + 1)):
            arrays["names"] = self.ids.astype(str)
        for name, rows in (("fixed_edges", self.fixed_edges), ("tour", self.tour)):
            if rows is not None:
                arrays[name] = rows
        return Instance(
            problem=problem,
            name=self.name,
            size=n,
            arrays=arrays,
            params={"metric": self.metric},
            origin=origin(source, "tsplib", self.notes),
        )


def matches(source: Source) -> bool:
    """A line of TSPLIB's comes first, and no tour follows."""
    return _first_word(source) is not None and not _is_tour(source)


def matches_tour(source: Source) -> bool:
    """The same with a tour."""
    return _first_word(source) is not None and _is_tour(source)


def _first_word(source: Source) -> str | None:
    for _, text in islice(source.lines(), 1):
        found = _KEYWORD.fullmatch(text)
        word = found[1].upper() if found else ""
        if (word in _WORDS and (":" in text or word in _WORDS[3:6])) or word in _SECTIONS:
            return word
    return None


def _is_tour(source: Source) -> bool:
    head = source.text[:10_000].upper()
    if "EDGE_WEIGHT_TYPE" in head:
        return False
    return _TOUR.search(head) is not None


class _File:
    """The header of a file and its sections, read from top to bottom.

    Args:
        source: the file.
        longest: cities of a tour; one that has more is refused.
    """

    def __init__(self, source: Source, longest: int = 0) -> None:
        self.source = source
        self.longest = longest
        self.header: dict[str, str] = {}
        self.places: dict[str, int] = {}
        self.coordinates: tuple[Array, Array] | None = None
        self.display: tuple[Array, Array] | None = None
        self.weights: Array | None = None
        self.tour: list[int] = []
        self.fixed: list[int] = []
        self._ended = False
        self._read(source.lines())

    def _read(self, lines: Lines) -> None:
        source = self.source
        for line, text in lines:
            found = _KEYWORD.fullmatch(text)
            if found is None:
                known = (
                    f"; DIMENSION is {self.dimension(line)}" if "DIMENSION" in self.header else ""
                )
                raise source.error(f"expected a keyword, got {shown(text)}{known}", line)
            word, value = found[1].upper(), found[2].strip()
            if word == "EOF" or self._ended:
                return
            if word in self.places and word != "COMMENT":
                raise source.error(f"{word} stands in line {self.places[word]} already", line)
            self.places[word] = line
            if word in _WORDS:
                self.header[word] = value
                if word == "TYPE" and self.keyword(word) not in ("TSP", "TOUR"):
                    raise source.error(f"TYPE is {shown(value)}; only symmetric TSP is read", line)
            elif word == "NODE_COORD_SECTION":
                _, dimensions = COMPUTED.get(self.keyword("EDGE_WEIGHT_TYPE"), ("", 2))
                self.coordinates = self._points(lines, line, dimensions)
            elif word == "DISPLAY_DATA_SECTION":
                self.display = self._points(lines, line)
            elif word == "EDGE_WEIGHT_SECTION":
                self.weights = self._matrix(lines, line)
            elif word == "TOUR_SECTION":
                self.tour = self._ids(lines, line)
            elif word == "FIXED_EDGES_SECTION":
                self.fixed = self._ids(lines, line, 2 * self.dimension(line))
                if len(self.fixed) % 2:
                    raise source.error("an edge has two cities, the last one here has one", line)
            else:
                known = suggest(
                    "TSPLIB keyword",
                    clean(word, 40),
                    [*_WORDS, *_SECTIONS, "EOF"],
                    None if value else [*_SECTIONS, "EOF"],  # a section has no value
                )
                raise source.error(known, line)

    def dimension(self, line: int) -> int:
        """Number of cities."""
        if "DIMENSION" not in self.header:
            raise self.source.error("there is no DIMENSION before it", line)
        return self.source.nodes(self.header["DIMENSION"], self.places["DIMENSION"])

    def keyword(self, word: str) -> str:
        """First word of the value of a keyword, in capitals."""
        return (self.header.get(word, "").upper().split() or [""])[0]

    def _points(self, lines: Lines, begin: int, dimensions: int = 2) -> tuple[Array, Array]:
        """Ids (n,) and coordinates (n, d) in the order of the file."""
        source, wanted = self.source, self.dimension(begin)
        ids, points = array("q"), array("d")
        for line, text in islice(lines, wanted):
            parts = text.split(None, 1 + dimensions)
            if len(parts) != 1 + dimensions:
                form = " ".join(["id", *"xyz"[:dimensions]])
                raise source.error(f"expected '{form}', got {shown(text)}", line)
            ids.append(source.integer(parts[0], "the id of a city", line, low=0))
            points.extend(source.real(part, "a coordinate", line) for part in parts[1:])
        if len(ids) < wanted:
            raise source.error(f"{len(ids)} cities follow, DIMENSION is {wanted}", begin)
        found, counts = np.unique(np.array(ids), return_counts=True)
        if len(found) < wanted:
            raise source.error(f"the city {found[counts.argmax()]} stands there twice", begin)
        return np.array(ids), np.array(points).reshape(-1, dimensions)

    def _matrix(self, lines: Lines, begin: int) -> Array:
        source, n = self.source, self.dimension(begin)
        layout = self.keyword("EDGE_WEIGHT_FORMAT")
        if layout not in (FULL, *LAYOUTS):
            known = suggest("EDGE_WEIGHT_FORMAT", clean(layout, 40), [FULL, *LAYOUTS])
            raise source.error(known, self.places.get("EDGE_WEIGHT_FORMAT", begin))
        if n > MAX_EXPLICIT:
            raise source.error(f"a matrix of {n} cities; at most {MAX_EXPLICIT} are read", begin)
        diagonal = layout != FULL and LAYOUTS[layout][1]
        count = n * n if layout == FULL else n * (n - 1) // 2 + n * diagonal
        if 2 * count - 1 > len(source.content):
            raise source.error(f"{count} weights do not fit into the file", begin)
        values = array("d")
        while len(values) < count:
            line, text = next(lines, (0, ""))
            if not text or text[0].isalpha():
                raise source.error(
                    f"{of_things(len(values), 'weights')} follow, {layout} has {count}", begin
                )
            for found in _TOKEN.finditer(text):
                values.append(source.real(found[0], "a weight", line, low=0.0))
                if len(values) > count:
                    raise source.error(f"more than the {count} weights that {layout} has", line)
        return self._square(np.array(values), layout, n, begin)

    def _square(self, values: Array, layout: str, n: int, begin: int) -> Array:
        """The symmetric matrix (n, n) with zeros on the diagonal."""
        if layout == FULL:
            square: Array = values.reshape(n, n)
            np.fill_diagonal(square, 0.0)
            for i in range(n):
                differs = np.flatnonzero(square[i, i:] != square[i:, i])
                if differs.size:
                    j = i + int(differs[0])
                    raise self.source.error(
                        f"not symmetric: {spelled(square[i, j])} from city {i + 1} to {j + 1}, "
                        f"{spelled(square[j, i])} back",
                        begin,
                    )
            return square
        upper, diagonal = LAYOUTS[layout]
        square = np.zeros((n, n))
        at = 0
        for i in range(n):
            first = (i if diagonal else i + 1) if upper else 0
            last = n if upper else (i + 1 if diagonal else i)
            row = values[at : at + last - first]
            square[i, first:last] = row
            square[first:last, i] = row
            at += last - first
        np.fill_diagonal(square, 0.0)
        return square

    def _ids(self, lines: Lines, begin: int, most: int = 0) -> list[int]:
        """At most so many cities up to -1, the end or the keyword EOF; without, those of a tour."""
        source = self.source
        tour: list[int] = []
        ended = False
        self.longest = self.longest or self.dimension(begin)
        for line, text in lines:
            for found in _TOKEN.finditer(text):
                if found[0].upper() == "EOF":
                    self._ended = True
                    return tour
                number = source.integer(found[0], "the id of a city", line, low=-1)
                if number == -1 and most:
                    return tour
                if number == -1:
                    ended = True
                elif ended:
                    raise source.error("a second tour begins, only one is read", line)
                elif most and len(tour) == most:
                    raise source.error(f"more than {most // 2} fixed edges", line)
                elif not most and len(tour) == self.longest:
                    raise source.error(f"a tour of more than {self.longest} cities", line)
                else:
                    tour.append(number)
        return tour


def read(source: Source) -> Cities:
    """The cities of a file with ``TYPE : TSP``."""
    file = _File(source)
    rule = file.keyword("EDGE_WEIGHT_TYPE")
    if not rule:
        raise source.error("there is no EDGE_WEIGHT_TYPE")
    if rule not in (*METRICS, *COMPUTED, EXPLICIT):
        known = suggest("EDGE_WEIGHT_TYPE", clean(rule, 40), [*METRICS, *COMPUTED, EXPLICIT])
        if rule in _PROGRAMS:
            known = (
                f"EDGE_WEIGHT_TYPE {rule}: its distances are those of a program of its own; write "
                f"them to the file as {EXPLICIT}"
            )
        raise source.error(known, file.places.get("EDGE_WEIGHT_TYPE"))
    if "DIMENSION" not in file.header:
        raise source.error("there is no DIMENSION")
    n = file.dimension(file.places["DIMENSION"])
    if n < 2:
        raise source.error(f"DIMENSION is {n}, a tour needs 2 cities", file.places["DIMENSION"])
    matrix = None
    if rule == EXPLICIT:
        if file.weights is None:
            raise source.error("EXPLICIT weights, but there is no EDGE_WEIGHT_SECTION")
        matrix = file.weights
    elif file.coordinates is None:
        raise source.error(f"{rule} needs a NODE_COORD_SECTION, there is none")
    notes = ["distances are in kilometres"] if rule == "GEO" else []
    placed = file.coordinates or file.display
    if placed is not None:
        ids, coordinates = placed
        order = np.argsort(ids)
        if np.array_equal(ids[order], np.arange(1, n + 1)):
            # other ids stay in the order of the file, as the rows of a matrix are
            ids, coordinates = ids[order], coordinates[order]
        if rule in COMPUTED:
            matrix = _computed(source, rule, coordinates)
            notes.append(f"distances by {rule}, kept as a matrix")
            coordinates = coordinates[:, :2]  # seen from above
    else:
        assert matrix is not None
        ids, coordinates = np.arange(1, n + 1), scaled_coordinates(matrix)
        notes.append("coordinates by multidimensional scaling of the matrix")
    name = clean(file.header.get("NAME", "")) or source.name
    metric = METRICS.get(rule, "explicit")
    index = {str(number): city for city, number in enumerate(ids.tolist())}
    fixed_edges, tour = _fixed_edges(file, index), None
    if "TOUR_SECTION" in file.places:
        tour = _tour(file, index, "the file")
    cities = Cities(name.removesuffix(".tsp"), metric, ids, coordinates, matrix, notes)
    cities.fixed_edges, cities.tour = fixed_edges, tour
    return cities


def _fixed_edges(file: _File, index: dict[str, int]) -> Array | None:
    """The cities of edges that a tour has to use: (2, F); None where there are none."""
    for number in file.fixed:
        if str(number) not in index:
            raise file.source.error(
                f"a fixed edge names the city {number}, but there is no such city",
                file.places["FIXED_EDGES_SECTION"],
            )
    if not file.fixed:
        return None
    ends = np.array([index[str(number)] for number in file.fixed], dtype=np.int64)
    return np.ascontiguousarray(ends.reshape(-1, 2).T)


def _computed(source: Source, rule: str, coordinates: Array) -> Array:
    """Distances (n, n) by a rule, rounded to the nearest integer as TSPLIB does."""
    n, (distance, _) = len(coordinates), COMPUTED[rule]
    if n > MAX_EXPLICIT:
        raise source.error(f"{n} cities under {rule}; at most {MAX_EXPLICIT} are read")
    matrix = np.empty((n, n))
    for i in range(n):  # whole differences would take several times the memory
        matrix[i] = np.floor(RULES[distance](coordinates - coordinates[i]) + 0.5)
    return matrix


def write(instance: Instance) -> str:
    """A file that gives the same distances; exact Euclidean ones become a matrix."""
    metric = str(instance.params.get("metric", "euclidean"))
    names = instance.arrays.get("names")
    ids = range(1, instance.size + 1) if names is None else names.tolist()
    head = [f"NAME : {clean(instance.name)}", "TYPE : TSP", f"DIMENSION : {instance.size}"]
    coordinates = np.asarray(instance.arrays.get("coordinates", np.zeros((0, 2))))
    points = [
        f"{k} {spelled(x)} {spelled(y)}"
        for k, (x, y) in zip(ids, coordinates.tolist(), strict=False)
    ]
    ours = {ours: theirs for theirs, ours in METRICS.items()}
    limits = _written_limits(instance, list(map(str, ids)))
    if metric in ours:
        head += [f"EDGE_WEIGHT_TYPE : {ours[metric]}", "NODE_COORD_SECTION", *points]
        return "\n".join([*head, *limits, "EOF", ""])
    if instance.size > MAX_EXPLICIT:
        raise InstanceError(
            f"instance {instance.name!r}: TSPLIB has no type for {metric!r} distances, and a "
            f"matrix is written for at most {MAX_EXPLICIT} cities; write it as 'lagco'"
        )
    head += [f"EDGE_WEIGHT_TYPE : {EXPLICIT}", "EDGE_WEIGHT_FORMAT : UPPER_ROW"]
    head += ["DISPLAY_DATA_TYPE : TWOD_DISPLAY", "EDGE_WEIGHT_SECTION"]
    for i in range(instance.size - 1):
        if metric == "explicit":
            row = np.asarray(instance.array("matrix"))[i, i + 1 :]
        else:
            row = np.sqrt(((coordinates[i + 1 :] - coordinates[i]) ** 2).sum(axis=1))
        head.append(" ".join(spelled(value) for value in row.tolist()))
    if len(points):
        head += ["DISPLAY_DATA_SECTION", *points]
    return "\n".join([*head, *limits, "EOF", ""])


def _written_limits(instance: Instance, ids: list[str]) -> list[str]:
    """Lines of the edges that a tour has to use, and of the tour in force."""
    lines = []
    if "fixed_edges" in instance.arrays:
        edges = instance.array("fixed_edges").T.tolist()
        lines += ["FIXED_EDGES_SECTION", *(f"{ids[u]} {ids[v]}" for u, v in edges), "-1"]
    if "tour" in instance.arrays:
        lines += ["TOUR_SECTION", *(ids[city] for city in instance.array("tour").tolist()), "-1"]
    return lines


def read_tour(source: Source, instance: Instance) -> Array:
    """The tour of a file, as the order of the cities 0 to n - 1."""
    n = instance.size
    file = _File(source, longest=n)
    if "TOUR_SECTION" not in file.places:
        raise source.error("there is no TOUR_SECTION")
    names = instance.arrays.get("names")
    ids = [str(k) for k in range(1, n + 1)] if names is None else names.tolist()
    return _tour(file, {name: city for city, name in enumerate(ids)}, repr(instance.name))


def _tour(file: _File, index: dict[str, int], owner: str) -> Array:
    """The cities of a tour in order, by their ids."""
    begin, left = file.places["TOUR_SECTION"], dict(index)
    tour: list[int] = []
    for number in file.tour:
        city = left.pop(str(number), None)
        if city is None:
            what = "twice" if str(number) in index else f"but {owner} has no such city"
            raise file.source.error(f"the tour names the city {number}, {what}", begin)
        tour.append(city)
    if left:
        raise file.source.error(f"the tour leaves out the city {next(iter(left))}", begin)
    return np.array(tour, dtype=np.int64)


def named_tour(instance: Instance, tour: Array) -> list[Any]:
    """The ids of the cities in the order of a tour, as the instance's file has them."""
    names = instance.arrays.get("names")
    ids = np.arange(1, instance.size + 1) if names is None else names
    found: list[Any] = ids[tour].tolist()
    return found


def write_tour(instance: Instance, tour: Array) -> str:
    """A tour file."""
    head = [f"NAME : {clean(instance.name)}.tour", "TYPE : TOUR", f"DIMENSION : {instance.size}"]
    return "\n".join(
        [*head, "TOUR_SECTION", *map(str, named_tour(instance, tour)), "-1", "EOF", ""]
    )


FORMAT = Format(
    name="tsplib",
    summary="cities as in TSPLIB",
    problems=("tsp",),
    matches=matches,
    read=read,
    write=write,
    suffixes=(".tsp",),
)
TOUR = Format(
    name="tsplib-tour",
    summary="a tour as in TSPLIB",
    problems=(),
    matches=matches_tour,
    hint="it is a solution: read it with read_solution(instance, path)",
)
