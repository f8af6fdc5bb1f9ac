"""A run's ledger while it is written: numbers the lines, keeps the sums that caps need, folds floods of refusals."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from runner.gateway.journal import Journal
from runner.gateway.limits import Spent
from runner.gateway.totals import add_up
from runner.schema.ledger import LedgerLine, LedgerTotals

REFUSALS = 20
"""Refusals of one kind and attempt that get a line each; after that a line stands for many."""


class Book:
    """All lines go through here. Nothing but sums stays in memory: what is to be added up is read from the file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._journal = Journal(path)
        self._seq = 0
        self.run, self.attempt = Spent(), Spent()
        self.first_served: str | None = None
        self.wrong_model = False
        self._answered: set[str] = set()
        self._refusals: Counter[tuple[str, str]] = Counter()
        self._folded: dict[tuple[str, str], LedgerLine] = {}
        for line in self._journal.read():
            self._seq = max(self._seq, line.seq)
            self.run.add_line(line)
            self.note(line)

    def begin(self) -> None:
        """A new attempt: its sums start at nothing."""
        self.flush()
        self.attempt = Spent()

    def take(self) -> None:
        """One more request is passed on."""
        self.run.requests += 1
        self.attempt.requests += 1

    def write(self, line: LedgerLine) -> LedgerLine:
        """Append a line."""
        if line.outcome == "refused":
            return self._refused(line)
        if not line.ours and line.protocol != "egress":
            self.run.add(line.usage, line.price_usd)
            self.attempt.add(line.usage, line.price_usd)
        self.note(line)
        return self._append(line)

    def flush(self) -> None:
        """Write what was folded so far."""
        folded, self._folded = self._folded, {}
        for line in folded.values():
            self._append(line)

    def totals(self, attempt: str | None = None) -> LedgerTotals:
        """What the lines of the run, or of one attempt, add up to."""
        self.flush()
        spoke = bool(self._answered - {attempt} if attempt is not None else self._answered)
        return add_up(self._journal.read(), attempt, spoke=spoke)

    def lines(self, attempt: str) -> list[LedgerLine]:
        """The lines of one attempt so far."""
        self.flush()
        return [line for line in self._journal.read() if line.attempt == attempt]

    def spoke(self) -> bool:
        """Whether the model has answered anything in this run."""
        return bool(self._answered)

    def close(self) -> None:
        """Write what was folded; nothing can be written afterwards."""
        self.flush()
        self._journal.close()

    def note(self, line: LedgerLine) -> None:
        """What a line says of the whole run holds at once, also where the line itself has to wait."""
        if line.ours:
            return
        if line.outcome == "answered" and line.protocol in ("chat", "responses", "anthropic"):
            self._answered.add(line.attempt)
        if line.fault and line.fault.startswith("wrong "):
            self.wrong_model = True
        elif line.model_served:
            self.first_served = self.first_served or line.model_served

    def _refused(self, line: LedgerLine) -> LedgerLine:
        key = (line.attempt, line.refused or "")
        self._refusals[key] += 1
        if self._refusals[key] <= REFUSALS:
            return self._append(line)
        held = self._folded.get(key)
        line = line.model_copy(update={"repeats": 1 + (held.repeats if held else 0)})
        if line.repeats >= self._refusals[key] // 2:  # twice as many a line each time: few lines, and few lost
            self._folded.pop(key, None)
            return self._append(line)
        self._folded[key] = line
        return line

    def _append(self, line: LedgerLine) -> LedgerLine:
        self._seq += 1
        line = line.model_copy(update={"seq": self._seq})
        self._journal.write(line)
        return line
