"""Cut, doubled, mixed and oddly written lines: what is counted is what the whole lines say, each once."""

from __future__ import annotations

import dataclasses
import gzip
import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from runner.harness import codex_log, mini_log
from runner.harness.jsonl import rows
from runner.harness.onefile import read_file
from runner.harness.reading import summarise
from runner.harness.summary import LogError, Summary
from runner.harness.trace import Loops, loops
from tests.unit.harness.test_expected import LOGS
from tests.unit.harness.test_more import MORE

QUICK = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
SOURCES = [
    LOGS / "pi" / "compact.session.jsonl",
    LOGS / "pi" / "parallel.stdout.jsonl",
    LOGS / "claude" / "compact.session.jsonl",
    LOGS / "claude" / "r429.stdout.jsonl",
    LOGS / "codex" / "parallel.session.jsonl",
    MORE / "codex" / "compact_window.session.jsonl",
    MORE / "opencode" / "ctx_400_once.db.jsonl",
    LOGS / "opencode" / "happy.stdout.jsonl",
]
NAMES = [f"{source.parent.name}-{source.name}" for source in SOURCES]
sources = pytest.mark.parametrize("source", SOURCES, ids=NAMES)


def facts(folder: Path, content: bytes) -> Summary | None:
    """Everything but the counts of lines that could not be used; null where nothing is recognised."""
    path = folder / "log"
    path.write_bytes(content)
    try:
        return dataclasses.replace(summarise(read_file(path)), torn_lines=0, unknown_lines=0)
    except LogError:
        return None


@sources
@QUICK
@given(data=st.data())
def test_a_cut_at_any_byte_leaves_what_the_whole_lines_say(tmp_path: Path, source: Path, data: st.DataObject) -> None:
    whole = source.read_bytes()
    keep = data.draw(st.integers(0, len(whole) - 1))
    kept = whole[:keep]
    lines = kept[: kept.rfind(b"\n") + 1]
    rest = kept[len(lines) :]
    if rest and whole[keep : keep + 1] == b"\n":
        lines = kept  # all of a line but its end is that line
    assert facts(tmp_path, kept) == facts(tmp_path, lines)


@sources
@QUICK
@given(data=st.data())
def test_a_line_written_twice_adds_no_tokens(tmp_path: Path, source: Path, data: st.DataObject) -> None:
    lines = source.read_bytes().splitlines(keepends=True)
    plain = facts(tmp_path, b"".join(lines))
    for _ in range(data.draw(st.integers(1, 5))):
        index = data.draw(st.integers(0, len(lines) - 1))
        lines.insert(data.draw(st.integers(index, len(lines))), lines[index])
    found = facts(tmp_path, b"".join(lines))
    assert found is not None
    assert plain is not None
    assert (found.usage, found.side_usage, found.turns, found.calls) == (
        plain.usage, plain.side_usage, plain.turns, plain.calls,
    )  # fmt: skip


WRITTEN = {
    "crlf": lambda raw: raw.replace(b"\n", b"\r\n"),
    "byte order mark": lambda raw: b"\xef\xbb\xbf" + raw,
    "a hole of NULs before": lambda raw: b"\0" * 5000 + raw,
    "a hole of NULs between": lambda raw: raw.replace(b"\n", b"\n\0\0\0\0\n\0\0", 3),
    "two writers met": lambda raw: b"".join(
        line + (b"" if number % 2 else b"\n\n") for number, line in enumerate(raw.splitlines(), 1)
    ),
    "empty lines": lambda raw: raw.replace(b"\n", b"\n\n \t\n"),
    "no end": lambda raw: raw.rstrip(b"\n"),
    "JSON of other kinds": lambda raw: raw.replace(b"\n", b'\n[1]\n"x"\n7\nnull\n', 2),
    "NaN": lambda raw: raw + b'{"type": "assistant", "a": NaN, "b": -Infinity, "c": 1e999}\n',
    "half a character": lambda raw: raw + b'{"type": "assistant", "message": "\\ud800"}\n',
    "a digit too many": lambda raw: raw + b'{"type": "assistant", "n": ' + b"9" * 6000 + b"}\n",
}


@sources
@pytest.mark.parametrize("how", WRITTEN)
def test_how_lines_are_written_is_no_matter(tmp_path: Path, source: Path, how: str) -> None:
    raw = source.read_bytes()
    assert facts(tmp_path, WRITTEN[how](raw)) == facts(tmp_path, raw)


def test_a_log_of_which_nearly_nothing_is_json_is_no_clean_one(tmp_path: Path) -> None:
    """One entry a line, and a comma behind all but the last: a list, and no log."""
    for source in (SOURCES[2], SOURCES[4]):
        odd = source.read_bytes().rstrip(b"\n").splitlines()[0] + b"\n"
        raw = source.read_bytes().replace(b"\n", b",\n") + odd
        assert facts(tmp_path, raw) is None


