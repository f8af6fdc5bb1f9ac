"""Rows that somebody else measured and published, read from a markdown table into the history.

They are kept word for word, marked as foreign, and never scored again: what stands behind them is not here.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from runner.errors import ConfigError
from runner.schema.arm import Arm
from runner.schema.base import digest
from runner.schema.entry import EXTRA_COLUMNS, SEED_COLUMNS
from runner.schema.history import HistoryRecord
from runner.store.history import History

_OLD_NAMES = {"wall": "time", "run": "report"}
_NEEDED = ("date", "model", "outcome")
_NOTE = re.compile(r"\s*\[\^[^\]]+\]")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}(?: \d{2}:\d{2})?")
_OUTCOME = re.compile(r"pass|fail@M\d+|invalid|cancelled")
_NOT_STATED = ("", "-", "–", "—", "n/a", "N/A", "None")


@dataclass(frozen=True)
class ForeignRow:
    """One line of a table: its cells, word for word, by the names of its columns."""

    line: int
    cells: dict[str, str]

    def stated(self, column: str) -> str | None:
        value = _NOTE.sub("", self.cells.get(column, "")).strip().strip("`").strip()
        return None if value in _NOT_STATED else value


def read_rows(text: str) -> list[ForeignRow]:
    """Every row of every history table in a markdown text.

    A table begins with a line that names its columns; rows without one are read by the seed's own columns, and tables
    of something else are left out. Raises ConfigError naming the line for a row with too few or too many cells, no
    date, or an unknown outcome.
    """
    rows: list[ForeignRow] = []
    columns: Sequence[str] = SEED_COLUMNS
    lines = dict(_table_lines(text))
    other = -1  # the last line of a table of something else
    for number, cells in lines.items():
        names = [_OLD_NAMES.get(cell.lower(), cell.lower()) for cell in cells]
        if "date" in names and "model" in names:
            columns = _columns(number, names)
            continue
        if other == number - 1 or (not _is_rule(cells) and _is_rule(lines.get(number + 1, ["?"]))):
            other = number
            continue
        if _is_rule(cells):
            continue
        if len(cells) != len(columns):
            raise ConfigError(f"line {number} has {len(cells)} cells, its table has {len(columns)} columns")
        row = ForeignRow(number, dict(zip(columns, cells, strict=True)))
        _check(row)
        rows.append(row)
    return rows


def _is_rule(cells: Sequence[str]) -> bool:
    """The line of dashes below a table's head."""
    return all(re.fullmatch(r":?-+:?", cell) for cell in cells)


def _table_lines(text: str) -> Iterator[tuple[int, list[str]]]:
    for number, line in enumerate(text.split("\n"), 1):
        stripped = line.strip()
        if stripped.startswith("|") and len(stripped) > 1:
            # A pipe inside a cell is written \|, as every table of ours writes it; the last one may be missing.
            whole = stripped if re.search(r"(?<!\\)\|$", stripped) else stripped + "|"
            parts = re.split(r"(?<!\\)\|", whole[1:-1])
            yield number, [part.strip().replace("\\|", "|") for part in parts]


def _columns(number: int, names: list[str]) -> list[str]:
    missing = [name for name in _NEEDED if name not in names]
    unknown = [name for name in names if name not in SEED_COLUMNS + EXTRA_COLUMNS]
    if missing or unknown or len(set(names)) < len(names):
        what = f"has no column {missing[0]!r}" if missing else f"has a column {(unknown or names)[0]!r} we do not know"
        raise ConfigError(f"line {number}: the table {what}", f"known: {', '.join(SEED_COLUMNS)}")
    return names


def _check(row: ForeignRow) -> None:
    for column, pattern in (("date", _DATE), ("outcome", _OUTCOME)):
        value = row.stated(column) or ""
        if not pattern.fullmatch(value):
            raise ConfigError(f"line {row.line}: {column} {value!r} is none", "mend the table, or leave the row out")
    if row.stated("model") is None:
        raise ConfigError(f"line {row.line}: the row names no model")


@dataclass(frozen=True)
class Imported:
    """``known``: rows that were in the history already."""

    added: list[HistoryRecord]
    known: int


def import_table(file: Path, benchmark: str, history: History) -> Imported:
    """Append every row that is not there yet. Raises ConfigError, before anything is written, for a bad table."""
    try:
        content = file.read_bytes()
        text = content.decode("utf-8")
    except OSError as error:
        raise ConfigError(f"{file} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{file} is no UTF-8 text") from None
    try:
        rows = read_rows(text)
    except ConfigError as error:
        raise ConfigError(f"{file}: {error.what}", error.fix) from None
    if not rows:
        raise ConfigError(f"{file} holds no row of a history table", "a row looks like | date | model | ... |")
    source = hashlib.sha256(content).hexdigest()
    there = {record.run_id for record in history.verify()}
    added, seen = [], set()
    for row in rows:
        record = foreign_record(row, benchmark, file.name, source)
        if record.run_id not in there and record.run_id not in seen:
            added.append(history.append(record))
        seen.add(record.run_id)
    return Imported(added, len(rows) - len(added))


def foreign_record(row: ForeignRow, benchmark: str, name: str, source: str) -> HistoryRecord:
    """A row as a record. Its id is a hash of what it says, so that it is imported once; what it does not say is
    ``unknown``, never guessed.
    """
    where = f"{name}, line {row.line} (sha256 {source[:16]})"
    effort = row.stated("effort")
    arm = Arm(
        provider=row.stated("provider") or "unknown",
        model=row.stated("model") or "unknown",
        harness=row.stated("harness") or "unknown",
        harness_version="unknown",
        effort=effort or "unknown",
        mode="unknown",
        orchestration=row.stated("orch") or "unknown",
        delegation="unknown",
    )
    return HistoryRecord(
        seq=0,
        prev="",
        run_id=f"foreign-{digest([benchmark, row.cells])[:16]}",
        benchmark=benchmark,
        benchmark_hash="unknown",
        series=digest(["published", benchmark, source]),
        arm=arm,
        arm_id=arm.arm_id,
        sample=1,
        outcome=row.stated("outcome") or "invalid",
        cause=None,
        manifest="",
        columns=list(row.cells),
        cells=row.cells,
        provenance="published_document",
        citation=where,
        effort_evidence=f"{where}, column effort" if effort else f"{where}: states no effort",
    )
