"""Which call a result is for. Ids come from the model's server: some servers give every call the same one, or none."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from runner.harness.trace import Call


@dataclass
class _Batch:
    """The calls of one answer that share an id. However many they are, each question about them is a short one."""

    answer: str
    calls: list[Call] = field(default_factory=list)
    signs: set[str] = field(default_factory=set)
    ended: Counter[str] = field(default_factory=Counter)
    """How many of them, in their order, have had their end told, by what told it."""


class Calls:
    """Calls by their ids, as far as a result can still come for them: those of the last answer that used the id."""

    def __init__(self) -> None:
        self._batches: dict[str, _Batch] = {}

    def add(self, ident: str, call: Call, answer: str = "") -> None:
        """``answer``: the one that it stands in."""
        batch = self._batches.get(ident)
        if batch is None or batch.answer != answer:
            batch = self._batches[ident] = _Batch(answer)
        batch.calls.append(call)
        batch.signs.add(call.signature)

    def last(self, ident: str) -> Call | None:
        """The latest call of that id, answered or not."""
        batch = self._batches.get(ident)
        return batch.calls[-1] if batch else None

    def waiting(self, ident: str) -> Call | None:
        """The first one of that id that has no result yet."""
        while (call := self._next(ident, "result")) is not None and call.answered:
            self._batches[ident].ended["result"] += 1
        return call

    def ending(self, ident: str, way: str) -> Call | None:
        """The next one of that id whose end is told by ``way``: each once, in their order."""
        call = self._next(ident, way)
        if call is not None:
            self._batches[ident].ended[way] += 1
        return call

    def _next(self, ident: str, way: str) -> Call | None:
        batch = self._batches.get(ident)
        return batch.calls[batch.ended[way]] if batch and batch.ended[way] < len(batch.calls) else None

    def twin(self, ident: str, call: Call, answer: str) -> bool:
        """Whether the same answer has this very call already: a line that was written twice."""
        batch = self._batches.get(ident)
        return batch is not None and batch.answer == answer and call.signature in batch.signs
