"""A milestone that is done before its turn measures nothing, whichever it is."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import Any

import yaml

from runner.lab.check import Check, CheckResult
from runner.validate.baseline import prove_baseline_claims
from tests.unit.validate.conftest import Opened

SECOND = "--- /dev/null\n+++ b/NOTES\n@@ -0,0 +1 @@\n+noted\n"


def two_milestones(home: Path, second: list[str]) -> None:
    (home / "reference" / "M02.patch").write_text(SECOND)
    head, body, rest = (home / "index.md").read_text().split("---\n", 2)
    data: dict[str, Any] = yaml.safe_load(body)
    entry = data["benchmarks"][0]
    entry["milestones"].append({"id": "M02", "file": "plan/M01.md", "verify": {"argv": second}})
    entry["reference"].append("reference/M02.patch")
    (home / "index.md").write_text(f"{head}---\n{yaml.safe_dump(data)}---\n{rest}")


def said(opened: Opened) -> dict[str, tuple[bool, str]]:
    return {claim.id: (claim.ok, claim.sentence) for claim in prove_baseline_claims(opened())}


def test_every_verify_fails_before_its_own_milestone_and_no_sooner(home: Path, opened: Opened) -> None:
    two_milestones(home, ["test", "-f", "NOTES"])
    claims = said(opened)
    assert claims["verify-M01"] == (True, "M01 is not done at the baseline")
    assert claims["verify-M02"] == (True, "M02 is not done by the milestones before it")


def test_a_milestone_that_the_one_before_it_has_done(home: Path, opened: Opened) -> None:
    """At the baseline it fails: only what the first milestone leaves shows that nothing of the second is left."""
    two_milestones(home, ["sh", "-c", "tools/verify.sh"])
    claims = said(opened)
    assert claims["verify-M01"][0]
    assert claims["verify-M02"] == (
        False, "M02's verify passes before its work is begun: there is nothing to measure"
    )  # fmt: skip


def test_a_reference_that_is_not_one_patch_a_milestone_says_nothing_of_the_later_ones(
    home: Path, opened: Opened
) -> None:
    two_milestones(home, ["sh", "-c", "tools/verify.sh"])
    index = home / "index.md"
    index.write_text(
        index.read_text().replace("- reference/M02.patch", "- reference/M02.patch\n  - reference/M03.patch")
    )
    (home / "reference" / "M03.patch").write_text(SECOND.replace("NOTES", "MORE"))
    assert [claim for claim in said(opened) if claim.startswith("verify")] == ["verify-M01"]


def test_a_reference_that_does_not_apply_is_said_elsewhere(home: Path, opened: Opened) -> None:
    bench = replace(opened(), reference=None)
    (home / "reference" / "M01.patch").write_text("no patch")
    assert [claim.id for claim in prove_baseline_claims(bench) if claim.id.startswith("verify")] == ["verify-M01"]


def with_criterion(home: Path) -> None:
    index = home / "index.md"
    criterion = "{dir: etalon, report: /out/c.xml, counted: [one, two], command: {argv: [judge], oracle: true}}"
    index.write_text(index.read_text().replace("  flawed: flawed\n", f"  flawed: flawed\n  criterion: {criterion}\n"))


def test_a_counted_case_that_the_baseline_passes_is_named(home: Path, opened: Opened) -> None:
    """The criterion fails, and the sentence must not say that it passes."""
    with_criterion(home)
    bench = opened()
    report = b'<testsuite><testcase name="one"><failure/></testcase><testcase name="two"/></testsuite>'

    def place(check: Check) -> CheckResult:
        if check.oracle_dir is None:
            return bench.place(check)
        return CheckResult(1, False, False, 0.1, b"", b"", report=report)

    (claim,) = [c for c in prove_baseline_claims(replace(bench, place=place)) if c.id == "criterion"]
    assert not claim.ok
    assert claim.sentence == "the baseline does not fail two, which is counted, in repeat 1"


def test_the_criterion_does_not_wait_for_the_other_checks(home: Path, opened: Opened) -> None:
    """It is the longest of them, and mostly waits itself."""
    with_criterion(home)
    bench = opened()
    begun = Event()

    def place(check: Check) -> CheckResult:
        if check.oracle_dir is None:
            assert begun.wait(20), "the criterion has not begun"
            return bench.place(check)
        begun.set()
        return CheckResult(0, False, False, 0.1, b"", b"", report=b'<testsuite><testcase name="one"/></testsuite>')

    claims = {claim.id: claim for claim in prove_baseline_claims(replace(bench, place=place))}
    assert claims["ci"].ok
    assert claims["criterion"].sentence.startswith("the success criterion passes on the baseline in repeat 1")
