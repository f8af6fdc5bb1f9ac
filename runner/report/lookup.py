"""Finds stored rows and runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from runner.errors import ProofError, UsageError
from runner.registry.load import read_entries, runs_folders
from runner.report.standing import standing
from runner.schema.history import HistoryRecord
from runner.schema.run import Manifest
from runner.store.files import read_record
from runner.store.history import History
from runner.store.rundir import RunDir, find_run, sha256_of


def history_of(registry: Path, benchmark: str | None = None) -> list[HistoryRecord]:
    """All rows, oldest first, the chain proven."""
    records = [r for folder in runs_folders(registry, benchmark) for r in History(folder.parent).verify()]
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
    """Counts per arm and benchmark; invalid runs are listed, never silently dropped."""
    groups: dict[tuple[str, str], list[HistoryRecord]] = {}
    for record in records:
        groups.setdefault((record.benchmark, record.arm_id), []).append(record)
    rows = []
    for (benchmark, arm_id), members in groups.items():
        arm = members[0].arm
        valid = [m for m in members if m.outcome not in ("invalid", "cancelled")]
        passed = sum(m.outcome == "pass" for m in valid)
        rows.append(
            {
                "benchmark": benchmark,
                "arm": arm_id,
                "model": arm.label,
                "harness": f"{arm.harness} {arm.harness_version}",
                "effort": arm.effort,
                "passed": f"{passed}/{len(valid)}",
                "invalid": len([m for m in members if m.outcome == "invalid"]),
                "cancelled": len([m for m in members if m.outcome == "cancelled"]),
            }
        )
    return rows


def benchmarks_of(records: Sequence[HistoryRecord], registry: Path, benchmark: str | None) -> list[dict[str, Any]]:
    """Every benchmark of the registry (or the one asked for) with what its rows say of it."""
    names = [benchmark] if benchmark else list(read_entries(registry.resolve()))
    return [{"benchmark": name, **standing([r for r in records if r.benchmark == name])} for name in names]


def verify_store(registry: Path) -> dict[str, int]:
    """Prove chain and manifests. Raises ProofError naming the first file or record that does not fit."""
    counts = {"records": 0, "runs": 0}
    for folder in runs_folders(registry):
        for record in History(folder.parent).verify():
            counts["records"] += 1
            found = sorted(folder.glob(f"{record.run_id}*"))
            if not found:
                raise ProofError(f"run {record.run_id} has a row but no folder in {folder}")
            for path in found:
                _verify_run(path, record.manifest)
                counts["runs"] += 1
    return counts


def _verify_run(path: Path, manifest_hash: str) -> None:
    manifest = path / "manifest.json"
    if not manifest.is_file() or sha256_of(manifest) != manifest_hash:
        raise ProofError(f"{manifest} is not the one that the history names")
    for name, expected in read_record(manifest, Manifest).files.items():
        file = path / name
        if not file.is_file() or sha256_of(file) != expected:
            raise ProofError(f"{file} was changed or removed since its row was written")
