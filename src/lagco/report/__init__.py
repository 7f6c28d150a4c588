"""The report of a study: one HTML page that needs nothing else, and its tables as files.

>>> lagco.report.build("study", "report.html")
"""

from __future__ import annotations

from lagco.report.page import build

__all__ = ["build"]
