"""Claim group 2: on the untouched baseline CI is green, and nothing that is to be achieved is there yet."""

from __future__ import annotations

from runner.lab.check import Check
from runner.lab.text import plain
from runner.schema.certificate import Claim
from runner.scoring.criterion import judge_criterion
from runner.validate.bench import Bench


def prove_baseline_claims(bench: Bench) -> list[Claim]:
    entry = bench.kit.benchmark.entry
    ci = bench.place(Check(bench.baseline, entry.commands["ci"]))
    lines = plain(ci.stdout + ci.stderr).strip().splitlines()
    claims = [
        Claim(
            group="baseline",
            id="ci",
            ok=ci.passed,
            sentence="CI is green on the baseline"
            if ci.passed
            else f"CI is red on the baseline ({ci.why()}): {' / '.join(lines[-2:])}",
            fix="a model must never be charged for a red baseline: mend image or entry",
        )
    ]
    first = entry.milestones[0]
    verify = bench.place(Check(bench.baseline, entry.command(first.verify)))
    claims.append(
        Claim(
            group="baseline",
            id="verify",
            ok=not verify.passed,
            sentence=f"{first.id} is not done at the baseline"
            if not verify.passed
            else f"{first.id}'s verify passes on the baseline: there is nothing to measure",
            fix="a verify command must fail until the milestone is developed",
        )
    )
    if entry.criterion is not None:
        verdicts = judge_criterion(bench.branch(bench.baseline))
        passed = [v.number for v in verdicts if v.passed]
        passed += [v.number for v in verdicts if not set(entry.criterion.counted) <= set(v.failed)]
        unmeasured = [v.detail for v in verdicts if v.passed is None]
        claims.append(
            Claim(
                group="baseline",
                id="criterion",
                ok=not passed and not unmeasured,
                sentence=f"the success criterion fails on the baseline in all {len(verdicts)} repeats"
                if not passed and not unmeasured
                else f"the success criterion passes on the baseline in repeat {passed[0]}: there is nothing to measure"
                if passed
                else f"the success criterion could not be measured: {unmeasured[0]}",
                fix="the symptom has to reproduce on the baseline every time",
            )
        )
    return claims
