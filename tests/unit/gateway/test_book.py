"""A ledger under a flood, and one that goes on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from runner.gateway.book import REFUSALS, Book
from runner.gateway.totals import read_ledger
from tests.unit.gateway.test_totals import CAP, OK, line

TOKEN: dict[str, Any] = {**CAP, "refused": "token"}


@pytest.mark.parametrize("count", [1, REFUSALS, 1000, 50_000])
def test_a_flood_of_refusals_stays_small_and_whole(tmp_path: Path, count: int) -> None:
    book = Book(tmp_path / "gateway.jsonl")
    for _ in range(count):
        book.write(line(**TOKEN))
    assert book.totals().refused == count
    book.close()
    lines = read_ledger(tmp_path / "gateway.jsonl")
    assert len(lines) <= REFUSALS + 2 * count.bit_length()
    assert sum(one.repeats for one in lines) == count
    assert [one.seq for one in lines] == list(range(1, len(lines) + 1))


def test_kinds_and_attempts_are_folded_apart(tmp_path: Path) -> None:
    book = Book(tmp_path / "gateway.jsonl")
    for _ in range(100):
        for attempt in ("M01/1", "M01/2"):
            book.write(line(**{**TOKEN, "attempt": attempt}))
            book.write(line(**{**CAP, "attempt": attempt}))
    assert book.totals("M01/1").refused == 200
    assert book.totals("M01/2").cap == "3 requests"
    book.close()


def test_a_death_loses_at_most_half_of_a_flood(tmp_path: Path) -> None:
    book = Book(tmp_path / "gateway.jsonl")
    for _ in range(1000):
        book.write(line(**TOKEN))
    assert sum(one.repeats for one in read_ledger(tmp_path / "gateway.jsonl")) >= 500
    book.close()


def test_a_resumed_ledger_knows_what_was_spent(tmp_path: Path) -> None:
    book = Book(tmp_path / "gateway.jsonl")
    book.take()
    book.write(line(**OK, model_served="m"))
    book.write(line(**CAP))
    book.close()
    again = Book(tmp_path / "gateway.jsonl")
    assert (again.run.requests, again.run.tokens, again.run.usd) == (1, 15, 0.5)
    assert (again.attempt.requests, again.first_served, again.spoke()) == (0, "m", True)
    assert again.write(line(**OK)).seq == 3
    again.close()
