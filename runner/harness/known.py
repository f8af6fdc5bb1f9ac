"""The harnesses there are: one entry each."""

from __future__ import annotations

from runner.errors import UsageError
from runner.harness.base import Harness

DEFAULT = "pi"


def harness(name: str) -> Harness:
    """Raises UsageError listing the known ones."""
    from runner.harness.pi import Pi

    known: dict[str, type[Harness]] = {"pi": Pi}
    if name not in known:
        raise UsageError(f"there is no harness {name!r}", f"known: {', '.join(known)} (and scripted, for controls)")
    return known[name]()
