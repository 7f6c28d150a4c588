"""The page: all sections in one self-contained HTML file, and the files of its tables."""

from __future__ import annotations

import base64
import hashlib
import zlib
from collections.abc import Iterable, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from markupsafe import Markup

from lagco.errors import require_extra
from lagco.report.blocks import Block, Page, Text
from lagco.report.contents import SECTIONS, Section
from lagco.report.reading import Study
from lagco.report.replay import Replay, is_replay
from lagco.report.tables import Table
from lagco.report.templating import HTML
from lagco.report.writers import to_csv, to_latex
from lagco.store import write_atomically
from lagco.store.text import compact_json


def build(
    folder: str | Path,
    out: str | Path,
    *,
    problems: Sequence[Any] = (),
    episodes: bool = True,
) -> Path:
    """Write the report of a study or a replay: a page, and its tables as LaTeX and CSV.

    The page depends on the records alone: the same ones give the same bytes.

    Args:
        folder: of the study, or the file that :func:`lagco.study.export` made of it; or that of a
            replay (`lagco live --out`).
        out: the HTML file; tables go to the folder of that name with the suffix ``.tables``.
        problems: classes (or ``module:Class``) of problems that are not lagco's, for the drawn
            episodes; nothing that a file names is imported.
        episodes: whether to draw episodes; needs the agents and data of a folder.
    """
    study: Study | Replay
    if is_replay(folder):
        study = Replay(folder)
    else:
        study = Study(folder, problems=problems, episodes=episodes)
    out = Path(out)
    page = Page()
    content = _page(study, page)
    write_atomically(out, content.encode())
    _write_tables(page.tables.values(), out.with_suffix(".tables"))
    return out


def _page(study: Study | Replay, page: Page) -> str:
    plotly, script = _one_kind_of_line_end(_plotly()), _asset("page.js")
    if isinstance(study, Replay):
        chosen = list(study.sections)
    else:
        chosen = [section for section in SECTIONS if study.of_the_paper or not section.paper]
    sections = [_written(section, study, page) for section in chosen]
    data = compact_json({"figures": page.figures, "files": page.files})
    return HTML.get_template("page.html").render(
        policy=_policy(plotly, script),
        study=study,
        style=Markup(_asset("page.css")),
        sections=sections,
        plotly=_packed(plotly),
        data=_packed(data),
        script=Markup(script),
    )


def _written(section: Section, study: Any, page: Page) -> dict[str, Any]:
    """A section with its blocks as HTML; empty where the ledger has nothing for it."""
    found = section.blocks(study)
    blocks: Sequence[Block] = [Text(found, "nothing")] if isinstance(found, str) else found
    return {
        "name": section.name,
        "title": section.title,
        "empty": isinstance(found, str),
        "blocks": page.all(blocks),
    }


def _write_tables(tables: Iterable[Table], folder: Path) -> None:
    for table in tables:
        write_atomically(folder / f"{table.name}.csv", to_csv(table).encode())
        write_atomically(folder / f"{table.name}.tex", to_latex(table).encode())


def _asset(name: str) -> str:
    return (files("lagco.report") / "templates" / name).read_text(encoding="utf-8").strip()


def _plotly() -> str:
    offline = require_extra("plotly.offline", "report", "the report")
    return str(offline.get_plotlyjs())


def _one_kind_of_line_end(script: str) -> str:
    return script.replace("\r\n", "\n").replace("\r", "\n")


def _packed(text: str) -> str:
    """A text as the page carries it: compressed by zlib, in base 64."""
    return base64.b64encode(zlib.compress(text.encode(), 9)).decode()


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
