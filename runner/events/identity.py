"""Draws together who really ran. What an agent says of itself is a claim; what went over the wire is the fact."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from runner.events.segments import Segment
from runner.gateway.wire import ANSWERS
from runner.harness.summary import Claim
from runner.harness.trace import Trace
from runner.schema.arm import EFFORTS, Arm
from runner.schema.base import digest
from runner.schema.identity import Evidence, Facet, IdentityRecord, Normalized, Provenance, Said
from runner.schema.ledger import LedgerLine
from runner.schema.run import RunLock

EFFORT_CONFOUNDED = "effort-confounded"
_SAME = {"off": "none", "disabled": "none", "thinking=disabled": "none", "enable_thinking=false": "none",
         "enabled=false": "none", "thinking=false": "none", "think=false": "none"}  # fmt: skip
"""Words that say that no thinking was asked for; a budget of tokens is no level and stays unknown."""


def identify_run(
    folder: Path, lock: RunLock, segments: Sequence[Segment], ledger: Sequence[LedgerLine]
) -> IdentityRecord:
    """From a run's stored files below ``folder``."""
    look = _Looker(folder, lock, segments, ledger)
    arm = lock.arm
    facets = {
        "provider": look.facet(arm.provider, "provider", lambda t: t.provider, None, comparable=False),
        "host": look.facet(None, None, None, lambda line: line.host_served),
        "model": look.model(),
        "harness": look.facet(arm.harness, "harness", None, None, comparable=False),
        "harness_version": look.facet(arm.harness_version, "harness_version", lambda t: t.version, None),
        "effort": look.effort(),
        "mode": look.mode(),
        "context_window": look.facet(None, None, lambda t: t.context_window, None),
        "sampling": look.facet(None, None, None, lambda line: line.sampling),
        "system_prompt": look.facet(None, None, lambda t: t.prompt, lambda line: line.system_sha256, comparable=False),
    }
    effort = facets["effort"]
    value, evidence, provenance = _effective(effort, bool(look.answers()))
    confounds = []
    if effort.agrees is False:
        confounds.append(EFFORT_CONFOUNDED)
    confounds += [f"{name}-differs" for name in ("model", "harness_version", "mode") if facets[name].agrees is False]
    return IdentityRecord(
        run_id=lock.run_id,
        arm_id=arm.arm_id,
        facets=facets,
        effort=value,
        effort_normalized=normalized(value),
        effort_provenance=provenance,
        effort_evidence=evidence,
        wire_arm_id=_sent(arm, effort, look.answers()),
        mode=(facets["mode"].logged.value or arm.mode) if arm.mode == "unknown" else arm.mode,
        orchestration=arm.orchestration,
        delegation=arm.delegation,
        confounds=confounds,
    )


def normalized(effort: str | None) -> Normalized:
    """The common name of a level, where the words are one; never translated from a number of tokens."""
    word = _SAME.get((effort or "").lower(), (effort or "").lower())
    return word if word in EFFORTS else "unknown"  # type: ignore[return-value]


def _effective(effort: Facet, asked_a_model: bool) -> tuple[str, Evidence | None, Provenance]:
    """The wire's word; the log's only where no request was seen: where requests say nothing, the model's own default
    holds, and nobody knows it.
    """
    for said in (effort.on_wire,) if asked_a_model else (effort.on_wire, effort.logged):
        if said.value is not None:
            return said.value, said.evidence, "runtime_log"
    return "unknown", None, "unknown"


def _sent(arm: Arm, effort: Facet, answers: Sequence[tuple[int, LedgerLine]]) -> str | None:
    """The same for all arms that send the same: effort, and whatever options the first request with it has.

    Silence is what an arm sends that asks for nothing. Where the agent takes its level for another than it sends
    (Codex's ``ultra`` is ``max``, and leave to delegate), it does more than that word: then the level is both.
    """
    if not answers:
        return None
    sent = effort.on_wire.value
    levels = [normalized(sent), normalized(effort.logged.value)]
    word = sent if levels[0] == "unknown" else levels[0]
    if "unknown" not in levels and levels[0] != levels[1]:
        word = f"{levels[1]} as {levels[0]}"
    options = next((line.options_sha256 for _, line in answers if line.effort_wire == sent), None)
    return digest([arm.model_copy(update={"effort": word or "unknown"}).arm_id, options])[:12]


def _helper(trace: Trace) -> Claim | None:
    """The first thing that a sub-agent did."""
    step = next((step for step in trace.steps if step.stream), None)
    return Claim("multi_agent", step.file, step.line) if step else None


