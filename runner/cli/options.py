"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

DEFAULT_REGISTRY = Path("registry/index.md")

Registry = Annotated[Path, typer.Option("--registry", help="The registry file.", show_default=True)]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout and nothing else there.")]
