"""One command on one commit on this very machine, as the seed's scripts do it: no container, no isolation.

It is there for people who switch and whose commands need what only their machine has. The tree is a fresh one per check
and the environment holds no key, but the code under test can read and write whatever its user can: never use it on
work that is not trusted.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import tarfile
import tempfile
import time
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from typing import NoReturn

from runner.errors import ConfigError
from runner.gitdir import repository_files
from runner.hostgit import clean_environment, git
from runner.lab.check import CannotBegin, Check, CheckResult, NotThere, laid
from runner.registry.benchmark import Benchmark
from runner.repo import Mirror
from runner.sandbox.engine import Engine, EngineInfo

WARNING = (
    "warning: --on-host runs the branch's code on this machine as you, without a container; only for work you trust"
)
_SECRET = re.compile(r"(KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL)", re.IGNORECASE)
_GRACE_S = 5.0


class NoEngine(Engine):
    """Stands where an engine would; whatever needs a container says that there is none."""

    def __init__(self) -> None:
        self.info = EngineInfo("none", "", "", "", "", os.cpu_count() or 1, 0, "", local=True)

    def __getattr__(self, name: str) -> NoReturn:
        raise ConfigError("this needs a container, and no engine is connected", "leave --on-host out")

    def close(self) -> None:
        """There is nothing to close."""


class HostLab:
    """Runs checks in fresh folders of this machine. ``run`` has the shape of ``run_check``."""

    def __init__(self, benchmark: Benchmark, mirror: Mirror) -> None:
        self._benchmark, self._mirror = benchmark, mirror

    def run(self, check: Check) -> CheckResult:
        """Raises ConfigError for what only a container can do, or a command that this machine does not have."""
        if check.command.oracle or check.oracle_dir:
            raise ConfigError("this check keeps its answers from the candidate, which only a container can do",
                              "leave --on-host out")  # fmt: skip
        with tempfile.TemporaryDirectory(prefix="bench-host-") as folder:
            tree = Path(folder, "repo")
            self._lay(check, tree)
            setup = self._benchmark.entry.setup
            if setup is not None:
                done = self._start(tree, setup.argv, setup.cwd, setup.env, setup.timeout_s)
                if not done.passed:
                    return done
            before = _digest(tree) if check.watch_tree else None
            command = check.command
            argv = [*command.argv, *check.more]
            done = self._start(tree, argv, command.cwd, command.env, command.timeout_s)
            changed = report = None
            reports: dict[str, bytes] = {}
            if not done.timed_out:
                if before is not None:
                    after = _digest(tree)
                    changed = sorted(p for p in before.keys() | after.keys() if before.get(p) != after.get(p))
                if check.report is not None:
                    report = _written(tree, check.report)
                reports = {p: content for p in check.reports if (content := _written(tree, p)) is not None}
            if check.output:
                check.output.with_name(check.output.name + ".out").write_bytes(done.stdout)
                check.output.with_name(check.output.name + ".err").write_bytes(done.stderr)
        return CheckResult(done.exit_code, done.timed_out, False, done.seconds, done.stdout, done.stderr,
                           changed, report, reports)  # fmt: skip

    def _lay(self, check: Check, tree: Path) -> None:
        """The commit's tree, raw, with a repository whose index is that commit (so that a command may ask git)."""
        tree.mkdir()
        overlay = {**{n.encode(): ("100644", c) for n, c in self._benchmark.carried.items()}, **laid(check),
                   **repository_files(self._mirror, check.commit, "checked")}  # fmt: skip
        with tarfile.open(fileobj=BytesIO(self._mirror.tar(check.commit, overlay=overlay))) as archive:
            try:
                archive.extractall(tree, filter="data")
            except tarfile.FilterError as error:
                what = f"the tree cannot be laid out on the host: {error}"
                raise CannotBegin(what, CheckResult(126, False, False, 0.0, b"", b"", doubts=(what,))) from None
        git(["read-tree", check.commit], git_dir=tree / ".git")

    def _start(
        self, tree: Path, argv: list[str], cwd: str | None, env: Mapping[str, str], limit_s: float
    ) -> CheckResult:
        folder = tree / cwd if cwd else tree
        variables = {k: v for k, v in clean_environment().items() if not _SECRET.search(k)}
        variables |= {**self._benchmark.entry.environment, **env}
        if "/" not in argv[0] and shutil.which(argv[0], path=variables.get("PATH")) is None:
            raise ConfigError(f"this machine has no {argv[0]!r}", "install it, or name an image that has it (--image)")
        started = time.monotonic()
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            try:
                process = subprocess.Popen(argv, cwd=folder, env=variables, stdin=subprocess.DEVNULL, stdout=out,
                                           stderr=err, start_new_session=True)  # fmt: skip
            except OSError as error:  # a file or folder of the tree's own: there is none, or it cannot be run
                what = f"{argv[0]} cannot be started: {error.strerror}"
                raise NotThere(what, CheckResult(127, False, False, 0.0, b"", b"", doubts=(what,))) from None
            try:
                code: int | None = process.wait(limit_s)
            except subprocess.TimeoutExpired:
                code = None
            finally:
                _end(process)
            seconds = time.monotonic() - started
            out.seek(0)
            err.seek(0)
            return CheckResult(code, code is None, False, seconds, out.read(), err.read())


def _end(process: subprocess.Popen[bytes]) -> None:
    """The command and what it left running in its session."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
        except ProcessLookupError:
            break
        try:
            process.wait(_GRACE_S)
        except subprocess.TimeoutExpired:
            continue
    process.wait()


def _written(tree: Path, report: str) -> bytes | None:
    path = tree / report
    return path.read_bytes() if path.is_file() and not path.is_symlink() else None


def _digest(tree: Path) -> dict[str, bytes]:
    """Content of every file below ``tree`` but ``.git``."""
    found: dict[str, bytes] = {}
    for path in sorted(tree.rglob("*")):
        name = path.relative_to(tree).as_posix()
        if name == ".git" or name.startswith(".git/"):
            continue
        if path.is_symlink():
            found[name] = os.readlink(path).encode("utf-8", "surrogateescape")
        elif path.is_file():
            found[name] = path.read_bytes()
    return found
