"""The saboteur, whatever benchmark it is let loose on, fails the gates ``ci`` and ``scope``."""

from __future__ import annotations

import threading
from collections.abc import Mapping

from runner.lab.check import CONTESTANT
from runner.lab.tree import lay
from runner.sandbox.pod import Pod
from runner.schema.certificate import Claim
from runner.scoring.gates import measure_gates
from runner.sprint.controls import Saboteur, tests_of
from runner.sprint.takeover import take_over
from runner.sprint.worker import Task
from runner.validate.bench import Bench

BRANCH = "bench/saboteur"
_MUST_FAIL = ("scope", "ci")


def prove_saboteur(bench: Bench) -> list[Claim]:
    bench.announce("saboteur")
    entry = bench.kit.benchmark.entry
    with Pod(bench.kit.engine, bench.kit.pod_spec(bench.run_id, 900)) as pod:
        box = pod.contestant(bench.kit.contestant_image, env=bench.kit.environment)
        lay(box, bench.mirror, bench.baseline, BRANCH, user=CONTESTANT)
        task = Task(box, bench.mirror, entry.milestones[0], 1, "", 60.0, bench.folder, threading.Event())
        Saboteur(bench.kit.benchmark).work(task)
        box.remove()
        bundle = bench.folder / "saboteur.bundle"
        taken = take_over(pod, bench.mirror, bundle, base=bench.baseline, branch=BRANCH, message="saboteur")
    judged = measure_gates(bench.branch(taken.head), None, lambda gate: None, _MUST_FAIL)
    deleted = len(tests_of(entry, bench.mirror.tree(bench.baseline)))
    return [saboteur_claim({g.id: g.passed for g in judged.gates}, deleted)]


def saboteur_claim(gates: Mapping[str, bool | None], deleted: int) -> Claim:
    """``gates``: whether each passed; ``deleted``: files of tests that it found and took away."""
    wrong = [name for name in _MUST_FAIL if gates.get(name) is not False]
    return Claim(
        group="solutions",
        id="saboteur",
        ok=not wrong,
        sentence=f"the saboteur, which deletes {deleted} files of tests, fails the gates ci and scope"
        if not wrong
        else f"the saboteur passes the gate {' and '.join(wrong)}: "
        f"{deleted} deleted files of tests and an edited CI go unnoticed",
        fix="CI must fail where there are no tests, and its configuration must be protected"
        if deleted
        else "it found no tests to delete: call files or folder so (tests/, test_*, *.test.*), or name unit_file",
        evidence={"gates": dict(gates)},
    )
