"""Cases of the same kinds that nobody had foreseen, and the same cases as one file that somebody names."""

from __future__ import annotations

import dataclasses
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from runner.harness.onefile import read_file
from runner.harness.reading import summarise
from runner.harness.summary import LogError, Summary
from tests.unit.harness.test_expected import LOGS, READERS, columns, tokens
from tests.unit.harness.test_expected import table as first_table

MORE = Path(__file__).parent / "more"
OWN = {"mini": "traj.json", "mini-responses": "traj.json", "opencode": "db.jsonl"}
READER = {**READERS, "pi-old": READERS["pi"], "mini-responses": READERS["mini"]}


def table() -> list[list[str]]:
    lines = (MORE / "EXPECTED.md").read_text().splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("| ")]
    return [row for row in cells if row[0] != "agent"]


def own(folder: Path, agent: str, case: str) -> Path:
    return folder / agent / f"{case}.{OWN.get(agent, 'session.jsonl')}"


def wire(agent: str, case: str, *kinds: str) -> tuple[int, ...]:
    lines = [json.loads(line) for line in (MORE / agent / f"{case}.journal.jsonl").read_text().splitlines()]
    whole = [line["usage"] for line in lines if line.get("answer") == "ok" and line["kind"] in kinds]
    return tuple(sum(used[key] for used in whole) for key in ("input", "cache_read", "cache_write", "output"))


@pytest.mark.parametrize("row", table(), ids=[f"{row[0]}-{row[1]}" for row in table()])
def test_each_case_reads_as_the_script_made_it(tmp_path: Path, row: list[str]) -> None:
    agent, case, *_, said = row
    (tmp_path / "own").mkdir()
    shutil.copy(own(MORE, agent, case), tmp_path / "own" / own(MORE, agent, case).name)
    if (stdout := MORE / agent / f"{case}.stdout.jsonl").exists():
        shutil.copy(stdout, tmp_path / "stdout.jsonl")
    found: Summary = READER[agent].read_summary(tmp_path)
    assert columns(found) == row[2:5]
    main = wire(agent, case, "main")
    whole = {"same": main, "with side calls": wire(agent, case, "main", "side")}
    assert str(tokens(found.usage)) == str(whole.get(said, said))
    assert (found.torn_lines, found.unknown_lines) == (0, 0)


def test_minis_answers_by_responses_join_the_wire(tmp_path: Path) -> None:
    """Its client packs the server's id into one of its own."""
    shutil.copy(own(MORE, "mini-responses", "bad_json"), tmp_path / "traj.json")
    journal = (MORE / "mini-responses" / "bad_json.journal.jsonl").read_text().splitlines()
    found: Summary = READERS["mini"].read_summary(tmp_path)
    assert list(found.response_ids) == [json.loads(line)["response_id"] for line in journal]
    assert "resp_bGl0ZWxsb" in (tmp_path / "traj.json").read_text()


def test_a_refused_answer_that_was_not_kept_is_told_by_the_complaint(tmp_path: Path) -> None:
    """Where an answer cannot be written as JSON, mini-swe-agent keeps its ``repr`` alone."""
    document = json.loads(own(MORE, "mini-responses", "bad_json").read_text())
    refused = next(m for m in document["messages"] if "response" in m.get("extra", {}))
    refused["extra"]["response"] = "ResponsesAPIResponse(id='resp_1', output=[...])"
    (tmp_path / "traj.json").write_text(json.dumps(document))
    found: Summary = READERS["mini"].read_summary(tmp_path)
    assert (found.turns, found.calls, found.malformed) == (4, 4, {"json": 1})


EVERY = [(LOGS, row[0], row[1]) for row in first_table() if row[0] in READERS] + [
    (MORE, row[0], row[1]) for row in table()
]


@pytest.mark.parametrize(("folder", "agent", "case"), EVERY, ids=[f"{f.name}-{a}-{c}" for f, a, c in EVERY])
def test_one_file_reads_as_its_folder(tmp_path: Path, folder: Path, agent: str, case: str) -> None:
    """Nothing is named: the file says whose it is. What stands on stdout alone is missing, and nothing else."""
    source = own(folder, agent, case)
    shutil.copy(source, tmp_path / source.name)
    elsewhere: dict[str, Any] = {"settled": False, "retries": 0}
    plain: Summary = READER[agent].read_summary(tmp_path)
    found = summarise(read_file(source))
    assert dataclasses.replace(found, **elsewhere) == dataclasses.replace(plain, **elsewhere)


@pytest.mark.parametrize("agent", ["pi", "claude"])
def test_a_stream_reads_without_its_name(tmp_path: Path, agent: str) -> None:
    source = LOGS / agent / "tool_error.stdout.jsonl"
    shutil.copy(source, tmp_path / "stdout.jsonl")
    renamed = tmp_path / "anything.log"
    shutil.copy(source, renamed)
    found, plain = summarise(read_file(renamed)), READERS[agent]
    renamed.unlink()
    assert found == plain.read_summary(tmp_path)


@pytest.mark.parametrize("agent", ["pi", "opencode"])
def test_a_stream_alone_is_read_whatever_the_folder_calls_it(tmp_path: Path, agent: str) -> None:
    found = []
    for name in ("stdout.jsonl", "anything.jsonl"):
        (tmp_path / name).mkdir()
        shutil.copy(LOGS / agent / "happy.stdout.jsonl", tmp_path / name / name)
        found.append(READERS[agent].read_summary(tmp_path / name))
    assert found[0] == found[1]
    assert found[0].turns == 4


def test_what_codex_prints_is_no_log_and_the_error_names_the_one_that_is() -> None:
    with pytest.raises(LogError, match=r"name its rollout"):
        read_file(LOGS / "codex" / "happy.stdout.jsonl")


@pytest.mark.parametrize(
    "content",
    [b"", b"\n\n", b"{}", b"[1, 2]", b'{"trajectory_format": "mini-swe-agent-9", "messages": []}', b"\0" * 100,
     b'{"type": "hello"}\n', b'{"type": "session", "version": 4}\n{"type": "message"}\n', b"plain words\n",
     b'{"info": {}, "messages": []}', b"SQLite format 3\0garbage", "{\"type\": \"user\"}\n".encode("utf-16")],
)  # fmt: skip
def test_what_is_nobodys_log_is_an_error(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x").write_bytes(content)
    with pytest.raises(LogError):
        read_file(tmp_path / "x")


FLAT = [row for row in EVERY if row[2] in ("r429", "bad_json", "loop_abab", "trunc", "resume")]


@pytest.mark.parametrize(("folder", "agent", "case"), FLAT, ids=[f"{f.name}-{a}-{c}" for f, a, c in FLAT])
def test_other_files_beside_a_log_are_none_of_its_lines(tmp_path: Path, folder: Path, agent: str, case: str) -> None:
    """All of a case in one folder, under whatever names: what is not the agent's is left out."""
    flat, plain = tmp_path / "flat", tmp_path / "plain"
    for where in (flat, plain / "own"):
        where.mkdir(parents=True)
    for source in (folder / agent).glob(f"{case}.*"):
        shutil.copy(source, flat / source.name)
        if source.name.endswith("stdout.jsonl"):
            shutil.copy(source, plain / "stdout.jsonl")
        elif "journal" not in source.name:
            shutil.copy(source, plain / "own" / source.name)
    (flat / "junk.jsonl").write_text('{"a": 1}\nwords\n' * 500)
    found, expected = READER[agent].read_summary(flat), READER[agent].read_summary(plain)
    assert dataclasses.replace(found, settled=False) == dataclasses.replace(expected, settled=False)
