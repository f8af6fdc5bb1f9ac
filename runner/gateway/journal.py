"""The ledger on disk: append only, one write call a line, so that no reader ever meets half of two lines."""

from __future__ import annotations

import json
import os
from pathlib import Path

from pydantic_core import PydanticSerializationError

from runner.gateway.totals import read_ledger
from runner.schema.ledger import LedgerLine


class Journal:
    """One run's ledger file. Lines of an earlier controller (a resumed run) stay."""

    def __init__(self, path: Path) -> None:
        self._path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        self._cut_torn_line()
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)

    def read(self) -> list[LedgerLine]:
        return read_ledger(self._path)

    def write(self, line: LedgerLine) -> None:
        try:
            text = line.model_dump_json(exclude_none=True)
        except PydanticSerializationError:  # half a character, in what somebody asked or answered
            text = json.dumps(line.model_dump(exclude_none=True), ensure_ascii=False)
        os.write(self._file, text.encode("utf-8", "replace") + b"\n")

    def close(self) -> None:
        os.close(self._file)

    def _cut_torn_line(self) -> None:
        """A machine that died may have left half a line; the next one must not be glued to it."""
        if not self._path.exists():
            return
        data = self._path.read_bytes()
        if data and not data.endswith(b"\n"):
            os.truncate(self._path, data.rfind(b"\n") + 1)
