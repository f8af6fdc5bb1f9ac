"""One container that waits while work is sent into it; ending the work means ending the container."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from runner.errors import RigError
from runner.sandbox import container, transfer
from runner.sandbox.container import ContainerSpec, Limits, Mount, Tmpfs
from runner.sandbox.engine import Engine, engine_errors
from runner.sandbox.stream import STDERR, Capture, Hijacked
from runner.sandbox.told import Told
from runner.sandbox.watch import Watch

__all__ = ["KEEPER", "Box", "BoxDead", "ExecResult", "Limits", "Mount", "Tmpfs", "ToolMissing", "waiting"]

OUTPUT_LIMIT = 4 << 20
# Who runs a box's waiting main process: a user of no other process, so that nothing inside can end the box.
KEEPER = "65533:65533"
_DRAIN_S = 10.0
_END_S = 30.0


class Wish(Protocol):
    """Somebody's wish to stop, asked for again and again: an event, or something like it."""

    def is_set(self) -> bool: ...


class BoxDead(RigError):
    """The container has ended: by a timeout, its deadline, or from outside."""


class ToolMissing(RigError):
    """The engine could not start the command: no such program, or no such working directory."""

    retry = False


@dataclass(frozen=True)
class ExecResult:
    """How a command ended. ``exit_code`` is None if and only if it was ended from outside: timeout, deadline, OOM of
    the whole container. ``oom``: the kernel killed at least one process of the container meanwhile. ``seconds``: wall.
    """

    exit_code: int | None
    stdout: bytes
    stderr: bytes
    stdout_truncated: bool
    stderr_truncated: bool
    timed_out: bool
    oom: bool
    seconds: float

    @property
    def ok(self) -> bool:
        return self.exit_code == 0


@dataclass(frozen=True)
class _Before:
    """``kills`` of the container by then, ``wall`` clock and monotonic clock (``started``)."""

    kills: int | None
    wall: float
    started: float


def waiting(seconds: float) -> list[str]:
    """The main process of a box: it ends by itself, so that an orphan dies even where nobody is left to kill it."""
    return ["sleep", str(max(1, math.ceil(seconds)))]


