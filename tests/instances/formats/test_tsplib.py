"""TSPLIB: rounding rules, matrix layouts, tours, coordinates made from distances."""

from __future__ import annotations

import numpy as np
import pytest

from lagco.errors import InstanceError
from lagco.instances import detect, read, read_solution, write, write_solution
from lagco.instances.formats.scaling import LANDMARKS, scaled_coordinates
from lagco.instances.formats.tsplib import LAYOUTS
from lagco.problems.tsp import TSP
from lagco.problems.tsp.solver import solve_tour
from tests.instances.formats.samples import sample, written

MATRIX = np.array(
    [
        [0, 12, 29, 22, 13],
        [12, 0, 19, 3, 25],
        [29, 19, 0, 21, 23],
        [22, 3, 21, 0, 4],
        [13, 25, 23, 4, 0],
    ]
)


def cities(*lines, kind="EUC_2D", dimension=3, more=""):
    return "\n".join(
        [
            "NAME : made",
            "TYPE : TSP",
            f"DIMENSION : {dimension}",
            f"EDGE_WEIGHT_TYPE : {kind}",
            *more.splitlines(),
            *lines,
            "EOF",
            "",
        ]
    )


def matrix(layout, rows, dimension=5, more=""):
    return cities(
        f"EDGE_WEIGHT_FORMAT : {layout}",
        "EDGE_WEIGHT_SECTION",
        *rows,
        kind="EXPLICIT",
        dimension=dimension,
        more=more,
    )


TRIANGLE = ("NODE_COORD_SECTION", "1 0 0", "2 3.5 0", "3 3.5 4.4")


@pytest.mark.parametrize(
    ("kind", "length"),
    [
        # 3.5, 4.4 and 5.62…: to the nearest (halves up), up, and pseudo-Euclidean over sqrt(10)
        ("EUC_2D", 4 + 4 + 6),
        ("CEIL_2D", 4 + 5 + 6),
        ("ATT", 2 + 2 + 2),
    ],
)
def test_rounding_rules(tmp_path, kind, length):
    instance = read(written(tmp_path, cities(*TRIANGLE, kind=kind)))
    assert instance.params["metric"] == kind.lower()
    assert TSP.evaluate_solution(instance, [0, 1, 2]) == length


@pytest.mark.parametrize(
    ("kind", "length"),
    [
        # legs (3.5, 0), (0, 4.4) and (3.5, 4.4): halves go up
        ("MAN_2D", 4 + 4 + 8),
        ("MAX_2D", 4 + 4 + 4),
        # with heights 0, 2 and 4.6: (3.5, 0, 2), (0, 4.4, 2.6) and (3.5, 4.4, 4.6)
        ("EUC_3D", 4 + 5 + 7),
        ("MAN_3D", 6 + 7 + 13),
        ("MAX_3D", 4 + 4 + 5),
    ],
)
def test_distances_that_become_a_matrix(tmp_path, kind, length):
    heights = ("", " 0", " 2", " 4.6") if kind.endswith("3D") else ("",) * 4
    points = [line + height for line, height in zip(TRIANGLE, heights, strict=True)]
    instance = read(written(tmp_path, cities(*points, kind=kind)))
    assert instance.params["metric"] == "explicit"
    assert TSP.evaluate_solution(instance, [0, 1, 2]) == length
    np.testing.assert_array_equal(instance.arrays["coordinates"], [[0, 0], [3.5, 0], [3.5, 4.4]])
    assert kind in instance.origin["notes"][0]
    write(instance, tmp_path / "again.tsp")
    np.testing.assert_array_equal(
        read(tmp_path / "again.tsp").arrays["matrix"], instance.arrays["matrix"]
    )


def test_rows_of_a_matrix_follow_the_ids(tmp_path):
    lines = ("NODE_COORD_SECTION", "3 3.5 4.4", "1 0 0", "2 3.5 0")
    instance = read(written(tmp_path, cities(*lines, kind="MAN_2D")))
    np.testing.assert_array_equal(instance.arrays["matrix"], [[0, 4, 8], [4, 0, 4], [8, 4, 0]])


