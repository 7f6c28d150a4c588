"""The page in a browser: no error, everything drawn, choices and sorting work."""

from __future__ import annotations

from contextlib import contextmanager

import pytest

from lagco.report.contents import SECTIONS


@contextmanager
def opened(browser, path, width=1280, scheme="light"):
    """The page, with everything that goes wrong in it noted."""
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    context.set_default_timeout(180_000)  # a busy machine is no failure
    page = context.new_page()
    page.troubles = []
    page.on("console", lambda message: page.troubles.append(f"{message.type}: {message.text}"))
    page.on("pageerror", lambda error: page.troubles.append(f"error: {error}"))
    page.on("dialog", lambda dialog: (page.troubles.append("dialog"), dialog.dismiss()))
    page.on("request", lambda request: _note_request(page, request.url))
    page.goto(path.as_uri())
    yield page
    context.close()


def _note_request(page, url):
    if not url.startswith(("file:", "data:", "blob:")):
        page.troubles.append(f"request: {url}")


def draw_all(page):
    page.evaluate("drawAll()")
    page.wait_for_function(
        "[...document.querySelectorAll('.plot')].filter(p => p.offsetParent)"
        ".every(p => p.querySelector('.main-svg'))"
    )


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (375, "dark")])
def test_it_opens_without_errors(browser, report, width, scheme):
    with opened(browser, report, width, scheme) as page:
        draw_all(page)
        assert page.troubles == []
        shown = page.eval_on_selector_all("main > section", "all => all.map(s => s.id)")
        assert shown == [section.name for section in SECTIONS]
        assert page.locator(".plot .main-svg").count() > 20
        sideways = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        assert page.evaluate(sideways) == 0


def test_hostile_names_run_nothing(browser, hostile):
    with opened(browser, hostile) as page:
        draw_all(page)
        assert page.troubles == []
        assert page.locator("h4", has_text="<script>alert(1)</script>").count() > 3


def test_choices_show_other_tables_and_figures(browser, report):
    with opened(browser, report) as page:
        section = page.locator("#generalization")
        assert "paper's scale" in section.locator("figcaption:visible").first.inner_text()
        section.get_by_text("gap, %", exact=True).first.click()
        assert "in percent" in section.locator("figcaption:visible").first.inner_text()
        curves = page.locator("#curves")
        curves.get_by_text("small", exact=True).first.click()
        assert curves.locator(".plot:visible .main-svg").count() > 0
        assert "trained on small" in curves.locator("figcaption:visible").first.inner_text()
        assert page.troubles == []


def test_a_click_on_a_heading_sorts(browser, report):
    with opened(browser, report) as page:
        table = page.locator("#generalization .part table").first
        read = "t => [...t.tBodies[0].rows].map(r => Number(r.cells[1].dataset.v))"
        before = table.evaluate(read)
        heading = table.locator("thead th").nth(1)
        heading.click()
        assert table.evaluate(read) == sorted(before, reverse=True)
        heading.click()
        assert table.evaluate(read) == sorted(before)
        table.locator("thead th").first.click()
        names = table.evaluate("t => [...t.tBodies[0].rows].map(r => r.cells[0].textContent)")
        assert names == sorted(names)


def test_a_click_in_the_legend_hides_a_method_everywhere(browser, report):
    with opened(browser, report) as page:
        draw_all(page)
        count = "document.querySelectorAll('#scalability .scatterlayer .trace').length"
        before = page.evaluate(count)
        page.locator("#scalability .legend button").first.click()
        page.wait_for_function(f"{count} < {before}")
        pressed = "[data-method=iterative][aria-pressed=false]"
        assert page.locator(f"#curves {pressed}").count() == 1
        assert page.troubles == []


def test_it_prints(browser, report, tmp_path):
    with opened(browser, report) as page:
        page.pdf(path=tmp_path / "report.pdf", prefer_css_page_size=True)
        drawn = "[...document.querySelectorAll('.plot')].filter(p => p.offsetParent && !p.drawn)"
        assert page.evaluate(f"{drawn}.length") == 0, "printing draws what was not looked at"
        assert page.troubles == []
    assert (tmp_path / "report.pdf").stat().st_size > 50_000
