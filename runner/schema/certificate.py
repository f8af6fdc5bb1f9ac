"""What `bench validate` proved of a benchmark, claim by claim."""

from __future__ import annotations

from typing import Any, Literal

from runner.schema.base import Strict


class Claim(Strict):
    """One thing a benchmark says about itself. ``sentence`` says what was found; ``fix`` what to do where it broke."""

    group: Literal["commands", "baseline", "solutions", "patches", "determinism", "leaks", "frozen"]
    id: str
    ok: bool
    sentence: str
    fix: str = ""
    evidence: dict[str, Any] = {}


class Passes(Strict):
    """How often one gate of the reference passed."""

    runs: int
    passed: int


class Reliability(Strict):
    """Measured once, beside the frozen files: how often the reference passes each gate. ``machine`` in a few words."""

    schema_: Literal["bench/reliability/1"] = "bench/reliability/1"
    benchmark: str
    benchmark_hash: str
    date: str
    machine: str
    gates: dict[str, Passes]

    @property
    def holds(self) -> bool:
        """Each gate passed 199 times of 200, or in the same proportion."""
        return all(200 * gate.passed >= 199 * gate.runs for gate in self.gates.values())


class Certificate(Strict):
    """All claims of one benchmark on one set of images; ``proven`` when every claim holds."""

    schema_: Literal["bench/certificate/1"] = "bench/certificate/1"
    benchmark: str
    benchmark_hash: str
    baseline: str
    images: dict[str, str]
    tools: dict[str, str]
    runner_version: str
    claims: list[Claim]
    matrix: dict[str, list[str]]
    """The full kill matrix: patch to every case that noticed it."""

    @property
    def proven(self) -> bool:
        return all(claim.ok for claim in self.claims)
