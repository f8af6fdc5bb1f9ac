"""opencode's own database: read as its dump is, however many there are, and whatever the contestant made of it."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from runner.harness import opencode_db, opencode_log
from runner.harness.opencode_db import database_rows
from runner.harness.summary import LogError
from tests.unit.harness.test_expected import LOGS


def stored(case: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (LOGS / "opencode" / f"{case}.db.jsonl").read_text().splitlines()]


def store(path: Path, found: list[dict[str, Any]]) -> sqlite3.Connection:
    """A database of these rows. It is left open, so that they stand in its write-ahead log alone."""
    path.parent.mkdir(parents=True, exist_ok=True)
    database = sqlite3.connect(path)
    database.execute("PRAGMA journal_mode = WAL")
    made: set[str] = set()
    for entry in found:
        columns = sorted(entry["row"])
        if entry["table"] not in made:
            made.add(entry["table"])
            database.execute(f"CREATE TABLE {entry['table']} ({', '.join(columns)})")
        values = [
            json.dumps(value) if isinstance(value, (dict, list)) else value
            for value in (entry["row"][column] for column in columns)
        ]
        database.execute(f"INSERT INTO {entry['table']} VALUES ({', '.join('?' * len(columns))})", values)
    database.commit()
    return database


def dump(path: Path, found: list[dict[str, Any]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(entry) + "\n" for entry in found))
    return path


@pytest.mark.parametrize("backwards", [False, True])
def test_it_reads_as_its_dump_in_the_order_of_time(tmp_path: Path, backwards: bool) -> None:
    found = stored("happy")
    dump(tmp_path / "dump" / "1.jsonl", found)
    database = store(tmp_path / "db" / "deep" / "opencode.db", found[::-1] if backwards else found)
    assert opencode_log.read_summary(tmp_path / "db") == opencode_log.read_summary(tmp_path / "dump")
    steps = [opencode_log.read_trace(tmp_path / name).steps for name in ("db", "dump")]
    assert [type(step) for step in steps[0]] == [type(step) for step in steps[1]]
    database.close()


def test_of_several_each_is_read_and_no_row_twice(tmp_path: Path) -> None:
    """A store beside another one, a copy of it, and a dump of it, which is read in their place."""
    one, other = stored("happy"), stored("unknown_tool")
    for name, rows in (("a/opencode.db", one), ("b/opencode.db", other), ("b/copy.db", other)):
        store(tmp_path / "db" / name, rows).close()
    dump(tmp_path / "dump" / "1.jsonl", one + other)
    both = opencode_log.read_summary(tmp_path / "db")
    assert both == opencode_log.read_summary(tmp_path / "dump")
    assert (both.turns, both.calls) == (8, 6)
    dump(tmp_path / "db" / "dump.jsonl", one)
    assert opencode_log.read_summary(tmp_path / "db").turns == 4


@pytest.mark.parametrize("ending", ["stop", "length"])
def test_what_was_said_last_is_the_end_whatever_the_store_is_called(tmp_path: Path, ending: str) -> None:
    def said(name: str, at: int, finish: str) -> list[dict[str, Any]]:
        data = {"role": "assistant", "finish": finish, "time": {"created": at, "completed": at + 1}}
        return [{"table": "message", "row": {"id": name, "session_id": name, "time_created": at, "data": data}}]

    store(tmp_path / "a.db", said("later", 1_900_000_000_000, ending)).close()
    store(tmp_path / "b.db", said("first", 1_800_000_000_000, "tool-calls")).close()
    found = opencode_log.read_summary(tmp_path)
    assert (found.turns, found.stop, found.settled) == (2, ending, ending == "stop")


def made(path: Path, *statements: str) -> Path:
    database = sqlite3.connect(path)
    for statement in statements:
        database.execute(statement)
    database.commit()
    database.close()
    return path


def test_odd_values_cost_no_row(tmp_path: Path) -> None:
    path = made(
        tmp_path / "opencode.db",
        "CREATE TABLE session (id, time_created, packed, torn, words)",
        "INSERT INTO session VALUES ('s', 1, x'00ff', '{\"a\": ', CAST(x'61ff' AS TEXT))",
    )
    (row,) = database_rows(path)
    said = {"id": "s", "time_created": 1, "packed": None, "torn": '{"a": ', "words": "a\ufffd"}
    assert row.data == {"table": "session", "row": said}


ENDLESS = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n)"


def test_what_is_no_table_is_not_asked(tmp_path: Path) -> None:
    path = made(tmp_path / "opencode.db", f"CREATE VIEW message AS {ENDLESS} SELECT x AS id, x AS time_created FROM n")
    assert list(database_rows(path)) == []
    with pytest.raises(LogError, match="left no log"):
        opencode_log.read_summary(tmp_path)


@pytest.mark.parametrize("limit", ["STEPS", "MAX_BYTES"])
def test_what_takes_too_long_or_is_too_large_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    path = made(
        tmp_path / "opencode.db",
        "CREATE TABLE message (id, time_created)",
        f"INSERT INTO message {ENDLESS} SELECT x, x FROM n LIMIT 5000",
    )
    assert len(list(database_rows(path))) == 5000
    monkeypatch.setattr(opencode_db, limit, 1_000)
    with pytest.raises(LogError, match="interrupted" if limit == "STEPS" else "too large"):
        list(database_rows(path))


def test_a_link_leads_nowhere(tmp_path: Path) -> None:
    store(tmp_path / "elsewhere" / "real.db", stored("happy")).close()
    logs = tmp_path / "logs"
    logs.mkdir()
    (logs / "opencode.db").symlink_to(tmp_path / "elsewhere" / "real.db")
    with pytest.raises(LogError, match="left no log"):
        opencode_log.read_summary(logs)
