"""The answer to one question about this machine."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Check:
    """`ok` is False only for what a run needs and does not have; `fix` is then how to mend it."""

    name: str
    ok: bool
    detail: str
    fix: str = ""
