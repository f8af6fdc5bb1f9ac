"""What is counted of an attempt, each detector with a log that trips it and one that does not."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from runner.events.profile import Profile, frozen, profile, rebaselines
from runner.events.segments import Segment, of_log
from runner.harness import codex_log
from runner.harness.trace import Answer, Call, Item, Retry, Trace, best_cycle, loops
from runner.schema.layers import ProcessSettings
from tests.support.seedlog import Pi, log, stored
from tests.unit.harness.test_expected import LOGS

SETTINGS = ProcessSettings(
    rebaseline_pattern="--txtar-update",
    e2e_pattern=r"just e2e|pytest[^\n]*\be2e\b",
    malformed_patterns=["String to replace not found", "has not been read yet"],
    context_death_patterns=["prompt is too long", "exceeds the maximum"],
)
UPDATE = {"command": "pytest e2e --txtar-update"}
LOOK = {"command": "just e2e"}


def of(tmp_path: Path, events: str, settings: ProcessSettings = SETTINGS) -> Profile:
    (segment,) = of_log(log(tmp_path / "x.ndjson", ("M01", events)))
    assert segment.trace
    return profile(segment.trace, settings)


def test_an_error_that_the_registry_names_is_malformed_and_a_failing_command_is_not(tmp_path: Path) -> None:
    pi = Pi().call("edit", {"path": "a"}, "String to replace not found", error=True)
    pi.call("bash", {"command": "false"}, "Command exited with code 1", error=True)
    pi.call("bash", {"command": "x"}, "Validation failed for tool bash", error=True)
    pi.call("bash", {"command": "echo has not been read yet"}, "has not been read yet")
    assert of(tmp_path, pi.end().text).malformed == {"pattern": 1, "schema": 1}


def test_a_streak_counts_once_per_stream_and_a_wait_ends_it(tmp_path: Path) -> None:
    pi = Pi()
    for _ in range(7):
        pi.call("bash", {"command": "make"}, "no", error=True)
    for _ in range(4):  # two agents take turns: neither repeats itself three times in a row
        pi.call("read", {"path": "a"}, agent="worker").call("read", {"path": "a"}, agent="tester")
    for _ in range(5):
        pi.call("bash", {"command": "cat log"}).call("bash", {"command": "sleep 5"})
    found = of(tmp_path, pi.end().text)
    assert found.loops == 3  # make, and the same read in each of the two streams
    assert (found.depth.run, found.depth.failing, found.depth.succeeding) == (7, 7, 4)
    assert found.agents == {"main": 17, "worker#1": 4, "tester#1": 4}


@pytest.mark.parametrize(
    ("signs", "cycle"),
    [
        ("ABABAB", (2, 3)),
        ("AAAAAA", None),
        ("ABCABCABC", (3, 3)),
        ("ABAB", (2, 2)),
        ("ABABABAB", (2, 4)),
        ("ABCDABCD", (4, 2)),
        ("AABAABAAB", (3, 3)),
        ("ABCDE", None),
        ("XABABY", (2, 2)),
        ("", None),
    ],
)
def test_the_best_cycle_is_primitive(signs: str, cycle: tuple[int, int] | None) -> None:
    assert best_cycle(list(signs)) == cycle


def test_a_wait_is_no_part_of_a_cycle() -> None:
    calls = [
        Call(file="f", line=n, id=str(n), tool="bash", arguments={"command": command})
        for n, command in enumerate(["make", "sleep 10"] * 6)
    ]
    assert loops(calls).cycle is None
    assert loops(calls).run == 1


def test_deaths_are_errors_that_say_so_and_ends_that_the_registry_names(tmp_path: Path) -> None:
    dead = Pi().call("read", {"path": "a"}).end("error", "400 prompt is too long: 210000 tokens")
    assert of(tmp_path, dead.text).deaths == 1
    assert of(tmp_path, Pi().call("read", {"path": "a"}).end("length").text).deaths == 1
    assert of(tmp_path, Pi().call("read", {"path": "a"}).end().text).deaths == 0
    assert of(tmp_path, stored("pi", "compact")).survived == 1


def test_back_to_back_retries_share_one_bracket_of_lost_time(tmp_path: Path) -> None:
    pi = Pi().call("read", {"path": "a"})
    for attempt in (1, 2):
        pi.end("error", "429")
        pi.add(type="auto_retry_start", attempt=attempt, maxAttempts=3, delayMs=2000, errorMessage="429")
    pi.second += 20
    found = of(tmp_path, pi.call("read", {"path": "b"}).end().text)
    assert (found.freezes, found.freeze_ms) == (2, 22_000)


def claude_retries(*, ends: bool) -> str:
    """A stream without times: the agent says how long it is going to wait."""
    again = [{"type": "system", "subtype": "api_retry", "session_id": "s", "retry_delay_ms": 2000, "error_status": 529,
              "attempt": n} for n in (1, 2)]  # fmt: skip
    last = {"type": "result", "session_id": "s", "subtype": "success", "is_error": True, "result": "API Error: 529"}
    error = {"type": "assistant", "session_id": "s", "is_api_error_message": True,
             "message": {"model": "<synthetic>", "content": [{"type": "text", "text": "API Error: 529"}]}}  # fmt: skip
    return "".join(json.dumps(line) + "\n" for line in [*again, *([error, last] if ends else [])])


@pytest.mark.parametrize(("ends", "lost"), [(True, 4000), (False, 2000)])
def test_where_no_time_is_known_what_it_said_it_would_wait_was_lost(tmp_path: Path, ends: bool, lost: int) -> None:
    found = of(tmp_path, claude_retries(ends=ends))
    assert (found.freezes, found.freeze_ms) == (2, lost)


@pytest.mark.parametrize(("wait", "lost"), [(2000.0, 2000), (None, None)])
@pytest.mark.parametrize("after", [None, "2026-01-01T00:10:00.000Z"])
def test_work_that_went_on_without_a_time_was_not_lost(wait: float | None, lost: int | None, after: str | None) -> None:
    """It came back, nobody knows when; what was done ten minutes later is no end of the waiting."""
    where: dict[str, Any] = {"file": "x", "line": 1}
    steps: list[Item] = [
        Call(**where, id="a", tool="bash", arguments={}, at="2026-01-01T00:00:00.000Z"),
        Answer(**where, whole=False, error="busy"), Retry(**where, reason="busy", wait_ms=wait),
        Answer(**where, whole=True), Call(**where, id="b", tool="bash", arguments={}, at=after),
    ]  # fmt: skip
    assert frozen(Trace("claude-code stream", steps)) == (1, lost)


@pytest.mark.parametrize(("wait", "lost"), [(2000.0, 2000), (None, None)])
@pytest.mark.parametrize("begun", [None, "2026-01-01T00:00:00.000Z"])
def test_work_without_a_time_before_the_trouble_was_not_lost(
    wait: float | None, lost: int | None, begun: str | None
) -> None:
    """Neither is work of which only the beginning has one."""
    where: dict[str, Any] = {"file": "x", "line": 1}
    steps: list[Item] = [
        Answer(**where, whole=True, at="2026-01-01T00:00:00.000Z"),
        Call(**where, id="b", tool="bash", arguments={}, at=begun, answered=True),
        Answer(**where, whole=False, error="busy"), Retry(**where, reason="busy", wait_ms=wait),
        Answer(**where, whole=True, at="2026-01-01T00:10:00.000Z"),
    ]  # fmt: skip
    assert frozen(Trace("claude-code stream", steps)) == (1, lost)


def test_a_clock_that_went_back_takes_no_waiting_away(tmp_path: Path) -> None:
    pi = Pi().call("read", {"path": "a"}).end("error", "429")
    pi.add(type="auto_retry_start", attempt=1, maxAttempts=3, delayMs=2000, errorMessage="429")
    pi.second -= 3600
    found = of(tmp_path, pi.call("read", {"path": "b"}).end().text)
    assert (found.freezes, found.freeze_ms) == (1, 2000)


def test_reconnects_without_a_time_took_nobody_knows_how_long(tmp_path: Path) -> None:
    for name in ("session", "stdout"):
        kept = f"{'rollout-1' if name == 'session' else name}.jsonl"
        shutil.copy(LOGS / "codex" / f"r429.{name}.jsonl", tmp_path / kept)
    assert frozen(codex_log.read_trace(tmp_path)) == (2, None)


def test_no_retry_is_zero_where_the_log_would_say_so(tmp_path: Path) -> None:
    found = of(tmp_path, Pi().call("read", {"path": "a"}).end().text)
    assert (found.freezes, found.freeze_ms) == (0, 0)


def test_pushed_lines_are_those_of_edit_tools(tmp_path: Path) -> None:
    pi = Pi().call("write", {"path": "a", "content": "1\n2\n3\n"})
    pi.call("edit", {"path": "a", "edits": [{"oldText": "1", "newText": "x\ny"}, {"oldText": "2", "newText": "z"}]})
    pi.call("edit", {"path": "a", "edits": [{"oldText": "?", "newText": "w"}]}, "Could not find", error=True)
    pi.call("bash", {"command": "cat > b <<E\n1\n2\nE"})
    assert of(tmp_path, pi.end().text).pushed_lines == 3 + 3 + 1


def blind(tmp_path: Path, *attempts: tuple[str, Pi]) -> tuple[int, int]:
    found = rebaselines(of_log(log(tmp_path / "x.ndjson", *((name, pi.end().text) for name, pi in attempts))), SETTINGS)
    return found.first.total(), found.second.total()


def test_an_update_before_anything_was_seen_is_blind_in_both_versions(tmp_path: Path) -> None:
    assert blind(tmp_path, ("M01", Pi().call("bash", UPDATE, "5 passed"))) == (1, 1)


def test_one_green_run_excuses_a_whole_sprint_in_the_first_version_only(tmp_path: Path) -> None:
    first = Pi().call("bash", LOOK, "12 passed").call("bash", UPDATE, "12 passed")
    second = Pi().call("bash", UPDATE, "12 passed").call("bash", UPDATE, "12 passed")
    assert blind(tmp_path, ("M01", first), ("M02", second)) == (0, 2)


def test_authoring_by_the_update_flag_is_blind_in_the_first_version_only(tmp_path: Path) -> None:
    pi = Pi().call("bash", LOOK, "1 passed, 3 failed").call("bash", UPDATE, "4 passed")
    assert blind(tmp_path, ("M01", pi)) == (1, 0)


def looked(said: str = "5 passed", *, agent: str | None = None) -> Pi:
    return Pi().call("bash", LOOK, said, agent=agent)


@pytest.mark.parametrize(
    ("attempts", "expected"),
    [
        ([looked().call("bash", UPDATE).call("bash", UPDATE)], (0, 1)),  # nobody looked at what the first one wrote
        ([looked(), Pi().call("bash", UPDATE)], (0, 1)),  # what an attempt saw, the next one did not see
        ([looked(agent="worker").call("bash", UPDATE)], (0, 1)),  # nor does an agent see what its helper saw
        ([looked(agent="worker").call("bash", UPDATE, agent="worker")], (0, 0)),
        ([looked().call("bash", LOOK, "2 failed").call("bash", UPDATE)], (0, 0)),  # what was green once was seen green
        ([looked("1 failed" + "." * 300_000 + "5 passed").call("bash", UPDATE)], (0, 0)),  # of much, the end is read
        ([looked("5 PASSED").call("bash", UPDATE)], (0, 0)),
        ([Pi().call("bash", {"command": "other --txtar-update"})], (0, 0)),
        ([Pi().call("note", UPDATE)], (0, 0)),  # a tool that runs nothing
        ([Pi().call("local_shell", UPDATE)], (1, 1)),
        ([Pi().call("bash", {"command": ["sh", "-c", UPDATE["command"]]})], (1, 1)),
    ],
)
def test_what_makes_an_update_blind(tmp_path: Path, attempts: list[Pi], expected: tuple[int, int]) -> None:
    assert blind(tmp_path, *((f"M{number}", pi) for number, pi in enumerate(attempts))) == expected


def test_blind_updates_are_counted_by_milestone_of_all_updates_whoever_ran_them() -> None:
    """A script of the model's runs its commands inside another call; the registry may name a shell of its own."""
    own = SETTINGS.model_copy(update={"shell_tools": ["run"], "shell_input_key": "line"})

    def attempt(label: str, tool: str, arguments: dict[str, str], *, nested: bool) -> Segment:
        call = Call(file="f", line=1, id="c", tool=tool, arguments=arguments, nested=nested, output="5 passed")
        return Segment(label, 1, "f", Trace("codex rollout", [call]))

    found = rebaselines(
        [
            attempt("M01", "CommandExecution", LOOK, nested=True),
            attempt("M02", "CommandExecution", UPDATE, nested=True),
            Segment("M02", 2, "f", None, "cut"),
            attempt("M03", "run", {"line": UPDATE["command"], "command": "ls"}, nested=False),
        ],
        own,
    )
    assert (found.updates, found.first.total(), found.second) == (2, 0, {"M02": 1, "M03": 1})


@pytest.mark.parametrize("unnamed", ["rebaseline_pattern", "e2e_pattern"])
def test_without_both_patterns_nothing_is_measured(tmp_path: Path, unnamed: str) -> None:
    segments = of_log(log(tmp_path / "x.ndjson", ("M01", Pi().call("bash", UPDATE).end().text)))
    found = rebaselines(segments, SETTINGS.model_copy(update={unnamed: None}))
    assert (found.measurable, found.updates) == (False, 0)
