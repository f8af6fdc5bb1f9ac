"""opencode's SQLite file as rows. The contestant could write it, so it is read with care, from a copy."""

from __future__ import annotations

import json
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from runner.harness.jsonl import Row
from runner.harness.summary import LogError

SQLITE_MAGIC = b"SQLite format 3\0"
MAX_BYTES = 256 << 20
STEPS = 50_000_000
"""SQLite's own steps after which a query is given up: a crafted schema must not run forever."""


def database_rows(path: Path) -> Iterator[Row]:
    """Rows of the tables session, message and part, in the order of their creation: ``{table, row}`` as in a dump.

    The write-ahead log beside it is read as well. LogError for a file that is no such database.
    """
    with tempfile.TemporaryDirectory(prefix="opencode-db-") as folder:
        copy = Path(folder) / "store.db"
        for suffix in ("", "-wal"):
            part = path.with_name(path.name + suffix)
            if part.is_file() and not part.is_symlink():
                if part.stat().st_size > MAX_BYTES:
                    raise LogError(f"{part.name} is too large to read")
                shutil.copyfile(part, copy.with_name(copy.name + suffix))
        try:
            yield from _read(copy, path.name)
        except sqlite3.Error as error:
            raise LogError(f"{path.name} is no readable database of opencode: {error}") from None


def _read(copy: Path, name: str) -> Iterator[Row]:
    database = sqlite3.connect(copy)
    try:
        database.execute("PRAGMA trusted_schema = OFF")
        database.text_factory = lambda data: data.decode("utf-8", "replace")
        budget = [STEPS]

        def spend() -> int:
            budget[0] -= 10_000
            return budget[0] < 0

        database.set_progress_handler(spend, 10_000)
        tables = {row[0] for row in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        number = 0
        for table in ("session", "message", "part"):
            if table not in tables:
                continue
            cursor = database.execute(f"SELECT * FROM {table} ORDER BY time_created, id")
            columns = [column[0] for column in cursor.description]
            for values in cursor:
                number += 1
                record = {column: _value(value) for column, value in zip(columns, values, strict=True)}
                yield Row(name, number, {"table": table, "row": record})
    finally:
        database.close()


def _value(value: Any) -> Any:
    """JSON columns are text in SQLite."""
    if isinstance(value, str) and value[:1] in ("{", "["):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value if not isinstance(value, bytes) else None
