"""Minutes pass in a proof before the first claim stands: somebody who waits sees how far it is."""

from __future__ import annotations

import io
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner

from runner.cli import prove
from runner.cli.main import app
from runner.errors import BuildError, UsageError
from runner.lab.kit import Kit
from runner.lab.onhost import NoEngine
from runner.registry.benchmark import Benchmark, load_benchmark
from runner.sandbox.engine import Engine
from runner.validate.certify import _groups, _side_by_side
from runner.validate.watch import Watch
from tests.unit.validate.conftest import Opened


def clock() -> Iterator[float]:
    yield 0.0
    while True:
        yield 192.0


def test_it_says_how_long_how_far_and_what_is_under_way() -> None:
    time = clock()
    watch = Watch(lambda: next(time))
    assert watch.line() == ""
    watch.say("Step 3/7 \n")
    assert watch.line() == "3m12s (Step 3/7)"
    for name in ("commands", "patches"):
        watch.expect(name)
    with watch.check():
        watch.over("commands")
        watch.say("F01: killed")
        expected = "3m12s, 1 of 2 groups, 0 of 1+ checks; now patches (F01: killed)"
        assert watch.line() == expected
    with pytest.raises(ValueError, match="fell over"), watch.check():
        raise ValueError("fell over")
    watch.over("patches")
    assert watch.line() == "3m12s, 2 of 2 groups, 2 of 2+ checks (F01: killed)"


def test_every_group_is_announced_and_over_when_its_claims_stand(home: Path, opened: Opened) -> None:
    bench = opened()
    groups = _groups(bench, 1, {}, {})
    assert list(groups) == ["commands", "baseline", "patches", "graded", "flawed", "reference", "saboteur", "leaks"]
    watch = Watch()
    watch.expect("baseline")
    watch.expect("flawed")
    assert _side_by_side(bench, {"baseline": groups["baseline"]}, lambda claim: None, watch)
    assert "1 of 2 groups, 0 of 0+ checks; now flawed" in watch.line()


@pytest.mark.parametrize("terminal", [True, False])
def test_where_no_line_is_alive_one_is_printed_now_and_then(monkeypatch: pytest.MonkeyPatch, terminal: bool) -> None:
    monkeypatch.setattr(prove, "HINT_S", 0.01)
    proof = prove.Proof(Path("index.md"), "mini", quiet=True)
    out = io.StringIO()
    monkeypatch.setattr(proof, "_console", Console(file=out, force_terminal=terminal, width=80))
    hinted = threading.Event()

    def hint() -> None:
        proof._hint()
        hinted.set()

    proof._watch.expect("patches")
    with prove._now_and_then(hint):
        assert hinted.wait(10)
    said = out.getvalue()
    assert said == "" if terminal else "... mini: 0s, 0 of 1 groups, 0 of 0+ checks; now patches" in said


@pytest.mark.parametrize("terminal", [True, False])
def test_what_a_build_that_failed_has_printed_is_to_be_read(
    home: Path, monkeypatch: pytest.MonkeyPatch, terminal: bool
) -> None:
    """The error names the build's output: it must have been shown."""

    def prepare(engine: Engine, benchmark: Benchmark, log: Callable[[str], None]) -> Kit:
        log("E: Unable to locate package nodejs\n")
        raise BuildError("building bench/mini failed: exit code 100", "the build's output says more")

    monkeypatch.setattr(prove, "prepare_kit", prepare)
    proof = prove.Proof(home / "index.md", "mini", quiet=True)
    out = io.StringIO()
    monkeypatch.setattr(proof, "_console", Console(file=out, force_terminal=terminal, width=80))
    monkeypatch.setattr(proof, "_engine", NoEngine(), raising=False)
    with pytest.raises(BuildError):
        proof._kit(load_benchmark(home / "index.md", "mini"))
    assert out.getvalue() == "E: Unable to locate package nodejs\n"


def test_a_typo_in_the_last_name_is_known_before_the_first_is_proven(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def connect() -> None:
        raise AssertionError("an engine was asked")

    monkeypatch.setattr(prove, "connect", connect)
    done = CliRunner().invoke(app, ["validate", "mini", "mimi", "--registry", str(home / "index.md")])
    assert isinstance(done.exception, UsageError)
    assert "has no benchmark 'mimi'" in str(done.exception)
