"""What really changed in the work tree, from looks at it."""

from __future__ import annotations

from collections.abc import Sequence

from runner.schema.look import Look


def changed_lines(looks: Sequence[Look]) -> int:
    """Lines added and taken away from look to look, over all attempts."""
    return sum(look.lines for look in looks)


def returned(looks: Sequence[Look]) -> int:
    """How often a path came back to a content that it had had before and left."""
    left: dict[str, set[str | None]] = {}
    count = 0
    for look in looks:
        for change in look.changes:
            known = left.setdefault(change.path, set())
            known.add(change.before)
            count += change.content in known
    return count
