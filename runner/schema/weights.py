"""What is worth how many points: the registry's key ``weights``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Self

from pydantic import Field, field_validator, model_validator

from runner.schema.base import Strict


class Band(Strict):
    """Linear between ``full`` (all points) and ``zero`` (none)."""

    full: float
    zero: float


GATES = ("scope", "milestones", "ci", "e2e", "determinism", "unit_deleted", "behaviour", "criterion")
CODE_PARTS = {
    "gates": GATES,
    "prerequisites": GATES,
    "corpus": ("mutation", "recall", "four_channel", "gaps", "wildcard"),
    "criterion": ("cases",),
}
AGENTIC_PARTS = ("attempts", "rebaseline", "tool_discipline", "churn")
PENALTIES = ("retry", "rebaseline", "malformed", "loop", "death")
THRESHOLDS = ("wildcard", "churn")


Points = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class Weights(Strict):
    """``code``: parts ``gates`` and ``corpus`` (as the seed), ``prerequisites`` and ``criterion`` for runner-1.

    ``agentic``: points per part; ``penalties``: points off per incident; ``thresholds``: bands of ratios. The seed's
    flat keys (``churn_full_max``, ``churn_zero_min``) are read as the band ``churn``.
    """

    code: dict[str, dict[str, Points]] = {}
    agentic: dict[str, Points] = {}
    penalties: dict[str, Points] = {}
    thresholds: dict[str, Band] = {}

    @field_validator("thresholds", mode="before")
    @classmethod
    def _flat_keys_are_bands(cls, value: object) -> object:
        if not isinstance(value, dict):
            return value
        found = {k: v for k, v in value.items() if isinstance(v, (dict, Band))}
        flat = {k: v for k, v in value.items() if k not in found}
        for name in THRESHOLDS:
            ends = [flat.pop(f"{name}_{end}", None) for end in ("full_max", "zero_min")]
            if ends != [None, None]:
                if None in ends:
                    raise ValueError(f"{name}_full_max and {name}_zero_min belong together")
                found[name] = {"full": ends[0], "zero": ends[1]}
        return found | flat

    @model_validator(mode="after")
    def _known_names(self) -> Self:
        named: list[tuple[str, Mapping[str, object], tuple[str, ...]]]
        named = [("code", self.code, tuple(CODE_PARTS)), ("agentic", self.agentic, AGENTIC_PARTS),
                 ("penalties", self.penalties, PENALTIES), ("thresholds", self.thresholds, THRESHOLDS)]  # fmt: skip
        named += [(f"code.{part}", given, CODE_PARTS.get(part, ())) for part, given in self.code.items()]
        for key, given, known in named:
            unknown = sorted(set(given) - set(known))
            if unknown:
                raise ValueError(f"{key}: unknown name {unknown[0]!r}; known: {', '.join(known)}")
        for name, band in self.thresholds.items():
            if band.full >= band.zero:
                raise ValueError(f"thresholds.{name}: full ({band.full:g}) must lie below zero ({band.zero:g})")
        return self
