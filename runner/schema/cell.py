"""A cell: a value, or null with the reason. Nothing unmeasured is ever a number."""

from __future__ import annotations

from typing import Self

from pydantic import model_validator

from runner.schema.base import Strict

Scalar = int | float | str | bool


class Cell(Strict):
    """One figure of a row.

    ``value`` null needs a ``reason``; ``source`` names where the value comes from
    (``ledger``, ``runner``, ``git``, ``registry`` ...).
    """

    value: Scalar | None
    reason: str | None = None
    source: str | None = None

    @model_validator(mode="after")
    def _null_has_reason(self) -> Self:
        if self.value is None and not self.reason:
            raise ValueError("a cell without a value must say why")
        return self

    @classmethod
    def of(cls, value: Scalar, source: str) -> Cell:
        return cls(value=value, source=source)

    @classmethod
    def none(cls, reason: str) -> Cell:
        return cls(value=None, reason=reason)

    def text(self) -> str:
        """The cell as a table shows it: ``-`` for null."""
        return "-" if self.value is None else str(self.value)
