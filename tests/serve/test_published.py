"""The page on the service under load shows what was measured, and that keeps its promises."""

from __future__ import annotations

import json

from benchmarks.service.page import PAGE, RECORDS, TABLES, published


def test_the_page_shows_the_records():
    records = json.loads(RECORDS.read_text())
    assert set(records) == set(TABLES)
    text = PAGE.read_text()
    assert published(text, records) == text


def test_nothing_acknowledged_was_lost_and_nothing_failed():
    records = json.loads(RECORDS.read_text())
    kills, hostile = records["kills"], records["hostile"]
    assert kills["lost"] == kills["zombies"] == kills["unanswered"] == 0
    assert not any(status.startswith("5") for status in hostile["statuses"])
    assert hostile["workers_lost"] == 0 and hostile["schemathesis"]["outcome"].endswith("passed")
