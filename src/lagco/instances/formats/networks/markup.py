"""XML as a small tree with line numbers. Document types and entities are refused outright."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any
from xml.parsers import expat

from lagco.instances.formats.source import SURROGATE, Source
from lagco.store import shown

MAX_ELEMENTS = 1_000_000
MAX_DEPTH = 64


@dataclass(slots=True)
class Element:
    """An element: its name without namespace, attributes, text, children and line."""

    tag: str
    attributes: dict[str, str]
    line: int
    text: str = ""
    children: list[Element] = field(default_factory=list)

    def all(self, tag: str) -> Iterator[Element]:
        """The children of that name."""
        return (child for child in self.children if child.tag == tag)

    def first(self, *path: str) -> Element | None:
        """The element at the end of a path of names, the first of each; None if there is none."""
        found: Element | None = self
        for tag in path:
            found = next(found.all(tag), None) if found is not None else None
        return found


class _Stop(Exception):
    """Ends the parse from inside a handler."""


def root_tag(source: Source) -> str | None:
    """Name of the outermost element; None if the file is no XML."""
    text = source.text.lstrip()
    if not text.startswith("<"):
        return None
    found: list[str] = []

    def begin(tag: str, attributes: dict[str, str]) -> None:
        found.append(_plain(tag))
        raise _Stop

    parser = expat.ParserCreate("utf-8")
    parser.StartElementHandler = begin
    parser.StartDoctypeDeclHandler = _stop  # so that no entity is ever expanded
    with suppress(_Stop, expat.ExpatError):
        parser.Parse(text.encode("utf-8", "replace"), True)
    return found[0] if found else None


def parse(source: Source) -> Element:
    """The tree of a file.

    Raises:
        InstanceError: it is not well-formed, has a document type, or is too large or too deep.
    """
    source.refuse_large("XML")
    text = source.text
    if (found := SURROGATE.search(text)) is not None:
        line = text.count("\n", 0, found.start()) + 1
        raise source.error("XML that is neither UTF-8 nor declares another encoding", line)
    parser = expat.ParserCreate("utf-8")
    parser.buffer_text = True
    root = Element("", {}, 0)
    stack = [root]
    texts: list[list[str]] = [[]]  # joined at the end, since adding up strings takes square time
    count = 0

    def begin(tag: str, attributes: dict[str, str]) -> None:
        nonlocal count
        count += 1
        line = parser.CurrentLineNumber
        if count > MAX_ELEMENTS:
            raise source.error(f"more than {MAX_ELEMENTS} elements", line)
        if len(stack) > MAX_DEPTH:
            raise source.error(f"elements nested more than {MAX_DEPTH} deep", line)
        plain = {_plain(name): value for name, value in attributes.items()}
        element = Element(_plain(tag), plain, line)
        stack[-1].children.append(element)
        stack.append(element)
        texts.append([])

    def end(tag: str) -> None:
        stack.pop().text = "".join(texts.pop())

    def data(text: str) -> None:
        texts[-1].append(text)

    def refuse(*_: Any) -> None:
        raise source.error(
            "XML with a document type (DOCTYPE, ENTITY) is not read; remove it",
            parser.CurrentLineNumber,
        )

    parser.StartElementHandler = begin
    parser.EndElementHandler = end
    parser.CharacterDataHandler = data
    parser.StartDoctypeDeclHandler = refuse
    parser.EntityDeclHandler = refuse
    try:
        parser.Parse(text.encode(), True)
    except expat.ExpatError as error:
        reason = expat.errors.messages.get(error.code, "not well-formed")
        raise source.error(f"damaged XML: {reason}", error.lineno) from error
    return root.children[0]


def text_of(source: Source, element: Element, *path: str) -> str:
    """The text at the end of a path of names, which must be there."""
    found = element.first(*path)
    if found is None:
        raise source.error(f"<{element.tag}> has no <{'><'.join(path)}>", element.line)
    return found.text.strip()


def attribute(source: Source, element: Element, name: str) -> str:
    """An attribute, which must be there."""
    value = element.attributes.get(name)
    if value is None:
        raise source.error(f"<{shown(element.tag)[1:-1]}> has no {name!r}", element.line)
    return value


def _plain(tag: str) -> str:
    return tag.rpartition(":")[2]


def _stop(*_: Any) -> None:
    raise _Stop
