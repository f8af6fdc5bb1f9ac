"""A look at the work tree while the contestant is at work."""

from __future__ import annotations

from typing import Literal

from runner.schema.base import Strict


class Change(Strict):
    """One path that differs from the look before. ``before``, ``content``: git's names of what it held and holds, null
    where it was or is not there; ``added``, ``taken``: lines, null where it is no text.
    """

    path: str
    before: str | None
    content: str | None
    added: int | None = None
    taken: int | None = None


class Look(Strict):
    """One line of ``snapshots.jsonl``. ``requests``: how many requests of the attempt had passed on to the provider.

    ``tree`` null: the look was missed, for ``reason``. ``changes`` are the first 2000 of ``paths``; ``lines`` counts
    all of them, added and taken away.
    """

    schema_: Literal["bench/look/1"] = "bench/look/1"
    at: str
    attempt: str
    requests: int
    tree: str | None
    paths: int = 0
    lines: int = 0
    changes: list[Change] = []
    reason: str | None = None
    took_ms: float
