"""Requested, logged, on the wire: each with the line that says so, and what their disagreement does."""

from __future__ import annotations

import gzip
import hashlib
import json
from pathlib import Path

import pytest

from runner.events.identity import identify_run, normalized
from runner.events.segments import of_run
from runner.gateway.totals import read_ledger
from runner.schema.arm import Mode
from runner.schema.identity import Evidence, IdentityRecord
from runner.store.rundir import RunDir
from tests.support.stored_run import stored_run


def identity(run: RunDir) -> IdentityRecord:
    lock = run.lock()
    segments = of_run(run.agent, lock.arm.harness, [("M01", 1)])
    return identify_run(run.path, lock, segments, read_ledger(run.ledger))


@pytest.mark.parametrize(
    ("agent", "case", "asked", "model", "expected", "agrees"),
    [
        ("pi", "happy", "high", "stub-model", ("high", "high"), True),
        ("pi", "effort_max", "max", "stub-model", ("high", "high"), False),
        ("claude", "effort_high_claude-opus-4-6", "high", "claude-opus-4-6", ("high", "high"), True),
        (
            "claude", "effort_max_claude-sonnet-4-5", "max", "claude-sonnet-4-5",
            ("budget_tokens=31999", "budget_tokens=31999"), False,
        ),
        ("codex", "happy_gpt-5.5", "high", "gpt-5.5", ("high", "high"), True),
        ("mini", "happy", "high", "stub-model", (None, None), False),
        ("pi", "effort_off", "none", "stub-model", ("off", "none"), True),
    ],
)  # fmt: skip
def test_effort_is_asked_logged_and_seen(
    tmp_path: Path, agent: str, case: str, asked: str, model: str, expected: tuple[str, str], agrees: bool
) -> None:
    run = stored_run(tmp_path, agent, case, effort=asked, model=model)
    found = identity(run)
    facet = found.facets["effort"]
    assert facet.requested.value == asked
    assert facet.logged.value == expected[0]
    if case != "effort_off":
        assert facet.on_wire.value == expected[1]
        assert facet.agrees is agrees
        assert ("effort-confounded" in found.confounds) is not agrees
    for said in (facet.requested, facet.logged, facet.on_wire):
        assert said.value is None or holds(run, said.evidence, said.value.rpartition("=")[2])


def holds(run: RunDir, evidence: Evidence | None, word: str) -> bool:
    assert evidence is not None
    line = (run.path / evidence.file).read_bytes().split(b"\n")[evidence.line - 1]
    return hashlib.sha256(line).hexdigest() == evidence.sha256 and word.encode() in line


def test_the_effective_effort_is_the_wires_and_is_never_guessed(tmp_path: Path) -> None:
    clamped = identity(stored_run(tmp_path / "a", "pi", "effort_max", effort="max"))
    assert (clamped.effort, clamped.effort_normalized, clamped.effort_provenance) == ("high", "high", "runtime_log")
    budget = identity(
        stored_run(tmp_path / "b", "claude", "effort_max_claude-sonnet-4-5", effort="max", model="claude-sonnet-4-5")
    )
    assert (budget.effort, budget.effort_normalized) == ("budget_tokens=31999", "unknown")
    run = stored_run(tmp_path / "d", "pi", "effort_off", effort="unknown")
    assert (identity(run).effort, identity(run).facets["effort"].logged.value) == ("unknown", "off")
    silent = identity(stored_run(tmp_path / "c", "mini", "happy", effort="unknown"))
    assert (silent.effort, silent.effort_normalized, silent.effort_provenance) == ("unknown", "unknown", "unknown")
    assert silent.confounds == []
    assert silent.facets["effort"].requested.reason == "nothing was asked for"


