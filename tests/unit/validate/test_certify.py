"""How a proof keeps every core busy: groups and solutions begin at once, and what was judged is not judged again."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from runner.errors import Interrupted, RigError
from runner.lab.check import Check, CheckResult
from runner.schema.certificate import Claim
from runner.schema.entry import Command
from runner.validate import certify as proof
from runner.validate.determinism import prove_determinism
from runner.validate.memo import Memo
from runner.validate.solutions import prove_reference, prove_solutions
from runner.validate.watch import Watch
from tests.unit.validate.conftest import Opened

WAIT_S = 10
GREEN = b"<testsuite>" + b"".join(b'<testcase name="%s.txtar"/>' % n for n in (b"add", b"refuse", b"sub")) + (
    b"</testsuite>"
)  # fmt: skip
PASSED = CheckResult(0, False, False, 0.1, b"", b"", report=GREEN)


def claim(name: str) -> list[Claim]:
    return [Claim(group="baseline", id=name, ok=True, sentence=name, fix="")]


def test_all_groups_begin_at_once_and_each_is_told_as_soon_as_it_ends(opened: Opened) -> None:
    together, told = threading.Barrier(9, timeout=WAIT_S), threading.Event()

    def group(name: str) -> Callable[[], list[Claim]]:
        def prove() -> list[Claim]:
            together.wait()
            assert name != "0" or told.wait(WAIT_S)
            return claim(name)

        return prove

    groups = {name: group(name) for name in "012345678"}
    claims = proof._side_by_side(opened(), groups, lambda one: told.set(), Watch())
    assert [one.id for one in claims] == list("012345678")


def test_the_first_error_ends_the_other_groups(opened: Opened) -> None:
    bench = opened()
    told: list[bool] = []

    def breaks() -> list[Claim]:
        raise RigError("no engine")

    def works() -> list[Claim]:
        told.append(bench.kit.cancel.wait(WAIT_S))
        raise Interrupted("the run was stopped")

    with pytest.raises(RigError, match="no engine"):
        proof._side_by_side(bench, {"a": works, "b": breaks, "c": works}, lambda one: None, Watch())
    assert told == [True, True]


def test_a_criterion_stands_in_a_row_of_its_own(
    home: Path, opened: Opened, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It mostly waits, for what a broken program never does: no other check waits for it."""
    waiting = threading.Event()

    class Row:
        def __init__(self, kit: object, mirror: object, run_id: str, count: int) -> None:
            self.guard = threading.Lock()

        def __enter__(self) -> Any:
            return self

        def __exit__(self, *error: object) -> None:
            pass

        def run(self, check: Check) -> CheckResult:
            with self.guard:
                if check.oracle_dir is None:
                    waiting.set()
                else:
                    assert waiting.wait(WAIT_S)
            return PASSED

    def groups(bench: Any, *rest: object) -> dict[str, proof.Group]:
        hidden = Check(bench.baseline, Command(argv=["true"]), oracle_dir=tmp_path)

        def judged(check: Check) -> list[Claim]:
            return claim(bench.place(check).why())

        return {"hidden": partial(judged, hidden), "open": partial(judged, replace(hidden, oracle_dir=None))}

    monkeypatch.setattr(proof, "Bays", Row)
    monkeypatch.setattr(proof, "_groups", groups)
    monkeypatch.setattr(proof, "prove_determinism", lambda bench, seed: [])
    bench = opened()
    told = [one.id for one in proof.certify(bench.kit, Watch(), lambda one: None).claims]
    assert told == ["files", "exit 0", "exit 0"]


def test_a_proof_during_which_somebody_edits_a_file_proves_nothing(
    home: Path, opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    def groups(bench: Any, *rest: object) -> dict[str, proof.Group]:
        def edits() -> list[Claim]:
            with (home / "etalon" / "add.txtar").open("a") as case:
                case.write("\n")
            return claim("edited")

        return {"baseline": edits}

    monkeypatch.setattr(proof, "_groups", groups)
    monkeypatch.setattr(proof, "prove_determinism", lambda bench, seed: [])
    certificate = proof.certify(opened().kit, Watch(), lambda one: None)
    assert "meanwhile" in [one.id for one in certificate.claims if not one.ok]
    assert not certificate.proven


def test_all_solutions_begin_at_once(home: Path, opened: Opened) -> None:
    manifest = home / "flawed" / "manifest.yaml"
    line = "- {id: nop-%d, about: x, patches: [], expect: {gates: {scope: true}}}\n"
    manifest.write_text("solutions:\n" + "".join(line % n for n in range(9)))
    together = threading.Barrier(9, timeout=WAIT_S)

    def begun(line: str) -> None:
        if line.startswith("flawed"):
            together.wait()

    bench = replace(opened(), announce=begun)
    assert [one.ok for one in prove_solutions(bench, "flawed", "flawed")] == [True] * 9


def test_what_a_gate_has_judged_is_repeated_once_less(home: Path, opened: Opened) -> None:
    """Also where the reference leaves what no branch may: it is judged without it both times."""
    with (home / "reference" / "M01.patch").open("a") as reference:
        reference.write("--- /dev/null\n+++ b/tools/more.py\n@@ -0,0 +1 @@\n+more\n")
    seen: Counter[int] = Counter()

    def place(check: Check) -> CheckResult:
        seen[check.repeat] += 1
        return PASSED

    bench = opened()
    bench = replace(bench, place=Memo(bench.mirror, place).run)
    prove_reference(bench)
    once = seen[0]
    assert [one.ok for one in prove_determinism(bench, 1)] == [True]
    assert (seen[0], seen[2]) == (once, 3)


def test_an_etalon_that_is_green_with_fewer_cases_now_and_then_is_flaky(opened: Opened) -> None:
    fewer = replace(PASSED, report=b'<testsuite><testcase name="add.txtar"/></testsuite>')
    bench = replace(opened(), place=lambda check: fewer if check.report and check.repeat == 1 else PASSED)
    (one,) = prove_determinism(bench, 1)
    assert not one.ok
    assert one.sentence == "flaky, and so in quarantine: the etalon (green, 1 cases | green, 3 cases)"
