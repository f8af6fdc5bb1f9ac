"""One figure with the bound that it must keep."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Floor:
    """``value`` must be ``side`` (at least, at most) ``bound``; ``note`` says what it was measured against."""

    name: str
    value: float
    bound: float
    side: Literal["at least", "at most"]
    unit: str = ""
    note: str = ""

    @property
    def ok(self) -> bool:
        return self.value >= self.bound if self.side == "at least" else self.value <= self.bound

    def words(self) -> str:
        """One line for people."""
        figure = f"{self.value:.2f}" if abs(self.value) < 100 else f"{self.value:.0f}"
        kept = "kept  " if self.ok else "BROKEN"
        line = f"{kept} {self.name}: {figure} {self.unit}".rstrip() + f" ({self.side} {self.bound:g})"
        return f"{line}; {self.note}" if self.note else line
