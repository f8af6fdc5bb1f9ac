"""What differs in nothing is checked once; what could differ is checked again."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from runner.errors import RigError
from runner.lab.check import Check, CheckResult
from runner.repo import Mirror
from runner.schema.entry import Command
from runner.scoring.patches import apply_patch
from runner.validate.memo import Memo

RESULT = CheckResult(0, False, False, 0.1, b"", b"")
PATCH = b"--- a/one\n+++ b/one\n@@ -1 +1 @@\n-1\n+2\n"


class Place:
    def __init__(self, *results: CheckResult) -> None:
        self.results, self.seen = list(results), 0

    def run(self, check: Check) -> CheckResult:
        self.seen += 1
        return self.results.pop(0) if self.results else RESULT


@pytest.fixture
def mirror(tmp_path: Path) -> tuple[Mirror, str]:
    source = tmp_path / "source"
    source.mkdir()
    (source / "one").write_text("1\n")
    try:
        Mirror.create(tmp_path / "wrong.git", source, "0" * 40)
    except Exception as error:  # noqa: BLE001 (the error names the commit)
        baseline = next(w for w in str(error).replace("—", " ").split() if len(w) == 40 and w != "0" * 40)
    return Mirror.create(tmp_path / "mirror.git", source, baseline)


def test_the_same_content_is_checked_once_whatever_the_commit(mirror: tuple[Mirror, str]) -> None:
    host, baseline = mirror
    place = Place()
    memo = Memo(host, place.run)
    check = Check(baseline, Command(argv=["true"]))
    changed = apply_patch(host, baseline, PATCH, "changed")
    memo.run(check)
    memo.run(replace(check, commit=changed, overlay={b"one": ("100644", b"1\n")}, output=Path("elsewhere")))
    assert place.seen == 1
    for other in (
        replace(check, commit=changed),
        replace(check, more=("--first",)),
        replace(check, repeat=1),
        replace(check, watch_tree=True),
        replace(check, image="criterion"),
        replace(check, oracle_dir=Path("hidden")),
        replace(check, overlay={b"one": ("100755", b"1\n")}),
        replace(check, overlay={b"one": None}),
        replace(check, command=Command(argv=["true"], oracle=True)),
    ):
        before = place.seen
        memo.run(other)
        assert place.seen == before + 1, other


@pytest.mark.parametrize("how", ["timed_out", "oom"])
def test_what_ran_out_of_something_is_not_remembered(mirror: tuple[Mirror, str], how: str) -> None:
    host, baseline = mirror
    memo = Memo(host, Place(replace(RESULT, exit_code=None, **{how: True})).run)
    check = Check(baseline, Command(argv=["true"]))
    assert not memo.run(check).passed
    assert memo.run(check).passed


def test_an_error_is_not_remembered_and_ends_those_who_wait_for_the_answer(mirror: tuple[Mirror, str]) -> None:
    host, baseline = mirror
    asked, go = threading.Event(), threading.Event()
    errors: list[str] = []

    def broken(check: Check) -> CheckResult:
        if asked.is_set():
            return RESULT
        asked.set()
        go.wait(5)
        raise RigError("no engine")

    memo = Memo(host, broken)
    check = Check(baseline, Command(argv=["true"]))

    def ask() -> None:
        try:
            memo.run(check)
        except RigError as error:
            errors.append(error.what)

    first, second = (threading.Thread(target=ask, daemon=True) for _ in range(2))
    first.start()
    assert asked.wait(5)
    second.start()
    time.sleep(0.2)  # by now it waits
    go.set()
    first.join(5)
    second.join(5)
    assert errors == ["no engine"] * 2
    assert memo.run(check).passed


def test_who_asks_meanwhile_waits_for_the_answer(mirror: tuple[Mirror, str]) -> None:
    host, baseline = mirror
    asked, go = threading.Event(), threading.Event()
    seen: list[Check] = []

    def slow(check: Check) -> CheckResult:
        seen.append(check)
        asked.set()
        go.wait(5)
        return RESULT

    memo = Memo(host, slow)
    check = Check(baseline, Command(argv=["true"]))
    first = threading.Thread(target=memo.run, args=(check,))
    first.start()
    assert asked.wait(5)
    second = threading.Thread(target=memo.run, args=(check,))
    second.start()
    go.set()
    first.join(5)
    second.join(5)
    assert seen == [check]
