"""The answer to one question about this machine."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Check:
    """`ok` is True, False, or None for what is worth knowing but stops nothing. `fix` only when needed."""

    name: str
    ok: bool | None
    detail: str
    fix: str = ""
