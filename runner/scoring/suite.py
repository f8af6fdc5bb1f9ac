"""Runs a corpus of cases against a program: the branch's cases, and nothing else of the branch, over a frozen tree."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from runner.errors import ConfigError
from runner.lab.check import CannotBegin, Check, CheckResult, NotThere, Place, run_check
from runner.lab.junit import read_junit
from runner.lab.kit import Kit
from runner.lab.text import one_line
from runner.lab.tree import Overlay
from runner.repo import Mirror
from runner.schema.entry import Command, Mutations

Ended = Literal["green", "red", "no-tests", "timeout", "invalid"]
Cases = Mapping[bytes, tuple[str, bytes]]
"""From file name (directly in ``cases_dir``) to mode and content."""


@dataclass(frozen=True)
class SuiteResult:
    """``red`` always names at least one failed case; ``invalid``: it failed, but no case says so. ``flips``: run again
    with nothing changed it was green.
    """

    ended: Ended
    failed: tuple[str, ...] = ()
    executed: tuple[str, ...] | None = None
    detail: str = ""
    flips: bool = False
    exit_code: int | None = None


def cases_of(mirror: Mirror, commit: str, cases_dir: str) -> Cases:
    """The files directly in ``cases_dir``; links and folders are no cases."""
    prefix = cases_dir.rstrip("/").encode() + b"/"
    files = [f for f in mirror.tree(commit) if f.path.startswith(prefix) and b"/" not in f.path[len(prefix) :]]
    regular = [f for f in files if f.mode in ("100644", "100755")]
    return {f.path[len(prefix) :]: (f.mode, content) for f, content in mirror.blobs(regular)}


def folder_cases(folder: Path) -> Cases:
    """The same of a frozen folder beside the registry."""
    return {p.name.encode(): ("100644", p.read_bytes()) for p in sorted(folder.iterdir()) if p.is_file()}


@dataclass(frozen=True)
class Suite:
    """``cases`` laid over ``program`` (a commit of the mirror), run by the registry's mutation command.

    ``place``: where a check is run (default: in a pod of its own). Where the program is a contestant's own:
    ``protected``, further files laid over it, and ``baseline``, on which a command that is not there has to be.
    """

    kit: Kit
    mirror: Mirror
    cases: Cases
    run_id: str
    protected: Overlay = field(default_factory=dict)
    place: Place | None = None
    baseline: str | None = None

    def run(self, program: str, *, first_kill: bool = False, repeat: int = 0) -> SuiteResult:
        """``first_kill`` stops at the first case that fails, where the registry says how.

        Raises RigError where the sandbox failed, ConfigError where the registry names no corpus.
        """
        entry = self.kit.benchmark.entry
        if entry.mutations is None or entry.cases_dir is None:
            raise ConfigError(f"{self.kit.benchmark.id} names no mutations.command or no cases_dir")
        command: Command = entry.command(entry.mutations.command)
        stop = tuple(entry.mutations.first_kill) if first_kill else ()
        check = Check(
            program,
            command,
            overlay=self._overlay(program, entry.cases_dir),
            report=entry.mutations.report,
            more=stop,
            repeat=repeat,
        )
        place = self.place or (lambda check: run_check(self.kit, self.mirror, check, run_id=self.run_id))
        try:
            result = place(check)
        except CannotBegin as error:  # a setup is proven on the baseline, before anything of a contestant's is judged
            if isinstance(error, NotThere):
                if self.baseline is None:
                    raise
                place(replace(check, commit=self.baseline))  # raises where it is not there either
            result = error.result
        return judge(result, entry.mutations)

    def _overlay(self, program: str, cases_dir: str) -> Overlay:
        prefix = cases_dir.rstrip("/").encode() + b"/"
        overlay: dict[bytes, tuple[str, bytes] | None] = {
            f.path: None for f in self.mirror.tree(program) if f.path.startswith(prefix)
        }
        return {**self.protected, **overlay} | {prefix + name: case for name, case in self.cases.items()}


def judge(result: CheckResult, mutations: Mutations) -> SuiteResult:
    """What a run of the corpus says: exit code and named cases have to agree; "no tests" is no verdict."""
    return replace(_judged(result, mutations), exit_code=result.exit_code)


def _judged(result: CheckResult, mutations: Mutations) -> SuiteResult:
    if result.timed_out:
        return SuiteResult("timeout", detail="timed out")
    if result.oom:
        return SuiteResult("invalid", detail="out of memory")
    failed, executed = _named(result, mutations)
    if executed is not None and not executed:
        return SuiteResult("no-tests", executed=(), detail=result.why())
    if result.exit_code == 0:
        if failed:
            return SuiteResult("invalid", failed, executed, "exit 0 with failed cases in the report")
        return SuiteResult("green", (), executed)
    if any(failed):  # a case without a name is none
        return SuiteResult("red", failed, executed)
    return SuiteResult("invalid", (), executed, f"{result.why()}, and no case is named")


def _named(result: CheckResult, mutations: Mutations) -> tuple[tuple[str, ...], tuple[str, ...] | None]:
    """Failed and executed case names, from the report where there is one, otherwise from the output."""
    if mutations.report is None:
        text = result.stdout.decode("utf-8", "backslashreplace")
        found = re.finditer(mutations.failure_pattern, text, re.MULTILINE)
        return tuple(sorted({one_line((m[1] or "") if m.re.groups else m[0]) for m in found})), None
    report = read_junit(result.report)
    return tuple(sorted(report.failed)), tuple(sorted(report.executed))
