from __future__ import annotations

from pathlib import Path

import pytest

from runner.errors import UsageError
from runner.events.segments import of_log, of_run
from runner.harness.summary import LogError
from tests.support.seedlog import LOGS, Pi, log, mark, stored


def test_one_log_falls_into_its_attempts(tmp_path: Path) -> None:
    path = log(
        tmp_path / "x.ndjson",
        ("M01-a", stored("pi", "bad_json")),
        ("M01-a", stored("claude", "unknown_tool")),
        ("M02-b", stored("pi", "loop")),
    )
    found = of_log(path)
    assert [(s.label, s.number, s.trace.schema if s.trace else None) for s in found] == [
        ("M01-a", 1, "pi/3 events"),
        ("M01-a", 2, "claude-code stream"),
        ("M02-b", 1, "pi/3 events"),
    ]
    assert [(s.started, s.ended) for s in found][1] == ("2026-01-01T01:00:00.000Z", "2026-01-01T01:30:00.000Z")
    assert [len(s.trace.calls) for s in found if s.trace] == [3, 3, 12]


def test_a_missing_end_closes_at_the_next_start_and_a_lone_end_is_ignored(tmp_path: Path) -> None:
    path = tmp_path / "x.ndjson"
    path.write_text(
        "\n".join(
            [
                stored("pi", "loop"),  # before any segment: nobody's
                mark("end", "M00", "2026-01-01T00:00:00Z"),
                mark("start", "M01", "2026-01-01T01:00:00Z"),
                stored("pi", "happy"),
                mark("start", "M02", "2026-01-01T02:00:00Z"),
                stored("pi", "bad_json"),
            ]
        )
    )
    found = of_log(path)
    assert [(s.label, len(s.trace.calls)) for s in found if s.trace] == [("M01", 3), ("M02", 3)]


@pytest.mark.parametrize("label", ["", "48213"])
def test_a_segment_without_a_label_of_its_own_is_an_error(tmp_path: Path, label: str) -> None:
    path = tmp_path / "x.ndjson"
    path.write_text(mark("start", label, "2026-01-01T00:00:00Z") + "\n" + Pi().end().text)
    with pytest.raises(UsageError, match="no label of its own"):
        of_log(path)


def test_a_log_without_markers_is_one_attempt_only_when_said(tmp_path: Path) -> None:
    path = tmp_path / "x.ndjson"
    path.write_text(stored("pi", "happy"))
    with pytest.raises(UsageError, match="no run_segment markers"):
        of_log(path)
    (segment,) = of_log(path, whole="plan")
    assert segment.label == "plan"
    assert segment.trace
    assert len(segment.trace.calls) == 3


@pytest.mark.parametrize("lines", ['{"kind": "x"}\n{"kind": "y"}', "not json", ""])
def test_events_of_no_known_schema_are_an_error_never_a_clean_profile(tmp_path: Path, lines: str) -> None:
    with pytest.raises(LogError, match=r"segment M01: .* none is of a known schema") as caught:
        of_log(log(tmp_path / "x.ndjson", ("M01", lines)))
    assert caught.value.fix == "name what pi, Claude Code, Codex, mini-swe-agent or opencode wrote"


def test_both_schemas_in_one_attempt_are_pis(tmp_path: Path) -> None:
    path = log(tmp_path / "x.ndjson", ("M01", stored("pi", "happy") + "\n" + stored("claude", "happy")))
    (segment,) = of_log(path)
    assert segment.trace
    assert segment.trace.schema == "pi/3 events"
    assert segment.trace.unknown == 0


def test_an_attempt_of_a_run_whose_log_cannot_be_read_says_why(tmp_path: Path) -> None:
    good = tmp_path / "M01-1" / "session"
    good.mkdir(parents=True)
    (good / "s.jsonl").write_bytes((LOGS / "pi" / "happy.session.jsonl").read_bytes())
    (tmp_path / "M01-2").mkdir()
    first, second = of_run(tmp_path, "pi", [("M01", 1), ("M01", 2)])
    assert first.trace
    assert first.reason is None
    assert second.trace is None
    assert second.reason
    assert "left no log" in second.reason
    (unknown,) = of_run(tmp_path, "somebody", [("M01", 1)])
    assert unknown.reason == "there is no reader for the logs of somebody"