@pytest.mark.parametrize("kind", ["XRAY1", "XRAY2", "SPECIAL"])
def test_distances_of_a_program_are_refused_by_name(tmp_path, kind):
    with pytest.raises(InstanceError, match=f"{kind}: its distances are those of a program"):
        read(written(tmp_path, cities(*TRIANGLE, kind=kind)))


def test_a_coordinate_that_is_missing_is_named(tmp_path):
    with pytest.raises(InstanceError, match="expected 'id x y z', got '1 0 0'"):
        read(written(tmp_path, cities(*TRIANGLE, kind="EUC_3D")))


def test_geographical_distances():
    instance = read(sample("harbours.tsp"))
    assert instance.origin["notes"] == ["distances are in kilometres"]
    # Kiel to Gothenburg, Gothenburg to Stockholm, … by the formula of TSPLIB's documentation
    radius, pi = 6378.388, 3.141592

    def radians(value):
        whole = int(value)
        return pi * (whole + 5.0 * (value - whole) / 3.0) / 180.0

    total = 0
    points = instance.arrays["coordinates"].tolist()
    for (a, b), (c, d) in zip(points, points[1:] + points[:1], strict=True):
        a, b, c, d = map(radians, (a, b, c, d))
        q1, q2, q3 = np.cos(b - d), np.cos(a - c), np.cos(a + c)
        total += int(radius * np.arccos(0.5 * ((1 + q1) * q2 - (1 - q1) * q3)) + 1.0)
    assert TSP.evaluate_solution(instance, np.arange(5)) == total


def triangle_of(layout):
    """The numbers of MATRIX as a layout lists them."""
    kept = np.triu(np.ones((5, 5), dtype=bool), k=0 if "DIAG" in layout else 1)
    kept = kept if layout.startswith("UPPER") else kept.T
    values = [(MATRIX[i], kept[i]) for i in range(5)]
    if layout.endswith("COL"):
        values = [(MATRIX[:, j], kept[:, j]) for j in range(5)]
    return [" ".join(map(str, row[there])) for row, there in values]


@pytest.mark.parametrize("layout", [*LAYOUTS, "FULL_MATRIX"])
def test_matrix_layouts(tmp_path, layout):
    rows = [" ".join(map(str, row)) for row in MATRIX]
    if layout != "FULL_MATRIX":
        rows = [row for row in triangle_of(layout) if row]
    one_line = [" ".join(rows)]
    for text in (rows, one_line, " ".join(rows).split()):
        instance = read(written(tmp_path, matrix(layout, text)))
        np.testing.assert_array_equal(instance.arrays["matrix"], MATRIX)


def test_what_stands_on_the_diagonal_does_not_count(tmp_path):
    rows = ["9999 3 4", "3 9999 5", "4 5 9999"]
    instance = read(written(tmp_path, matrix("FULL_MATRIX", rows, dimension=3)))
    assert instance.arrays["matrix"].trace() == 0
    assert TSP.evaluate_solution(instance, [0, 1, 2]) == 12


def test_an_explicit_matrix_is_solved_and_played(tmp_path):
    instance = read(sample("legs.tsp"))
    np.testing.assert_array_equal(instance.arrays["matrix"], MATRIX)
    assert instance.origin["notes"] == ["coordinates by multidimensional scaling of the matrix"]
    assert solve_tour(instance, seed=0).value == 19 + 3 + 4 + 13 + 29
    env = TSP(instance)
    env.reset(seed=0)
    for city in (1, 2, 3, 4):
        *_, info = env.step((env.solution()[0] + city) % 5)
    assert info["reason"] == "complete"
    assert info["score"] is None


def test_display_data_are_the_coordinates_of_a_matrix(tmp_path):
    rows = [*triangle_of("UPPER_ROW")[:4], "DISPLAY_DATA_SECTION"]
    rows += [f"{k + 1} {10 * k} {k * k}" for k in (4, 2, 0, 1, 3)]
    text = matrix("UPPER_ROW", rows, more="DISPLAY_DATA_TYPE: TWOD_DISPLAY")
    instance = read(written(tmp_path, text))
    assert instance.arrays["coordinates"].tolist() == [[10 * k, k * k] for k in range(5)]
    assert "notes" not in instance.origin


