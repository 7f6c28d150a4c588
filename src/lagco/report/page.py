"""The page: sections into one HTML file that needs nothing else, and tables beside it."""

from __future__ import annotations

import base64
import hashlib
import html
from collections.abc import Iterable, Sequence
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any

from lagco.errors import require_extra
from lagco.report.blocks import Page, Text
from lagco.report.contents import SECTIONS, Section
from lagco.report.reading import Study
from lagco.report.tables import Table
from lagco.report.writers import to_csv, to_latex
from lagco.store import write_atomically


def build(
    folder: str | Path,
    out: str | Path,
    *,
    problems: Sequence[Any] = (),
    episodes: bool = True,
) -> Path:
    """Write the report of a study: a page, and its tables as LaTeX and CSV beside it.

    The page depends on the ledger alone: the same records give the same bytes.

    Args:
        folder: of the study.
        out: the HTML file; tables go to the folder of that name with the suffix ``.tables``.
        problems: classes (or ``module:Class``) of problems that are not lagco's, for the drawn
            episodes; nothing that a file names is imported.
        episodes: whether to draw episodes.
    """
    study = Study(folder, problems=problems, episodes=episodes)
    out = Path(out)
    page = Page()
    content = _page(study, page)
    write_atomically(out, content.encode())
    _write_tables(page.tables.values(), out.with_suffix(".tables"))
    return out


def _page(study: Study, page: Page) -> str:
    written = [(section, *_written(section, study, page)) for section in SECTIONS]
    contents = "\n".join(
        f'<li{"" if full else " class=empty"}><a href="#{section.name}">'
        f"{html.escape(section.title)}</a></li>"
        for section, _, full in written
    )
    plotly, script = _inline(_plotly()), _inline(_asset("page.js"))
    return Template(_asset("page.html")).substitute(
        policy=_policy(plotly, script),
        title=html.escape(study.title),
        lead=html.escape(study.lead),
        style=_asset("page.css"),
        contents=contents,
        sections="\n".join(text for _, text, _ in written),
        footer=html.escape(study.footer),
        plotly=plotly,
        script=script,
    )


def _written(section: Section, study: Study, page: Page) -> tuple[str, bool]:
    """The section as HTML, and whether the ledger has anything for it."""
    found = section.blocks(study)
    blocks = [Text(found, "nothing")] if isinstance(found, str) else found
    inner = "".join(block.html(page) for block in blocks)
    title = f"<h2>{html.escape(section.title)}</h2>"
    text = f'<section id="{section.name}">{title}\n{inner}</section>'
    return text, not isinstance(found, str)


def _write_tables(tables: Iterable[Table], folder: Path) -> None:
    for table in tables:
        write_atomically(folder / f"{table.name}.csv", to_csv(table).encode())
        write_atomically(folder / f"{table.name}.tex", to_latex(table).encode())


def _asset(name: str) -> str:
    return (files("lagco.report") / "assets" / name).read_text(encoding="utf-8").strip()


def _plotly() -> str:
    offline = require_extra("plotly.offline", "report", "the report")
    return str(offline.get_plotlyjs())


def _inline(script: str) -> str:
    """A script as it may stand in a page: one kind of line end, and no end tag within."""
    return script.replace("\r\n", "\n").replace("\r", "\n").replace("</script", "<\\/script")


def _policy(*scripts: str) -> str:
    """Allow the page's own scripts by their hashes, and nothing from anywhere else."""
    hashes = " ".join(
        f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"
        for script in scripts
    )
    return (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; "
        "img-src data: blob:; font-src data:; base-uri 'none'; form-action 'none'"
    )
