"""The command `serve`."""

from __future__ import annotations

from typing import Any

import typer

from lagco.cli.declared import declare_command
from lagco.serve.options import ServeOptions


def serve(**given: Any) -> None:
    """Serve decisions on live instances over HTTP, with a page."""
    from lagco.serve import serve as serve_them

    options = {name: value for name, value in given.items() if value is not None}
    serve_them(tell=typer.echo, **options)


declare_command(serve, ServeOptions)
