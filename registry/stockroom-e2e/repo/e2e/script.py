"""Runs a case's `cmd` section against the program."""

import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

from e2e.freshdb import FreshDatabase, open_database, server
from e2e.txtar import BadCase
from pgwire import Connection, PgError

TIMEOUT_S = 20.0
_ENV_PREFIXES = ("PG", "STOCKROOM_")
# What commands import of the standard library; anything else works too, and is compiled once a run.
_PACKAGES = ("collections", "encodings", "re")
_MODULES = (
    "__future__", "copyreg", "csv", "enum", "functools", "hashlib", "keyword",
    "operator", "reprlib", "types",
)  # fmt: skip


class Program:
    """How to start the program under test, and as whom."""

    def __init__(self, directory: Path, cache: Path, user: tuple[int, int] | None) -> None:
        self.directory = directory
        self.user = user
        self._main = str(directory / "stockroom" / "__main__.py")
        _link_stdlib(cache)
        self.env = {
            "PATH": "/usr/bin:/bin",
            "LC_ALL": "C.UTF-8",
            "TZ": "UTC",
            "PYTHONHASHSEED": "0",
            "PYTHONPATH": str(directory),
            # A directory of this run alone: a mutated source must not meet old bytecode.
            "PYTHONPYCACHEPREFIX": str(cache),
            **server(),
        }

    def start(
        self, words: list[str], cwd: Path, extra: dict[str, str]
    ) -> "subprocess.Popen[bytes]":
        # Run as a file, not by `-m`: runpy alone costs a third of a short command.
        argv = [sys.executable, "-S", "-P", self._main, *words]
        env = {**self.env, **extra}
        if self.user is None:
            return subprocess.Popen(
                argv, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                stderr=subprocess.PIPE, start_new_session=True,
            )  # fmt: skip
        return subprocess.Popen(
            argv, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, start_new_session=True,
            user=self.user[0], group=self.user[1], extra_groups=[],
        )  # fmt: skip


class Script:
    """One case's commands; `exits`, `stdout` and `stderr` grow in the order of the lines."""

    def __init__(self, program: Program, database: FreshDatabase, cwd: Path) -> None:
        self._program = program
        self._database = database
        self._cwd = cwd
        self._running: list[subprocess.Popen[bytes]] = []
        self._held: Connection | None = None
        self.exits = ""
        self.stdout = ""
        self.stderr = ""

    def run(self, text: str) -> None:
        """Run every line; raises BadCase for a line nobody understands."""
        try:
            for line in text.splitlines():
                if line.strip() and not line.lstrip().startswith("#"):
                    self._line(line.strip())
            if self._held is not None:
                raise BadCase("the held transaction was neither committed nor rolled back")
            self._collect()
        finally:
            self._stop()

    def _line(self, line: str) -> None:
        if line.startswith("@"):
            self._directive(line)
        elif line.startswith("& "):
            self._running.append(self._start(line[2:]))
        else:
            self._finish(self._start(line))

    def _directive(self, line: str) -> None:
        word, _, rest = line.partition(" ")
        if word == "@hold" and self._held is None:
            self._held = open_database(self._database.name)
            try:
                self._held.script("BEGIN; " + rest)
            except PgError as error:
                raise BadCase(f"@hold: {error.message}") from error
        elif word == "@blocked" and self._running:
            self._wait_blocked()
        elif word in ("@commit", "@rollback") and self._held is not None:
            self._held.script(word[1:].upper())
            self._held.close()
            self._held = None
        elif word == "@wait":
            self._collect()
        else:
            raise BadCase(f"{line!r} makes no sense here")

    def _start(self, line: str) -> "subprocess.Popen[bytes]":
        try:
            words = shlex.split(line.replace("$PROGRAM", str(self._program.directory)))
        except ValueError as error:
            raise BadCase(f"{line!r}: {error}") from error
        extra = {"PGDATABASE": self._database.name}
        while words and "=" in words[0] and words[0].startswith(_ENV_PREFIXES):
            name, _, value = words.pop(0).partition("=")
            extra[name] = value
        if not words or words[0] != "stockroom":
            raise BadCase(f"{line!r}: a command starts with stockroom")
        return self._program.start(words[1:], self._cwd, extra)

    def _wait_blocked(self) -> None:
        """Until every background command waits for a lock or has ended."""
        deadline = time.monotonic() + TIMEOUT_S
        while time.monotonic() < deadline:
            alive = sum(process.poll() is None for process in self._running)
            if self._database.blocked() >= alive:
                return
            time.sleep(0.004)
        raise BadCase("the background commands neither ended nor waited for a lock")

    def _collect(self) -> None:
        while self._running:
            self._finish(self._running.pop(0))

    def _finish(self, process: "subprocess.Popen[bytes]") -> None:
        try:
            out, err = process.communicate(timeout=TIMEOUT_S)
        except subprocess.TimeoutExpired:
            _kill(process)
            raise BadCase(f"a command ran longer than {TIMEOUT_S:.0f} s") from None
        _end_group(process)
        self.exits += f"{process.returncode}\n"
        self.stdout += out.decode(errors="replace")
        self.stderr += err.decode(errors="replace")

    def _stop(self) -> None:
        for process in self._running:
            _kill(process)
        self._running.clear()
        if self._held is not None:
            self._held.close()
            self._held = None


def _link_stdlib(cache: Path) -> None:
    """Let the bytecode that came with Python serve there: made anew it costs as much as a case."""
    library = Path(os.__file__).parent
    inside = cache / library.relative_to(library.anchor)
    inside.mkdir(parents=True)
    for package in _PACKAGES:
        (inside / package).symlink_to(library / package / "__pycache__")
    for module in _MODULES:
        name = f"{module}.{sys.implementation.cache_tag}.pyc"
        (inside / name).symlink_to(library / "__pycache__" / name)


def _kill(process: "subprocess.Popen[bytes]") -> None:
    _end_group(process)
    process.communicate()


def _end_group(process: "subprocess.Popen[bytes]") -> None:
    """End the command's process group: what it left running must not meet the next case."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return  # nothing was left, as it should be
