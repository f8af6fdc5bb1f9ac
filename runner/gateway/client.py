"""The controller's end of the gateway: starts its process, opens a door per run, ends it on every path."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from concurrent.futures import TimeoutError as Late
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Self

import runner
from runner.errors import ConfigError, RigError, UsageError
from runner.gateway.limits import Caps
from runner.gateway.providers import Provider, price_is_known
from runner.schema.ledger import LedgerTotals

COMMAND_S = 30.0
END_S = 90.0
"""The end of an attempt may wait for a request of the gateway's own."""
MAX_SOCKET_PATH = 107


@dataclass
class Passed:
    """Requests of the current attempt on their way to the provider: ``count`` so far; ``more`` is set with each."""

    count: int = 0
    more: threading.Event = field(default_factory=threading.Event)

    def begin(self) -> None:
        """A new attempt."""
        self.count = 0
        self.more.clear()

    def add(self, count: int) -> None:
        """There are ``count`` now."""
        self.count = count
        self.more.set()


@dataclass(frozen=True)
class RunDoor:
    """One run's way to its model. ``socket_dir`` holds ``gw.sock``; whoever has ``token`` may ask."""

    socket_dir: Path
    token: str = field(repr=False)
    close: Callable[[], LedgerTotals]
    totals: Callable[[], LedgerTotals]
    capped: threading.Event = field(default_factory=threading.Event, repr=False)
    """Set when a cap has ended an attempt: whatever its agent asks now is refused. Cleared by the next attempt."""
    passed: Passed = field(default_factory=Passed, repr=False)

    def fault(self) -> str | None:
        """Why the run so far is the provider's failure and not the model's, or None."""
        return self.totals().provider_fault


