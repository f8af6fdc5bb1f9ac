"""``history.jsonl``: append-only, hash-chained, the truth. ``history.md`` is a view of it, written anew each time."""

from __future__ import annotations

import json
from pathlib import Path

from runner.errors import ProofError
from runner.schema.base import digest
from runner.schema.history import GENESIS, HistoryRecord
from runner.store.files import append_line, drop_torn_line, locked, read_lines, write_atomic


class History:
    """The chain that lies beside ``runs_dir``."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "history.jsonl"
        self.view = folder / "history.md"

    def records(self) -> list[HistoryRecord]:
        return read_lines(self.file, HistoryRecord)

    def append(self, draft: HistoryRecord) -> HistoryRecord:
        """Chain one record on, whatever ``seq`` and ``prev`` the draft carries. A run has one row: raises ProofError
        for a second one, and where the chain is broken already.
        """
        with locked(self.file.with_name(".history.lock")):
            drop_torn_line(self.file)
            records = self.verify()
            if any(r.run_id == draft.run_id for r in records):
                raise ProofError(f"run {draft.run_id} has a row already")
            last = records[-1].hash if records else GENESIS
            record = draft.model_copy(update={"seq": len(records) + 1, "prev": last}).sealed()
            append_line(self.file, record)
            self.render([*records, record])
        return record

    def verify(self) -> list[HistoryRecord]:
        """All records, the chain proven. Raises ProofError naming the first record that does not fit."""
        previous = GENESIS
        records = self.records()
        # Hashed as written: a field that a later version adds does not unmake older records.
        written = [json.loads(line) for line in self.file.read_bytes().split(b"\n")[: len(records)]] if records else []
        for number, (record, raw) in enumerate(zip(records, written, strict=True), 1):
            expected = digest({key: value for key, value in raw.items() if key != "hash"})
            if record.seq != number or record.prev != previous or record.hash != expected:
                raise ProofError(f"{self.file}: record {number} ({record.run_id}) was changed or lost its predecessor")
            previous = record.hash
        return records

    def render(self, records: list[HistoryRecord]) -> None:
        """One table per benchmark, with the columns that its registry named last."""
        lines = ["# History", "", "A view of `history.jsonl`, which is the truth; written by the runner."]
        for benchmark in dict.fromkeys(record.benchmark for record in records):
            rows = [record for record in records if record.benchmark == benchmark]
            columns = rows[-1].columns or list(rows[-1].cells)
            lines += [
                "",
                f"## {benchmark}",
                "",
                f"| {' | '.join(columns)} |",
                f"|{'|'.join(' --- ' for _ in columns)}|",
            ]
            for record in rows:
                cells = [record.cells.get(c, "-").replace("|", "\\|").replace("\n", " ") for c in columns]
                lines.append(f"| {' | '.join(cells)} |")
        write_atomic(self.view, "\n".join(lines).encode("utf-8") + b"\n")
