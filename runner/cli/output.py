"""How commands print: one JSON document, one table, or a page."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.markdown import Markdown
from rich.table import Table


def wide_console() -> Console:
    """Standard output; wide where it is no terminal, so that a table in a log keeps one line a row."""
    console = Console()
    return console if console.is_terminal else Console(width=160)


def print_document(document: Any) -> None:
    Console(soft_wrap=True).out(json.dumps(document, indent=2, ensure_ascii=True), highlight=False)


def print_table(title: str, rows: Sequence[dict[str, Any]], *, empty: str) -> None:
    """A table of equal-keyed rows, or the sentence ``empty``."""
    console = wide_console()
    if not rows:
        console.print(empty, markup=False)
        return
    table = Table(title=title, title_justify="left")
    for column in rows[0]:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*(str(v) for v in row.values()))
    console.print(table)


def print_markdown(text: str) -> None:
    """Rendered on a terminal, as it is elsewhere."""
    console = Console()
    if console.is_terminal:
        console.print(Markdown(text.split("\n---\n", 1)[-1]))
    else:
        console.out(text, highlight=False, end="")
