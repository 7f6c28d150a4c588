"""The shape that the code keeps: small folders, few arguments, no private ways into other packages."""

import ast
import re
import tomllib
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[1] / "src"
PACKAGE = SOURCE / "lagco"
MOST_MODULES, MOST_ARGUMENTS = 12, 12
#: ways past the interfaces of numba and torch
PRIVATE = re.compile(r"llvmlite|_fused_adam_|intrinsic")


def sources():
    return sorted(PACKAGE.rglob("*.py"))


def test_folders_have_at_most_a_dozen_modules():
    found = {}
    for folder in {path.parent for path in sources()}:
        count = len([path for path in folder.glob("*.py") if path.name != "__init__.py"])
        if count > MOST_MODULES:
            found[folder.relative_to(SOURCE).as_posix()] = count
    assert found == {}


def test_no_way_past_the_interfaces_of_numba_and_torch():
    found = [
        f"{path.relative_to(SOURCE)}:{number}: {line.strip()}"
        for path in sources()
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        if PRIVATE.search(line)
    ]
    assert found == []


def arguments(function):
    """Arguments by position, and those by keyword alone, without the object of a method."""
    given = function.args
    positional = [argument.arg for argument in (*given.posonlyargs, *given.args)]
    if positional[:1] in (["self"], ["cls"]):
        positional = positional[1:]
    return len(positional), len(given.kwonlyargs)


def test_functions_take_at_most_a_dozen_arguments():
    """Public functions may take more by keyword, and commands have their options."""
    found = []
    for path in sources():
        if path.is_relative_to(PACKAGE / "cli"):
            continue
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            positional, named = arguments(node)
            public = not node.name.startswith("_") or node.name == "__init__"
            count = positional if public else positional + named
            if count > MOST_ARGUMENTS:
                found.append(f"{path.relative_to(SOURCE)}:{node.lineno}: {node.name} has {count}")
    assert found == []


def imported():
    """Top packages that the code imports."""
    found = set()
    for path in sources():
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Import):
                found |= {name.name.partition(".")[0] for name in node.names}
            elif isinstance(node, ast.ImportFrom) and not node.level:
                found.add(str(node.module).partition(".")[0])
    return found


def test_every_dependency_is_imported():
    project = tomllib.loads((SOURCE.parent / "pyproject.toml").read_text("utf-8"))["project"]
    names = [re.match(r"[\w-]+", line)[0].replace("-", "_") for line in project["dependencies"]]
    assert set(names) - imported() == set()


def test_the_checks_find_what_they_are_for():
    """Or else they could not fail."""
    assert PRIVATE.search("import llvmlite.ir") and PRIVATE.search("from numba import intrinsic")
    source = "def f(self, a, b, /, c, *, d, e): pass"
    assert arguments(ast.parse(source).body[0]) == (3, 2)