@pytest.mark.parametrize(
    ("line", "found"),
    [
        (b'{"a": 1}{"b": 2}{"c": 3}', [{"a": 1}, {"b": 2}, {"c": 3}]),
        (b'{"a": "}{"}{"b": 2}', [{"a": "}{"}, {"b": 2}]),  # a seam inside a text is none
        (b'{"a": 1}{"b": ', [None]),
        (b'{"a": 1}{"b": 2', [None]),
        (b'{"a": 1} {"b": 2}', [None]),
        (b'{"a": [' + b'"}{",' * 20 + b'0]}{"b": 2}', [None]),  # nobody looks for ever
        (b'{"a": "caf\xe9"}', [{"a": "caf\ufffd"}]),
    ],
)
def test_a_line_on_which_writers_met(tmp_path: Path, line: bytes, found: list[Any]) -> None:
    (tmp_path / "log").write_bytes(line + b"\n")
    assert [row.data for row in rows(tmp_path / "log")] == found


def test_a_packed_log_that_was_cut_or_is_none_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    path = tmp_path / "1.jsonl.gz"
    lines = [{"n": n, "words": hashlib.sha256(b"%d" % n).hexdigest()} for n in range(20_000)]
    packed = gzip.compress("".join(json.dumps(line) + "\n" for line in lines).encode())
    path.write_bytes(packed[: len(packed) // 2])
    found = [row.data for row in rows(path)]
    assert found == lines[: len(found)]
    assert len(found) > 5_000
    path.write_bytes(b"\x1f\x8bno such thing")
    assert list(rows(path)) == []
    document = tmp_path / "1.traj.json.gz"
    for raw in (packed[:100], b"\x1f\x8bno such thing"):
        document.write_bytes(raw)
        with pytest.raises(LogError, match="no JSON document"):
            mini_log.read_trace(tmp_path)


def test_no_more_is_unpacked_than_a_document_may_hold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runner.harness.jsonl.MAX_DOCUMENT_BYTES", 10_000)
    raw = b'{"a": 1}\n' * 20_000
    (tmp_path / "plain.jsonl").write_bytes(raw)
    (tmp_path / "packed.jsonl.gz").write_bytes(gzip.compress(raw))
    assert len(list(rows(tmp_path / "plain.jsonl"))) == 20_000
    assert 1_000 < len(list(rows(tmp_path / "packed.jsonl.gz"))) < 1_200
    (tmp_path / "1.traj.json.gz").write_bytes(gzip.compress(b" " * 10_001))
    with pytest.raises(LogError, match="too large to read"):
        mini_log.read_trace(tmp_path)


def test_a_log_in_a_package_that_nobody_opens_is_an_error_also_beside_others(tmp_path: Path) -> None:
    codex = next(source for source in SOURCES if source.parent.name == "codex")
    (tmp_path / "rollout-1.jsonl").write_bytes(codex.read_bytes())
    (tmp_path / "rollout-2.jsonl.zst").write_bytes(b"\x28\xb5\x2f\xfd" + b"\0" * 40)
    with pytest.raises(LogError, match="zstd"):
        codex_log.read_trace(tmp_path)
    with pytest.raises(LogError, match="zstd"):
        read_file(tmp_path / "rollout-2.jsonl.zst")


@pytest.mark.parametrize("odd", ["\u2028", "\u2029", "\x85", "\x0b", "\x1e", "\ud800"])
def test_separators_inside_a_text_end_no_line(tmp_path: Path, odd: str) -> None:
    for source, old in ((SOURCES[1], "write"), (SOURCES[4], "exec_command")):
        raw = source.read_text()
        assert old in raw
        changed = raw.replace(f'"{old}"', json.dumps(f"{old}{odd}", ensure_ascii=odd == "\ud800"))
        found, plain = facts(tmp_path, changed.encode()), facts(tmp_path, raw.encode())
        assert found == plain


def call(agent: str, number: int, command: str) -> dict[str, object]:
    return {"type": "tool_execution_start", "toolCallId": f"{agent}{number}", "toolName": "bash", "agent": agent,
            "agentRun": 1, "args": {"command": command}}  # fmt: skip


def sidechain(agent: str, number: int, command: str) -> dict[str, object]:
    content = [{"type": "tool_use", "id": f"{agent}{number}", "name": "Bash", "input": {"command": command}}]
    return {"type": "assistant", "sessionId": "s", "isSidechain": True, "agentId": agent, "uuid": f"{agent}-{number}",
            "message": {"id": f"m-{agent}{number}", "model": "m", "content": content}}  # fmt: skip


COMMANDS = st.lists(st.sampled_from(["ls", "git status", "make"]), max_size=8)


@pytest.mark.parametrize("write", [call, sidechain])
@QUICK
@given(first=COMMANDS, second=COMMANDS, data=st.data())
def test_streams_that_are_mixed_loop_as_they_do_alone(
    tmp_path: Path, write: object, first: list[str], second: list[str], data: st.DataObject
) -> None:
    assert callable(write)
    queues = {
        name: [write(name, number, command) for number, command in enumerate(found)]
        for name, found in (("one", first), ("two", second))
    }

    def found_in(lines: list[dict[str, object]]) -> Loops:
        if not lines:
            return Loops()
        (tmp_path / "log").write_text("".join(json.dumps(line) + "\n" for line in lines))
        return loops(read_file(tmp_path / "log").all_calls)

    alone = [found_in(queue) for queue in queues.values()]
    order = data.draw(st.permutations([name for name, queue in queues.items() for _ in queue]))
    mixed = found_in([queues[name].pop(0) for name in order])
    assert mixed.run == max(one.run for one in alone)
    covers = [one.cycle[0] * one.cycle[1] if one.cycle else 0 for one in (*alone, mixed)]
    assert covers[-1] == max(covers[:-1])
