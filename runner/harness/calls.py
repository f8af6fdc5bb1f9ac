"""Which call a result is for. Ids come from the model's server: some servers give every call the same one, or none."""

from __future__ import annotations

from collections.abc import Sequence

from runner.harness.trace import Call


class Calls:
    """Calls by their ids, as far as a result can still come for them: those of the last answer that used the id."""

    def __init__(self) -> None:
        self._calls: dict[str, list[Call]] = {}
        self._batch: dict[str, str] = {}

    def add(self, ident: str, call: Call, batch: str) -> None:
        """``batch``: the answer that it stands in."""
        if self._batch.get(ident) != batch:
            self._batch[ident], self._calls[ident] = batch, []
        self._calls[ident].append(call)

    def of(self, ident: str) -> Sequence[Call]:
        """All of the last answer that used ``ident``, in their order."""
        return self._calls.get(ident, ())

    def last(self, ident: str) -> Call | None:
        """The latest call of that id, answered or not."""
        return self.of(ident)[-1] if self.of(ident) else None

    def waiting(self, ident: str) -> Call | None:
        """The first one of that id that has no result yet."""
        return next((call for call in self.of(ident) if not call.answered), None)

    def twin(self, ident: str, call: Call, batch: str) -> bool:
        """Whether the same answer has this very call already: a line that was written twice."""
        return self._batch.get(ident) == batch and any(one.signature == call.signature for one in self.of(ident))
