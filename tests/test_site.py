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


def anchors(page):
    """Anchors of a page's headings, as the site and hosts of repositories make them."""
    text = re.sub(r"^ *```.*?^ *```$", "", page.read_text(), flags=re.M | re.S)
    titles = re.findall(r"^#+ +(.+?) *$", text, re.M)
    titles = [re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title) for title in titles]
    plain = [re.sub(r"[^\w\s-]", "", title.lower()).strip() for title in titles]
    return {re.sub(r"[\s-]+", "-", title) for title in plain}


@pytest.mark.parametrize("page", TEXTS, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_into_pages_lead_to_a_heading(page):
    parts = [link.partition("#") for link in links(page) if "#" in link]
    targets = [((page.parent / file).resolve(), name) for file, _, name in parts]
    assert not [
        f"{file.name}#{name}"
        for file, name in targets
        if file.suffix == ".md" and file.parent.name != "api" and name not in anchors(file)
    ]  # those of the API come from docstrings


def test_every_page_is_in_the_navigation():
    listed = re.findall(r": (\S+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.M)
    written = [p.relative_to(DOCS).as_posix() for p in PAGES]
    assert sorted(p for p in listed if not p.startswith("tutorials/")) == written
    assert all((DOCS / p).exists() or (DOCS / p).with_suffix(".ipynb").exists() for p in listed)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The folder of the built site, tutorials without their outputs."""
    pytest.importorskip("mkdocstrings", reason="the extra `docs` is not installed")
    from mkdocs.commands.build import build
    from mkdocs.config import load_config

    folder = tmp_path_factory.mktemp("site")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        patch.setenv("LAGCO_RUN_NOTEBOOKS", "no")
        config = load_config(str(ROOT / "mkdocs.yml"), site_dir=str(folder))
        config.plugins.on_startup(command="build", dirty=False)
        try:
            build(config)  # raises Abort at any warning
        finally:
            config.plugins.on_shutdown()
    return folder


def test_the_site_documents_every_public_name_and_fetches_nothing(site):
    inventory = (site / "objects.inv").read_bytes().split(b"\n", 4)[4]
    documented = {line.split(" ")[0] for line in zlib.decompress(inventory).decode().splitlines()}
    assert not [name for name in NAMES if not {name, home(name)} & documented]
    fetched = re.compile(r"<(?:script|img|link|iframe)\b[^>]*(?:src|href)=[\"']?https?:[^>]*>")
    for page in site.rglob("*.html"):
        assert not fetched.findall(page.read_text()), page


@pytest.fixture
def opened(site, browser):
    """Opens a page of the site from the disk; complaints and requests to others are noted."""
    contexts = []

    def open_page(name, width=1440):
        contexts.append(browser.new_context(viewport={"width": width, "height": 900}))
        page = contexts[-1].new_page()
        page.troubles = []
        page.on("pageerror", lambda error: page.troubles.append(str(error)))
        page.on("request", lambda request: note(page.troubles, request.url))
        page.goto((site / name).as_uri())
        return page

    def note(troubles, url):
        if not url.startswith(("file:", "data:", "blob:")):
            troubles.append(url)

    yield open_page
    for context in contexts:
        context.close()


def test_the_site_can_be_searched_when_it_is_opened_from_a_disk(opened):
    page = opened("guide/solve.html")
    page.click("input.md-search__input")
    page.keyboard.type("portfolio")
    found = page.locator(".md-search-result__item")
    for _ in range(300):  # the page looks at every key, once its scripts run
        if found.count():
            break
        page.keyboard.press("End")
        page.wait_for_timeout(1000)
    links = page.eval_on_selector_all(".md-search-result__item a", "all => all.map(a => a.href)")
    assert any("guide/solve.html" in link for link in links)
    assert page.troubles == []


@pytest.mark.parametrize("name", ["index.html", "gallery.html", "results/study.html"])
def test_pages_fit_on_a_phone(opened, name):
    page = opened(name, width=400)
    assert page.evaluate("document.documentElement.scrollWidth") == 400
    narrow = "all => all.map(i => i.getBoundingClientRect().width).filter(w => w < 250)"
    assert page.eval_on_selector_all("article img", narrow) == []
    assert page.troubles == []


def test_pictures_of_the_start_page_stand_side_by_side_where_there_is_room(opened):
    lefts = "all => all.map(i => Math.round(i.getBoundingClientRect().left))"
    assert len(set(opened("index.html").eval_on_selector_all(".opening img", lefts))) == 3
    assert len(set(opened("index.html", 400).eval_on_selector_all(".opening img", lefts))) == 1


def test_no_card_of_the_start_page_stands_alone_in_its_row(opened):
    tops = "all => all.map(i => Math.round(i.getBoundingClientRect().top))"
    found = opened("index.html").eval_on_selector_all(".cards > ul > li", tops)
    assert [found.count(top) for top in sorted(set(found))] == [2, 2]


@pytest.mark.parametrize("width", [1440, 400])
def test_options_of_commands_are_not_broken(opened, width):
    lines = "all => all.map(i => i.getClientRects().length)"
    found = opened("gallery.html", width).eval_on_selector_all(".cards pre .option", lines)
    assert len(found) > 20 and set(found) == {1}


def test_plots_of_several_panels_can_be_read_on_a_phone(opened):
    wide = "all => all.map(i => i.getBoundingClientRect().width)"
    found = opened("results/study.html", 400).eval_on_selector_all("article img[src$='.svg']", wide)
    assert len(found) == 3 and min(found) > 600


def test_the_button_that_copies_covers_no_command(opened):
    page = opened("gallery.html")
    page.wait_for_selector(".md-code__nav", state="attached")
    covered = """all => all.filter(pre => pre.querySelector("code").getBoundingClientRect().right
        > pre.querySelector(".md-code__nav").getBoundingClientRect().left).length"""
    assert page.eval_on_selector_all("pre:has(> .md-code__nav)", covered) == 0


def test_tutorials_show_animations_as_pictures(monkeypatch):
    nbformat = pytest.importorskip("nbformat", reason="the extra `docs` is not installed")
    pytest.importorskip("mkdocstrings")
    monkeypatch.syspath_prepend(str(DOCS))
    hooks = importlib.import_module("hooks")
    data = {"image/gif": "R0lGODlh", "text/plain": "<IPython.core.display.Image object>"}
    output = nbformat.v4.new_output("execute_result", data=data)
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("", outputs=[output])])
    assert hooks.animations(notebook, "tour_files") == {"tour_files/animation_1.gif": b"GIF89a"}
    (shown,) = notebook.cells[0].outputs
    assert shown["data"] == {
        "text/markdown": "![Animation of an episode](tour_files/animation_1.gif)"
    }