class Box:
    """A container by exec. Not for several threads at once, but ``kill`` may come from any."""

    def __init__(self, engine: Engine, spec: ContainerSpec, *, deadline: float, user: str | None = None) -> None:
        """Create the container, not started. ``deadline`` is monotonic; ``user``: whose execs (default: the spec's)."""
        self.engine = engine
        self.deadline = deadline
        self.user = user or spec.user
        self.image = spec.image
        self.id, self.name = container.create(engine, spec)
        self._watch: Watch | None = None
        self._ended = ""

    def start(self) -> None:
        """Start the main process. Raises RigError."""
        with engine_errors(f"starting {self.name}"):
            self.engine.api.start(self.id)

    def exec(
        self,
        argv: Sequence[str],
        *,
        timeout_s: float,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        user: str | None = None,
        stdin: bytes | None = None,
        output_limit: int = OUTPUT_LIMIT,
        stdout_to: Path | None = None,
        stderr_to: Path | None = None,
        cancel: Wish | None = None,
    ) -> ExecResult:
        """Run ``argv`` to its end, at most ``timeout_s`` seconds.

        Each output stream is read to the end but kept only up to ``output_limit`` bytes (head and tail, ``truncated``
        says so), in memory or in the given file of the host. A timeout, or ``cancel``, ends the whole container.
        Raises BoxDead where the container had ended or was ended by something else, ToolMissing where the engine
        could not start the command, RigError where the engine failed.
        """
        before = self._before()
        exec_id, channel = self._begin(argv, cwd, env, user, stdin is not None)

        def outcome(out: Capture) -> tuple[int | None, bool]:
            return self._outcome(exec_id, out)

        with Capture(output_limit, stdout_to) as out, Capture(output_limit, stderr_to) as err, channel:
            return self._follow(before, channel, stdin, out, err, outcome, timeout_s=timeout_s, cancel=cancel)

    def begin(self, argv: Sequence[str]) -> Hijacked:
        """Start a command that goes on until the channel to it is closed. Raises RigError, ToolMissing."""
        return self._begin(argv, None, None, None, True)[1]

    def outside(self) -> Watch:
        """What of the started container can be seen from outside. Raises RigError."""
        self._watch = self._watch or Watch(self.engine, self.id)
        return self._watch

    @property
    def ended(self) -> bool:
        """Was it ended from here, as far as is known without asking the engine?"""
        return bool(self._ended)

    def put(self, files: transfer.Files, target: str, *, user: str | None = None) -> None:
        """Write ``files`` (relative path: bytes, or bytes and mode) below ``target``. Raises RigError."""
        transfer.put(self, files, target, user=user)

    def put_tree(self, directory: Path, target: str, *, user: str | None = None) -> None:
        """Copy a directory of the host below ``target``: files and directories, no links. Raises RigError."""
        transfer.put(self, transfer.read_tree(directory), target, user=user)

    def get(self, path: str, *, limit_bytes: int, user: str | None = None) -> bytes:
        """The content of one regular file. Raises TransferError: not there, not regular, larger than the limit."""
        return transfer.get(self, path, limit_bytes, user=user)

    def get_tree(
        self, path: str, dest: Path, *, limit_bytes: int, limit_files: int, user: str | None = None
    ) -> transfer.CopyReport:
        """Copy a directory out into ``dest``: regular files and directories; the rest is refused and counted."""
        return transfer.get_tree(self, path, dest, limit_bytes=limit_bytes, limit_files=limit_files, user=user)

    def alive(self) -> bool:
        """Does the main process run? Raises RigError where the engine does not say."""
        from docker.errors import NotFound

        with engine_errors(f"looking at {self.name}"):
            try:
                return bool(self.engine.api.inspect_container(self.id)["State"]["Running"])
            except NotFound:
                return False

    def kill(self, why: str = "been killed") -> None:
        """End every process in the container and wait until they are gone; safe to call again. Raises RigError."""
        self._signal(why)
        self._await_end()

    def _must_live(self) -> None:
        if self._ended:
            raise BoxDead(f"{self.name} has {self._ended}")

    def _before(self) -> _Before:
        """To be asked before anything of a command can run: what dies at once counts as well."""
        self._must_live()
        return _Before(self.outside().count(), time.time(), time.monotonic())

    def _follow(
        self,
        before: _Before,
        channel: Hijacked,
        stdin: bytes | None,
        out: Capture,
        err: Capture,
        outcome: Callable[[Capture], tuple[int | None, bool]],
        *,
        timeout_s: float,
        cancel: Wish | None,
        told: Told | None = None,
    ) -> ExecResult:
        """Read a command's streams until it has ended, or end it at its limit.

        ``outcome``: asked when the stream is over, the exit code, or None and whether that was the deadline. ``told``:
        it says itself when it has ended, and the stream stays open.
        """
        watch = self.outside()
        until = min(before.started + timeout_s, self.deadline)

        def take(stream: int, piece: memoryview) -> None:
            (err if stream == STDERR else out).add(told.output(stream, piece) if told else piece)

        def stop() -> bool:
            if told is not None and told.over:
                return True
            return bool(self._ended) or (cancel is not None and cancel.is_set())

        code: int | None = None
        over = channel.talk(stdin, take, until=until, stop=stop, more=told is not None)
        timed_out = not over and not (told is not None and told.over)
        if timed_out:
            self._end_while_reading(channel, take)
            oom = watch.since(before.kills, before.wall)
        else:
            code, timed_out = outcome(out)
            oom = code != 0 and not timed_out and watch.since(before.kills, before.wall)
            if code is None and not timed_out and not oom:
                raise BoxDead(f"{self.name} was ended from outside", "is something else removing containers?")
        return ExecResult(
            exit_code=code,
            stdout=out.data(),
            stderr=err.data(),
            stdout_truncated=out.truncated,
            stderr_truncated=err.truncated,
            timed_out=timed_out,
            oom=oom,
            seconds=time.monotonic() - before.started,
        )

    def _end_while_reading(self, channel: Hijacked, take: Callable[[int, memoryview], None]) -> None:
        """The engine does not call a container ended before somebody took what it had written."""
        with ThreadPoolExecutor(1) as aside:
            killed = aside.submit(self._signal, "been ended at its limit")
            channel.talk(None, take, until=time.monotonic() + _DRAIN_S, stop=lambda: False)
            channel.close()
            killed.result()
        self._await_end()

    def _signal(self, why: str) -> None:
        from docker.errors import APIError

        self._ended = self._ended or why  # on record before it is done, so that it is never taken for something else
        with engine_errors(f"ending {self.name}"):
            try:
                self.engine.api.kill(self.id)
            except APIError as error:
                if error.status_code not in (404, 409):  # gone, or not running
                    raise

    def _await_end(self) -> None:
        limit = time.monotonic() + _END_S
        while self.alive():
            if time.monotonic() > limit:
                raise RigError(f"{self.name} does not end")
            time.sleep(0.02)

    def _ended_early(self) -> tuple[None, bool]:
        """What a command's outcome is where its container ended first."""
        self._await_end()
        late = time.monotonic() >= self.deadline - 1
        self._ended = self._ended or ("reached its deadline" if late else "ended")
        return None, late

    def remove(self) -> None:
        """End the container and remove it; safe to call again. Raises RigError."""
        self._ended = self._ended or "been removed"
        container.remove(self.engine, self.id)

    def _begin(
        self, argv: Sequence[str], cwd: str | None, env: Mapping[str, str] | None, user: str | None, stdin: bool
    ) -> tuple[str, Hijacked]:
        from docker.errors import APIError

        with engine_errors(f"sending work into {self.name}"):
            try:
                made = self.engine.api.exec_create(
                    self.id,
                    list(argv),
                    stdin=stdin,
                    user=user or self.user,
                    workdir=cwd,
                    environment=dict(env) if env else None,
                )
                exec_id = str(made["Id"])
                return exec_id, Hijacked(self.engine.api.exec_start(exec_id, socket=True))
            except APIError as error:
                if error.status_code in (404, 409):
                    self._ended = self._ended or "ended"
                    raise BoxDead(f"{self.name} does not run any more") from error
                if error.status_code == 400:
                    raise ToolMissing(f"{argv[0]!r} could not be started: {error.explanation}") from error
                raise

    def _outcome(self, exec_id: str, out: Capture) -> tuple[int | None, bool]:
        """The exit code, or None and whether that was the deadline, after the stream has ended."""
        limit = time.monotonic() + 10
        while True:
            with engine_errors(f"asking how work in {self.name} ended"):
                state = self.engine.api.exec_inspect(exec_id)
            if not state["Running"] and state["ExitCode"] == 0 and state["Pid"]:
                return 0, False  # what is ended from outside does not end well
            if self._watch is not None and self._watch.dying():
                self._await_end()
            if not self.alive():
                return self._ended_early()
            if not state["Running"] and state["ExitCode"] is not None:
                break
            if time.monotonic() > limit:
                raise RigError(f"the engine does not say how work in {self.name} ended")
            time.sleep(0.01)
        if state["Pid"] == 0 and state["ExitCode"] in (126, 127):
            # A command that ran has a pid, whatever it printed: this cannot be forged from inside.
            raise ToolMissing(f"a command could not be started: {out.data().decode('utf-8', 'replace').strip()[:300]}")
        return int(state["ExitCode"]), False
