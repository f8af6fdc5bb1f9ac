"""``history.jsonl``: append-only, hash-chained, the truth. ``history.md`` is a view of it, written anew each time."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from runner.errors import ProofError
from runner.schema.base import digest
from runner.schema.history import GENESIS, HistoryRecord
from runner.store.files import append_line, drop_torn_line, locked, read_lines, write_atomic

_VIEW_OF = "A view of `history.jsonl`"


def latest(records: Sequence[HistoryRecord]) -> list[HistoryRecord]:
    """The last revision of every run, in the order in which the runs came."""
    found: dict[str, HistoryRecord] = {}
    for record in records:
        if record.run_id not in found or record.revision > found[record.run_id].revision:
            found[record.run_id] = record
    return list(found.values())


class History:
    """The chain that lies beside ``runs_dir``."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "history.jsonl"
        self._folder = folder

    @property
    def view(self) -> Path:
        """``history.md``; where somebody else's table has that name (the seed's own), it is left alone."""
        usual = self._folder / "history.md"
        if usual.exists() and _VIEW_OF not in usual.read_text(encoding="utf-8", errors="replace")[:200]:
            return self._folder / "history-view.md"
        return usual

    def records(self) -> list[HistoryRecord]:
        return read_lines(self.file, HistoryRecord)

    def append(self, draft: HistoryRecord) -> HistoryRecord:
        """Chain one record on, whatever ``seq`` and ``prev`` the draft carries. A revision of a run has one row: raises
        ProofError for a second one, and where the chain is broken already.
        """
        with locked(self.file.with_name(".history.lock")):
            drop_torn_line(self.file)
            records = self.verify()
            if any((r.run_id, r.revision) == (draft.run_id, draft.revision) for r in records):
                which = f" for revision {draft.revision}" if draft.revision > 1 else ""
                raise ProofError(f"run {draft.run_id} has a row already{which}")
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
        """One table per benchmark, with the columns that its registry named last; a run's row is its last revision's.
        Foreign rows stand in a table of their own.
        """
        lines = ["# History", "", f"{_VIEW_OF}, which is the truth; written by the runner."]
        shown = latest(records)
        for benchmark, foreign in dict.fromkeys((r.benchmark, r.foreign) for r in shown):
            rows = [r for r in shown if (r.benchmark, r.foreign) == (benchmark, foreign)]
            columns = rows[-1].columns or list(rows[-1].cells)
            title = f"{benchmark}: rows published elsewhere, not measured here" if foreign else benchmark
            lines += [
                "",
                f"## {title}",
                "",
                f"| {' | '.join(columns)} |",
                f"|{'|'.join(' --- ' for _ in columns)}|",
            ]
            for record in rows:
                cells = [record.cells.get(c, "-").replace("|", "\\|").replace("\n", " ") for c in columns]
                lines.append(f"| {' | '.join(cells)} |")
        write_atomic(self.view, "\n".join(lines).encode("utf-8") + b"\n")