@pytest.mark.parametrize("n", [2, 30, LANDMARKS + 60])
def test_scaling_recovers_points_from_their_distances(n):
    points = np.random.default_rng(0).uniform(0, 500, size=(n, 2))

    def distances(p):
        return np.sqrt(((p[:, None] - p[None]) ** 2).sum(axis=2))

    wanted = distances(points)
    found = scaled_coordinates(wanted)
    np.testing.assert_allclose(distances(found), wanted, atol=500 * 1e-4)
    assert np.array_equal(found, scaled_coordinates(wanted.copy()))


def test_scaling_of_places_that_coincide():
    assert not scaled_coordinates(np.zeros((4, 4))).any()


def test_other_ids_become_names(tmp_path):
    text = cities("NODE_COORD_SECTION", "10 0 0", "7 3 0", "30 3 4")
    instance = read(written(tmp_path, text))
    assert instance.arrays["names"].tolist() == ["10", "7", "30"]
    tour = tmp_path / "x.tour"
    write_solution(instance, np.array([2, 0, 1]), tour)
    assert tour.read_text().split()[-5:] == ["30", "10", "7", "-1", "EOF"]
    assert read_solution(instance, tour).tolist() == [2, 0, 1]
    write(instance, tmp_path / "again.tsp")
    assert read(tmp_path / "again.tsp").checksum == instance.checksum


def test_cities_are_sorted_by_id(tmp_path):
    text = cities("NODE_COORD_SECTION", "3 9 9", "1 7 7", "2 8 8")
    instance = read(written(tmp_path, text))
    assert instance.arrays["coordinates"].tolist() == [[7, 7], [8, 8], [9, 9]]
    assert "names" not in instance.arrays


@pytest.mark.parametrize(
    "ending", ["-1\n", "-1\nEOF\n", "-1 -1 EOF", "-1\n-1\nEOF\n", "EOF", "", "-1\nEOF\nrubbish"]
)
def test_endings_of_tours(tmp_path, ending):
    instance = read(sample("legs.tsp"))
    text = f"TYPE : TOUR\nDIMENSION : 5\nTOUR_SECTION\n3 5\n4\n2 1\n{ending}"
    path = written(tmp_path, text)
    assert detect(path) == "tsplib-tour"
    assert read_solution(instance, path).tolist() == [2, 4, 3, 1, 0]


def test_the_sample_tour_is_the_best():
    instance = read(sample("towns.tsp"))
    tour = read_solution(instance, sample("towns.tour"))
    assert TSP.evaluate_solution(instance, tour) == solve_tour(instance, seed=0).value


def test_exact_distances_are_written_as_a_matrix(tmp_path):
    from lagco.commands.generate import generate_instance

    instance = generate_instance("tsp", size=7)
    write(instance, tmp_path / "x.tsp")
    again = read(tmp_path / "x.tsp")
    assert again.params["metric"] == "explicit"
    tour = np.array([3, 1, 0, 2, 6, 5, 4])
    assert TSP.evaluate_solution(again, tour) == TSP.evaluate_solution(instance, tour)
    np.testing.assert_array_equal(again.arrays["coordinates"], instance.arrays["coordinates"])


