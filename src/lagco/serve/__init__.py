"""A decision service: live instances over HTTP, decided on in time, never made worse."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import fields
from types import ModuleType
from typing import Any

from lagco.errors import CheckError, UsageError, require_extra, suggest
from lagco.results.numbers import of_things
from lagco.runtime.declared import declare_options
from lagco.serve.options import ServeOptions

__all__ = ["ServeOptions", "serve"]

#: what the extra brings
_NEEDED = ("fastapi", "uvicorn", "prometheus_client", "python_multipart")


def serve(*, tell: Callable[[str], None] = print, **options: Any) -> None:
    """Serve decisions over HTTP until a signal.

    Args:
        tell: is told the address once clients may come.
        options: see :class:`lagco.serve.ServeOptions`.
    """
    known = [field.name for field in fields(ServeOptions)]
    for name in options:
        if name not in known:
            raise UsageError(suggest("option", name, known))
    chosen = ServeOptions(**options)
    for module in _NEEDED:
        require_extra(module, "serve", "lagco serve")
    if not hasattr(sys.modules["os"], "fork"):
        raise UsageError("lagco serve needs a system that forks processes: Linux or macOS")
    if chosen.audit:
        _audit(chosen, tell)
        return
    from lagco.serve.supervisor import supervise

    supervise(chosen, tell)


def _audit(options: ServeOptions, tell: Callable[[str], None]) -> None:
    from lagco.serve.auditing import audit

    found = audit(options)
    if found.differences:
        raise CheckError("\n".join(("the log cannot be replayed:", *found.differences[:20])))
    decided, weighed = (of_things(n, "decisions") for n in (found.decided, found.weighed))
    tell(f"{decided} made again and {weighed} weighed again, all to the same bits")


declare_options(serve, ServeOptions)


class _Serve(ModuleType):
    """Lets the command ``lagco serve`` be ``lagco.serve()`` in Python."""

    def __call__(self, *given: Any, **options: Any) -> None:
        serve(*given, **options)


sys.modules[__name__].__class__ = _Serve
