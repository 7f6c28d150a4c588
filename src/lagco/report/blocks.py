"""What a section is made of; each block writes itself as HTML.

Text that comes from records is escaped here and in :mod:`lagco.report.writers`, nowhere else, so a
section hands over plain strings. Figures are plain dictionaries of plotly and go through
:func:`json_for_script`.
"""

from __future__ import annotations

import base64
import html
import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from lagco.report.palette import look
from lagco.report.tables import Table
from lagco.report.writers import to_csv, to_html, to_latex

#: a table with more rows is folded at first
_FOLDED = 30


class Block(ABC):
    """A piece of a page."""

    @abstractmethod
    def html(self, page: Page) -> str:
        """The block as HTML; figures and tables are registered with the page."""


class Page:
    """What blocks share: numbers for elements, and the tables that were shown."""

    def __init__(self) -> None:
        self.tables: dict[str, Table] = {}
        self._count = 0

    def number(self) -> int:
        """A number that no other element of the page has."""
        self._count += 1
        return self._count

    def add(self, table: Table) -> Table:
        """Note a table, to be written beside the page; a name that is taken gets a number."""
        name, number = table.name, 2
        while name in self.tables:
            name, number = f"{table.name}-{number}", number + 1
        self.tables[name] = replace(table, name=name)
        return self.tables[name]


