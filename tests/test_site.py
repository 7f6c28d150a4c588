"""The documentation site: public names are documented, links lead somewhere, it builds strictly."""

from __future__ import annotations

import importlib
import inspect
import re
import zlib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
TEXTS = [*sorted(ROOT.glob("*.md")), *PAGES]
PUBLIC = (
    "lagco",
    "lagco.instances",
    "lagco.embedding",
    "lagco.search",
    "lagco.store",
    "lagco.study",
    "lagco.report",
)
NAMES = [
    f"{package}.{name}"
    for package in PUBLIC
    for name in importlib.import_module(package).__all__
    if not inspect.ismodule(getattr(importlib.import_module(package), name))
]


def found(name):
    package, _, short = name.rpartition(".")
    return getattr(importlib.import_module(package), short)


def home(name):
    """The name of a thing where it is defined."""
    return f"{getattr(found(name), '__module__', '')}.{getattr(found(name), '__qualname__', '')}"


def directives():
    """Names that the API pages ask mkdocstrings for."""
    pages = (DOCS / "reference" / "api").glob("*.md")
    return {name for page in pages for name in re.findall(r"^::: (\S+)", page.read_text(), re.M)}


def test_every_public_name_stands_in_the_api_reference():
    asked = directives()
    packages = asked & set(PUBLIC)  # with everything in their __all__
    missing = [n for n in NAMES if n not in asked and n.rpartition(".")[0] not in packages]
    assert not missing


def test_every_public_function_and_class_has_a_docstring():
    callables = [n for n in NAMES if inspect.isclass(found(n)) or inspect.isfunction(found(n))]
    assert len(callables) > 100
    assert not [name for name in callables if not inspect.getdoc(found(name))]


def links(page):
    text = re.sub(r"^```.*?^```$|`[^`\n]*`", "", page.read_text(), flags=re.M | re.S)
    found = re.findall(r"\]\(([^)\s]+)\)|(?:src|href)=\"([^\"]+)\"", text)
    return [a or b for a, b in found if not re.match(r"[a-z]+:|#", a or b)]


@pytest.mark.parametrize("page", TEXTS, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_relative_links_lead_to_a_file(page):
    targets = [(page.parent / link.partition("#")[0]) for link in links(page)]
    assert not [
        str(t) for t in targets if not (t.exists() or t.with_suffix(".ipynb").exists())
    ]  # tutorials are written as notebooks


def test_every_page_is_in_the_navigation():
    listed = re.findall(r": (\S+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.M)
    written = [p.relative_to(DOCS).as_posix() for p in PAGES]
    assert sorted(p for p in listed if not p.startswith("tutorials/")) == written
    assert all((DOCS / p).exists() or (DOCS / p).with_suffix(".ipynb").exists() for p in listed)


def test_the_site_builds_strictly_and_fetches_nothing(tmp_path, monkeypatch):
    pytest.importorskip("mkdocstrings", reason="the extra `docs` is not installed")
    from mkdocs.commands.build import build
    from mkdocs.config import load_config

    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("LAGCO_RUN_NOTEBOOKS", "no")
    config = load_config(str(ROOT / "mkdocs.yml"), site_dir=str(tmp_path))
    config.plugins.on_startup(command="build", dirty=False)
    try:
        build(config)  # raises Abort at any warning
    finally:
        config.plugins.on_shutdown()
    inventory = (tmp_path / "objects.inv").read_bytes().split(b"\n", 4)[4]
    documented = {line.split(" ")[0] for line in zlib.decompress(inventory).decode().splitlines()}
    assert not [name for name in NAMES if not {name, home(name)} & documented]
    fetched = re.compile(r"<(?:script|img|link|iframe)\b[^>]*(?:src|href)=[\"']?https?:[^>]*>")
    for page in tmp_path.rglob("*.html"):
        assert not fetched.findall(page.read_text()), page
