"""What `bench validate` proved of a benchmark, claim by claim."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from runner.schema.base import Strict

GroupName = Literal["commands", "baseline", "solutions", "patches", "determinism", "leaks", "frozen"]


class Claim(Strict):
    """One thing a benchmark says about itself. ``sentence`` says what was found; ``fix`` what to do where it broke."""

    group: GroupName
    id: str
    ok: bool
    sentence: str
    fix: str = ""
    evidence: dict[str, Any] = {}


class Passes(Strict):
    """How often one gate of the reference passed; ``failures``: how often it ended in which other way."""

    runs: int
    passed: int
    failures: dict[str, int] = {}


class GateRun(Strict):
    """One gate of the reference, judged once. ``ended``: ``pass``, or what was found; ``date``: ISO 8601, UTC."""

    schema_: Literal["bench/gate-run/1"] = "bench/gate-run/1"
    gate: str
    number: int
    passed: bool
    ended: str
    date: str
    seconds: float


class Reliability(Strict):
    """Measured once, beside the frozen files: how often the reference passes each gate.

    ``since`` and ``date``: the first and the last day of it; ``machine`` in a few words.
    """

    NEEDED: ClassVar[int] = 200

    schema_: Literal["bench/reliability/1"] = "bench/reliability/1"
    benchmark: str
    benchmark_hash: str
    since: str
    date: str
    machine: str
    images: dict[str, str]
    runner_version: str
    scorer_version: str
    gates: dict[str, Passes]

    @property
    def runs(self) -> int:
        """Of the gate that was judged least often."""
        return min((gate.runs for gate in self.gates.values()), default=0)

    @property
    def holds(self) -> bool:
        """Each gate passed 199 times of 200, or in the same proportion."""
        return all(200 * gate.passed >= 199 * gate.runs for gate in self.gates.values())

    @property
    def too_few(self) -> bool:
        return self.runs < self.NEEDED

    def shown(self) -> str:
        return ", ".join(
            f"{name} {gate.passed}/{gate.runs}" + "".join(f" ({n} x {how})" for how, n in gate.failures.items())
            for name, gate in sorted(self.gates.items())
        )


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
        return bool(self.claims) and all(claim.ok for claim in self.claims)
