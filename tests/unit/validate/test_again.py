"""What is judged once more and comes out otherwise is named."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from runner.lab.check import Check, CheckResult
from runner.scoring.mutations import Mutant, Verdict
from runner.validate.again import _alike
from runner.validate.determinism import prove_determinism
from runner.validate.patches import prove_patches
from tests.unit.validate.conftest import Opened


def test_every_mutant_and_placebo_is_run_once_more(opened: Opened) -> None:
    bench, seen = opened(), Counter[tuple[str, int]]()

    def place(check: Check) -> CheckResult:
        seen[check.commit, check.repeat] += 1
        return bench.place(check)

    claims = {c.id: c for c in prove_patches(replace(bench, place=place), 1).claims}
    assert claims["mutants"].group == "determinism"
    assert claims["mutants"].sentence == "9 mutants and placebos judged twice, in another order: always alike"
    mutated = {commit for commit, _ in seen} - {bench.baseline, bench.reference}
    assert len(mutated) == 9
    assert all(seen[commit, repeat] for commit in mutated for repeat in (0, 1))


def test_a_mutant_that_is_noticed_now_and_then_is_named(opened: Opened) -> None:
    bench = opened()

    def place(check: Check) -> CheckResult:
        source = bench.mirror.read(check.commit, "src/calc.py") or b""
        if check.repeat == 1 and b"left + right" in source.partition(b"sub")[2]:
            return bench.place(replace(check, commit=bench.reference or ""))
        return bench.place(check)

    claims = {c.id: c for c in prove_patches(replace(bench, place=place), 1).claims}
    assert [name for name, claim in claims.items() if not claim.ok] == ["mutants"]
    assert claims["mutants"].sentence == "flaky, and so in quarantine: sub-plus (killed by sub.txtar | survived)"


@pytest.mark.parametrize(
    ("first", "second", "stops", "alike"),
    [
        (("killed", "a", "b"), ("killed", "b"), True, True),
        (("killed", "a", "b"), ("killed", "b"), False, False),
        (("killed", "a", "b"), ("killed", "a", "b"), False, True),
        (("killed", "a"), ("killed", "b"), True, False),
        (("killed", "a"), ("survived",), True, False),
        (("survived",), ("killed", "a"), True, False),
        (("survived",), ("survived",), True, True),
        (("timeout",), ("invalid",), False, False),
    ],
)
def test_what_is_alike(first: tuple[Verdict, ...], second: tuple[Verdict, ...], stops: bool, alike: bool) -> None:
    one, two = (Mutant("m", verdict, tuple(by)) for verdict, *by in (first, second))
    assert _alike(one, two, stops) is alike


def test_a_verify_is_repeated_where_its_milestone_is_done(home: Path, opened: Opened) -> None:
    more = "--- /dev/null\n+++ b/cases/more.txtar\n@@ -0,0 +1 @@\n+more\n"
    (home / "reference" / "M02.patch").write_text(more)
    index = home / "index.md"
    first = "  - {id: M01, file: plan/M01.md, verify: {argv: [tools/verify.sh], timeout_s: 60}}\n"
    second = "  - {id: M02, file: plan/M01.md, verify: {argv: [tools/verify.sh, M02], timeout_s: 60}}\n"
    both = index.read_text().replace(first, first + second)
    index.write_text(both.replace("[reference/M01.patch]", "[reference/M01.patch, reference/M02.patch]"))
    bench, seen = opened(), Counter[tuple[str, bool]]()

    def place(check: Check) -> CheckResult:
        done = bench.mirror.read(check.commit, "cases/more.txtar") is not None
        seen[" ".join(check.command.argv), done] += 1
        return CheckResult(0, False, False, 0.1, b"", b"")

    prove_determinism(replace(bench, place=place), 1)
    assert seen["tools/verify.sh", False] == 3
    assert seen["tools/verify.sh M02", True] == 3
    assert not seen["tools/verify.sh", True]
