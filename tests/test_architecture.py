"""The page on architecture names modules that exist, and every package."""

import importlib.util
import pkgutil
import re
from pathlib import Path

import lagco

PAGE = Path(__file__).resolve().parents[1] / "docs" / "reference" / "architecture.md"


def named():
    return set(re.findall(r"`(lagco(?:\.\w+)+)`", PAGE.read_text()))


def test_every_module_that_it_names_exists():
    missing = [name for name in sorted(named()) if importlib.util.find_spec(name) is None]
    assert missing == []
    assert len(named()) > 40


def test_every_package_and_top_module_is_named():
    found = {f"lagco.{module.name}" for module in pkgutil.iter_modules(lagco.__path__)}
    assert found - named() == {"lagco.__main__"}
