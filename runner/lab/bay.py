"""Many checks in one pod: one database server, and for each check a fresh container and a fresh database.

What a check leaves behind cannot reach the next one: its container is gone, its work tree with it, and every database
but a sealed copy of the seeded one is dropped before the next check's first command.
"""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from queue import SimpleQueue
from types import TracebackType
from typing import Self

from runner.errors import RigError
from runner.lab.check import Check, CheckResult, check_in_pod
from runner.lab.kit import Kit
from runner.repo import Mirror
from runner.sandbox.box import Box
from runner.sandbox.dialogue import Dialogue
from runner.sandbox.pod import Pod

_DEADLINE_S = 6 * 3600.0
_PSQL = [
    "psql",
    "-h",
    "/var/lib/postgresql/data",
    "-U",
    "postgres",
    "-X",
    "-q",
    "-v",
    "ON_ERROR_STOP=1",
    "-d",
    "postgres",
]
_DONE = "bench-done"
_SQL_S = 60
_SEAL = """CREATE DATABASE bench_seed TEMPLATE "{name}" OWNER "{user}";
ALTER DATABASE bench_seed WITH is_template true allow_connections false;
"""
_RESET = """SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '{user}' \\g /dev/null
SELECT format('DROP DATABASE %I WITH (FORCE)', datname) FROM pg_database
 WHERE datname NOT IN ('postgres', 'template0', 'template1', 'bench_seed') \\gexec
ALTER ROLE "{user}" RESET ALL;
CREATE DATABASE "{name}" TEMPLATE bench_seed OWNER "{user}";
"""


class Bay:
    """A context manager; not for several threads at once: one bay per worker."""

    def __init__(self, kit: Kit, mirror: Mirror, run_id: str) -> None:
        self._kit, self._mirror = kit, mirror
        self._pod = Pod(kit.engine, kit.lab_spec(run_id, _DEADLINE_S))
        self._aside = ThreadPoolExecutor(1)
        self._ready: Future[None] | None = None
        self._session: Dialogue | None = None
        self._closing = False

    def __enter__(self) -> Self:
        self._pod.__enter__()
        self._ready = self._aside.submit(self._begin)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closing = True
        self._aside.shutdown(cancel_futures=True)
        if self._session is not None:
            self._session.close()
        self._pod.close()

    def run(self, check: Check) -> CheckResult:
        """As ``run_check``, in this bay. Raises RigError where the sandbox failed."""
        return check_in_pod(self._kit, self._pod, self._mirror, check, ready=self._await, discard=self._discard)

    def _await(self) -> None:
        if self._ready is not None:
            self._ready.result()

    def _discard(self, box: Box) -> None:
        """Take a check's container down and renew the database while the next check's container is made ready."""
        self._ready = self._aside.submit(self._renew, box)

    def _begin(self) -> None:
        if self._pod.spec.service is not None:
            self._pod.start_database()
            self._sql(_SEAL)

    def _renew(self, box: Box) -> None:
        box.remove()
        if self._pod.spec.service is not None and not self._closing:
            self._sql(_RESET)

    def _sql(self, text: str) -> None:
        """Once more with a new session where the old one broke: a server that was brought down comes back by itself."""
        service, box = self._pod.spec.service, self._pod.database
        if service is None or box is None:
            raise RigError("the bay has no database")
        asked = f"{text.format(name=service.database, user=service.user)}\\echo {_DONE}\n".encode()
        session = self._session
        if session is not None:
            try:
                session.ask(asked, until=_DONE.encode(), timeout_s=_SQL_S)
                return
            except RigError:
                session.close()
        self._session = session = Dialogue(box, _PSQL)
        try:
            session.ask(asked, until=_DONE.encode(), timeout_s=_SQL_S)
        except RigError as error:
            raise RigError(f"the database could not be renewed: {error.what}") from error


class Bays:
    """As many bays as workers, each opened when it is first needed."""

    def __init__(self, kit: Kit, mirror: Mirror, run_id: str, count: int) -> None:
        self._opened: list[Bay] = []
        self._free: SimpleQueue[Bay | None] = SimpleQueue()
        for _ in range(count):
            self._free.put(None)
        self._kit, self._mirror, self._run_id = kit, mirror, run_id

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with ThreadPoolExecutor(max(1, len(self._opened))) as together:
            for closed in [together.submit(bay.__exit__, kind, error, trace) for bay in self._opened]:
                closed.result()

    def run(self, check: Check) -> CheckResult:
        """In the next free bay; waits for one. A bay in which the rig failed is given up for a new one."""
        bay = self._free.get()
        try:
            if bay is None:
                bay = Bay(self._kit, self._mirror, self._run_id).__enter__()
                self._opened.append(bay)
            result = bay.run(check)
        except BaseException:
            self._free.put(None)
            raise
        self._free.put(bay)
        return result
