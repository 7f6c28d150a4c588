"""Source files that modules depend on, found by following imports."""

from __future__ import annotations

import ast
import functools
import importlib.util
from collections.abc import Iterable, Iterator
from pathlib import Path


def sources(roots: Iterable[str], packages: set[str]) -> Iterator[tuple[str, bytes]]:
    """Names and contents of all files that the modules reach, including data files next to them."""
    files = {
        name: path for name in closure(roots, packages) if (path := _path_of(name)) is not None
    }
    for name in sorted(files):
        path = files[name]
        yield name, path.read_bytes()
        if path.name == "__init__.py":
            for beside in sorted(path.parent.iterdir()):
                if beside.is_file() and beside.suffix in (".json", ".npz", ".toml", ".csv"):
                    yield f"{name}/{beside.name}", beside.read_bytes()


def closure(roots: Iterable[str], packages: set[str]) -> set[str]:
    """Modules of these packages that the roots import, directly or not, the roots included."""
    found: set[str] = set()
    waiting = list(roots)
    while waiting:
        name = waiting.pop()
        if name in found or name.split(".")[0] not in packages:
            continue
        found.add(name)
        waiting += _imports(name)
        if "." in name:  # importing a module runs the packages around it
            waiting.append(name.rpartition(".")[0])
    return found


@functools.cache
def _imports(name: str) -> tuple[str, ...]:
    """Modules that a module imports, at its top or inside its functions."""
    path = _path_of(name)
    if path is None:
        return ()
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    found: list[str] = []
    for node in _running(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                around = package.rsplit(".", node.level - 1)[0]
                base = f"{around}.{base}" if base else around
            found.append(base)
            found += [f"{base}.{alias.name}" for alias in node.names]  # it may be a module
    return tuple(found)


def _running(tree: ast.AST) -> Iterator[ast.AST]:
    """All nodes but those that only type checkers see."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        yield node
        yield from _running(node)


@functools.cache
def _path_of(name: str) -> Path | None:
    """Source file of a module, found without importing it; None if there is no such module."""
    top, *inner = name.split(".")
    spec = importlib.util.find_spec(top)
    if spec is None or spec.origin is None:
        return None
    if not inner:
        return Path(spec.origin)
    path = Path(spec.origin).parent.joinpath(*inner)
    for candidate in (path / "__init__.py", path.with_suffix(".py")):
        if candidate.is_file():
            return candidate
    return None
