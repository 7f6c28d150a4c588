"""Blocks of a section; each writes itself as HTML by its macro in ``templates/blocks.html``.

A section hands over plain strings: the templates escape them. Figures (plain dictionaries of
plotly) and files to download are kept by the page, which carries them packed.
"""

from __future__ import annotations

import base64
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from markupsafe import Markup

from lagco.report.palette import label_of, style_of
from lagco.report.tables import Table
from lagco.report.templating import HTML
from lagco.report.writers import to_csv, to_html, to_latex

#: a table with more rows is folded at first
_FOLDED = 30
_MACROS: Any = HTML.get_template("blocks.html").module


class Block(ABC):
    """A piece of a page."""

    @abstractmethod
    def html(self, page: Page) -> Markup:
        """The block as HTML; figures and tables are registered with the page."""


class Page:
    """State that blocks share: numbers for elements, tables that were shown, figures and files."""

    def __init__(self) -> None:
        self.tables: dict[str, Table] = {}
        self.figures: dict[str, Mapping[str, Any]] = {}
        self.files: dict[str, str] = {}
        self._count = 0

    def number(self) -> int:
        """A number that no other element of the page has."""
        self._count += 1
        return self._count

    def add(self, table: Table) -> Table:
        """Note a table, to be written next to the page; a name that is taken gets a number."""
        name, number = table.name, 2
        while name in self.tables:
            name, number = f"{table.name}-{number}", number + 1
        self.tables[name] = replace(table, name=name)
        return self.tables[name]

    def all(self, blocks: Sequence[Block]) -> list[Markup]:
        """Blocks as HTML, in order."""
        return [block.html(self) for block in blocks]


def line_and_reading(caption: str) -> tuple[str, str]:
    """The first sentence of a caption, and the rest, which the page folds."""
    line, stop, reading = caption.partition(". ")
    return (f"{line}.", reading) if stop else (line, "")


@dataclass(frozen=True)
class Text(Block):
    """A paragraph."""

    text: str
    kind: str = ""

    def html(self, page: Page) -> Markup:
        """A ``<p>``."""
        return _MACROS.text(self.text, self.kind)


@dataclass(frozen=True)
class Findings(Block):
    """Sentences, one below the other."""

    sentences: Sequence[str]

    def html(self, page: Page) -> Markup:
        """A list."""
        return _MACROS.findings(self.sentences)


@dataclass(frozen=True)
class Heading(Block):
    """A heading within a section."""

    text: str

    def html(self, page: Page) -> Markup:
        """An ``<h3>``."""
        return _MACROS.heading(self.text)


@dataclass(frozen=True)
class Tiles(Block):
    """Single figures with a label each."""

    facts: Sequence[tuple[str, str]]

    def html(self, page: Page) -> Markup:
        """A description list."""
        return _MACROS.tiles(self.facts)


@dataclass(frozen=True)
class Shown(Block):
    """A table with its caption and the same as files.

    Attributes:
        table: what to show.
        by_group: one small table per group of columns, which also fits on a phone.
        files_only: for long tables: only the files, no rows on the page.
    """

    table: Table
    by_group: bool = False
    files_only: bool = False

    def html(self, page: Page) -> Markup:
        """A figure that holds the table."""
        table = page.add(self.table)
        files = {f"{table.name}.csv": "CSV"}
        page.files[f"{table.name}.csv"] = to_csv(table)
        if not self.files_only:
            files[f"{table.name}.tex"] = "LaTeX"
            page.files[f"{table.name}.tex"] = to_latex(table)
        parts: list[tuple[str, Markup]] = []
        folded = 0
        if not self.files_only and self.by_group and table.groups():
            parts = [(group, to_html(table.part(group))) for group in table.groups()]
        elif not self.files_only:
            parts = [("", to_html(table))]
            folded = len(table.rows) if len(table.rows) > _FOLDED else 0
        return _MACROS.shown(line_and_reading(table.caption), list(files.items()), parts, folded)


