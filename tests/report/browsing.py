"""Opening a page and looking at it."""

from __future__ import annotations

from contextlib import contextmanager

from lagco.report.contents import SECTIONS


@contextmanager
def opened(browser, path, width=1280, scheme="light"):
    """The page with all figures drawn, and everything that goes wrong in it noted."""
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    context.set_default_timeout(180_000)  # a busy machine is no failure
    page = context.new_page()
    page.troubles = []
    page.on("console", lambda message: page.troubles.append(f"{message.type}: {message.text}"))
    page.on("pageerror", lambda error: page.troubles.append(f"error: {error}"))
    page.on("dialog", lambda dialog: (page.troubles.append("dialog"), dialog.dismiss()))
    page.on("request", lambda request: _note_request(page, request.url))
    page.goto(path.as_uri())
    page.wait_for_function("!!window.drawAll")
    page.evaluate("drawAll()")
    page.wait_for_function(
        "[...document.querySelectorAll('.plot')].filter(p => p.offsetParent)"
        ".every(p => p.querySelector('.main-svg'))"
    )
    yield page
    context.close()


def _note_request(page, url):
    if not url.startswith(("file:", "data:", "blob:")):
        page.troubles.append(f"request: {url}")


def check_sections(page):
    shown = page.eval_on_selector_all("main > section", "all => all.map(s => s.id)")
    assert shown == [section.name for section in SECTIONS]
    assert page.locator(".plot .main-svg").count() > 20
    sideways = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    assert page.evaluate(sideways) == 0
