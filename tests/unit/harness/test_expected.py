"""Every reader on every stored log of its agent, against the table and against the wire."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from types import ModuleType

import pytest

from runner.harness import claude_log, codex_log, mini_log, opencode_log, pi_log
from runner.harness.summary import Summary
from runner.schema.ledger import Usage

LOGS = Path(__file__).parent / "logs"
READERS: dict[str, ModuleType] = {
    "pi": pi_log,
    "claude": claude_log,
    "codex": codex_log,
    "mini": mini_log,
    "opencode": opencode_log,
}
Tokens = tuple[int, int, int, int]


def table() -> list[list[str]]:
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in (LOGS / "expected.md").read_text().splitlines()
    ]
    return [row for row in rows if row[0] in READERS]


def lay(folder: Path, agent: str, case: str, *, session: bool = True) -> Path:
    """One attempt's logs as the runner collects them: the agent's own, and what it said on stdout."""
    for kind, name in (("session.jsonl", "session.jsonl"), ("db.jsonl", "db.jsonl"), ("traj.json", "traj.json")):
        source = LOGS / agent / f"{case}.{kind}"
        if session and source.exists():
            (folder / "own").mkdir(exist_ok=True)
            shutil.copy(source, folder / "own" / name)
    if (LOGS / agent / f"{case}.stdout.jsonl").exists():
        shutil.copy(LOGS / agent / f"{case}.stdout.jsonl", folder / "stdout.jsonl")
    return folder


def read(folder: Path, agent: str, case: str, *, session: bool = True) -> Summary:
    found: Summary = READERS[agent].read_summary(lay(folder, agent, case, session=session))
    return found


def wire(agent: str, case: str, kind: str) -> Tokens:
    """Tokens of all whole answers that the scripted model gave."""
    lines = [json.loads(line) for line in (LOGS / agent / f"{case}.journal.jsonl").read_text().splitlines()]
    whole = [line["usage"] for line in lines if line.get("answer") == "ok" and line["kind"] == kind]
    return tuple(sum(used[key] for used in whole) for key in ("input", "cache_read", "cache_write", "output"))  # type: ignore[return-value]


def tokens(used: Usage | None) -> Tokens | None:
    return None if used is None else (used.uncached_input, used.cache_read, used.cache_write, used.output)


def columns(found: Summary) -> list[str]:
    """What the table says of a log between its names and its tokens."""
    kinds = "".join(f" {kind}:{number}" for kind, number in found.malformed.items())
    cycle = "x".join(map(str, found.best_cycle)) if found.best_cycle else "-"
    bad = sum(found.malformed.values())
    return [
        f"{found.turns}/{found.calls}/{bad}{kinds}/{found.failed_tools}/{found.longest_run}/{cycle}",
        f"{found.context_errors}/{found.compactions}/{found.retries}/{found.errors}",
        str(found.stop),
    ]


CASES = [(agent, session) for agent in ("pi", "claude") for session in (True, False)]
CASES += [("codex", True), ("mini", True)]
ALL = [(row, session) for agent, session in CASES for row in table() if row[0] == agent]


@pytest.mark.parametrize(("row", "session"), ALL, ids=[f"{r[0]}-{r[1]}-{'own' if s else 'stream'}" for r, s in ALL])
def test_each_case_reads_as_the_table_says(tmp_path: Path, row: list[str], session: bool) -> None:
    agent, case = row[:2]
    found = read(tmp_path, agent, case, session=session)
    assert columns(found) == row[2:5]
    main, side = wire(agent, case, "main"), wire(agent, case, "side")
    if agent == "pi":  # a compaction's tokens stand in its entry
        main = tuple(a + b for a, b in zip(main, side, strict=True))  # type: ignore[assignment]
    assert tokens(found.usage) == main


def test_the_table_has_every_agent() -> None:
    assert {agent: sum(row[0] == agent for row in table()) for agent in ("pi", "claude", "codex", "mini")} == {
        "pi": 18,
        "claude": 17,
        "codex": 16,
        "mini": 13,
    }


@pytest.mark.parametrize("session", [True, False])
def test_what_claude_spends_beside_its_answers_stands_apart(tmp_path: Path, session: bool) -> None:
    assert tokens(read(tmp_path, "claude", "compact", session=session).side_usage) == wire("claude", "compact", "side")


def test_opencode_dump_and_stream_say_the_same(tmp_path: Path) -> None:
    for number, case in enumerate(("happy", "unknown_tool")):
        for session in (True, False):
            folder = tmp_path / f"{number}-{session}"
            folder.mkdir()
            found = read(folder, "opencode", case, session=session)
            malformed = {"unknown_tool": 1} if case == "unknown_tool" else {}
            assert (found.turns, found.calls, found.malformed, found.stop) == (4, 3, malformed, "stop")
            # It counts cache writes as plain input.
            plain, read_, written, output = wire("opencode", case, "main")
            assert tokens(found.usage) == (plain + written, read_, 0, output)
            assert found.usage.reasoning == 64


@pytest.mark.parametrize("agent", ["pi", "claude", "codex", "mini"])
def test_answers_join_the_wire(tmp_path: Path, agent: str) -> None:
    lines = [json.loads(line) for line in (LOGS / agent / "happy.journal.jsonl").read_text().splitlines()]
    assert list(read(tmp_path, agent, "happy").response_ids) == [line["response_id"] for line in lines]


@pytest.mark.parametrize(
    ("agent", "case", "model", "effort", "version"),
    [
        ("claude", "effort_high_claude-opus-4-6", "claude-opus-4-6", "high", "2.1.332"),
        ("claude", "effort_default_opus", "claude-opus-4-6", "high", "2.1.332"),
        ("claude", "effort_max_claude-sonnet-4-5", "claude-sonnet-4-5", "budget_tokens=31999", "2.1.332"),
        ("codex", "happy_gpt-5.5", "gpt-5.5", "high", "0.171.0"),
        ("mini", "happy", "stub-model", None, "2.4.6"),
        ("opencode", "happy", "stub-model", None, "1.18.33"),
        ("pi", "effort_max", "stub-model", "high", None),
    ],
)
def test_identity_is_what_the_log_says_and_where(
    tmp_path: Path, agent: str, case: str, model: str, effort: str | None, version: str | None
) -> None:
    identity = READERS[agent].read_identity(lay(tmp_path, agent, case))
    assert identity.logged_model.value == model
    assert (identity.logged_effort.value if identity.logged_effort else None) == effort
    assert (identity.logged_version.value if identity.logged_version else None) == version
    for claim in (identity.logged_model, identity.logged_effort, identity.logged_version):
        if claim:
            line = (tmp_path / "own" / claim.file).read_text().split("\n")[claim.line - 1]
            assert claim.value.rpartition("=")[2] in line
