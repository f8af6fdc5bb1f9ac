"""Codex's answers: newer versions leave a record of each, older ones cumulative counts alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from runner.harness.codex_rows import usage_of
from runner.harness.jsonl import count
from runner.harness.trace import Answer, Call, Item, Trace
from runner.schema.ledger import Usage


class Answers:
    """Of all rollouts, both as recorded and as counted. A record of an answer in which nothing was said is of a call
    beside the work; one just before a compaction, in which nothing was said to anybody, is its summary.
    """

    def __init__(self) -> None:
        self._records: set[str] = set()
        self._counted: list[Item] = []
        self._totals = Totals()
        self._items = 0
        self._acts = [0, 0]
        """Whether anything was said or called since the last record, and since the last cumulative count."""
        self._summaries: list[int | None] = [None, None]
        """Where the answer stands that is the summary if a compaction comes next: recorded, and counted."""

    def rewind(self) -> None:
        """Another file begins."""
        self._totals.rewind()
        self._summaries = [None, None]

    def says(self) -> None:
        """The answer under way says something, perhaps to itself."""
        self._items += 1

    def acts(self) -> None:
        """The answer under way says or does something to the outside."""
        self._acts = [1, 1]

    def record(self, steps: list[Item], answer: Answer, copy: str | None) -> None:
        """An answer was billed; ``copy``: what it shares with its copies, as a fork or a compaction makes them."""
        if copy is not None and copy in self._records:
            return
        self._records |= {copy} if copy is not None else set()
        steps.append(replace(answer, side=self._items == 0))
        self._items = 0
        self._ended(0, steps)

    def count(self, total: Any, last: Any, make: Callable[[Usage], Answer], *, copy: bool) -> None:
        """The tokens so far, and those of the last answer."""
        spent = self._totals.spent(total, last, copy=copy)
        if spent is not None:
            self._counted.append(make(spent))
            self._ended(1, self._counted)

    def compacted(self, steps: list[Item]) -> None:
        """The conversation was shortened."""
        for answers, place in zip((steps, self._counted), self._summaries, strict=True):
            if place is not None and isinstance(answer := answers[place], Answer):
                answers[place] = replace(answer, side=True)
        self._summaries = [None, None]

    def unrecorded(self, recorded: Iterable[Answer]) -> list[Item]:
        """The answers of those files that have no record per answer."""
        files = {answer.file for answer in recorded if answer.usage}
        return [answer for answer in self._counted if answer.file not in files]

    def _ended(self, way: int, answers: list[Item]) -> None:
        self._summaries[way] = None if self._acts[way] else len(answers) - 1
        self._acts[way] = 0


def without_lost_calls(trace: Trace) -> list[Item]:
    """A call whose stream was cut before the answer was billed was asked for again, and never run."""
    ran = {id(call) for call in trace.all_calls if call.answered}
    last: dict[str, int] = {}
    for answer in trace.answers:
        if answer.whole:
            last[answer.file] = max(answer.line, last.get(answer.file, 0))
    return [
        step for step in trace.steps
        if not isinstance(step, Call) or step.nested or id(step) in ran or step.line < last.get(step.file, 0)
    ]  # fmt: skip


class Totals:
    """Answers' tokens from cumulative counts: the same count again is the same answer told twice.

    The count starts anew after a resumption.
    """

    def __init__(self) -> None:
        self._last: dict[str, Any] | None = None

    def rewind(self) -> None:
        """Another file begins."""
        self._last = None

    def spent(self, total: Any, last: Any, *, copy: bool) -> Usage | None:
        """What one answer took, as it says itself (``last``) or as ``total`` has grown; null: nothing new.

        ``copy``: a fork begins with copies of the counts of another file.
        """
        if not isinstance(total, dict):
            return None if copy else usage_of(last)
        before, self._last = self._last, total
        if total == before or copy:
            return None
        if isinstance(last, dict):
            return usage_of(last)
        anew = before is None or any(count(total.get(key)) < count(before.get(key)) for key in total)
        return usage_of({key: count(total[key]) - (0 if anew else count((before or {}).get(key))) for key in total})
