"""Reading pages back, without a browser."""

from __future__ import annotations

import base64
import json
import zlib
from html.parser import HTMLParser


class Markup(HTMLParser):
    """Elements with their attributes, the text of the body and the contents of scripts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.scripts: list[tuple[str | None, str]] = []
        self._script: tuple[str | None, str] | None = None
        self._style = False
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        self._style = tag == "style"
        if tag == "script":
            self._script = (dict(attrs).get("type"), "")

    def handle_endtag(self, tag):
        self._style = False
        if tag == "script":
            self.scripts.append(self._script)
            self._script = None

    def handle_data(self, data):
        if self._script is not None:
            self._script = (self._script[0], self._script[1] + data)
        elif not self._style:
            self.text += data

    @property
    def packed(self):
        """Texts that the page carries compressed: plotly, then figures and files as JSON."""
        kinds = [text for kind, text in self.scripts if kind == "application/octet-stream"]
        return [zlib.decompress(base64.b64decode(text)).decode() for text in kinds]

    @property
    def figures(self):
        """Plotly figures."""
        return list(json.loads(self.packed[1])["figures"].values())

    @property
    def files(self):
        """Files to download, by name."""
        return json.loads(self.packed[1])["files"]

    def sections(self):
        """Anchors of the sections."""
        return [attrs["id"] for tag, attrs in self.elements if tag == "section"]