@pytest.mark.parametrize("kind", ["TYPE : TSP (by M. Somebody)", "TYPE:TSP", "type : tsp"])
def test_spellings_of_the_header(tmp_path, kind):
    text = cities(*TRIANGLE).replace("TYPE : TSP", kind, 1).replace("DIMENSION :", "DIMENSION:")
    assert read(written(tmp_path, text.replace("\n", "\r\n"))).size == 3


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (cities(*TRIANGLE, kind="EUC_4D"), r"line 4: unknown EDGE_WEIGHT_TYPE 'EUC_4D'"),
        (cities(*TRIANGLE).replace("TSP", "ATSP"), "line 2: TYPE is 'ATSP'; only symmetric TSP"),
        (cities(*TRIANGLE, dimension=4), "line 9: expected 'id x y', got 'EOF'"),
        (cities(*TRIANGLE, dimension=2), "line 8: expected a keyword, got '3 3.5 4.4'; DIMENSION"),
        (cities(*TRIANGLE, dimension=1), "line 7: expected a keyword"),
        (cities(*TRIANGLE, dimension=10**9), r"line 3: declares 1000000000 nodes, more than a file"),
        (cities(*TRIANGLE).replace("2 3.5", "1 3.5"), "the city 1 stands there twice"),
        (cities(*TRIANGLE).replace("4.4", "nan"), "line 8: a coordinate is 'nan', not a number"),
        (cities(*TRIANGLE).replace("4.4", "1e999"), r"line 8: a coordinate is '1e999', it must be"),
        (cities(*TRIANGLE, "FIXED_EDGES_SECTION", "1 4", "-1"), "line 9: a fixed edge names the city 4, but"),
        (cities(*TRIANGLE, "FIXED_EDGES_SECTION", "1 2 3", "-1"), "line 9: an edge has two cities, the last"),
        (cities(*TRIANGLE, "TOUR_SECTION", "1 2 2", "-1"), "line 9: the tour names the city 2, twice"),
        (cities(), "EUC_2D needs a NODE_COORD_SECTION"),
        (cities(*TRIANGLE, kind="EXPLICIT"), "there is no EDGE_WEIGHT_SECTION"),
        (cities(*TRIANGLE, *TRIANGLE), "line 9: NODE_COORD_SECTION stands in line 5 already"),
        ("TYPE : TSP\nNODE_COORD_SECTION\n1 1 1\n", "line 2: there is no DIMENSION before it"),
        (matrix("DIAGONAL", ["1"]), r"line 5: unknown EDGE_WEIGHT_FORMAT 'DIAGONAL'"),
        (matrix("UPPER_ROW", ["1 2 3"], 3)[:-4] + "4\n", "line 8: expected a keyword, got '4'"),
        (matrix("UPPER_ROW", ["1 2 3 4"], 3), "line 7: more than the 3 weights"),
        (matrix("UPPER_ROW", ["1 2"], 3), "line 6: 2 weights follow, UPPER_ROW has 3"),
        (matrix("UPPER_ROW", ["1 -2 3"], 3), "line 7: a weight is '-2', it must be 0 to"),
        (matrix("UPPER_ROW", ["1 2 3"], 800), "line 6: 319600 weights do not fit into the file"),
        (
            matrix("FULL_MATRIX", ["0 1 2", "1 0 3", "2 4 0"], 3),
            "not symmetric: 3 from city 2 to 3, 4 back",
        ),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(tmp_path, text, message):
    path = written(tmp_path, text)
    with pytest.raises(InstanceError, match=message) as caught:
        read(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("1 2 3 4", "leaves out the city 5"),
        ("1 2 3 4 4", "names the city 4, twice"),
        ("1 2 3 4 6", "names the city 6, but 'legs' has no such city"),
        ("1 2 3 4 5 1", "line 4: a tour of more than 5 cities"),
        ("1 2 -1 3 4 5", "line 4: a second tour begins"),
        ("1 2 x", "line 4: the id of a city is 'x', not a whole number"),
    ],
)
def test_wrong_tours_are_named(tmp_path, body, message):
    path = written(tmp_path, f"TYPE : TOUR\nDIMENSION : 5\nTOUR_SECTION\n{body}\n-1\nEOF\n")
    with pytest.raises(InstanceError, match=message):
        read_solution(read(sample("legs.tsp")), path)


def test_a_tour_is_no_instance():
    with pytest.raises(
        InstanceError, match=r"towns\.tour: not an instance but a tour .*read_solution"
    ):
        read(sample("towns.tour"))


def test_fixed_edges_and_a_tour_in_force_come_and_go_with_a_file(tmp_path):
    lines = [*TRIANGLE, "4 0 4.4", "FIXED_EDGES_SECTION", "1 3", "4 2 -1"]
    path = written(tmp_path, cities(*lines, "TOUR_SECTION", "3 1 2 4 -1", dimension=4))
    instance = read(path)
    assert instance.array("fixed_edges").T.tolist() == [[0, 2], [3, 1]]
    assert instance.array("tour").tolist() == [2, 0, 1, 3]
    write(instance, tmp_path / "again.tsp")
    again = read(tmp_path / "again.tsp")
    for name in ("fixed_edges", "tour"):
        assert np.array_equal(again.array(name), instance.array(name))
