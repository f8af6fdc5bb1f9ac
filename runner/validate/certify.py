"""Runs every group of claims and writes the certificate."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

from runner import __version__
from runner.lab.kit import Kit
from runner.registry.frozen import changes, frozen_file
from runner.registry.manifests import solutions
from runner.repo import Mirror
from runner.schema.certificate import Certificate, Claim
from runner.scoring.patches import PatchFails, reference_commit
from runner.store.certificates import certificate_path
from runner.store.clock import new_run_id
from runner.store.files import write_record
from runner.validate.baseline import prove_baseline_claims
from runner.validate.bench import Bench
from runner.validate.commands import prove_commands
from runner.validate.determinism import prove_determinism
from runner.validate.leaks import prove_no_leaks
from runner.validate.patches import prove_patches
from runner.validate.saboteur import prove_saboteur
from runner.validate.solutions import prove_reference, prove_solutions

Told = Callable[[Claim], None]


def certify(kit: Kit, announce: Callable[[str], None], told: Told, *, seed: int = 1) -> Certificate:
    """Prove all claims; each is told as soon as it stands. Raises RigError where the rig itself fails."""
    benchmark = kit.benchmark
    claims: list[Claim] = []

    def add(found: list[Claim]) -> None:
        for claim in found:
            claims.append(claim)
            told(claim)

    add([frozen_claim(kit)])
    with tempfile.TemporaryDirectory(prefix="bench-validate-") as folder:
        mirror, baseline = Mirror.create(Path(folder) / "mirror.git", benchmark.source, benchmark.entry.baseline)
        reference, found = _reference(kit, mirror, baseline)
        add(found)
        bench = Bench(kit, mirror, baseline, reference, new_run_id(), Path(folder), announce)
        found, tools = prove_commands(bench)
        add(found)
        add(prove_baseline_claims(bench))
        add(prove_no_leaks(bench))
        add(prove_reference(bench))
        add(prove_saboteur(bench))
        for kind, where in (("graded", benchmark.entry.graded), ("flawed", benchmark.entry.flawed)):
            if where:
                add(prove_solutions(bench, kind, solutions(benchmark, where), benchmark.path(where)))
        patches = prove_patches(bench, seed)
        add(patches.claims)
        add(prove_determinism(bench, seed))
    return Certificate(
        benchmark=benchmark.id,
        benchmark_hash=benchmark.hash,
        baseline=baseline,
        images={role: image.id for role, image in sorted(kit.images.items())},
        tools=tools,
        runner_version=__version__,
        claims=claims,
        matrix=patches.matrix,
    )


def store(kit: Kit, certificate: Certificate) -> Path:
    path = certificate_path(kit.benchmark.runs_dir, kit.benchmark.id, kit.benchmark.hash)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_record(path, certificate)
    return path


def frozen_claim(kit: Kit) -> Claim:
    changed = changes(kit.benchmark)
    there = frozen_file(kit.benchmark).exists()
    return Claim(
        group="frozen",
        id="files",
        ok=there and not changed,
        sentence=f"{len(kit.benchmark.files)} files and the entry are as they were frozen"
        if there and not changed
        else f"{changed[0]} differs from what was frozen"
        if changed
        else "the benchmark is not frozen: nothing holds its files in place",
        fix="undo the edit, or give the benchmark a new id" if changed else "bench validate BENCHMARK --freeze",
        evidence={"changed": changed},
    )


def _reference(kit: Kit, mirror: Mirror, baseline: str) -> tuple[str | None, list[Claim]]:
    if not kit.benchmark.entry.reference:
        return None, []
    try:
        return reference_commit(kit.benchmark, mirror, baseline), []
    except PatchFails as error:
        return None, [
            Claim(
                group="solutions", id="reference", ok=False, sentence=error.what, fix="make the reference patches anew"
            )
        ]
