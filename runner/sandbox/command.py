"""A host command (an image build, a bootstrap) run to its end, its output followed line by line."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

KEPT_LINES = 60

Log = Callable[[str], None]


@dataclass(frozen=True)
class Outcome:
    """How a command ended. `tail` is the last of its output, both streams together."""

    code: int
    tail: tuple[str, ...]
    timed_out: bool

    @property
    def ok(self) -> bool:
        return self.code == 0 and not self.timed_out

    @property
    def reason(self) -> str:
        """The line that most likely says why it failed."""
        marked = [line for line in self.tail if "error" in line.lower()]
        return (marked or list(self.tail) or ["no output"])[-1]

    @property
    def disk_full(self) -> bool:
        return any("no space left on device" in line.lower() for line in self.tail)


def follow(argv: Sequence[str], *, env: Mapping[str, str], log: Log, timeout_s: float) -> Outcome:
    """Run `argv` in a process group of its own, which ends with this call however it is left.

    Raises OSError when the program cannot be started.
    """
    tail: deque[str] = deque(maxlen=KEPT_LINES)
    late = threading.Event()
    process = subprocess.Popen(
        list(argv),
        env=dict(env),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )

    def expire() -> None:
        late.set()
        _end(process)

    timer = threading.Timer(timeout_s, expire)
    timer.daemon = True
    timer.start()
    try:
        assert process.stdout is not None
        for raw in process.stdout:
            line = raw.decode(errors="replace").rstrip()
            if line:
                tail.append(line)
                log(line)
        code = process.wait()
    finally:
        timer.cancel()
        _end(process)
    return Outcome(code, tuple(tail), late.is_set())


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
