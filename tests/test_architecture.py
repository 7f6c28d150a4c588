"""The page on architecture names modules that exist, every package, and the layers as they are."""

import importlib.util
import pkgutil
import re
import tomllib
from pathlib import Path

import lagco

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "reference" / "architecture.md"


def named():
    return set(re.findall(r"`(lagco(?:\.\w+)+)`", PAGE.read_text()))


def test_every_module_that_it_names_exists():
    missing = [name for name in sorted(named()) if importlib.util.find_spec(name) is None]
    assert missing == []
    assert len(named()) > 40


def test_every_package_and_top_module_is_named():
    found = {f"lagco.{module.name}" for module in pkgutil.iter_modules(lagco.__path__)}
    assert found - named() == {"lagco.__main__"}


def contract():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    (found,) = settings["tool"]["importlinter"]["contracts"]
    return found


def test_the_layers_are_those_of_the_page_and_have_no_exception():
    found = contract()
    assert found.keys() == {"name", "type", "layers"}, "an exception is none of the contract's keys"
    shown = re.search(r"<!-- layers -->\n```text\n(.*?)```", PAGE.read_text("utf-8"), re.S)[1]
    layers = [[f"lagco.{name.strip()}" for name in line.split("|")] for line in shown.splitlines()]
    assert layers == [[name.strip() for name in line.split("|")] for line in found["layers"]]


def test_every_module_has_its_layer():
    layered = {name.strip() for line in contract()["layers"] for name in line.split("|")}
    modules = pkgutil.walk_packages(lagco.__path__, "lagco.", onerror=lambda name: None)
    around = {name.rpartition(".")[0] for name in layered}  # packages whose parts have layers
    without = [
        module.name
        for module in modules
        if module.name not in around
        and not any(f"{module.name}.".startswith(f"{name}.") for name in layered)
    ]
    assert without == []
