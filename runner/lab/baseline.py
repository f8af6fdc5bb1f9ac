"""Proof that the benchmark's CI is green on the untouched baseline, in the same images, before anybody is measured."""

from __future__ import annotations

from pathlib import Path

from runner.errors import RedBaseline
from runner.lab.check import Check
from runner.lab.kit import Kit
from runner.lab.protected import protected_check
from runner.lab.text import plain
from runner.repo import Mirror
from runner.schema.base import digest
from runner.store.clock import now
from runner.store.files import locked, write_atomic


def prove_baseline(kit: Kit, mirror: Mirror, baseline: str, *, run_id: str, cache: Path) -> bool:
    """Run ``commands.ci`` on the baseline unless these very images and files were proven green already.

    Returns whether it had to run. Raises RedBaseline with the end of what the command printed: that is the rig's
    failure, never a model's. Another process that proves the same is waited for; raises Interrupted at a wish to stop.
    """
    key = digest(
        {
            "benchmark": kit.benchmark.hash,
            "baseline": baseline,
            "images": {role: kit.images[role].id for role in ("benchmark", "database") if role in kit.images},
        }
    )
    proof = cache / "baseline" / f"{key}.green"
    with locked(cache / "baseline" / f".{key}.lock", kit.cancel):
        if proof.exists():
            return False
        check = Check(baseline, kit.benchmark.entry.commands["ci"])
        result = protected_check(kit, mirror, baseline, check, run_id=run_id)
        if not result.passed:
            lines = plain(result.stdout + result.stderr).strip().splitlines()
            said = "; ".join(lines[-3:])
            raise RedBaseline(
                f"{kit.benchmark.id}: commands.ci fails on the untouched baseline ({result.why()}): {said}",
                "mend the image or the entry; a model is never charged for this",
            )
        write_atomic(proof, f"{now()} {kit.benchmark.id}\n".encode())
    return True
