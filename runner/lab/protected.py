"""A check on a contestant's commit: what it may not change is the baseline's; its own tests have to prove a pass."""

from __future__ import annotations

from dataclasses import replace

from runner.lab.check import CannotBegin, Check, CheckResult, NotThere, Place, run_check
from runner.lab.doubts import decoy_doubts, doubts
from runner.lab.kit import Kit
from runner.lab.tree import Overlay, protected_overlay
from runner.lab.tripwires import tripwires
from runner.registry.manifests import expected_tests
from runner.repo import Mirror

Expected = dict[str, list[str]]


def protected_check(
    kit: Kit, mirror: Mirror, baseline: str, check: Check, *, run_id: str, place: Place | None = None
) -> CheckResult:
    """Run ``check`` with all that the contestant may not change as the baseline has it (default: in its own pod).

    Exit code 0 of a command with ``tests`` passes only where nothing speaks against it; the result's ``doubts`` say
    what does. A setup that fails is a failed check: it was proven on the baseline, in the same images. So is a command
    that is not there, where the baseline has it.
    """
    run = place or (lambda check: run_check(kit, mirror, check, run_id=run_id))
    try:
        return _judged(kit, mirror, baseline, *as_run(kit, mirror, baseline, check), run)
    except CannotBegin as error:
        if check.commit == baseline:
            raise
        if isinstance(error, NotThere):
            run(replace(check, commit=baseline))  # raises where it is not there either
        return error.result


def as_run(kit: Kit, mirror: Mirror, baseline: str, check: Check) -> tuple[Check, Expected]:
    """``check`` as it is carried out: all that the contestant may not change restored, its tests' reports asked for;
    and the tests that each of these has to name.
    """
    entry, tests = kit.benchmark.entry, check.command.tests
    overlay = protected_overlay(mirror, baseline, check.commit, entry.protected, entry.scope_allowlist)
    expected = expected_tests(kit.benchmark, tests.expected) if tests else {}
    return replace(check, overlay=overlay, reports=[*check.reports, *expected]), expected


def _judged(kit: Kit, mirror: Mirror, baseline: str, check: Check, expected: Expected, run: Place) -> CheckResult:
    tests, result = check.command.tests, run(check)
    if tests is None or not result.passed:
        return result
    overlay: Overlay = check.overlay or {}
    found = doubts(expected, result)
    found += tripwires(mirror, baseline, check.commit, overlay, [*expected], tests.allow, _tools(kit))
    if tests.decoy is not None and not found:
        content = kit.benchmark.path(tests.decoy.file).read_bytes()
        laid = {**overlay, tests.decoy.path.encode(): ("100644", content)}
        found += decoy_doubts(tests.decoy.case, run(replace(check, overlay=laid, output=None)))
    return replace(result, doubts=tuple(found))


def _tools(kit: Kit) -> set[str]:
    return {command.argv[0].rpartition("/")[2] for command in kit.benchmark.entry.commands.values()}