def test_levels_that_send_the_same_are_one_arm(tmp_path: Path) -> None:
    """``max`` that arrives as ``high`` is what asking for ``high`` sends; silence is what asking for nothing sends."""
    asked_max = identity(stored_run(tmp_path / "a", "pi", "effort_max", effort="max"))
    asked_high = identity(stored_run(tmp_path / "b", "pi", "effort_max", effort="high"))
    assert asked_max.arm_id != asked_high.arm_id
    assert asked_max.wire_arm_id == asked_high.wire_arm_id
    dropped = identity(stored_run(tmp_path / "c", "mini", "happy", effort="high"))
    unasked = identity(stored_run(tmp_path / "d", "mini", "happy", effort="unknown"))
    assert dropped.wire_arm_id == unasked.wire_arm_id != asked_max.wire_arm_id
    run = stored_run(tmp_path / "e", "mini", "happy", effort="high")
    run.ledger.write_bytes(b"")
    assert identity(run).wire_arm_id is None


def test_the_same_word_beside_something_else_is_another_arm(tmp_path: Path) -> None:
    """A budget beside the effort; a level that the agent takes for another than it sends."""

    def sent(name: str, options: str | None, said: str = "high") -> str | None:
        run = stored_run(tmp_path / name, "codex", "happy_gpt-5.5", effort=said, model="gpt-5.5")
        lines = [line.model_copy(update={"options_sha256": options}) for line in read_ledger(run.ledger)]
        run.ledger.write_text("".join(line.model_dump_json(by_alias=True) + "\n" for line in lines))
        for log in run.agent.rglob("*.jsonl"):
            log.write_text(log.read_text().replace('"effort": "high"', f'"effort": "{said}"'))
        return identity(run).wire_arm_id

    assert sent("a", "8k") == sent("b", "8k") != sent("c", "16k")
    assert sent("d", "8k", "ultra") != sent("e", "8k")
    assert sent("f", "8k", "ultra") == sent("g", "8k", "ultra")


def test_what_is_sent_is_known_by_its_level_or_else_by_its_words(tmp_path: Path) -> None:
    def sent(name: str, *words: str, logged: str = "high", options: str = "8k") -> str | None:
        run = stored_run(tmp_path / name, "codex", "happy_gpt-5.5", model="gpt-5.5")
        lines = read_ledger(run.ledger)
        known = [*words, *[words[-1]] * (len(lines) - len(words))]
        changed = [
            line.model_copy(update={"effort_wire": word, "options_sha256": options if word == words[-1] else name})
            for line, word in zip(lines, known, strict=True)
        ]
        run.ledger.write_text("".join(line.model_dump_json(by_alias=True) + "\n" for line in changed))
        for log in run.agent.rglob("*.jsonl"):
            log.write_text(log.read_text().replace('"effort": "high"', f'"effort": "{logged}"'))
        return identity(run).wire_arm_id

    assert sent("a", "high") == sent("b", "high", logged="auto")  # a word that is no level says nothing
    assert sent("c", "budget_tokens=8000") != sent("d", "budget_tokens=31999")
    assert sent("e", "none", logged="off") == sent("f", "thinking=disabled", logged="off")
    assert sent("g", "low", "high") == sent("h", "high")  # a title is asked for with less


def test_where_nothing_was_seen_nothing_agrees(tmp_path: Path) -> None:
    run = stored_run(tmp_path, "pi", "happy")
    found = identify_run(run.path, run.lock(), [], [])
    assert (found.facets["model"].agrees, found.facets["host"].on_wire.value) == (None, None)
    assert found.facets["host"].on_wire.reason == "no request says it"


def test_a_line_of_packed_bytes_is_no_evidence(tmp_path: Path) -> None:
    run = stored_run(tmp_path, "pi", "happy")
    (log,) = run.agent.rglob("session.jsonl")
    log.with_suffix(".jsonl.gz").write_bytes(gzip.compress(log.read_bytes(), 0))
    log.unlink()
    said = identity(run).facets["effort"].logged
    assert (said.value, said.evidence) == ("high", None)


