"""A branch of somebody's plain clone, ready to be judged: no run stands behind it and no row comes of it."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from runner.errors import RedBaseline, UsageError
from runner.lab.baseline import prove_baseline
from runner.lab.check import Check
from runner.lab.kit import Kit
from runner.lab.onhost import WARNING, HostLab, NoEngine
from runner.lab.prepare import Log, prepare_kit
from runner.registry.benchmark import load_benchmark
from runner.repo import Mirror
from runner.sandbox.engine import Engine, connect
from runner.scoring.branch import Branch
from runner.store.clock import new_run_id


@dataclass(frozen=True)
class Where:
    """Where commands are run: in the benchmark's image, in another ``image`` of the engine's, or on this machine."""

    on_host: bool = False
    image: str | None = None


@contextmanager
def open_clone(
    registry: Path, benchmark_id: str, branch: str, repo: Path | None, where: Where, log: Log, *, commands: bool = True
) -> Iterator[Branch]:
    """``branch`` of ``repo`` (default: ``source_repo``); only committed content counts.

    Without ``commands`` nothing will be run, so no engine is needed; with them the baseline's own CI is proven green
    first, in the same place: a machine that lacks a tool must not look like a branch that is wrong. Raises UsageError
    and ConfigError for what is not there, RedBaseline where nothing can be judged.
    """
    if where.on_host and where.image:
        raise UsageError("--on-host and --image exclude each other", "name one")
    benchmark = load_benchmark(registry, benchmark_id, repo)
    with tempfile.TemporaryDirectory(prefix="bench-score-") as folder, ExitStack() as stack:
        mirror, baseline = Mirror.create(Path(folder) / "mirror.git", benchmark.source, benchmark.entry.baseline)
        head = mirror.adopt(benchmark.source, branch)
        place = None
        if where.on_host or not commands:
            kit = Kit(NoEngine(), benchmark)
            place = HostLab(benchmark, mirror).run
        else:
            engine: Engine = stack.enter_context(connect())
            kit = prepare_kit(engine, benchmark, log, image=where.image)
        judged = Branch(kit, mirror, baseline, head, new_run_id(), Path(folder), place)
        if commands:
            if where.on_host:
                log(WARNING)
            _prove(judged, log)
        yield judged


def _prove(branch: Branch, log: Log) -> None:
    log("baseline: proving that commands.ci is green on it")
    if branch.place is None:
        prove_baseline(branch.kit, branch.mirror, branch.baseline, run_id=branch.run_id, cache=_cache())
        return
    result = branch.place(Check(branch.baseline, branch.entry.commands["ci"]))
    if not result.passed:
        said = (result.stderr or result.stdout).decode("utf-8", "backslashreplace").strip().splitlines()
        raise RedBaseline(
            f"{branch.kit.benchmark.id}: commands.ci fails on the untouched baseline ({result.why()}): "
            f"{said[-1] if said else 'it says nothing'}",
            "mend this machine or the entry; a branch is never charged for this",
        )


def _cache() -> Path:
    """Proofs of plain clones lie with the user: beside somebody else's registry nothing is written unasked."""
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "bakeoff-runner"
