"""Tables as CSV, LaTeX and HTML."""

from __future__ import annotations

import csv
import io
import re
import shutil
import subprocess
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lagco.report.tables import Cell, Column, mark_best, shown, table
from lagco.report.templating import latex_text
from lagco.report.writers import to_csv, to_html, to_latex, to_markdown
from lagco.results.numbers import significant
from tests.report.markup import Markup

NAMES = ("a_b & 100% #1", "<script>", "x^2 ~ \\end{tabular} {", 'say "hi", please\nagain', "π – $5")


def example(names=NAMES):
    columns = [Column("name", "name")]
    for group in ("first_group", "other & more"):
        columns += [Column(k, k, group, 2, signed=k == "delta") for k in ("mean", "delta")]
    rows = [
        [name, Cell(0.125 * i, 0.1, 0.3, 0.25), -0.5 * i, Cell(1 / 3, best=True), None]
        for i, name in enumerate(names)
    ]
    return table("example", "A caption: 50% of a_b & c.", columns, rows, "16–84 %")


def test_csv_comes_back_as_it_was():
    header, *rows = csv.reader(io.StringIO(to_csv(example())))
    assert header[:5] == ["name", "first_group mean", "first_group mean low", *header[3:5]]
    assert header[3:5] == ["first_group mean high", "first_group mean paper"]
    assert [row[0] for row in rows] == list(NAMES)
    assert [float(row[1]) for row in rows] == [0.125 * i for i in range(len(NAMES))]
    full = rows[0][header.index("other & more mean")]
    assert full == "0.3333333333"  # to more digits than machines differ in
    assert rows[0][-1] == ""


def test_markdown_has_one_line_per_row_and_escapes_names():
    head, marks, *rows = to_markdown(example()).splitlines()
    assert (
        head
        == "| name | mean, first\\_group | delta, first\\_group | mean, other & more | delta, other & more |"
    )
    assert marks == "| --- | ---: | ---: | ---: | ---: |"
    first = "| a\\_b & 100% #1 | 0.00{} *(0.25)* | 0.00 | **0.33** | – |"
    assert rows[0] == first.format(" \\[0.10, 0.30\\]")
    plain = to_markdown(replace(example(), spread="")).splitlines()[2]
    assert plain == first.format(""), "the ends are shown where it is said what they are"
    assert rows[1].startswith("| \\<script\\> |") and len(rows) == len(NAMES)
    assert to_markdown(example(["a|b"])).splitlines()[2].startswith("| a\\|b |")


def check_latex(text):
    """Braces and environments match, and every row of a tabular has all its columns."""
    body = re.sub(r"(?m)(?<!\\)%.*$", "", text)
    bare = re.sub(r"\\[{}\\&%$#_]", "", body)
    assert bare.count("{") == bare.count("}")
    depth = 0
    for character in bare:
        depth += {"{": 1, "}": -1}.get(character, 0)
        assert depth >= 0
    stack = []
    for kind, name in re.findall(r"\\(begin|end)\{(\w+)\}", body):
        if kind == "begin":
            stack.append(name)
        else:
            assert stack.pop() == name
    assert not stack
    assert bare.count("$") % 2 == 0
    outside_of_mathematics = re.sub(r"\$[^$]*\$", "", bare)
    assert not re.search(r"[_^#<>]", outside_of_mathematics)
    for columns, inner in re.findall(
        r"\\begin\{tabular\}\{((?:[lr]|p\{[^}]*\})+)\}(.*?)\\end\{tabular\}", body, re.S
    ):
        columns = re.sub(r"p\{[^}]*\}", "p", columns)
        for line in inner.split(r"\\")[:-1]:
            cells = re.split(r"(?<!\\)&", line)
            spans = [re.search(r"\\multicolumn\{(\d+)\}", cell) for cell in cells]
            assert sum(int(span[1]) if span else 1 for span in spans) == len(columns)


def test_latex_is_well_formed():
    text = to_latex(example())
    check_latex(text)
    assert r"a\_b \& 100\% \#1" in text
    assert r"$\mathbf{0.33}$" in text
    assert r"{\tiny 16--84 \%} & {\tiny 0.10--0.30} &  &  & " in text
    assert r"{\tiny paper} & {\tiny $0.25$} &  &  & " in text
    assert r"\cmidrule(lr){2-3}\cmidrule(lr){4-5}" in text


