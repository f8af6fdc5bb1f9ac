"""Reads the JSON lines that agents write. Agents are killed midway: a torn or garbled line is counted, not fatal."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MAX_LINE_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True)
class Row:
    """A line's JSON object, or null where the line is none."""

    file: str
    number: int
    data: dict[str, Any] | None


def rows(path: Path) -> Iterator[Row]:
    """All non-empty lines. Lines are split at LF only: other separators may stand inside JSON strings."""
    with path.open("rb") as file:
        number = 0
        while line := file.readline(MAX_LINE_BYTES):
            number += 1
            whole = line
            while not line.endswith(b"\n") and (line := file.readline(MAX_LINE_BYTES)):
                whole = b"{too large"
            if not whole.strip():
                continue
            try:
                data = json.loads(whole)
            except (ValueError, RecursionError):
                data = None
            yield Row(path.name, number, data if isinstance(data, dict) else None)


def mapping(value: Any) -> dict[str, Any]:
    """``value`` if it is a JSON object, else an empty one."""
    return value if isinstance(value, dict) else {}


def items(value: Any) -> list[dict[str, Any]]:
    """The JSON objects in ``value``, if it is a list."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def count(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else 0