def test_a_model_or_version_that_is_not_the_arms_is_a_confound(tmp_path: Path) -> None:
    found = identity(stored_run(tmp_path, "codex", "happy_gpt-5.5", model="gpt-5.6"))
    assert found.facets["model"].agrees is False
    assert found.facets["model"].on_wire.value == "gpt-5.5"
    assert found.confounds == ["model-differs"]
    assert found.facets["harness_version"].agrees is True


@pytest.mark.parametrize(("fault", "agrees"), [(None, True), ("wrong model served: gpt-5.5-2026-10-01", False)])
def test_a_dated_name_that_the_gateway_let_pass_is_no_other_model(
    tmp_path: Path, fault: str | None, agrees: bool
) -> None:
    run = stored_run(tmp_path, "codex", "happy_gpt-5.5", model="gpt-5.5")
    dated = {"model_served": "gpt-5.5-2026-10-01", "fault": fault}
    lines = [line.model_copy(update=dated) for line in read_ledger(run.ledger)]
    run.ledger.write_text("".join(line.model_dump_json(by_alias=True) + "\n" for line in lines))
    found = identity(run)
    assert found.facets["model"].on_wire.value == "gpt-5.5-2026-10-01"
    assert found.facets["model"].agrees is agrees
    assert found.confounds == ([] if agrees else ["model-differs"])


@pytest.mark.parametrize(
    ("said", "name"),
    [("high", "high"), ("off", "none"), ("thinking=disabled", "none"), ("ULTRA", "ultra"),
     ("budget_tokens=9", "unknown"), ("thinking=adaptive", "unknown"), (None, "unknown"), ("bogus", "unknown")],
)  # fmt: skip
def test_only_words_that_are_a_level_become_one(said: str | None, name: str) -> None:
    assert normalized(said) == name


@pytest.mark.parametrize(
    ("mode", "helped", "agrees", "shown"),
    [
        ("single_agent", False, None, "single_agent"),
        ("single_agent", True, False, "single_agent"),
        ("adaptive", False, None, "adaptive"),
        ("adaptive", True, True, "adaptive"),
        ("unknown", False, None, "unknown"),
        ("unknown", True, None, "multi_agent"),
    ],
)
def test_mode_is_the_harness_and_what_was_seen_never_a_default(
    tmp_path: Path, mode: Mode, helped: bool, agrees: bool | None, shown: str
) -> None:
    run = stored_run(tmp_path, "claude", "happy", mode=mode, model="claude-sonnet-4-5")
    if helped:
        log = run.agent / "M01-1" / "own" / "session.jsonl"
        line = {"type": "assistant", "sessionId": "s", "isSidechain": True, "agentId": "helper", "uuid": "h",
                "message": {"id": "h", "model": "m", "content": [{"type": "text", "text": "hm"}],
                            "stop_reason": "end_turn"}}  # fmt: skip
        log.write_text(log.read_text() + json.dumps(line) + "\n")
    found = identity(run)
    facet = found.facets["mode"]
    assert (facet.agrees, found.mode) == (agrees, shown)
    assert ("mode-differs" in found.confounds) is (agrees is False)
    assert facet.requested.value == (None if mode == "unknown" else mode)
    assert facet.requested.value is None or holds(run, facet.requested.evidence, mode)
    assert facet.logged.value == ("multi_agent" if helped else None)
    assert not helped or holds(run, facet.logged.evidence, "helper")


def test_the_host_behind_a_broker_is_named_and_so_is_a_second_one(tmp_path: Path) -> None:
    run = stored_run(tmp_path, "pi", "happy", effort="high")
    lines = read_ledger(run.ledger)
    hosts = ["a", "a", "b", *["a"] * (len(lines) - 3)]
    named = [line.model_copy(update={"host_served": host}) for line, host in zip(lines, hosts, strict=True)]
    run.ledger.write_text("".join(line.model_dump_json(by_alias=True) + "\n" for line in named))
    said = identity(run).facets["host"].on_wire
    assert (said.value, said.reason) == ("a", f"of {len(lines)} requests; also b in 1")
    assert holds(run, said.evidence, '"a"')
