"""The page of the service in a browser: it draws, decides, follows, and asks nobody else."""

from __future__ import annotations

from contextlib import contextmanager

import pytest

from tests.serve.running import FILE, Running


@pytest.fixture(scope="module")
def running(browser, tmp_path_factory):
    with Running(tmp_path_factory.mktemp("page")) as running:
        yield running


@contextmanager
def opened(browser, url, width=1280, scheme="light"):
    """The page, and everything that goes wrong in it."""
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    context.set_default_timeout(180_000)  # a busy machine is no failure
    page = context.new_page()
    page.troubles = []
    page.on("console", lambda message: page.troubles.append(f"{message.type}: {message.text}"))
    page.on("pageerror", lambda error: page.troubles.append(f"error: {error}"))
    page.on("request", lambda request: _note_request(page, request.url, url))
    page.goto(url)
    yield page
    context.close()


def _note_request(page, asked, url):
    if not asked.startswith((url, "data:", "blob:")):
        page.troubles.append(f"request: {asked}")


_SLOW_HISTORY = """() => {
  const fetched = window.fetch;
  window.fetch = async (path, given) => {
    if (path.includes("/history")) await new Promise(done => setTimeout(done, 2500));
    return fetched(path, given);
  };
}"""


def load_sample(page):
    """A sample network on the page."""
    page.locator("summary").click()
    page.get_by_role("button", name="Load a sample network").click()
    page.wait_for_selector("#picture .link")


def test_a_sample_is_drawn_told_of_an_event_and_decided_on(browser, running):
    expect = pytest.importorskip("playwright.sync_api").expect
    expect.set_options(timeout=180_000)
    with opened(browser, running.url) as page:
        page.wait_for_selector("#nothing:visible")
        load_sample(page)
        links = page.locator("#picture .link").count()
        before = float(page.inner_text("#objective"))
        page.locator("#picture .grip").first.dispatch_event("click")
        page.wait_for_selector("#picture .down")
        assert page.locator("#picture .link").count() == links - 1
        page.select_option("#ask select", "greedy")
        page.fill("#ask [name=deadline_ms]", "30000")
        page.get_by_role("button", name="Decide").click()
        page.wait_for_selector("#changes tr")
        drawn = page.inner_html("#picture")
        changes = page.locator("#changes tr").count()
        assert 0 < changes <= 3 and page.locator("#picture .marked").count() == changes
        worth = page.inner_text("#after")
        page.get_by_role("button", name="Accept").click()
        shown = page.locator("#objective")
        expect(shown).to_have_text(worth)
        assert page.inner_html("#picture") != drawn
        page.get_by_role("button", name="Undo").click()
        expect(shown).not_to_have_text(worth)
        page.locator("#picture .down").dispatch_event("click")
        page.locator("#picture .grip").first.dispatch_event("click")
        expect(page.locator("#picture .down")).to_have_count(0)
        assert float(page.inner_text("#objective")) == before
        assert page.locator("#history li").count() == 5
        assert page.locator("#chart .curve").count() == 1
        assert page.troubles == []


def test_it_follows_what_others_tell_the_service(browser, running):
    network = running.client().create(FILE)
    with opened(browser, running.url, 400, "dark") as page:
        page.wait_for_selector("#picture .link")
        link = network.state()["picture"]["links"][0]
        names = [node["name"] for node in network.state()["picture"]["nodes"]]
        ends = {"source": names[link["source"]], "target": names[link["target"]]}
        network.tell({"event": "link-down", **ends})
        page.wait_for_selector("#picture .down")
        sideways = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        assert page.evaluate(sideways) == 0
        light = page.evaluate("getComputedStyle(document.body).color.match(/\\d+/g).map(Number)")
        assert min(light) > 200
        assert page.troubles == []


def test_the_event_that_it_offers_first_can_happen_and_is_listed_once(browser, running):
    expect = pytest.importorskip("playwright.sync_api").expect
    network = running.client().create(FILE)
    with opened(browser, running.url) as page:
        page.select_option("#instances", network.id)
        page.wait_for_selector("#picture .link")
        assert page.input_value("#tell select") == "link-down"
        page.evaluate(_SLOW_HISTORY)  # so that the page looks again by itself meanwhile
        page.get_by_role("button", name="Let it happen").click()
        page.wait_for_selector("#picture .down")
        expect(page.locator("#history li")).to_have_count(1)
        assert network.state()["version"] == 1 and page.troubles == []


def test_a_refusal_is_shown(browser, running):
    running.client().create(FILE)
    with opened(browser, running.url) as page:
        page.wait_for_selector("#picture .link")
        page.fill("#tell textarea", '{"source": "nowhere", "target": "1"}')
        page.select_option("#tell select", "link-down")
        page.fill("#tell textarea", '{"source": "nowhere", "target": "1"}')
        page.get_by_role("button", name="Let it happen").click()
        page.wait_for_selector("#trouble:visible")
        assert "unknown node 'nowhere'" in page.inner_text("#trouble")
        assert all("422" in trouble for trouble in page.troubles)
