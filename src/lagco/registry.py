"""Objects by name: lagco's own, and those that installed packages add by entry points."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from lagco.errors import LagcoError, UnknownName, suggest

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

T = TypeVar("T")


class Registry(Mapping[str, T], Generic[T]):
    """A mapping from names to objects, in order: lagco's own first, then others by name.

    A package adds to it by an entry point of the group in its own metadata, for instance::

        [project.entry-points."lagco.methods"]
        my-method = "my_package.my_method:METHOD"

    What an entry point names is imported when it is first asked for. lagco's own names cannot be
    taken by others.

    Args:
        kind: what the things are called in messages.
        group: group of the entry points.
        own: lagco's own by name; ``module:attribute`` is imported when first asked for.
        read: makes the thing from an entry point; by default what it loads.
    """

    def __init__(
        self,
        kind: str,
        group: str,
        own: Mapping[str, T | str],
        read: Callable[[EntryPoint], T] | None = None,
    ) -> None:
        self.kind = kind
        self.group = group
        self._own = dict(own)
        self._read = read or load_entry_point
        self._loaded: dict[str, T] = {}

    def __getitem__(self, name: str) -> T:
        if name not in self._loaded:
            self._loaded[name] = self._find(name)
        return self._loaded[name]

    def __iter__(self) -> Iterator[str]:
        yield from self._own
        yield from self._added

    def __len__(self) -> int:
        return len(self._own) + len(self._added)

    def __contains__(self, name: object) -> bool:
        return name in self._own or name in self._added

    def _find(self, name: str) -> T:
        if name in self._own:
            found = self._own[name]
            if not isinstance(found, str):
                return found
            from importlib.metadata import EntryPoint

            return load_entry_point(EntryPoint(name, found, self.group))
        if name in self._added:
            return self._read(self._added[name])
        raise UnknownName(suggest(self.kind, name, self))

    @cached_property
    def _added(self) -> dict[str, EntryPoint]:
        from importlib.metadata import entry_points  # slow to import

        found: dict[str, EntryPoint] = {}
        for point in sorted(entry_points(group=self.group), key=lambda p: (p.name, p.value)):
            if point.name in self._own or point.name in found:
                warnings.warn(
                    f"the {self.kind} {point.name!r} of {origin_of(point)} is ignored: the name "
                    "is taken",
                    stacklevel=2,
                )
            else:
                found[point.name] = point
        return found


def load_entry_point(point: EntryPoint) -> Any:
    """Object of an entry point; if it cannot be loaded, an error that names the package."""
    try:
        return point.load()
    except Exception as error:
        raise LagcoError(
            f"the entry point {point.name!r} = {point.value!r} of {origin_of(point)} cannot be "
            f"loaded ({type(error).__name__}: {error}); mend or remove that package"
        ) from error


def origin_of(point: EntryPoint) -> str:
    """Name of the package that declares an entry point."""
    return point.dist.name if point.dist is not None else "lagco"
