"""Which checks a container's main process carries out itself."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from runner.lab.check import Check, at_once
from runner.schema.entry import Command

JUDGE = Command(
    argv=["python3", "-m", "e2e"], oracle=True, cwd="sub", env={"E2E_PROGRAM_USER": "1000:1000"}, timeout_s=9
)
CHECK = Check("c" * 40, JUDGE, report="/out/cases.xml", more=("--first",))
SETUP = Command(argv=["true"], timeout_s=9)


def with_command(**changes: object) -> Check:
    return replace(CHECK, command=JUDGE.model_copy(update=changes))


def test_a_judge_that_runs_as_root() -> None:
    work = at_once(CHECK, None)
    assert work is not None
    assert work.argv == ["python3", "-m", "e2e", "--first"]
    assert (work.cwd, work.env) == ("/work/repo/sub", {"E2E_PROGRAM_USER": "1000:1000"})
    whole = at_once(with_command(cwd=None), None)
    assert whole is not None
    assert whole.cwd == "/work/repo"


@pytest.mark.parametrize(
    "check",
    [
        with_command(oracle=False),
        with_command(argv=["./judge"]),
        with_command(env={"PATH": "/opt/bin"}),
        replace(CHECK, watch_tree=True),
        replace(CHECK, oracle_dir=Path("etalon")),
    ],
)
def test_whatever_else_goes_by_exec(check: Check) -> None:
    assert at_once(check, None) is None


def test_what_is_set_up_first_goes_by_exec() -> None:
    assert at_once(CHECK, SETUP) is None
