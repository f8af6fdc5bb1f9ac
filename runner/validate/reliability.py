"""How often the reference passes each gate: measured once, by hand, and kept beside the frozen files."""

from __future__ import annotations

import platform
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from runner.errors import ConfigError
from runner.lab.bay import Bays
from runner.lab.kit import Kit
from runner.repo import Mirror
from runner.schema.certificate import Claim, Passes, Reliability
from runner.scoring.branch import Branch
from runner.scoring.gates import measure_gates
from runner.scoring.patches import reference_commit
from runner.store.clock import new_run_id, now
from runner.store.files import read_record, write_record

GATES = ("ci", "e2e", "determinism", "behaviour", "criterion")


def measure_reliability(kit: Kit, runs: int, announce: Callable[[str], None]) -> Reliability:
    """Every gate that runs something, ``runs`` times on the reference, each in a fresh container on a fresh database.

    Raises ConfigError for a benchmark without a reference.
    """
    benchmark = kit.benchmark
    if not benchmark.entry.reference:
        raise ConfigError(f"{benchmark.id} has no reference to measure", "name its patches under reference")
    run_id = new_run_id()
    with tempfile.TemporaryDirectory(prefix="bench-reliability-") as folder:
        mirror, baseline = Mirror.create(Path(folder) / "mirror.git", benchmark.source, benchmark.entry.baseline)
        head = reference_commit(benchmark, mirror, baseline)
        with Bays(kit, mirror, run_id, kit.side_by_side) as bays, ThreadPoolExecutor(kit.side_by_side) as pool:
            branch = Branch(kit, mirror, baseline, head, run_id, Path(folder), bays.run, repeats=1)

            def once(number: int) -> dict[str, bool]:
                judged = measure_gates(branch, None, lambda gate: None, GATES)
                found = {gate.id: gate.passed for gate in judged.gates if gate.passed is not None}
                announce(f"{number + 1}/{runs}: {', '.join(g for g, ok in found.items() if not ok) or 'all pass'}")
                return found

            seen = list(pool.map(once, range(runs)))
    gates = {g: Passes(runs=sum(g in s for s in seen), passed=sum(s.get(g, False) for s in seen)) for g in GATES}
    return Reliability(
        benchmark=benchmark.id,
        benchmark_hash=benchmark.hash,
        date=now()[:10],
        machine=f"{kit.engine.info.ncpu} cores, {platform.system()} {platform.machine()}, "
        f"Docker {kit.engine.info.version}",
        gates={name: found for name, found in gates.items() if found.runs},
    )


def reliability_file(kit: Kit) -> Path:
    return kit.benchmark.home / kit.benchmark.id / "reliability.json"


def store_reliability(kit: Kit, measured: Reliability) -> Path:
    path = reliability_file(kit)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_record(path, measured)
    return path


def reliability_claims(kit: Kit) -> list[Claim]:
    """What was measured once; nothing is claimed where nothing was, or where it was another benchmark."""
    path = reliability_file(kit)
    if not path.is_file():
        return []
    found = read_record(path, Reliability)
    if found.benchmark_hash != kit.benchmark.hash:
        return []
    shown = ", ".join(f"{name} {p.passed}/{p.runs}" for name, p in found.gates.items())
    return [
        Claim(
            group="determinism",
            id="reliability",
            ok=found.holds,
            sentence=f"the reference passed {shown} ({found.date}; {found.machine})",
            fix="a gate that fails the reference once in 200 times charges a model for luck: mend it under a new id",
        )
    ]
