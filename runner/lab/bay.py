"""Many checks in one pod: one database server, and for each check a fresh container and a fresh database.

What a check leaves behind cannot reach the next one: its container is gone, its work tree with it, and every database
but a sealed copy of the seeded one is dropped before the next check's first command. A server on which anything else
is not as it was, or that does not let go, is replaced by a new one.
"""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from queue import SimpleQueue
from types import TracebackType
from typing import Self

from runner.errors import RigError
from runner.lab.check import CannotBegin, Check, CheckResult, check_in_pod
from runner.lab.kit import Kit
from runner.repo import Mirror
from runner.sandbox.box import Box
from runner.sandbox.dialogue import Dialogue
from runner.sandbox.pod import Pod

_DEADLINE_S = 6 * 3600.0
_PSQL = ["psql", "-h", "/var/lib/postgresql/data", "-U", "postgres", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1",
         "-d", "dbname=postgres options='-c search_path=pg_catalog'"]  # fmt: skip
_DONE = "bench-done"
_SQL_S = 60
# Nobody but the superuser owns the copy: an owner could open it again.
_SEAL = """CREATE DATABASE bench_seed TEMPLATE "{name}";
ALTER DATABASE bench_seed WITH allow_connections false;
"""
_RESET = """SELECT pg_terminate_backend(pid) FROM pg_stat_activity
 WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() \\g /dev/null
SELECT format('DROP DATABASE %I WITH (FORCE)', datname) FROM pg_database
 WHERE datname NOT IN ('postgres', 'template0', 'template1', 'bench_seed') \\gexec
SELECT format('CREATE DATABASE "{name}" TEMPLATE bench_seed OWNER "{user}"%s',
 CASE WHEN current_setting('server_version_num')::int >= 150000 THEN ' STRATEGY file_copy' END) \\gexec
"""
# What outlives the databases that are dropped: who is there, every setting, and (pg_shdepend) whatever a role owns or
# may do in the databases that stay, large objects and default privileges among it. The renewed one has no fixed id.
_STATE = """WITH own AS (SELECT oid FROM pg_database WHERE datname = '{name}'), found AS (
 SELECT to_jsonb(r) AS line FROM pg_authid r
 UNION ALL SELECT to_jsonb(m) FROM pg_auth_members m
 UNION ALL SELECT to_jsonb(l) FROM pg_shseclabel l
 UNION ALL SELECT jsonb_build_array(setdatabase = (TABLE own) OR NULL, nullif(setdatabase, (TABLE own)), setrole,
   setconfig) FROM pg_db_role_setting
 UNION ALL SELECT jsonb_build_array(nullif(objoid, (TABLE own)), classoid, description) FROM pg_shdescription
 UNION ALL SELECT jsonb_build_array(datname, datdba, datistemplate, datallowconn, datconnlimit, datacl::text,
   nullif(oid, (TABLE own))) FROM pg_database
 UNION ALL SELECT to_jsonb(d) FROM pg_shdepend d WHERE (TABLE own) NOT IN (dbid, objid)
 UNION ALL SELECT jsonb_build_array('sessions', count(*)) FROM pg_stat_activity
   WHERE backend_type = 'client backend' AND pid <> pg_backend_pid())
SELECT md5(string_agg(line::text, ' ' ORDER BY line::text)) FROM found;
"""


class Bay:
    """A context manager; not for several threads at once: one bay per worker."""

    def __init__(self, kit: Kit, mirror: Mirror, run_id: str) -> None:
        self._kit, self._mirror = kit, mirror
        self._pod = Pod(kit.engine, kit.lab_spec(run_id, _DEADLINE_S))
        self._aside = ThreadPoolExecutor(1)
        self._ready: Future[None] | None = None
        self._session: Dialogue | None = None
        self._sealed = b""
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
        service, pod = self._pod.spec.service, self._pod
        if service is None:
            return
        pod.start_database()
        assert pod.database is not None
        if self._session is not None:
            self._session.close()
        self._session = Dialogue(pod.database, _PSQL)
        try:
            self._sealed = self._sql(self._session, _SEAL + _STATE)
        except RigError as error:
            raise RigError(f"the database could not be sealed: {error.what}") from error

    def _renew(self, box: Box) -> None:
        """Where a check changed more than its own databases, or holds on to them, the server is started afresh."""
        box.remove()
        if self._session is None or self._closing:
            return
        try:
            clean = self._sql(self._session, _RESET + _STATE) == self._sealed
        except RigError:
            clean = False
        if not clean:
            self._begin()

    def _sql(self, session: Dialogue, text: str) -> bytes:
        service = self._pod.spec.service
        assert service is not None
        asked = f"{text.format(name=service.database, user=service.user)}\\echo {_DONE}\n".encode()
        return session.ask(asked, until=_DONE.encode(), timeout_s=_SQL_S)


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
        except CannotBegin:
            self._free.put(bay)
            raise
        except BaseException:
            self._free.put(None)
            if bay is not None:
                self._opened.remove(bay)
                bay.__exit__(None, None, None)
            raise
        self._free.put(bay)
        return result
