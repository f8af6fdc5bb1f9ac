"""What the rig adds to a mutation sweep, against the bare time of the very same test runs.

The target: wall <= (sum of bare test time + 0.4 s x mutants) / cores + 2 s.
"""

from __future__ import annotations

import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

from perf.floor import Floor
from runner.lab.bay import Bays
from runner.lab.check import Check, CheckResult
from runner.lab.kit import Kit
from runner.lab.prepare import prepare_kit
from runner.registry.benchmark import Benchmark, load_benchmark
from runner.repo import Mirror
from runner.sandbox.engine import connect
from runner.scoring.mutations import Sweeper
from runner.scoring.patches import patch_set, reference_commit
from runner.scoring.suite import Suite, folder_cases

ROOT = Path(__file__).resolve().parents[1]
PER_MUTANT_S, ONCE_S = 0.4, 2.0
# A program of three commands without a service, where the rig's own work shows, and a real one with a database.
SUBJECTS = (
    ("mini", ROOT / "tests" / "support" / "mini" / "index.md", 6),
    ("stockroom-e2e", ROOT / "registry" / "index.md", 10),
)


@dataclass
class Clock:
    """Seconds that the test command itself took, run by run."""

    bays: Bays
    bare: list[float] = field(default_factory=list)
    guard: threading.Lock = field(default_factory=threading.Lock)

    def run(self, check: Check) -> CheckResult:
        result = self.bays.run(check)
        with self.guard:
            self.bare.append(result.seconds)
        return result


def measure() -> list[Floor]:
    """One figure per benchmark: wall seconds of a sweep of its etalon over some of its faults. Raises BenchError."""
    floors = []
    with connect() as engine:
        for name, index, mutants in SUBJECTS:
            benchmark = load_benchmark(index, name)
            kit = prepare_kit(engine, benchmark, lambda line: None)
            with tempfile.TemporaryDirectory(prefix="bench-perf-") as folder:
                floors.append(_sweep(kit, benchmark, Path(folder), mutants))
    return floors


def _sweep(kit: Kit, benchmark: Benchmark, folder: Path, mutants: int) -> Floor:
    entry = benchmark.entry
    mirror, baseline = Mirror.create(folder / "mirror.git", benchmark.source, entry.baseline)
    program = reference_commit(benchmark, mirror, baseline)
    cases = folder_cases(benchmark.path(entry.etalon_dir or ""))
    patches = (patch_set(benchmark, entry.mutations_dir) + patch_set(benchmark, entry.probes_dir))[:mutants]
    cores = kit.side_by_side
    started = time.monotonic()
    with Bays(kit, mirror, "perf", cores) as bays:
        clock = Clock(bays)
        sweeper = Sweeper(Suite(kit, mirror, cases, "perf", place=clock.run), program, False, cores, lambda line: None)
        swept = sweeper.sweep(patches, patch_set(benchmark, entry.placebos_dir), {"the frozen baseline": baseline})
    wall = time.monotonic() - started
    if swept.unusable:
        raise SystemExit(f"{benchmark.id}: {swept.unusable}")
    runs, bare = len(clock.bare), sum(clock.bare)
    bound = (bare + PER_MUTANT_S * runs) / cores + ONCE_S
    own = (wall * cores - bare) / runs
    note = f"{runs} runs, {bare:.1f} s of them bare, {cores} side by side; {own:.2f} s of the rig's own a run"
    return Floor(f"mutation sweep of {benchmark.id}, wall", wall, round(bound, 2), "at most", "s", note)
