"""Drives one contestant through the plan: milestone by milestone, attempt by attempt.

After every attempt, on every path, the contestant is dead before anything of it is read; then its work is copied out,
and only what was copied out is judged, in a fresh container.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field, replace

from tenacity import retry, retry_if_exception, stop_after_attempt

from runner.errors import BenchError, ContestantError, Interrupted, ProviderError, RigError
from runner.lab.check import CONTESTANT, Check, CheckResult, SetupFails, set_up
from runner.lab.kit import Kit
from runner.lab.protected import protected_check
from runner.lab.tree import lay
from runner.repo import Mirror
from runner.sandbox.pod import Pod
from runner.schema.entry import Command, Milestone
from runner.schema.run import AttemptRecord, Cause
from runner.sprint.brief import write_brief, write_feedback
from runner.sprint.takeover import advance, take_over
from runner.sprint.worker import Task, Work, Worker, time_for
from runner.store.files import write_atomic
from runner.store.rundir import RunDir


@dataclass
class Progress:
    """What is known of a sprint so far; complete after every attempt, whatever comes next."""

    head: str
    attempts: list[AttemptRecord] = field(default_factory=list)
    outcome: str | None = None
    cause: Cause | None = None
    detail: str = ""


@dataclass
class Sprint:
    """One run's development. ``pod`` is open and its work volume empty.

    ``run_wall_s`` bounds the contestant's working time; what the runner needs for verifying is not charged.
    """

    kit: Kit
    mirror: Mirror
    baseline: str
    branch: str
    run: RunDir
    pod: Pod
    worker: Worker
    cancel: threading.Event
    run_wall_s: float
    worked_s: float = 0.0

    @property
    def run_id(self) -> str:
        return self.pod.spec.run_id

    def drive(self, progress: Progress) -> None:
        """Fill ``progress`` until the outcome stands.

        Raises ProviderError, RigError (the run is invalid) or Interrupted; ``progress`` then holds what was reached.
        """
        for milestone in self.kit.benchmark.entry.milestones:
            self.run.event("milestone_start", milestone=milestone.id)
            passed = self._milestone(milestone, progress)
            self.run.event("milestone_end", milestone=milestone.id, passed=passed)
            if not passed:
                progress.outcome = f"fail@{milestone.id}"
                last = progress.attempts[-1]
                progress.cause, progress.detail = last.cause or "model", last.detail
                return
        progress.outcome = "pass"

    def _milestone(self, milestone: Milestone, progress: Progress) -> bool:
        feedback = ""
        entry = self.kit.benchmark.entry
        for number in range(1, entry.attempts + 1):
            before_s = self.worked_s
            self.run.event("attempt_start", milestone=milestone.id, number=number)
            work = self._work(milestone, number, feedback, progress)
            if work.ended == "cancelled":
                self._record(progress, milestone, number, before_s, work, None)
                raise Interrupted("the run was stopped")
            if not work.counted:
                self._record(progress, milestone, number, before_s, work, None)
                raise (ProviderError if work.cause == "provider" else RigError)(work.detail or work.ended)
            command = entry.command(milestone.verify)
            try:
                result = self._verify(milestone, number, progress.head, command)
            except BenchError:
                self._record(progress, milestone, number, before_s, work, None)
                raise
            last_try = number == entry.attempts or work.ended == "cap" or self._time_is_up()
            steps = self._steps(milestone, progress.head) if last_try and not result.passed else []
            self._record(progress, milestone, number, before_s, work, result, steps)
            if result.passed:
                return True
            if last_try:
                return False
            feedback = write_feedback(command, result, entry.limits.feedback_bytes)
        return False

    def _work(self, milestone: Milestone, number: int, feedback: str, progress: Progress) -> Work:
        """One attempt in a fresh contestant container; its work is copied out on every path."""
        entry = self.kit.benchmark.entry
        wall_s, limit = time_for(entry.limits, self.run_wall_s - self.worked_s)
        if self._time_is_up():
            return Work("timeout", cause="timeout", detail=f"the run's {entry.limits.run_wall_s} s were used up")
        brief = write_brief(
            self.kit.benchmark, self.mirror, self.baseline, self.branch, milestone, number, feedback
        )  # fmt: skip
        logs = self.run.agent / f"{milestone.id}-{number}"
        logs.mkdir()
        (logs / "brief.md").write_text(brief, encoding="utf-8")
        if self.kit.benchmark.entry.services.database is not None:
            self.pod.start_database()
        box = self.pod.contestant(self.kit.contestant_image, env=self.kit.environment)
        try:
            if progress.attempts or progress.head != self.baseline:
                advance(box, self.mirror, progress.head, self.branch, self.kit.benchmark.carried)
            else:
                lay(
                    box, self.mirror, self.baseline, self.branch, user=CONTESTANT, carried=self.kit.benchmark.carried
                )  # fmt: skip
            try:
                set_up(self.kit, box)
            except SetupFails as error:
                if not progress.attempts:  # the runner's own tree
                    raise
                raise ContestantError(f"its files break the benchmark's setup: {error.what}") from None
            self.run.event("agent_start", milestone=milestone.id, number=number)
            task = Task(
                box, self.mirror, milestone, number, brief, wall_s, logs, self.cancel, self.pod.attic,
                head=progress.head, carried=tuple(entry.carry), limit=limit,
            )  # fmt: skip
            started = time.monotonic()
            try:
                work = self.worker.work(task)
            finally:
                self.worked_s += time.monotonic() - started
            self.run.event("agent_end", milestone=milestone.id, number=number, ended=work.ended, detail=work.detail)
        except ContestantError as error:
            work = Work("refused", cause="model", detail=error.what)
        finally:
            box.remove()
            progress.head, refused = self._copy_out(progress.head, f"{milestone.id}, attempt {number}")
        if refused:
            said = f"its work is refused: {refused}"
            work = replace(work, detail=f"{work.detail}; {said}" if work.detail else said)
        return work

    def _time_is_up(self) -> bool:
        return self.run_wall_s - self.worked_s <= 1

    def _copy_out(self, before: str, label: str) -> tuple[str, str]:
        """The branch with all that was left uncommitted; a contestant's unusable tree leaves the last good head, its
        bundle, and says why.
        """
        try:
            entry = self.kit.benchmark.entry
            taken = take_over(
                self.pod, self.mirror, self.run.bundle, base=self.baseline, branch=self.branch, message=label,
                artifacts=entry.artifacts, artifacts_to=self.run.artifacts, carried=entry.carry,
                total_bytes=entry.limits.disk_mb << 20,
            )  # fmt: skip
        except ContestantError as error:
            self.run.event("copy_out", refused=str(error), head=before)
            if not self.run.bundle.exists():
                write_atomic(self.run.bundle, self.mirror.bundled(before, f"refs/heads/{self.branch}"))
            return before, error.what
        info = taken.info
        self.run.event(
            "snapshot", head=taken.head, changed=len(self.mirror.changed_paths(before, taken.head)),
            uncommitted=len(info.uncommitted_paths), stranded=list(info.stranded), refused=list(info.refused),
            embedded=list(info.embedded),
        )  # fmt: skip
        return taken.head, ""

    def _verify(self, milestone: Milestone, number: int, head: str, command: Command) -> CheckResult:
        result = self._check(head, command, f"verify-{milestone.id}-{number}")
        if result.timed_out:  # a busy machine must not fail a contestant: once more, and only then believed
            result = self._check(head, command, f"verify-{milestone.id}-{number}-again")
        self.run.event("verify", milestone=milestone.id, number=number, passed=result.passed, why=result.why())
        return result

    def _steps(self, milestone: Milestone, head: str) -> list[str]:
        """Which numbered steps of a failed milestone stand (partial progress, shown, never scored)."""
        entry = self.kit.benchmark.entry
        passed = []
        for step in milestone.steps:
            if self._check(head, entry.command(step.verify), f"step-{milestone.id}-{step.id}").passed:
                passed.append(step.id)
        return passed

    @retry(
        retry=retry_if_exception(lambda e: isinstance(e, BenchError) and e.retry),
        stop=stop_after_attempt(2),
        reraise=True,
    )
    def _check(self, head: str, command: Command, name: str) -> CheckResult:
        check = Check(head, command, output=self.run.output / name)
        return protected_check(self.kit, self.mirror, self.baseline, check, run_id=self.run_id)

    def _record(
        self, progress: Progress, milestone: Milestone, number: int, before_s: float, work: Work,
        result: CheckResult | None, steps: list[str] | None = None,
    ) -> None:  # fmt: skip
        passed = result is not None and result.passed
        detail = work.detail or (f"verify: {result.why()}" if result is not None and not passed else "")
        cause = work.cause if not passed else None
        record = AttemptRecord(
            milestone=milestone.id, number=number, counted=work.counted, passed=passed, head=progress.head,
            ended=work.ended, cause=cause, detail=detail, wall_s=round(self.worked_s - before_s, 3),
            verify_exit=result.exit_code if result else None, steps_passed=steps or [],
        )  # fmt: skip
        progress.attempts.append(record)
        self.run.event("attempt_end", milestone=milestone.id, number=number, passed=passed, detail=detail)
