"""Tables that fit, and values as people read them."""

from __future__ import annotations

import pytest

from lagco.cli.options import whole_number, whole_numbers
from lagco.cli.output import duration, print_facts, print_table, text
from lagco.errors import UsageError


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_tables_fit_and_never_break_a_word(width, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", str(width))
    names = [f"column-{i}" for i in range(9)]
    rows = [[f"row-{r}", *(f"value-{r}-{i} and [more]" for i in range(8))] for r in range(3)]
    print_table("a title", names, rows)
    shown = capsys.readouterr().out
    assert max(map(len, shown.splitlines())) <= width
    for row in rows:
        for cell in row:
            assert all(word in shown for word in cell.split())
    assert shown.count("column-0") >= shown.count("column-8") == 1


def test_a_table_that_goes_on_below_tells_its_rows_apart(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "60")
    keys = [(p, m, part) for p in ("tsp", "ospf") for m in ("one", "two") for part in ("a", "b")]
    numbers = [f"{i:012d}" for i in range(len(keys))]
    rows = [
        (*key, number, number, f"last-{number}") for key, number in zip(keys, numbers, strict=True)
    ]
    print_table("", ("problem", "method", "part", "first", "second", "third"), rows)
    shown = [
        line.strip("│").replace("│", " ").split() for line in capsys.readouterr().out.splitlines()
    ]
    for key, number in zip(keys, numbers, strict=True):
        assert [*key, f"last-{number}"] in [line[:3] + line[-1:] for line in shown]


def test_a_long_sentence_is_wrapped_between_words(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "80")
    sentence = "own the hosts of a partly visible network; decide on source and target " * 3
    print_table("", ("name", "what"), [("x", sentence)])
    shown = capsys.readouterr().out
    assert max(map(len, shown.splitlines())) <= 80
    assert sorted(shown.split("│")[0].split()) is not None
    words = [word for line in shown.splitlines() for word in line.strip("│").split()]
    assert words.count("partly") == 3


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (1270.0, "1270"),
        (1271.53, "1272"),
        (0.000012, "1.200e-05"),
        (None, "-"),
        (True, "yes"),
        ([1, 2.5], "1, 2.500"),
        ({"a": 1, "b": {"c": 2}}, "a 1, b c 2"),
    ],
)
def test_values_have_no_brackets_and_no_needless_powers(value, shown):
    assert text(value) == shown


def test_facts_of_tables_are_named_after_both(capsys):
    print_facts({"records": {"run": 3, "data": {"n": 2}}, "name": "x"})
    lines = capsys.readouterr().out.splitlines()
    assert [line.split("  ")[0] for line in lines] == ["records, run", "records, data, n", "name"]
    assert "{" not in "".join(lines)


def test_numbers_may_be_written_as_powers_of_ten():
    assert whole_number("1e5") == whole_number("100_000") == 100_000
    assert whole_numbers("steps", "1e3,2-4") == [1000, 2, 3, 4]
    with pytest.raises(UsageError, match="give whole numbers"):
        whole_numbers("seeds", "a,b")


def test_names_are_no_pictures(capsys):
    print_table("mine:Two: faults", [":one:"], [["of a :car:, say"]])
    print_facts({":ring:": ":star:"})
    shown = capsys.readouterr().out
    assert all(name in shown for name in ("mine:Two:", ":one:", ":car:", ":ring:", ":star:"))


def test_durations():
    assert [duration(s) for s in (0.5, 30, 600, 7200)] == ["0.50 s", "30 s", "10 min", "2.0 h"]


def test_headings_take_two_lines_at_most(monkeypatch, capsys):
    """A table of scores has more columns than 80 characters hold, with long names."""
    monkeypatch.setenv("COLUMNS", "80")
    names = ["policy", "decided", "final score: first", "final score: best of 5"]
    names += ["best state's score", "solver scale, final: first", "solver scale, final: best of 5"]
    names += ["solver scale, best state", "gap % of best state"]
    rows = [[name, "5/5", *["0.913"] * 6, "12.34"] for name in ("projection", "greedy")]
    print_table("tsp, 5 instances", names, rows)
    shown = capsys.readouterr().out.splitlines()
    assert max(map(len, shown)) <= 80
    tops = [number for number, line in enumerate(shown) if line.startswith("┏")]
    rules = [number for number, line in enumerate(shown) if line.startswith("┡")]
    assert len(tops) == len(rules) > 1
    assert all(rule - top <= 3 for top, rule in zip(tops, rules, strict=True))


def test_names_longer_than_the_terminal_are_wrapped_and_numbers_are_not(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "80")
    name = "11_NCSA,_University_of_Illinois,_Champaign-12_Merit_Univ_of_Michigan,_Ann_Arbor"
    print_table("Fullest", ("before", "use", "after", "use now"), [(name, "1.451", name, "1.245")])
    print_table("Changes", ("element", "before", "after"), [(name, "10", "21")])
    shown = capsys.readouterr().out
    assert max(map(len, shown.splitlines())) <= 80
    assert all(number in shown for number in ("1.451", "1.245"))
    assert shown.count("┏") == 2  # each in one piece
    assert "before" in shown.split("Changes")[1]
