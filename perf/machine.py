"""How busy the machine was with other things while something was measured."""

from __future__ import annotations

import os
import resource
from pathlib import Path
from typing import ClassVar, Self


class Load:
    """``foreign``: the share of all CPU time that other programs (and other guests of the same host) used."""

    TOLERATED: ClassVar[float] = 0.1

    def __enter__(self) -> Self:
        self.foreign = 0.0
        self._busy, self._all = _times()
        self._own = _own()
        return self

    def __exit__(self, *exc: object) -> None:
        busy, total = _times()
        own = _own() - self._own
        spent = max(1e-9, total - self._all)
        self.foreign = max(0.0, (busy - self._busy - own) / spent)


def _times() -> tuple[float, float]:
    """Seconds of CPU time used, stolen time included, and seconds there were, since the machine started."""
    tick = os.sysconf("SC_CLK_TCK")
    fields = [int(field) / tick for field in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
    total = sum(fields)
    return total - fields[3] - fields[4], total


def _own() -> float:
    """CPU seconds of this process and of its children that have ended."""
    own = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in own)
