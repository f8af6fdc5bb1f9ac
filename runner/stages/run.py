"""The life of one run.

Everything that decides the run is locked before it starts; whatever happens, the contestant's branch is copied out
and the run ends in one row: scored, invalid or cancelled.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from runner import __version__
from runner.errors import BenchError, Interrupted
from runner.lab.baseline import prove_baseline
from runner.lab.kit import Kit
from runner.repo import Mirror
from runner.sandbox.pod import Pod
from runner.schema.arm import Arm
from runner.schema.cell import Cell
from runner.schema.run import Cause, RunLock, RunResult, StateName
from runner.scoring.branch import Branch
from runner.scoring.gates import measure_gates
from runner.scoring.layers import measure_corpus
from runner.sprint.brief import templates_hash
from runner.sprint.driver import Progress, Sprint
from runner.sprint.worker import Contestant
from runner.stages.conclude import Measured, publish, series_for, write_result
from runner.store.certificates import proof_of
from runner.store.clock import new_run_id
from runner.store.files import disk_error
from runner.store.rundir import Listener, RunDir
from runner.store.space import check_space

_POD_GRACE_S = 7200.0


@dataclass(frozen=True)
class Order:
    """One sample of one arm; ``contestant`` opens what does the work (and the model's door, where it has
    one). Without ``full`` the corpus is not scored.
    """

    arm: Arm
    sample: int
    contestant: Contestant
    full: bool = True
    contamination: Cell | None = None
    log_format: str | None = None
    """The harness whose log format the contestant writes; null for a control."""
    pinned: Mapping[str, Any] = field(default_factory=dict)
    server: Mapping[str, str | int | None] | None = None
    """As in the lock."""


def execute(kit: Kit, order: Order, cancel: threading.Event, on_event: Listener) -> RunResult:
    """Run one order to its row. Raises ConfigError before anything is started; after that every end is a row."""
    run, mirror, lock = _prepare(kit, order, on_event)
    progress = Progress(head=lock.baseline)
    measured = Measured()
    facts = order.contestant.facts()
    ended: tuple[StateName, Cause | None, str] = ("done", None, "")
    try:
        prove_baseline(kit, mirror, lock.baseline, run_id=lock.run_id, cache=cache_dir(kit))
        run.event("baseline", green=True)
        run.state("developing")
        try:
            _develop(kit, order, run, mirror, lock, progress, cancel)
        finally:
            facts = order.contestant.facts()
            run.state("copied", progress.head)
        run.state("measuring")
        branch = Branch(kit, mirror, lock.baseline, progress.head, lock.run_id, run.output)
        _measure(branch, progress, run, measured, full=order.full)
    except Interrupted as stop:
        ended = ("cancelled", "cancelled", str(stop))
    except BenchError as error:
        cause: Cause = "provider" if error.cause == "provider" else "rig"
        ended = ("cancelled", "cancelled", "stopped") if cancel.is_set() else ("invalid", cause, str(error))
    except OSError as error:  # the host's own disk, wherever it was written to
        ended = ("invalid", "rig", str(disk_error(error, run.path)))
    state, cause_of_end, detail = ended
    if state != "done":
        progress.outcome, progress.cause, progress.detail = state, cause_of_end, detail
        run.state(state, detail)
    run.state("reporting")
    result = write_result(kit, run, mirror, lock, progress, facts, measured)
    if state == "done":
        run.state("done")
    run.event("run_end", outcome=result.outcome, detail=result.detail)
    publish(kit.benchmark, run)  # seals the run: nothing is written into its folder afterwards
    return result


def _measure(branch: Branch, progress: Progress, run: RunDir, measured: Measured, *, full: bool) -> None:
    """Gates always; the corpus of a run that passed (a failed run has no score)."""
    measured.gates = measure_gates(
        branch, progress.attempts, lambda gate: run.event("gate", gate=gate.id, passed=gate.passed)
    )
    measured.scores.append(measured.gates)
    if progress.outcome != "pass":
        return
    if not full:
        measured.why_not = "a control's corpus is scored by bench validate, or with --full"
        return
    corpus = measure_corpus(branch, lambda line: run.event("layer", layer="corpus", line=line), branch.kit.side_by_side)
    if corpus is not None:
        measured.corpus = corpus.corpus
        measured.scores += corpus.scores


def cache_dir(kit: Kit) -> Path:
    return kit.benchmark.runs_dir.parent / "cache"


def _prepare(kit: Kit, order: Order, on_event: Listener) -> tuple[RunDir, Mirror, RunLock]:
    benchmark, entry = kit.benchmark, kit.benchmark.entry
    check_space(benchmark.runs_dir)
    run_id = new_run_id()
    name = f"{run_id}-{order.arm.model_slug}"
    scheme = entry.workspace_scheme
    if "{workspace_id}" not in scheme and "{run_id}" not in scheme:
        scheme += "-{run_id}"
    workspace = scheme.format(workspace_id=run_id, run_id=run_id, model_slug=order.arm.model_slug)
    mirror, baseline = Mirror.create(benchmark.workspaces_dir / f"{workspace}.git", benchmark.source, entry.baseline)
    limits = entry.limits.model_dump(mode="json")
    lock = RunLock(
        run_id=run_id,
        sample=order.sample,
        benchmark=benchmark.id,
        benchmark_hash=benchmark.hash,
        baseline=baseline,
        branch=branch_name(entry.branch_scheme, order.arm.model_slug, run_id),
        arm=order.arm,
        images=kit.images,
        limits=limits,
        attempts=entry.attempts,
        environment=dict(entry.environment),
        runner_version=__version__,
        formula=entry.formula,
        templates=templates_hash(),
        series=series_for(benchmark.hash, entry.formula, templates_hash(), order.arm.harness_version, limits),
        engine=kit.engine_facts(),
        log_format=order.log_format,
        pinned=dict(order.pinned),
        server=None if order.server is None else dict(order.server),
        contamination=order.contamination,
        certificate=proof_of(
            benchmark.runs_dir, benchmark.id, benchmark.hash, {role: image.id for role, image in kit.images.items()}
        ),
    )
    run = RunDir.create(benchmark.runs_dir, name, lock, on_event)
    run.event("run_start", benchmark=benchmark.id, arm=order.arm.label, sample=order.sample)
    run.state("preparing")
    return run, mirror, lock


def branch_name(scheme: str, model_slug: str, run_id: str) -> str:
    """The registry's scheme filled in; a scheme without ``{run_id}`` gets it appended, so two samples never collide."""
    if "{run_id}" not in scheme:
        scheme += "-{run_id}"
    return scheme.format(model_slug=model_slug, run_id=run_id, workspace_id=run_id)


def _develop(
    kit: Kit, order: Order, run: RunDir, mirror: Mirror, lock: RunLock, progress: Progress, cancel: threading.Event
) -> None:
    limits = kit.benchmark.entry.limits
    with ExitStack() as stack:
        door = stack.enter_context(order.contestant.open(run, lock))
        spec = kit.pod_spec(lock.run_id, limits.run_wall_s + _POD_GRACE_S, gateway_socket_dir=door.socket_dir)
        pod = stack.enter_context(Pod(kit.engine, spec))
        Sprint(
            kit, mirror, lock.baseline, lock.branch, run, pod, door.worker, cancel, float(limits.run_wall_s)
        ).drive(progress)  # fmt: skip
