"""The examples of the guide, run from top to bottom."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

GUIDE = Path(__file__).resolve().parents[1] / "docs" / "guide"


def examples(page):
    return re.findall(r"^```python\n(.*?)^```$", (GUIDE / page).read_text(), re.M | re.S)


@pytest.mark.parametrize("page", ["training-options.md"])
def test_the_examples_of_the_guide_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "decide", raising=False)
    found = examples(page)
    assert found
    namespace: dict[str, object] = {"__name__": "guide"}
    for number, code in enumerate(found):
        exec(compile(code, f"{page}, example {number + 1}", "exec"), namespace)
    monkeypatch.delitem(sys.modules, "decide", raising=False)
