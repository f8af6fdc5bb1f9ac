"""The ledger added up, and whose fault it was."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from runner.errors import RigError
from runner.gateway.journal import Journal
from runner.gateway.totals import add_up, read_ledger
from runner.schema.ledger import LedgerLine, Usage

OK: dict[str, Any] = {"outcome": "answered", "usage": Usage(uncached_input=10, output=5), "price_usd": 0.5}
BAD: dict[str, Any] = {"outcome": "error", "status": 500, "fault": "HTTP 500", "price_usd": 0.0}
FULL: dict[str, Any] = {"outcome": "error", "status": 400, "context": True, "price_usd": 0.0}
ODD: dict[str, Any] = {"outcome": "error", "status": 400, "price_usd": 0.0}
GONE: dict[str, Any] = {"outcome": "abandoned", "latency_ms": 2000.0, "price_usd": 0.0}
LONG: dict[str, Any] = {**GONE, "latency_ms": 400_000.0}
WRONG: dict[str, Any] = {**OK, "fault": "wrong model served: b instead of a"}
CAP: dict[str, Any] = {"outcome": "refused", "refused": "cap: 3 requests", "price_usd": 0.0}


def line(**fields: Any) -> LedgerLine:
    known: dict[str, Any] = {"time": "2026-01-01T00:00:00.000Z", "run_id": "r", "attempt": "M01/1", "seq": 1}
    known |= {"protocol": "chat", "path": "POST /v1/chat/completions", "latency_ms": 1.0, "price_source": "test"}
    return LedgerLine(**{**known, "request_bytes": 1, "response_bytes": 1, **fields})


SEEN: dict[str, Any] = {**BAD, "ours": True}
FINE: dict[str, Any] = {**OK, "ours": True}
AGAIN: dict[str, Any] = {"outcome": "abandoned", "status": 200, "price_usd": 0.0, "ours": True, "again": True}
STILL: dict[str, Any] = {**BAD, "ours": True, "again": True}


@pytest.mark.parametrize(
    ("story", "fault", "recovered"),
    [
        ([], None, 0),
        ([OK], None, 0),
        ([BAD, BAD], "HTTP 500", 0),
        ([BAD, OK], None, 1),
        ([OK, BAD, SEEN], "HTTP 500", 0),
        ([OK, BAD, SEEN, BAD, FINE], None, 0),
        ([OK, BAD, FINE, BAD, SEEN], "HTTP 500", 0),
        ([OK, BAD, SEEN, OK, BAD], None, 1),
        ([BAD, OK, BAD, SEEN, BAD], "HTTP 500", 1),
        ([OK, FULL], None, 0),
        ([FULL], None, 0),
        ([BAD, OK, FULL], None, 1),
        ([ODD], "HTTP 400 to every request", 0),
        ([OK, ODD], None, 0),
        ([GONE], "no answer in 2 s", 0),
        ([OK, GONE], None, 0),
        ([OK, LONG, SEEN], "no answer in 400 s", 0),
        ([WRONG, OK], "wrong model served: b instead of a", 0),
        ([OK, BAD, CAP, SEEN], "HTTP 500", 0),
        ([OK, CAP], None, 0),
        ([OK, BAD, FINE, AGAIN], "HTTP 500", 0),
        ([OK, BAD, FINE, STILL], None, 0),
        ([OK, BAD, FINE, AGAIN, OK], None, 1),
        ([OK, BAD, FINE, AGAIN, BAD, FINE, STILL], None, 0),
    ],
)
def test_a_fault_counts_where_nothing_made_it_good(
    story: list[dict[str, Any]], fault: str | None, recovered: int
) -> None:
    totals = add_up([line(**fields) for fields in story])
    assert (totals.provider_fault, totals.recovered_faults) == (fault, recovered)


@pytest.mark.parametrize(
    ("story", "unconfirmed"),
    [([OK, BAD], "HTTP 500"), ([OK, BAD, FINE], "HTTP 500"), ([OK, BAD, SEEN], None), ([BAD], None), ([OK], None)],
)
def test_a_fault_that_only_the_contestant_meets_is_its_own(
    story: list[dict[str, Any]], unconfirmed: str | None
) -> None:
    assert add_up([line(**fields) for fields in story]).unconfirmed_fault == unconfirmed


def test_a_contestant_that_spoke_in_an_earlier_attempt_needs_a_witness_too() -> None:
    lines = [line(**OK), line(**{**BAD, "attempt": "M01/2"})]
    assert add_up(lines, "M01/2").provider_fault is None
    assert add_up(lines[1:], "M01/2").provider_fault == "HTTP 500"


def test_the_runners_own_requests_count_for_nothing() -> None:
    totals = add_up([line(**OK), line(**FINE), line(**SEEN)])
    assert (totals.requests, totals.answered, totals.errors, totals.price_usd) == (1, 1, 0, 0.5)


def test_attempts_are_apart() -> None:
    lines = [line(**OK), line(**{**OK, "attempt": "M01/2"}), line(**{**CAP, "attempt": "M01/2"})]
    assert (add_up(lines).requests, add_up(lines, "M01/2").requests, add_up(lines, "M01/1").cap) == (3, 2, None)
    assert add_up(lines, "M01/2").cap == "3 requests"


def test_one_unknown_price_makes_the_sum_unknown() -> None:
    lines = [line(**OK), line(**{**OK, "price_usd": None, "price_source": "not listed"})]
    totals = add_up(lines)
    assert (totals.price_usd, totals.price_reason) == (None, "not listed")
    assert add_up(lines[:1]).price_usd == 0.5


def test_what_was_never_answered_costs_nothing_and_hides_nothing() -> None:
    assert add_up([line(**{**OK, "price_usd": 0.5}), line(**{**BAD, "price_usd": None})]).price_usd == 0.5


@pytest.mark.parametrize("outcome", ["cut", "abandoned"])
def test_an_answer_that_began_and_was_not_heard_out_makes_the_sum_unknown(outcome: str) -> None:
    unheard = {"outcome": outcome, "price_usd": None, "price_source": "usage unknown"}
    began = add_up([line(**OK), line(**unheard, first_byte_ms=3.0)])
    assert (began.unmetered, began.price_usd, began.price_reason) == (1, None, "usage unknown")
    silent = add_up([line(**OK), line(**unheard)])
    assert (silent.unmetered, silent.price_usd) == (0, 0.5)


def test_who_computed_it_and_how_hard_is_told_of_answers_alone() -> None:
    lists = line(outcome="answered", protocol="models", price_usd=0.0)
    totals = add_up([line(**OK, host_served="b", effort_wire="high"), line(**OK, host_served="a"), lists])
    assert (totals.hosts_served, totals.efforts_wire) == (["a", "b"], [None, "high"])
    assert add_up([line(**OK, effort_wire="high"), lists]).efforts_wire == ["high"]


def test_a_full_context_is_a_death_only_where_nothing_was_answered_after_it() -> None:
    assert add_up([line(**OK), line(**FULL)]).context_death
    survived = add_up([line(**OK), line(**FULL), line(**OK)])
    assert (survived.context_death, survived.context_errors) == (False, 1)


def test_a_ledger_survives_its_writer(tmp_path: Path) -> None:
    path = tmp_path / "run" / "gateway.jsonl"
    journal = Journal(path)
    journal.write(line(**OK))
    journal.close()
    whole = path.read_bytes()
    path.write_bytes(whole + whole[:40])
    assert len(read_ledger(path)) == 1
    again = Journal(path)
    again.write(line(**OK))
    assert [found.model_dump() for found in again.read()] == [line(**OK).model_dump()] * 2
    again.close()


def test_a_ledger_with_a_foreign_line_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "gateway.jsonl"
    path.write_text('{"schema_":"other/1"}\n')
    with pytest.raises(RigError, match=r"line 1 of gateway\.jsonl is no ledger line"):
        read_ledger(path)
    assert read_ledger(tmp_path / "none.jsonl") == []


def test_a_list_of_models_is_no_answer_of_a_model() -> None:
    """An agent that asks for nothing else has asked its model nothing."""
    lists = line(outcome="answered", protocol="models", price_usd=0.0)
    counts = line(outcome="answered", protocol="count_tokens", price_usd=0.0)
    totals = add_up([lists, counts])
    assert (totals.requests, totals.answered, totals.unmetered) == (2, 0, 0)
    assert add_up([lists, line(**OK)]).answered == 1
