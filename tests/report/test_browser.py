"""The page in a browser: no error, everything drawn, choices and sorting work."""

from __future__ import annotations

import pytest

from tests.report.browsing import check_sections, opened


@pytest.fixture(scope="module")
def page(browser, report):
    """The report on a wide screen; opening it takes longer than most tests."""
    with opened(browser, report) as page:
        yield page


@pytest.fixture(autouse=True)
def no_troubles(request):
    """Whatever a test does, the page neither complains nor asks for anything."""
    yield
    if "page" in request.fixturenames:
        assert request.getfixturevalue("page").troubles == []


def test_it_opens_without_errors(page):
    check_sections(page)


def test_it_is_readable_on_a_phone_in_the_dark(browser, report):
    with opened(browser, report, 375, "dark") as page:
        check_sections(page)
        assert page.troubles == []
        light = page.evaluate("getComputedStyle(document.body).color.match(/\\d+/g).map(Number)")
        assert min(light) > 200


def test_texts_of_claims_are_not_squeezed_on_a_phone(browser, report):
    with opened(browser, report, 375) as page:
        cells = page.locator("#claims tbody tr:visible td:nth-of-type(n+2)")
        widths = cells.evaluate_all("all => all.map(cell => cell.getBoundingClientRect().width)")
        assert widths and min(widths) > 180


def test_hostile_names_run_nothing(browser, hostile):
    with opened(browser, hostile) as page:
        assert page.troubles == []
        assert page.locator("h4", has_text="<script>alert(1)</script>").count() > 3


def test_choices_show_other_tables_and_figures(page):
    section = page.locator("#generalization")
    assert "paper's scale" in section.locator("figcaption:visible").first.text_content()
    section.get_by_label("gap of the best state, %", exact=True).check()
    assert "in percent" in section.locator("figcaption:visible").first.text_content()
    curves = page.locator("#curves")
    curves.get_by_label("small", exact=True).check()
    assert "small instances" in curves.locator("figcaption:visible").first.text_content()
    assert curves.locator(".plot:visible .main-svg").count() > 0


def test_a_click_on_a_heading_sorts(page):
    table = page.locator("#generalization .part table:visible").first
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


def test_a_click_in_the_legend_hides_a_method_everywhere(page):
    count = "document.querySelectorAll('#scalability .scatterlayer .trace').length"
    before = page.evaluate(count)
    page.locator("#scalability [data-method=iterative]").click()
    page.wait_for_function(f"{count} < {before}")
    assert page.locator("#curves [data-method=iterative][aria-pressed=false]").count() == 1
    page.locator("#curves [data-method=iterative]").click()
    page.wait_for_function(f"{count} == {before}")


def test_a_click_saves_a_table(page, report):
    with page.expect_download() as saved:
        page.locator("#headline [data-file$='.csv']:visible").first.click()
    name = saved.value.suggested_filename
    assert saved.value.path().read_bytes() == (report.with_suffix(".tables") / name).read_bytes()


def test_a_browser_that_cannot_unpack_figures_says_so_and_shows_the_rest(browser, report):
    context = browser.new_context()
    page = context.new_page()
    troubles = []
    page.on("pageerror", lambda error: troubles.append(str(error)))
    page.add_init_script("delete window.DecompressionStream")
    page.goto(report.as_uri())
    page.wait_for_function("document.querySelector('.plot').textContent.includes('cannot show')")
    page.locator("#headline [data-file$='.csv']:visible").first.click()
    assert page.locator("#headline table:visible").count() > 0
    assert troubles == []
    context.close()


def test_it_prints_what_was_not_looked_at(browser, report, tmp_path):
    context = browser.new_context()
    context.set_default_timeout(180_000)
    page = context.new_page()
    page.goto(report.as_uri())
    page.wait_for_function("!!window.drawAll")
    page.pdf(path=tmp_path / "report.pdf", prefer_css_page_size=True)
    drawn = "[...document.querySelectorAll('.plot')].filter(p => p.offsetParent && !p.drawn)"
    assert page.evaluate(f"{drawn}.length") == 0
    assert (tmp_path / "report.pdf").stat().st_size > 100_000
    context.close()
