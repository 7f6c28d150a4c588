"""Hooks of the site: roles of docstrings as links, repository files that pages link to.

MkDocs calls ``on_files`` and ``on_page_markdown``; griffe, which reads the sources for the API
pages, calls ``Docstrings``.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from griffe import Docstring, Extension, Object
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[1]

#: repository files that pages link to, under this folder of the site
REPOSITORY = "repository"

_ROLE = re.compile(r":(?:class|func|meth|mod|attr|data|exc):`(~?)([\w.]+)`")
_OUTSIDE = re.compile(r"\]\(((?:\.\./)+(?:src|examples|benchmarks|tests)/[^)#]+)\)")


class Docstrings(Extension):
    """Turns ``:class:`Agent``` into a link, and ``#:`` comments into docstrings."""

    def on_object(self, *, obj: Object, **kwargs: Any) -> None:
        """Rewrite the docstring of one object."""
        if obj.docstring is None and obj.is_attribute and obj.lineno is not None:
            text = _comment_above(obj)
            if text:
                obj.docstring = Docstring(text, parent=obj)
        if obj.docstring is not None:
            obj.docstring.value = _ROLE.sub(_code, obj.docstring.value)


def _code(role: re.Match[str]) -> str:
    short, name = role.groups()
    return f"`{name.rpartition('.')[2] if short else name}`"


def _comment_above(obj: Object) -> str:
    lines = obj.lines_collection[obj.filepath]
    found: list[str] = []
    number = (obj.lineno or 1) - 2
    while number >= 0 and lines[number].lstrip().startswith("#:"):
        found.insert(0, lines[number].lstrip()[2:].strip())
        number -= 1
    return " ".join(found)


def on_files(files: Files, config: Any) -> Files:
    """Add the repository files that pages link to, so that such links work on the site."""
    for page in list(files.documentation_pages()):
        for target in _OUTSIDE.findall(page.content_string):
            path = (Path(page.abs_src_path).parent / target).resolve()
            uri = f"{REPOSITORY}/{path.relative_to(ROOT).as_posix()}"
            if path.is_file() and files.get_file_from_path(uri) is None:
                files.append(File.generated(config, uri, abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, page: Any, **kwargs: Any) -> str:
    """Point such links into the site."""
    folder = Path(page.file.abs_src_path).parent
    up = "../" * page.file.src_uri.count("/")

    def inside(link: re.Match[str]) -> str:
        path = (folder / link[1]).resolve().relative_to(ROOT)
        return f"]({up}{REPOSITORY}/{path.as_posix()})"

    return _OUTSIDE.sub(inside, markdown)