@dataclass(frozen=True)
class Plot(Block):
    """A plotly figure with a title above it.

    Attributes:
        title: what it is about, a few words.
        figure: ``data`` and ``layout``.
        height: in pixels.
    """

    title: str
    figure: Mapping[str, Any]
    height: int = 270

    def html(self, page: Page) -> Markup:
        """A place for the figure."""
        name = f"plot-{page.number()}"
        page.figures[name] = self.figure
        return _MACROS.plot(name, self.title, self.height)


@dataclass(frozen=True)
class Grid(Block):
    """Blocks side by side where there is room, with one caption.

    Attributes:
        blocks: of about the same size.
        caption: what they show in its first sentence, then how to read it.
        wide: fewer of them in a row.
    """

    blocks: Sequence[Block]
    caption: str = ""
    wide: bool = False

    def html(self, page: Page) -> Markup:
        """A figure with a grid."""
        said = line_and_reading(self.caption)
        return _MACROS.grid(page.all(self.blocks), said, self.wide)


@dataclass(frozen=True)
class Legend(Block):
    """Colours and marks of methods; a click hides a method in all figures."""

    methods: Sequence[str]

    def html(self, page: Page) -> Markup:
        """A row of buttons."""
        return _MACROS.legend([(m, label_of(m), style_of(m)) for m in self.methods])


@dataclass(frozen=True)
class Key(Block):
    """Meaning of colours that are not those of methods."""

    colours: Mapping[str, str]

    def html(self, page: Page) -> Markup:
        """Squares with names."""
        return _MACROS.key(list(self.colours.items()))


@dataclass(frozen=True)
class Switch(Block):
    """One of several blocks, chosen by the reader.

    Attributes:
        choices: per choice its label and options; the first of each is shown at first.
        variants: from one option per choice to the block.
    """

    choices: Sequence[tuple[str, Sequence[str]]]
    variants: Mapping[tuple[str, ...], Block]

    def html(self, page: Page) -> Markup:
        """Radio buttons, and the variants of which all but one are hidden."""
        number = page.number()
        first = tuple(options[0] for _, options in self.choices)
        choices = [
            (f"switch-{number}-{place}", label, options)
            for place, (label, options) in enumerate(self.choices)
            if len(options) > 1
        ]
        variants = [
            (self._places(options), options == first, block.html(page))
            for options, block in self.variants.items()
        ]
        return _MACROS.switch(choices, variants)

    def _places(self, options: Sequence[str]) -> str:
        return " ".join(
            str(list(known).index(option))
            for (_, known), option in zip(self.choices, options, strict=True)
            if len(known) > 1
        )


def switch(label: str, variants: Mapping[str, Block]) -> Block:
    """A choice between blocks by one label; the block itself if there is only one."""
    if len(variants) == 1:
        return next(iter(variants.values()))
    found: dict[tuple[str, ...], Block] = {(o,): block for o, block in variants.items()}
    return Switch([(label, list(variants))], found)


@dataclass(frozen=True)
class Together(Block):
    """Blocks one after the other."""

    blocks: Sequence[Block]

    def html(self, page: Page) -> Markup:
        """All of them."""
        return Markup("").join(page.all(self.blocks))


@dataclass(frozen=True)
class Folded(Block):
    """Blocks that the reader unfolds."""

    summary: str
    blocks: Sequence[Block]

    def html(self, page: Page) -> Markup:
        """A ``<details>``."""
        return _MACROS.folded(self.summary, page.all(self.blocks))


@dataclass(frozen=True)
class Preformatted(Block):
    """Text whose lines are kept."""

    text: str

    def html(self, page: Page) -> Markup:
        """A ``<pre>``."""
        return _MACROS.preformatted(self.text)


@dataclass(frozen=True)
class Frame:
    """One picture of a film: PNG bytes and a line below it."""

    png: bytes
    line: str


@dataclass(frozen=True)
class Film(Block):
    """Pictures to step through, the last one shown first; in print they stand side by side."""

    title: str
    frames: Sequence[Frame]
    caption: str

    def html(self, page: Page) -> Markup:
        """Frames, and a slider where there are several."""
        frames = [(base64.b64encode(f.png).decode(), f.line) for f in self.frames]
        return _MACROS.film(self.title, self.caption, frames)
