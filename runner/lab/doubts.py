"""What speaks against the exit code 0 of a command that ran the candidate's own tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from runner.lab.check import CheckResult
from runner.lab.junit import read_junit

_NAMED = 5


def doubts(expected: Mapping[str, Sequence[str]], result: CheckResult) -> list[str]:
    """Every expected case ran and is green, no case is red, nothing was left running; otherwise a sentence each."""
    missing: list[str] = []
    failed: set[str] = set()
    for path, cases in expected.items():
        report = read_junit(result.reports.get(path))
        failed |= report.failed
        missing += [case for case in cases if case not in report.executed and case not in report.ids]
    found = []
    if missing:
        found.append(f"{len(missing)} expected tests were not executed: {_some(missing)}")
    if failed:
        found.append(f"its report names failed tests: {_some(sorted(failed))}")
    if result.left:
        found.append(f"it left processes behind: {_some(result.left)}")
    return found


def decoy_doubts(case: str, result: CheckResult) -> list[str]:
    """A test that fails was added: who passes, or does not name it, would pass with anything."""
    if result.timed_out or result.oom:
        return [f"with a failing test added it {result.why()}"]
    failed: set[str] = set()
    for content in result.reports.values():
        report = read_junit(content)
        failed |= report.failed | report.failed_ids
    if result.exit_code == 0:
        return ["it passes as well with a failing test added"]
    return [] if case in failed else ["with a failing test added its report does not name that test"]


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more