def json_for_script(value: Any) -> str:
    """JSON that cannot end the script element it stands in."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)  # ASCII only
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


@dataclass(frozen=True)
class Text(Block):
    """A paragraph."""

    text: str
    kind: str = ""

    def html(self, page: Page) -> str:
        """A ``<p>``."""
        kind = f' class="{self.kind}"' if self.kind else ""
        return f"<p{kind}>{html.escape(self.text)}</p>\n"


@dataclass(frozen=True)
class Heading(Block):
    """A heading within a section."""

    text: str

    def html(self, page: Page) -> str:
        """An ``<h3>``."""
        return f"<h3>{html.escape(self.text)}</h3>\n"


@dataclass(frozen=True)
class Tiles(Block):
    """Single figures with a label each."""

    facts: Sequence[tuple[str, str]]

    def html(self, page: Page) -> str:
        """A description list."""
        items = "".join(
            f"<div><dt>{html.escape(label)}</dt><dd>{html.escape(value)}</dd></div>"
            for label, value in self.facts
        )
        return f'<dl class="tiles">{items}</dl>\n'


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

    def html(self, page: Page) -> str:
        """A figure that holds the table."""
        table = page.add(self.table)
        links = _download(f"{table.name}.csv", "text/csv", "CSV", to_csv(table))
        if not self.files_only:
            links += _download(f"{table.name}.tex", "text/plain", "LaTeX", to_latex(table))
        caption = f"{html.escape(table.caption)} <span class=files>{links}</span>"
        body = "" if self.files_only else self._body(table)
        return f'<figure class="table"><figcaption>{caption}</figcaption>{body}</figure>\n'

    def _body(self, table: Table) -> str:
        if self.by_group and table.groups():
            parts = "".join(
                f'<div class="part"><h4>{html.escape(group)}</h4>'
                f'<div class="scroll">{to_html(table.part(group))}</div></div>\n'
                for group in table.groups()
            )
            return f'<div class="grid">{parts}</div>'
        body = f'<div class="scroll">{to_html(table)}</div>'
        if len(table.rows) > _FOLDED:
            return f"<details><summary>Show {len(table.rows)} rows</summary>{body}</details>"
        return body


def _download(name: str, kind: str, label: str, content: str) -> str:
    encoded = base64.b64encode(content.encode()).decode()
    return (
        f'<a download="{html.escape(name)}" href="data:{kind};charset=utf-8;base64,{encoded}">'
        f"{label}</a>"
    )


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

    def html(self, page: Page) -> str:
        """A place for the figure and its data."""
        title = f"<h4>{html.escape(self.title)}</h4>" if self.title else ""
        label = html.escape(self.title or "figure")
        return (
            f'<div class="part">{title}<div class="plot" id="plot-{page.number()}" role="img" '
            f'aria-label="{label}" style="height:{self.height}px">'
            f'<script type="application/json">{json_for_script(self.figure)}</script>'
            "</div></div>\n"
        )


@dataclass(frozen=True)
class Grid(Block):
    """Blocks side by side where there is room, with one caption.

    Attributes:
        blocks: of about the same size.
        caption: what they show.
        wide: fewer of them in a row.
    """

    blocks: Sequence[Block]
    caption: str = ""
    wide: bool = False

    def html(self, page: Page) -> str:
        """A figure with a grid."""
        inner = "".join(block.html(page) for block in self.blocks)
        caption = f"<figcaption>{html.escape(self.caption)}</figcaption>" if self.caption else ""
        kind = "grid wide" if self.wide else "grid"
        return f'<figure>{caption}<div class="{kind}">{inner}</div></figure>\n'


@dataclass(frozen=True)
class Legend(Block):
    """Colours and marks of methods; a click hides a method in all figures."""

    methods: Sequence[str]

    def html(self, page: Page) -> str:
        """A row of buttons."""
        items = "".join(
            f'<button type="button" data-method="{html.escape(method)}" aria-pressed="true">'
            f"{_swatch(method)}{html.escape(method)}</button>"
            for method in self.methods
        )
        return f'<div class="legend" aria-label="methods">{items}</div>\n'


def _swatch(method: str) -> str:
    """A short line with a mark, as in the figures."""
    drawn = look(method)
    colour, opened = drawn.colour, drawn.symbol.endswith("-open")
    dash = {"dot": ' stroke-dasharray="2 2"', "dash": ' stroke-dasharray="4 2"'}.get(drawn.dash, "")
    fill = "none" if opened else colour
    shape = _SHAPES.get(drawn.symbol.removesuffix("-open"), _SHAPES["circle"])
    return (
        f'<svg viewBox="0 0 26 12" width="26" height="12" stroke="{colour}" stroke-width="1.5" '
        f'fill="{fill}" aria-hidden="true"><path d="M1 6H25"{dash}/>{shape}</svg>'
    )


_SHAPES = {
    "circle": '<circle cx="13" cy="6" r="3.5"/>',
    "square": '<path d="M9.8 2.8h6.4v6.4h-6.4z"/>',
    "diamond": '<path d="M13 1.6 17.4 6 13 10.4 8.6 6z"/>',
    "triangle-up": '<path d="M13 1.8 17 9.4H9z"/>',
    "star": '<path d="m13 1 1.4 3.2 3.6.4-2.7 2.4.8 3.5-3.1-1.8-3.1 1.8.8-3.5L8 4.6l3.6-.4z"/>',
    "x-thin": '<path d="m10 3 6 6m0-6-6 6"/>',
    "cross-thin": '<path d="M13 2v8"/>',
    "line-ew": "",
    "hexagon": '<path d="m11 2.5h4l2 3.5-2 3.5h-4L9 6z"/>',
    "pentagon": '<path d="m13 2 4 3-1.5 4.6h-5L9 5z"/>',
}


@dataclass(frozen=True)
class Key(Block):
    """What colours mean that are not those of methods."""

    colours: Mapping[str, str]

    def html(self, page: Page) -> str:
        """Squares with names."""
        items = "".join(
            f'<span><svg viewBox="0 0 10 10" width="10" height="10" aria-hidden="true">'
            f'<path d="M0 0h10v10H0z" fill="{colour}"/></svg>{html.escape(name)}</span>'
            for name, colour in self.colours.items()
        )
        return f'<div class="legend">{items}</div>\n'


@dataclass(frozen=True)
class Switch(Block):
    """One of several blocks, chosen by the reader.

    Attributes:
        choices: per choice its label and options; the first of each is shown at first.
        variants: from one option per choice to the block.
    """

    choices: Sequence[tuple[str, Sequence[str]]]
    variants: Mapping[tuple[str, ...], Block]

    def html(self, page: Page) -> str:
        """Radio buttons, and the variants of which all but one are hidden."""
        number = page.number()
        first = tuple(options[0] for _, options in self.choices)
        controls = "".join(
            _radios(f"switch-{number}-{place}", label, options)
            for place, (label, options) in enumerate(self.choices)
            if len(options) > 1
        )
        shown = "".join(
            f'<div data-variant="{html.escape(_places(self.choices, options))}"'
            f"{'' if options == first else ' hidden'}>{block.html(page)}</div>\n"
            for options, block in self.variants.items()
        )
        return f'<div class="switch"><form>{controls}</form>{shown}</div>\n'


def _places(choices: Sequence[tuple[str, Sequence[str]]], options: Sequence[str]) -> str:
    return " ".join(
        str(list(known).index(o))
        for (_, known), o in zip(choices, options, strict=True)
        if len(known) > 1
    )


def _radios(name: str, label: str, options: Sequence[str]) -> str:
    items = "".join(
        f'<label><input type="radio" name="{name}" value="{place}"'
        f"{' checked' if place == 0 else ''}><span>{html.escape(option)}</span></label>"
        for place, option in enumerate(options)
    )
    return f"<fieldset><legend>{html.escape(label)}</legend>{items}</fieldset>"


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

    def html(self, page: Page) -> str:
        """All of them."""
        return "".join(block.html(page) for block in self.blocks)


@dataclass(frozen=True)
class Folded(Block):
    """Blocks that the reader unfolds."""

    summary: str
    blocks: Sequence[Block]

    def html(self, page: Page) -> str:
        """A ``<details>``."""
        inner = "".join(block.html(page) for block in self.blocks)
        return f"<details><summary>{html.escape(self.summary)}</summary>{inner}</details>\n"


@dataclass(frozen=True)
class Preformatted(Block):
    """Text whose lines are kept."""

    text: str

    def html(self, page: Page) -> str:
        """A ``<pre>``."""
        return f"<pre>{html.escape(self.text)}</pre>\n"


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

    def html(self, page: Page) -> str:
        """Frames, and a slider where there are several."""
        frames = "".join(self._frames())
        last = len(self.frames) - 1
        slider = (
            f'<input type="range" min="0" max="{last}" value="{last}" '
            f'aria-label="step of the episode" autocomplete="off">'
            if last
            else ""
        )
        title = f"<h4>{html.escape(self.title)}</h4>"
        caption = f'<p class="note">{html.escape(self.caption)}</p>'
        return f'<div class="part film">{title}{caption}<div>{frames}</div>{slider}</div>\n'

    def _frames(self) -> Iterator[str]:
        for place, frame in enumerate(self.frames):
            encoded = base64.b64encode(frame.png).decode()
            line = html.escape(frame.line)
            chosen = " class=shown" if place == len(self.frames) - 1 else ""
            yield (
                f'<figure{chosen}><img alt="{line}" decoding="async" '
                f'src="data:image/png;base64,{encoded}"><figcaption>{line}</figcaption></figure>'
            )
