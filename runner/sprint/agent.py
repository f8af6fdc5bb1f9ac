"""An agent as a contestant: its CLI in the sandbox, its model behind the gateway."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from runner.errors import RigError
from runner.gateway.client import Gateway, RunDoor
from runner.gateway.limits import Caps
from runner.gateway.providers import Provider
from runner.harness.base import Harness, HarnessPlan, Request, guard_version, under_folders
from runner.lab.check import CONTESTANT
from runner.prices import Price
from runner.sandbox.box import Box, ExecResult
from runner.sandbox.peek import Peek
from runner.sandbox.pod import GATEWAY_PORT
from runner.sandbox.transfer import NotCopied
from runner.schema.arm import Arm
from runner.schema.cell import Cell
from runner.schema.ledger import LedgerTotals, Usage
from runner.schema.run import RunLock
from runner.sprint.lookout import Lookout
from runner.sprint.worker import Door, Facts, Task, Work
from runner.store.rundir import RunDir

_STDOUT_BYTES = 64 << 20
_LOG_BYTES, _LOG_FILES = 256 << 20, 5_000


@dataclass
class Stop:
    """When an agent is ended before its time: at once when the run is stopped, soon when a cap ended its attempt.

    An agent may take the refusal for a fault and ask for minutes; some seconds are for closing its log.
    """

    cancel: threading.Event
    capped: threading.Event
    grace_s: float = 3.0
    _since: float | None = None

    def is_set(self) -> bool:
        if self.cancel.is_set():
            return True
        if not self.capped.is_set():
            self._since = None
            return False
        self._since = self._since or time.monotonic()
        return time.monotonic() - self._since > self.grace_s


class AgentContestant:
    """One arm's contestant. ``caps`` are what the gateway lets a run use, ``tools`` the kinds of tools that its
    provider may execute, ``egress`` the hosts that it may reach."""

    def __init__(
        self,
        gateway: Gateway,
        harness: Harness,
        provider: Provider,
        arm: Arm,
        caps: Caps,
        *,
        tools: Sequence[str] = (),
        egress: Sequence[str] = (),
    ) -> None:
        self._gateway, self._harness, self._provider, self._arm, self._caps = gateway, harness, provider, arm, caps
        self._tools, self._egress = tools, egress
        self._totals: LedgerTotals | None = None

    @contextmanager
    def open(self, run: RunDir, lock: RunLock) -> Iterator[Door]:
        door = self._gateway.open_run(
            lock.run_id, self._provider, self._arm.model, self._caps, run.ledger,
            tools=self._tools, egress=self._egress, cassette=run.cassette,
        )  # fmt: skip
        env = way_out(door.token) if self._egress else {}
        try:
            worker = AgentWorker(
                self._gateway, door, self._harness, self._provider, self._arm, lock.run_id, run, env
            )  # fmt: skip
            yield Door(worker, door.socket_dir)
        finally:
            self._totals = door.close()

    def facts(self) -> Facts:
        totals = self._totals
        if totals is None:
            reason = "the run ended before its model was asked"
            return Facts(
                tokens=None, tokens_reason=reason, requests=None, models_served=[], cost=Cell.none(reason),
                by_list=self._by_list,
            )  # fmt: skip
        metered = totals.answered + totals.cut > totals.unmetered
        silent = "" if metered else "no answer said how many tokens it took"
        return Facts(
            tokens=totals.usage if metered else None,
            tokens_reason=silent or (f"{totals.unmetered} answers without usage" if totals.unmetered else None),
            requests=totals.requests,
            models_served=totals.models_served,
            cost=self._cost(totals),
            by_list=self._by_list,
        )

    def _by_list(self, model: str, usage: Usage, at: datetime) -> Price:
        return self._provider.price_of(model, usage, at, pinned=self._arm.model)

    def _cost(self, totals: LedgerTotals) -> Cell:
        if totals.price_usd is None:
            return Cell.none(totals.price_reason or "the price is unknown")
        source = "provider declared free" if self._provider.free else "gateway ledger, priced per request"
        return Cell(value=totals.price_usd, source=source)


class AgentWorker:
    """Starts the agent once per attempt and says how it ended; the exit code of its CLI is no verdict."""

    def __init__(
        self,
        gateway: Gateway,
        door: RunDoor,
        harness: Harness,
        provider: Provider,
        arm: Arm,
        run_id: str,
        run: RunDir,
        env: Mapping[str, str] | None = None,
    ) -> None:
        self._env = dict(env or {})
        self._gateway, self._door, self._harness = gateway, door, harness
        self._provider, self._arm, self._run_id, self._run = provider, arm, run_id, run

    def work(self, task: Task) -> Work:
        label = f"{task.milestone.id}-{task.number}"
        guard_version(self._harness, lambda argv: _said(task.box, argv))
        plan = self._harness.prepare(
            Request(
                url=f"http://127.0.0.1:{GATEWAY_PORT}",
                token=self._door.token,
                provider=self._provider,
                model=self._arm.model,
                effort=self._arm.effort,
                prompt=task.brief,
                session=label,
            )
        )
        _place(task.box, plan)
        self._gateway.begin_attempt(self._run_id, label)
        lookout = self._lookout(task, label)
        try:
            done = task.box.exec(
                plan.argv, timeout_s=task.wall_s, cwd=plan.cwd, user=CONTESTANT, stdin=plan.stdin or b"",
                env={**self._env, **plan.env},
                output_limit=_STDOUT_BYTES, stdout_to=task.logs / "stdout.jsonl", stderr_to=task.logs / "stderr.txt",
                cancel=Stop(task.cancel, self._door.capped),
            )  # fmt: skip
        finally:
            try:
                task.box.kill("been ended after the attempt")
                totals = self._gateway.end_attempt(self._run_id)
            finally:
                lookout.stop()  # the attic has one user at a time
            _collect(task, plan)
        spoke = self._gateway.totals(self._run_id).answered > 0
        return judge_end(done, totals, task, self._last_words(task.logs), spoke=spoke)

    def _lookout(self, task: Task, label: str) -> Lookout:
        if task.attic is None:
            raise RigError("nobody can look at the contestant's work")
        peek = Peek(task.attic, base=task.head, exclude=[f"/{name}" for name in task.carried])
        lookout = Lookout(peek, self._door.passed, label, self._run.add_look)
        lookout.start()
        return lookout

    def _last_words(self, logs: Path) -> str:
        text = (logs / "stderr.txt").read_text(encoding="utf-8", errors="backslashreplace").strip()
        return text.splitlines()[-1][:300] if text else ""


def way_out(token: str) -> dict[str, str]:
    """What programs in the pod need to know to reach the allowed hosts: the relay is their proxy."""
    proxy = f"http://bench:{token}@127.0.0.1:{GATEWAY_PORT}"
    return {
        "HTTPS_PROXY": proxy,
        "https_proxy": proxy,
        "NO_PROXY": "127.0.0.1,localhost",
        "no_proxy": "127.0.0.1,localhost",
    }


def judge_end(done: ExecResult, totals: LedgerTotals, task: Task, last_words: str, *, spoke: bool) -> Work:
    """Why an attempt ended, by what the runner and the gateway saw; what the agent says of itself decides nothing.

    An attempt without a single answer is no attempt: provider or rig, never the model. But where the model ``spoke``
    earlier in the run, an answer still under way when the time is up is the time's doing.
    """
    stopped = f"stopped after {task.wall_s:.0f} s ({task.limit})"
    if task.cancel.is_set():
        return Work("cancelled", counted=False, cause="cancelled", detail="the run was stopped")
    if totals.provider_fault:  # before the cap: an agent that storms a dead provider ends by reaching it
        return Work("provider", counted=False, cause="provider", detail=totals.provider_fault)
    if totals.cap:
        return Work("cap", cause="model", detail=f"the cap of {totals.cap} was reached")
    if totals.unconfirmed_fault and not (done.oom or done.timed_out):  # what it sent was at fault
        return Work("done", cause="model", detail=f"its provider refused its requests ({totals.unconfirmed_fault}), "
                    "but answered the runner's own")  # fmt: skip
    if not totals.answered and not totals.cut:
        if totals.abandoned and spoke:
            return Work("timeout", cause="timeout", detail=f"{stopped}, an answer under way")
        if totals.abandoned:
            detail = f"no answer came from the model within the attempt's {task.wall_s:.0f} s"
            return Work("provider", counted=False, cause="provider", detail=detail)
        if spoke:  # its model could be reached: what the contestant left keeps its agent from going on
            return Work("done", cause="model", detail=f"the agent asked its model nothing this time ({_how(done)})")
        detail = f"{_unheard(totals)} ({_how(done)}){': ' + last_words if last_words else ''}"
        return Work("rig", counted=False, cause="rig", detail=detail)
    if done.oom:
        return Work("killed", cause="model", detail="the sandbox's memory was used up")
    if done.timed_out:
        return Work("timeout", cause="timeout", detail=stopped)
    if totals.context_death:
        return Work("context", cause="context", detail="the conversation no longer fitted the model's context")
    return Work("done")


def _unheard(totals: LedgerTotals) -> str:
    """Why nothing that the agent asked came to its model."""
    if totals.tools_refused:
        tools = ", ".join(totals.tools_refused)
        return f"its requests were refused: the provider would execute {tools}, which provider_tools does not allow"
    if totals.refused:
        return f"the gateway refused all of its {totals.refused} requests, and its ledger says why"
    return "the agent asked no model"


def _how(done: ExecResult) -> str:
    return "stopped at its limit" if done.timed_out else f"exit {done.exit_code}"


def _said(box: Box, argv: Sequence[str]) -> str:
    return box.exec(argv, timeout_s=60, user=CONTESTANT).stdout.decode("utf-8", "backslashreplace")


def _place(box: Box, plan: HarnessPlan) -> None:
    for folder, files in under_folders(plan.files).items():
        box.put(files, folder, user=CONTESTANT)


def _collect(task: Task, plan: HarnessPlan) -> None:
    """The agent's own logs, out of the dead contestant's HOME through the trusted box; none is a fact, too."""
    if task.attic is None:
        raise RigError("nobody can read the contestant's HOME")
    for path in plan.logs:
        try:
            task.attic.get_tree(path, task.logs, limit_bytes=_LOG_BYTES, limit_files=_LOG_FILES)
        except NotCopied:
            (task.logs / "no-log.txt").write_text(f"the agent left no {path}\n", encoding="utf-8")
