"""Hooks of the site: tutorials with their outputs, repository files, roles of docstrings.

MkDocs calls the functions that begin with ``on_``; griffe, which reads the sources for the API
pages, calls ``Docstrings``. Tutorials are run unless LAGCO_RUN_NOTEBOOKS is ``no``.
"""

from __future__ import annotations

import base64
import os
import re
import tempfile
from pathlib import Path
from typing import Any

import nbformat
from griffe import Docstring, Extension, Object
from mkdocs.structure.files import File, Files
from nbclient import NotebookClient
from nbconvert import MarkdownExporter

ROOT = Path(__file__).resolve().parents[1]

#: repository files that pages link to, under this folder of the site
REPOSITORY = "repository"

#: kernels warn of others on their network; here they listen to this machine alone, with a key
_QUIET = ["--log-level=ERROR"]

_ROLE = re.compile(r":(?:class|func|meth|mod|attr|data|exc):`(~?)([\w.]+)`")
_BLOCK = re.compile(r"<pre>.*?</pre>", re.S)
_OPTION = re.compile(r"(?<=\s)--[\w-]+")
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
    """Add the tutorials, and the repository files that pages link to."""
    for path in sorted((ROOT / "docs" / "tutorials").glob("*.ipynb")):
        _add_tutorial(path, files, config)
    for page in list(files.documentation_pages()):
        for target in _OUTSIDE.findall(page.content_string):
            path = (Path(config.docs_dir) / Path(page.src_uri).parent / target).resolve()
            uri = f"{REPOSITORY}/{path.relative_to(ROOT).as_posix()}"
            if path.is_file() and files.get_file_from_path(uri) is None:
                files.append(File.generated(config, uri, abs_src_path=str(path)))
    return files


def _add_tutorial(path: Path, files: Files, config: Any) -> None:
    """A page of the notebook, with what it prints and draws."""
    notebook = nbformat.read(path, as_version=4)
    if os.environ.get("LAGCO_RUN_NOTEBOOKS") != "no":
        with tempfile.TemporaryDirectory() as folder:
            resources = {"metadata": {"path": folder}}
            client = NotebookClient(notebook, timeout=600, resources=resources)
            client.extra_arguments = _QUIET
            client.execute()
    files_of_animations = animations(notebook, f"{path.stem}_files")
    text, resources = MarkdownExporter().from_notebook_node(
        notebook, {"unique_key": f"{path.stem}_files", "output_files_dir": f"{path.stem}_files"}
    )
    text = text.replace(".ipynb)", ".md)")
    files.append(File.generated(config, f"tutorials/{path.stem}.md", content=text))
    for name, content in (resources["outputs"] | files_of_animations).items():
        files.append(File.generated(config, f"tutorials/{name}", content=content))


def animations(notebook: Any, folder: str) -> dict[str, bytes]:
    """Files of animations, which nbconvert shows as text; their cells show them as pictures."""
    found: dict[str, bytes] = {}
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            if "image/gif" in output.get("data", {}):
                name = f"{folder}/animation_{len(found) + 1}.gif"
                found[name] = base64.b64decode(output["data"]["image/gif"])
                output["data"] = {"text/markdown": f"![Animation of an episode]({name})"}
    return found


def on_page_markdown(markdown: str, page: Any, config: Any, **kwargs: Any) -> str:
    """Point such links into the site."""
    folder = Path(config.docs_dir) / Path(page.file.src_uri).parent
    up = "../" * page.file.src_uri.count("/")

    def inside(link: re.Match[str]) -> str:
        path = (folder / link[1]).resolve().relative_to(ROOT)
        return f"]({up}{REPOSITORY}/{path.as_posix()})"

    return _OUTSIDE.sub(inside, markdown).replace(".ipynb)", ".md)")


def on_page_content(html: str, page: Any, config: Any, **kwargs: Any) -> str:
    """Mark the options of commands, which browsers would break after their hyphens."""

    def marked(block: re.Match[str]) -> str:
        return _OPTION.sub(r'<span class="option">\g<0></span>', block[0])

    return _BLOCK.sub(marked, html)
