"""One case from file to verdict."""

import os
import shutil
from pathlib import Path

from e2e.compare import difference, merge
from e2e.freshdb import FIXTURES, NO_TABLES, TABLES, FreshDatabase
from e2e.script import Program, Script
from e2e.txtar import CHANNELS, BadCase, Case, read_case
from pgwire import PgError

MAX_FILE_BYTES = 1_000_000


class Runner:
    """One worker: a database and a scratch directory of its own."""

    def __init__(self, program: Program, database: FreshDatabase, scratch: Path) -> None:
        self._program = program
        self._database = database
        self._scratch = scratch

    def run(self, path: Path, *, update: bool) -> str | None:
        """None when the case passes (or was updated), otherwise the reason in one line."""
        try:
            case = read_case(path)
            asserted = [name for name in CHANNELS if name in case.sections] + case.expected
            if not asserted and not update:
                raise BadCase("it asserts nothing")
            before = self._prepare(case, update)
            script = Script(self._program, self._database, self._scratch)
            script.run(case.sections["cmd"])
            actual = {"exit": script.exits, "stdout": script.stdout, "stderr": script.stderr}
            if update:
                self._update(case, actual, before)
                return None
            for name in asserted:
                found = actual[name] if name in actual else self._state(name)
                reason = "no such file" if found is None else None
                if found is not None:
                    reason = difference(case.sections[name], found)
                if reason is not None:
                    return f"{name} {reason}"
        except BadCase as error:
            return str(error)
        return None

    def _prepare(self, case: Case, update: bool) -> dict[str, str]:
        fixture = case.sections.get("fixture", "empty").strip()
        if fixture != NO_TABLES and not (
            fixture.isidentifier() and (FIXTURES / f"{fixture}.sql").is_file()
        ):
            raise BadCase(f"no fixture {fixture!r}")
        try:
            self._database.reset(fixture, case.sections.get("given.sql", ""))
        except PgError as error:
            raise BadCase(f"given.sql: {error.message}") from error
        shutil.rmtree(self._scratch, ignore_errors=True)
        self._scratch.mkdir()
        for name, body in case.inputs().items():
            target = self._scratch / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(body)
        if self._program.user is not None:
            for folder, _, files in os.walk(self._scratch):
                for entry in (folder, *(os.path.join(folder, name) for name in files)):
                    os.chown(entry, *self._program.user)
        return {table: self._database.dump(table) for table in TABLES} if update else {}

    def _state(self, name: str) -> str | None:
        """What `expected/db/TABLE` or `expected/files/NAME` is after the run."""
        _, kind, rest = name.split("/", 2)
        if kind == "db":
            if rest not in TABLES:
                raise BadCase(f"no table {rest!r}")
            return self._database.dump(rest)
        path = self._scratch / rest
        if path.is_symlink() or not path.is_file():
            return None
        return path.read_bytes()[:MAX_FILE_BYTES].decode(errors="replace")

    def _update(self, case: Case, actual: dict[str, str], before: dict[str, str]) -> None:
        for name, found in actual.items():
            case.sections[name] = merge(case.sections.get(name, ""), found)
        expected = case.expected
        if not expected:
            changed = [t for t in TABLES if self._database.dump(t) != before[t]]
            expected = [f"expected/db/{table}" for table in changed or ["stock"]]
        for name in expected:
            state = self._state(name)
            if state is None:
                raise BadCase(f"{name}: no such file")
            case.sections[name] = merge(case.sections.get(name, ""), state)
        text = case.text()
        if text != case.path.read_text():
            case.path.write_text(text)
