"""What can be seen of a container from outside: what the kernel did to it, what runs in it, what lies in it.

The engine's ``OOMKilled`` stays false until the main process has ended, so the kernel's own counter is read where the
host's cgroup tree can be seen, and the engine's ``oom`` events where it cannot. Processes and files are seen where the
runner is root on the engine's host; elsewhere a command in the container has to look, which costs an exec.
"""

from __future__ import annotations

import errno
import os
import re
import stat
import time
from pathlib import Path
from typing import Any

from runner.sandbox.engine import Engine, engine_errors

_PF_EXITING = 0x4  # include/linux/sched.h


class Watch:
    """Looks at one running container from outside."""

    def __init__(self, engine: Engine, container_id: str) -> None:
        self._engine = engine
        self._id = container_id
        self._pid = self._find_pid()
        self._counter = self._find_counter()

    def count(self) -> int | None:
        """Kills since the container started; None where the host's cgroup tree cannot be seen."""
        if self._counter is None:
            return None
        try:
            found = re.search(r"^oom_kill (\d+)$", self._counter.read_text(encoding="ascii"), re.MULTILINE)
        except OSError:
            return None  # the container has ended and its group with it
        return int(found.group(1)) if found else None

    def since(self, before: int | None, started: float) -> bool:
        """Was anything killed since the count was ``before``? ``started``: wall clock, for the engine's events."""
        now = self.count()
        if before is not None and now is not None:
            return now > before
        return self._by_events(started)

    def _by_events(self, started: float) -> bool:
        with engine_errors("asking the engine for oom events"):
            listen: Any = self._engine.api.events  # the engine takes fractions of a second, the SDK's types do not
            events = listen(
                since=f"{started - 0.001:.6f}",
                until=f"{time.time() + 0.25:.6f}",  # the event comes a little after the kill
                filters={"container": self._id, "event": "oom"},
            )
            try:
                return any(True for _ in events)
            finally:
                events.close()

    def processes(self, uid: int) -> list[str] | None:
        """Names of what runs there as ``uid``, the dead left out; None where that cannot be seen.

        Dead is who has no thread left: a process whose first one has ended is shown as a zombie and runs on. One that
        ended or began while we looked counts as running, without a name.
        """
        if self._counter is None or not self._same_users():
            return None
        try:
            pids = self._counter.with_name("cgroup.procs").read_text(encoding="ascii").split()
        except OSError:
            return None
        names = []
        for pid in pids:
            try:
                text = Path(f"/proc/{pid}/status").read_text(encoding="utf-8", errors="backslashreplace")
            except OSError:
                names.append("(gone)")
                continue
            fields = dict(line.split(":\t", 1) for line in text.splitlines() if ":\t" in line)
            if fields["Uid"].split()[1] == str(uid) and (fields["State"][0] not in "ZX" or int(fields["Threads"]) > 1):
                names.append(fields["Name"])
        return names

    def read(self, path: str, limit: int) -> bytes | None:
        """At most ``limit`` bytes of a regular file there, whoever may read it; no link is followed.

        None where it cannot be seen, or lies behind a link. Raises FileNotFoundError where there is no regular file.
        """
        parts = path.strip("/").split("/")
        if not self._pid or ".." in parts or "" in parts:
            return None
        try:
            folder = os.open(f"/proc/{self._pid}/root", os.O_PATH | os.O_DIRECTORY)
        except OSError:
            return None
        try:
            if self._id not in Path(f"/proc/{self._pid}/cgroup").read_text(encoding="ascii"):
                return None
            for part in parts[:-1]:
                inner = os.open(part, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=folder)
                os.close(folder)
                folder = inner
            file = os.open(parts[-1], os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY, dir_fd=folder)
        except OSError as error:
            if error.errno == errno.ENOENT:
                raise FileNotFoundError(path) from None
            return None
        finally:
            os.close(folder)
        if not stat.S_ISREG(os.fstat(file).st_mode):
            os.close(file)
            raise FileNotFoundError(path)
        with open(file, "rb") as opened:
            return opened.read(limit)

    def _same_users(self) -> bool:
        """Do user ids mean the same here and there?"""
        try:
            return Path(f"/proc/{self._pid}/uid_map").read_text(encoding="ascii").split() == ["0", "0", "4294967295"]
        except OSError:
            return False

    def dying(self) -> bool:
        """Is the main process ending, though the engine may not have noticed? False where it cannot be seen.

        The kernel ends all other processes of the container first, while the main one is marked and waits.
        """
        if not self._pid:
            return False
        try:
            text = Path(f"/proc/{self._pid}/stat").read_text(encoding="utf-8", errors="replace")
        except OSError:
            return True
        state, *fields = text[text.rindex(")") + 2 :].split()
        return state in "ZX" or bool(int(fields[5]) & _PF_EXITING)

    def _find_pid(self) -> int:
        """The main process as this host sees it; 0 where it does not (another host, another pid namespace)."""
        if not self._engine.info.local:
            return 0
        with engine_errors("looking at a container"):
            pid = int(self._engine.api.inspect_container(self._id)["State"]["Pid"])
        try:
            groups = Path(f"/proc/{pid}/cgroup").read_text(encoding="ascii")
        except OSError:
            return 0
        return pid if self._id in groups else 0

    def _find_counter(self) -> Path | None:
        try:
            lines = Path(f"/proc/{self._pid}/cgroup").read_text(encoding="ascii").splitlines()
        except OSError:
            return None
        for line in lines:
            _, controllers, group = line.split(":", 2)
            if "memory" in controllers.split(","):
                counter = Path(f"/sys/fs/cgroup/memory{group}/memory.oom_control")
            elif controllers == "":
                counter = Path(f"/sys/fs/cgroup{group}/memory.events")
            else:
                continue
            if self._id in group and counter.exists():
                return counter
        return None
