"""What all tests share."""

from __future__ import annotations


def pytest_collection_modifyitems(items):
    """Start the longest test first, so that the other worker is busy meanwhile."""
    items.sort(key=lambda item: "test_wheel" not in item.nodeid)
