"""The report of a real study, in a browser."""

from __future__ import annotations

import lagco.report
from tests.report.browsing import check_sections, opened
from tests.study.conftest import tiny  # noqa: F401 (a fixture)


def test_the_report_of_a_real_study_opens(tiny, browser, tmp_path):  # noqa: F811
    """Every section has something: all kinds of records, agents and data are there."""
    report = lagco.report.build(tiny.root, tmp_path / "report.html")
    with opened(browser, report) as page:
        check_sections(page)
        assert page.troubles == []
        assert page.locator("nav .empty").count() == 0
        assert page.locator(".film img").count() >= 6
        assert page.locator("#episodes .note", has_text="could not be drawn").count() == 0
