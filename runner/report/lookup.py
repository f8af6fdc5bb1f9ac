"""Finds stored rows and runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from runner.errors import ProofError, UsageError
from runner.registry.load import read_entries, runs_folders
from runner.report.arms import by_arm
from runner.report.record import record_of
from runner.report.standing import standing
from runner.schema.entry import SEED_COLUMNS
from runner.schema.history import HistoryRecord
from runner.store.history import History, latest
from runner.store.rundir import RunDir, find_run


def history_of(registry: Path, benchmark: str | None = None) -> list[HistoryRecord]:
    """The row that counts of every run (its last revision's), oldest first, the chain proven."""
    records = [r for folder in runs_folders(registry, benchmark) for r in latest(History(folder.parent).verify())]
    return [r for r in records if benchmark is None or r.benchmark == benchmark]


def stored_run(registry: Path, name: str) -> RunDir:
    """A run by its id or an unambiguous beginning of it. Raises UsageError."""
    errors = []
    for folder in runs_folders(registry):
        try:
            return find_run(folder, name)
        except UsageError as error:
            errors.append(error)
    raise errors[-1]


def arms_of(records: Sequence[HistoryRecord]) -> list[dict[str, Any]]:
    """Counts per arm and benchmark; invalid runs are listed, never dropped; foreign rows are arms of their own."""
    sources = [[r for r in records if r.foreign is foreign] for foreign in (False, True)]
    rows = []
    for members in [group for source in sources for group in by_arm(source)]:
        first, arm = members[0], members[0].arm
        valid = [m for m in members if m.outcome not in ("invalid", "cancelled")]
        passed = sum(m.outcome == "pass" for m in valid)
        rows.append(
            {
                "benchmark": first.benchmark,
                "arm": first.arm_id,
                "sent": next((m.wire_arm_id for m in members if m.wire_arm_id), "-"),
                "model": arm.label,
                "harness": f"{arm.harness} {arm.harness_version}",
                "effort": " = ".join(dict.fromkeys(m.cells.get("effort", m.arm.effort) for m in members)),
                "passed": f"{passed}/{len(valid)}",
                "invalid": len([m for m in members if m.outcome == "invalid"]),
                "cancelled": len([m for m in members if m.outcome == "cancelled"]),
                "source": source_word(first.provenance),
            }
        )
    return rows


def benchmarks_of(records: Sequence[HistoryRecord], registry: Path, benchmark: str | None) -> list[dict[str, Any]]:
    """Every benchmark of the registry (or the one asked for) with what its rows say of it."""
    names = [benchmark] if benchmark else list(read_entries(registry.resolve()))
    own = [record for record in records if not record.foreign]
    return [{"benchmark": name, **standing([r for r in own if r.benchmark == name])} for name in names]


def verify_store(registry: Path) -> dict[str, int]:
    """Prove chain and manifests. Raises ProofError naming the first file or record that does not fit."""
    counts = {"records": 0, "runs": 0}
    for folder in runs_folders(registry):
        for record in History(folder.parent).verify():
            counts["records"] += 1
            if record.foreign:
                continue
            found = sorted(folder.glob(f"{record.run_id}*"))
            if not found:
                raise ProofError(f"run {record.run_id} has a row but no folder in {folder}")
            for path in found:
                RunDir(path, revision=record.revision).check(record.manifest)
                counts["runs"] += 1
    lost = unrecorded(registry)
    if lost:
        more = f" (and {len(lost) - 1} more)" if len(lost) > 1 else ""
        raise ProofError(f"{named(lost[0])} is sealed but has no row in the history{more}", "bench verify --mend")
    return counts


def unrecorded(registry: Path) -> list[RunDir]:
    """Sealed revisions of runs without a row: their writer died between the two. Oldest first."""
    found = []
    for folder in runs_folders(registry):
        rows = {(r.run_id, r.revision) for r in History(folder.parent).records()}
        for path in sorted(p for p in folder.glob("*") if (p / "lock.json").is_file()):
            run = RunDir(path)
            revisions = run.sealed()
            run_id = run.lock().run_id if revisions else ""
            found += [run.at(n) for n in revisions if (run_id, n) not in rows]
    return found


def named(run: RunDir) -> str:
    return f"run {run.path.name}" + (f", revision {run.revision}," if run.revision > 1 else "")


def mend(registry: Path) -> list[str]:
    """Append the rows of sealed revisions that have none, each checked against its manifest first; returns them."""
    entries = {(registry.resolve().parent / e.runs_dir).resolve(): e for e in read_entries(registry.resolve()).values()}
    mended = []
    for run in unrecorded(registry):
        run.check()
        folder = run.path.parent
        entry = next((e for e in read_entries(registry.resolve()).values() if e.id == run.lock().benchmark),
                     entries.get(folder))  # fmt: skip
        columns = entry.history_columns if entry else SEED_COLUMNS
        History(folder.parent).append(record_of(run, columns))
        mended.append(named(run).rstrip(","))
    return mended


def source_word(provenance: str) -> str:
    """``here``, or ``published`` for a row that somebody else measured."""
    return "published" if provenance == "published_document" else "here"
