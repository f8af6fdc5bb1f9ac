"""An arm: what is measured. Two runs that differ in any identity field are different arms."""

from __future__ import annotations

import re
from typing import Literal, get_args

from runner.schema.base import Strict, digest

Mode = Literal["single_agent", "multi_agent", "adaptive", "unknown"]
"""single_agent: it has no way to start another agent; multi_agent: it always works with several; adaptive: it may start
others as it sees fit."""
MODES: tuple[str, ...] = get_args(Mode)
EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max", "ultra", "unknown")


class Arm(Strict):
    """Identity of a contestant: model + provider + harness + effort + mode + orchestration + delegation."""

    provider: str
    model: str
    harness: str
    harness_version: str
    effort: str = "unknown"
    mode: Mode = "unknown"
    orchestration: str = "direct"
    delegation: Literal["milestone", "plan", "unknown"] = "milestone"
    role: Literal["treatment", "control"] = "treatment"

    @property
    def arm_id(self) -> str:
        """First 12 hex digits of the hash of the identity (the role is how it is used, not what it is)."""
        identity = self.model_dump(mode="json")
        identity.pop("role")
        return digest(identity)[:12]

    @property
    def label(self) -> str:
        return f"{self.provider}/{self.model}"

    @property
    def model_slug(self) -> str:
        """The model half, other characters than letters and digits folded to ``-``, lower case."""
        return re.sub(r"[^a-z0-9]+", "-", self.model.lower()).strip("-") or "model"
