"""The gates of a branch in somebody's clone: no run, no row."""

from __future__ import annotations

import tempfile
from pathlib import Path

from runner.lab.prepare import Log, prepare_kit
from runner.registry.benchmark import load_benchmark
from runner.repo import Mirror
from runner.sandbox.engine import connect
from runner.schema.score import Score
from runner.scoring.branch import Branch
from runner.scoring.gates import measure_gates
from runner.store.clock import new_run_id


def gates_of_clone(registry: Path, benchmark_id: str, branch: str, repo: Path | None, log: Log) -> Score:
    """Judge ``branch`` of ``repo`` (only committed content counts). Raises UsageError for an unknown branch."""
    benchmark = load_benchmark(registry, benchmark_id)
    with tempfile.TemporaryDirectory(prefix="bench-score-") as folder, connect() as engine:
        mirror, baseline = Mirror.create(
            Path(folder) / "mirror.git", repo.resolve() if repo else benchmark.source, benchmark.entry.baseline
        )
        head = mirror.adopt(repo.resolve() if repo else benchmark.source, branch)
        kit = prepare_kit(engine, benchmark, log)
        judged = Branch(kit, mirror, baseline, head, new_run_id(), Path(folder))
        return measure_gates(judged, None, lambda gate: log(f"{gate.id}: {gate.passed}"))