class _Looker:
    def __init__(self, folder: Path, lock: RunLock, segments: Sequence[Segment], ledger: Sequence[LedgerLine]) -> None:
        self._folder, self._lock, self._ledger = folder, lock, ledger
        self._traces = [(segment, segment.trace) for segment in segments if segment.trace is not None]
        self._lines: dict[str, list[bytes]] = {}

    def facet(
        self,
        requested: str | None,
        key: str | None,
        logged: Callable[[Trace], Claim | None] | None,
        on_wire: Callable[[LedgerLine], str | None] | None,
        *,
        comparable: bool = True,
    ) -> Facet:
        asked = self._requested(requested, key)
        said = self._logged(logged)
        seen = self._wire(on_wire)
        values = {s.value for s in (asked, said, seen) if s.value is not None}
        several = sum(s.value is not None for s in (asked, said, seen)) > 1
        agrees = len(values) == 1 if comparable and several else None
        return Facet(requested=asked, logged=said, on_wire=seen, agrees=agrees)

    def model(self) -> Facet:
        """A name that the provider may serve the arm's model under (a dated one) is no other model; the gateway judged
        that by the provider's entry when the answer passed.
        """
        own = self._lock.arm.model
        seen = self.facet(own, "model", lambda t: t.model, lambda line: line.model_served or line.model_asked)
        names = {own, *(line.model_served for _, line in self.answers() if line.model_asked == own and not line.fault)}
        told = [said.value for said in (seen.logged, seen.on_wire) if said.value is not None]
        return seen.model_copy(update={"agrees": names.issuperset(told) if told else None})

    def effort(self) -> Facet:
        """Silence on the wire is something that was seen: an effort that was asked for did not arrive."""
        arm = self._lock.arm
        asked = self._requested(None if arm.effort == "unknown" else arm.effort, "effort", "nothing was asked for")
        said, seen = self._logged(lambda trace: trace.effort), self._wire_effort()
        values = [normalized(s.value) if normalized(s.value) != "unknown" else s.value for s in (asked, said, seen)]
        spoken = [value for value in values if value is not None]
        silent = seen.value is None and bool(self.answers()) and asked.value is not None
        agrees: bool | None = None
        if silent or len(spoken) > 1:
            agrees = len(set(spoken)) == 1 and not (silent and values[0] != "none")
        return Facet(requested=asked, logged=said, on_wire=seen, agrees=agrees)

    def mode(self) -> Facet:
        """Requested: what the harness can do, as the arm has it. Logged: that a sub-agent did something; that none is
        seen says nothing of what the agent could have done.
        """
        arm = self._lock.arm
        asked = self._requested(None if arm.mode == "unknown" else arm.mode, "mode", "nobody said whether it can")
        said = self._logged(_helper, "no sub-agent is seen in the log")
        agrees = None if asked.value is None or said.value is None else asked.value != "single_agent"
        return Facet(requested=asked, logged=said, on_wire=self._wire(None), agrees=agrees)

    def answers(self) -> list[tuple[int, LedgerLine]]:
        return [
            (n, line) for n, line in enumerate(self._ledger, 1)
            if line.protocol in ANSWERS and line.outcome != "refused" and not line.ours
        ]  # fmt: skip

    def _requested(self, value: str | None, key: str | None, reason: str = "not part of an arm") -> Said:
        if value is None or key is None:
            return Said(value=None, reason=reason)
        return Said(value=value, evidence=self._evidence("lock.json", self._line_of(key)))

    def _line_of(self, key: str) -> int:
        lines = self._file("lock.json")
        inside = next((n for n, line in enumerate(lines) if b'"arm"' in line), 0)
        return next((n for n, line in enumerate(lines[inside:], inside + 1) if f'"{key}"'.encode() in line), 1)

    def _logged(self, read: Callable[[Trace], Claim | None] | None, silent: str = "the log does not say it") -> Said:
        if read is None:
            return Said(value=None, reason=silent)
        for segment, trace in reversed(self._traces):
            claim = read(trace)
            if claim is not None:
                return Said(value=claim.value, evidence=self._find(f"agent/{segment.file}", claim))
        return Said(value=None, reason=silent if self._traces else "no log was read")

    def _wire(self, read: Callable[[LedgerLine], str | None] | None) -> Said:
        if read is None:
            return Said(value=None, reason="not to be seen on the wire")
        return self._most([(n, value) for n, line in self.answers() if (value := read(line)) is not None])

    def _wire_effort(self) -> Said:
        answers = self.answers()
        if not answers:
            return Said(value=None, reason="no request was passed on")
        most = self._most([(n, line.effort_wire) for n, line in answers if line.effort_wire is not None])
        if most.value is None:
            return Said(value=None, reason="the requests say nothing of effort")
        return most

    def _most(self, found: list[tuple[int, str]]) -> Said:
        """What most requests say, the first of them as evidence; other words are named."""
        if not found:
            return Said(value=None, reason="no request says it")
        counts = Counter(value for _, value in found)
        (value, _), *others = counts.most_common()
        line = next(n for n, said in found if said == value)
        rest = ", ".join(f"{other} in {n}" for other, n in others[:5])
        evidence = self._evidence("gateway.jsonl", line)
        return Said(value=value, evidence=evidence, reason=f"of {len(found)} requests; also {rest}" if rest else None)

    def _find(self, folder: str, claim: Claim) -> Evidence | None:
        for path in sorted((self._folder / folder).rglob(claim.file)):
            return self._evidence(path.relative_to(self._folder).as_posix(), claim.line)
        return None

    def _evidence(self, file: str, line: int) -> Evidence | None:
        lines = self._file(file)
        if not 1 <= line <= len(lines):
            return None
        return Evidence(file=file, line=line, sha256=hashlib.sha256(lines[line - 1]).hexdigest())

    def _file(self, name: str) -> list[bytes]:
        if name not in self._lines:
            path = self._folder / name
            plain = path.is_file() and path.suffix != ".gz"  # a line of packed bytes is no evidence
            self._lines[name] = path.read_bytes().split(b"\n") if plain else []
        return self._lines[name]
