"""How a command ends: typed errors become one sentence on stderr and their exit code."""

from __future__ import annotations

import sys
from collections.abc import Callable

import typer


def run_app(name: str, app: Callable[[], object]) -> None:
    """Call ``app``; its own exits pass through."""
    from runner.errors import BenchError

    try:
        app()
    except BenchError as error:
        typer.echo(f"{name}: {error}", err=True)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        typer.echo(f"{name}: stopped", err=True)
        sys.exit(130)