class Gateway:
    """One process for all runs of a controller. Use it as a context manager; its calls may come from any thread."""

    def __init__(self, *, log: Path | None = None, env: Mapping[str, str] | None = None) -> None:
        """``log`` receives what the process says on stderr; ``env`` (default: ours) is where it finds keys."""
        self._env = dict(os.environ if env is None else env)
        self._log = log
        self._process: subprocess.Popen[bytes] | None = None
        self._waiting: dict[int, Future[Any]] = {}
        self._count = 0
        self._lock = threading.Lock()
        self._folder: Path | None = None
        self._embedded: Any = None
        self._doors: dict[str, RunDoor] = {}

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process else None

    def start(self) -> None:
        if self._process is not None:
            return
        self._folder = Path(tempfile.mkdtemp(prefix="bgw-"))
        self._folder.chmod(0o711)
        root = str(Path(runner.__file__).resolve().parent.parent)
        env = {**self._env, "PYTHONPATH": os.pathsep.join(filter(None, [root, self._env.get("PYTHONPATH")]))}
        stderr: IO[bytes] | int = subprocess.DEVNULL if self._log is None else self._log.open("ab")
        try:
            # A session of its own: Ctrl-C must reach the controller first, which then ends this in order.
            self._process = subprocess.Popen(
                [sys.executable, "-m", "runner.gateway.server", str(self._folder)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stderr,
                env=env,
                start_new_session=True,
            )
        finally:
            if not isinstance(stderr, int):
                stderr.close()
        threading.Thread(target=self._listen, args=(self._process,), daemon=True, name="gateway").start()

    def close(self) -> None:
        """End the process and what it started. Idempotent."""
        process, self._process = self._process, None
        if process is not None:
            assert process.stdin is not None
            process.stdin.close()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        if self._embedded is not None:
            self._embedded.close()
            self._embedded = None
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None

    def open_run(
        self,
        run_id: str,
        provider: Provider,
        model: str,
        caps: Caps,
        journal: Path,
        *,
        tools: Iterable[str] = (),
        egress: Iterable[str] = (),
        cassette: Path | None = None,
        replay: Path | None = None,
    ) -> RunDoor:
        """Let a run reach ``model``. An existing ``journal`` (a resumed run) is continued and counts for the caps.

        ``tools``: kinds of provider-side tools that are allowed; ``egress``: hosts that may be reached on port 443;
        ``cassette``: a folder that keeps every exchange; ``replay``: such a folder, which answers in the provider's
        place (no key, no network).

        Raises UsageError for a provider that asks no model, ConfigError for an unset variable or a USD cap
        on a model whose price is unknown, RigError when the gateway does not work or the cassette cannot be read.
        """
        if not provider.asks_a_model and replay is None:
            raise UsageError(f"provider {provider.name} asks no model: its runs need no gateway")
        self._price_must_be_known(provider, model, caps)
        where = {} if replay else self._where(provider, model)
        assert self._folder is not None
        folder = self._folder / secrets.token_hex(4)
        folder.mkdir(mode=0o711)
        folder.chmod(0o711)
        socket = folder / "gw.sock"
        if len(str(socket)) > MAX_SOCKET_PATH:
            raise ConfigError(f"the socket path {socket} is too long", "set TMPDIR to a short path")
        token = "bench-" + secrets.token_urlsafe(24)
        door = self._doors[run_id] = RunDoor(folder, token, lambda: self.close_run(run_id), lambda: self.totals(run_id))
        self._call(
            {
                "do": "open",
                "run_id": run_id,
                "token": token,
                "provider": provider.model_dump(mode="json"),
                "model": model,
                "caps": caps.model_dump(mode="json"),
                "journal": str(journal.resolve()),
                "socket": str(socket),
                "tools": sorted(tools),
                "egress": sorted(egress),
                "cassette": None if cassette is None else str(cassette.resolve()),
                "replay": None if replay is None else str(replay.resolve()),
                **where,
            }
        )
        return door

    def begin_attempt(self, run_id: str, label: str) -> None:
        """What comes from now on belongs to attempt ``label``; requests still under way are ended first."""
        self._call({"do": "begin", "run_id": run_id, "label": label})
        if (door := self._doors.get(run_id)) is not None:
            door.capped.clear()
            door.passed.begin()

    def end_attempt(self, run_id: str) -> LedgerTotals:
        """End what is still under way and return the current attempt's totals.

        Where its end looks like the provider's fault, the gateway asks once more itself: up to half a minute.
        """
        return LedgerTotals.model_validate(self._call({"do": "end", "run_id": run_id}, END_S))

    def totals(self, run_id: str, attempt: str | None = None) -> LedgerTotals:
        """The totals of an open run so far, or of one attempt."""
        return LedgerTotals.model_validate(self._call({"do": "totals", "run_id": run_id, "attempt": attempt}))

    def close_run(self, run_id: str) -> LedgerTotals:
        """Shut a run's door; returns its totals. The ledger is complete afterwards."""
        self._doors.pop(run_id, None)
        return LedgerTotals.model_validate(self._call({"do": "close", "run_id": run_id}))

    def _where(self, provider: Provider, model: str) -> dict[str, str]:
        if provider.kind != "embedded":
            # Said here, before the process is asked: the same words, without a round trip.
            provider.url(self._env)
            provider.key(self._env)
            return {}
        from runner.gateway.embedded import Embedded

        with self._lock:
            if self._embedded is None:
                self._embedded = Embedded(provider, log=self._log)
        server: Embedded = self._embedded
        return {"base_url": server.start(model), "key": server.key}

    def _price_must_be_known(self, provider: Provider, model: str, caps: Caps) -> None:
        if caps.usd is None or price_is_known(provider, model):
            return
        raise ConfigError(
            f"the price of {provider.name}/{model} is unknown, so a cap in USD cannot hold",
            "cap tokens or requests instead",
        )

    def _call(self, message: dict[str, Any], timeout_s: float = COMMAND_S) -> Any:
        answer: Future[Any] = Future()
        with self._lock:
            process = self._process
            if process is None or process.stdin is None:
                raise RigError("the gateway is not running")
            self._count += 1
            number = self._count
            self._waiting[number] = answer
            try:
                process.stdin.write(json.dumps({"id": number, **message}).encode() + b"\n")
                process.stdin.flush()
            except OSError:
                raise RigError("the gateway's process has ended", "its log says why") from None
        try:
            return answer.result(timeout_s)
        except Late:
            raise RigError(f"the gateway did not answer within {timeout_s:.0f} s") from None
        finally:
            self._waiting.pop(number, None)

    def _told(self, door: RunDoor | None, message: dict[str, Any]) -> None:
        if door is not None and message["event"] == "cap":
            door.capped.set()
        elif door is not None:
            door.passed.add(message["passed"])

    def _listen(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdout is not None
        for line in process.stdout:
            reply = json.loads(line)
            if "event" in reply:
                self._told(self._doors.get(reply["run_id"]), reply)
                continue
            waiting = self._waiting.get(reply["id"])
            if waiting is None:
                continue
            if "error" in reply:
                waiting.set_exception(RigError(*reply["error"]))
            else:
                waiting.set_result(reply["result"])
        for waiting in list(self._waiting.values()):
            if not waiting.done():
                waiting.set_exception(RigError("the gateway's process has ended", "its log says why"))
