"""Who is proven dead."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from runner.sandbox.labels import BOOT, HOST, PID, PID_START, PIDNS, fate, owner_labels


@pytest.fixture
def mine() -> dict[str, str]:
    return owner_labels("run", "holder")


def test_this_process_is_ours(mine: dict[str, str]) -> None:
    assert fate(mine, local_engine=True) == "ours"


def test_another_living_process() -> None:
    ask = (
        "import json; from runner.sandbox.labels import owner_labels\n"
        "print(json.dumps(owner_labels('r', 'x')), flush=True)\n"
        "input()"
    )
    child = subprocess.Popen([sys.executable, "-c", ask], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert child.stdout is not None
        theirs = json.loads(child.stdout.readline())
        assert fate(theirs, local_engine=True) == "alive"
        child.kill()
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)  # a zombie from here on
        assert fate(theirs, local_engine=True) == "dead"
    finally:
        child.communicate()
    assert fate(theirs, local_engine=True) == "dead"


def test_a_pid_that_was_given_away(mine: dict[str, str]) -> None:
    assert fate(mine | {PID_START: "1"}, local_engine=True) == "dead"


def test_an_earlier_boot(mine: dict[str, str]) -> None:
    assert fate(mine | {BOOT: "another"}, local_engine=True) == "dead"
    assert fate(mine | {BOOT: "another"}, local_engine=False) == "foreign", "a remote engine may serve many hosts"


@pytest.mark.parametrize("key", [HOST, PIDNS])
def test_elsewhere_nothing_can_be_said(mine: dict[str, str], key: str) -> None:
    assert fate(mine | {key: "elsewhere", PID: "999999999"}, local_engine=True) == "foreign"


@pytest.mark.parametrize("key", [HOST, BOOT, PIDNS, PID, PID_START])
def test_a_missing_or_empty_label_proves_nothing(mine: dict[str, str], key: str) -> None:
    assert fate({k: v for k, v in mine.items() if k != key}, local_engine=True) == "foreign"
    assert fate(mine | {key: ""}, local_engine=True) == "foreign"


def test_a_broken_pid(mine: dict[str, str]) -> None:
    assert fate(mine | {PID: "-1"}, local_engine=True) == "foreign"