def test_long_texts_of_a_latex_table_are_broken():
    columns = [Column("a", "a"), Column("b", "b"), Column("c", "c")]
    text = to_latex(table("long", "", columns, [["x" * 80, "word " * 30, 1.5]]))
    check_latex(text)
    assert r"\begin{tabular}{p{0.42\linewidth}p{0.42\linewidth}r}" in text


@given(st.text(max_size=40))
def test_any_name_is_well_formed_latex(name):
    check_latex(to_latex(example([name])))


def test_every_table_of_a_report_is_well_formed(report, hostile):
    for page in (report, hostile):
        files = sorted(page.with_suffix(".tables").glob("*.tex"))
        assert len(files) > 30
        for path in files:
            check_latex(path.read_text())
            rows = list(csv.reader(path.with_suffix(".csv").open()))
            assert {len(row) for row in rows} == {len(rows[0])}


def test_latex_compiles(report, hostile, tmp_path):
    """With TeX itself, where there is one."""
    if shutil.which("pdflatex") is None:
        pytest.skip("there is no pdflatex; on Debian: apt install texlive-latex-recommended")
    for page in (report, hostile):
        inputs = "".join(
            f"\\input{{{path}}}\\clearpage\n"
            for path in sorted(page.with_suffix(".tables").glob("*.tex"))
        )
        (tmp_path / "all.tex").write_text(
            "\\documentclass{article}\\usepackage[T1]{fontenc}\\usepackage{booktabs}\n"
            f"\\begin{{document}}\n{inputs}\\end{{document}}\n"
        )
        command = ["pdflatex", "-halt-on-error", "-interaction=nonstopmode", "all.tex"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout[-2000:]


def test_wide_tables_are_divided_between_groups():
    columns = [Column("m", "m"), *(Column(str(i), str(i), f"g{i // 5}", 1) for i in range(35))]
    text = to_latex(table("wide", "", columns, [["x", *map(float, range(35))]]))
    check_latex(text)
    assert [len(c) for c in re.findall(r"\\begin\{tabular\}\{(\w+)\}", text)] == [11, 11, 11, 6]


def test_html_shows_and_sorts():
    page = Markup(str(to_html(example())))
    assert all(name in page.text for name in NAMES)
    assert [tag for tag, _ in page.elements].count("tr") == len(NAMES) + 2
    values = [attrs["data-v"] for tag, attrs in page.elements if "data-v" in attrs]
    assert "0.3333333333333333" in values  # sorted by the value, not by what is shown
    assert "0.10–0.30" in page.text and "−0.50" in page.text
    assert "−0.00" not in page.text


@pytest.mark.parametrize(
    ("value", "column", "text"),
    [
        (None, Column("x", "x"), "–"),
        (-0.001, Column("x", "x", digits=2), "0.00"),
        (0.5, Column("x", "x", digits=2, signed=True), "+0.50"),
        (-0.001, Column("x", "x", digits=2, signed=True), "0.00"),
        (0.0002, Column("x", "x", digits=3, floor=0.001), "<0.001"),
        (123456, Column("x", "x"), "123\u2009456"),
        (0.0123456, Column("x", "x"), "0.0123"),
        (99.96, Column("x", "x"), "100"),
        (1e9, Column("x", "x"), "1.00e+09"),
    ],
)
def test_numbers_are_shown(value, column, text):
    assert shown(value, column) == text


def test_significant_digits_do_not_grow_by_rounding():
    assert [significant(v) for v in (0.9996, 9.996, 999.6, 0.0)] == ["1.00", "10.0", "1000", "0"]


def test_the_best_is_marked_with_what_looks_the_same():
    columns = [Column("x", "x", digits=2)] * 4
    row = [Cell(0.901), Cell(0.899), Cell(None), Cell(0.5)]
    assert [cell.best for cell in mark_best(row, columns)] == [True, True, False, False]
    assert [cell.best for cell in mark_best(row, columns, smallest=True)][-1]
    assert not any(cell.best for cell in mark_best([Cell(1.0), Cell("x")], columns[:2]))


def test_special_characters():
    assert latex_text("50% of a_b\x00\n& c – Δ") == r"50\% of a\_b \& c -- $\Delta$"
