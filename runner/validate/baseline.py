"""Claim group 2: on the untouched baseline CI is green, and nothing that is to be achieved is there before its turn."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from runner.lab.check import CheckResult
from runner.lab.text import plain
from runner.schema.certificate import Claim
from runner.schema.entry import Criterion, Milestone
from runner.scoring.criterion import Verdict, judge_criterion
from runner.validate.bench import Bench


def prove_baseline_claims(bench: Bench) -> list[Claim]:
    """The criterion, which mostly waits, begins at once and beside the other checks."""
    entry = bench.kit.benchmark.entry
    with ThreadPoolExecutor(1) as aside:
        verdicts = aside.submit(judge_criterion, bench.branch(bench.baseline)) if entry.criterion else None
        ci = bench.branch(bench.baseline).check(entry.commands["ci"], "baseline-ci")  # its own tests prove it here too
        claims = [_green(ci)]
        stages = bench.stages()
        begun = stages[:-1] if stages else [bench.baseline]
        claims += [_not_done(bench, m, before) for m, before in zip(entry.milestones, begun, strict=False)]
        if entry.criterion is not None and verdicts is not None:
            claims.append(_criterion_fails(entry.criterion, verdicts.result()))
    return claims


def _green(ci: CheckResult) -> Claim:
    lines = plain(ci.stdout + ci.stderr).strip().splitlines()
    return Claim(
        group="baseline",
        id="ci",
        ok=ci.passed,
        sentence="CI is green on the baseline"
        if ci.passed
        else f"CI is red on the baseline ({ci.why()}): {' / '.join(lines[-2:])}",
        fix="a model must never be charged for a red baseline: mend image or entry",
    )


def _criterion_fails(criterion: Criterion, verdicts: Sequence[Verdict]) -> Claim:
    passed = [v.number for v in verdicts if v.passed]
    counted = set(criterion.counted)
    stand = [(v.number, sorted(odd)) for v in verdicts if v.passed is False and (odd := counted - set(v.failed))]
    unmeasured = [v.detail for v in verdicts if v.passed is None]
    return Claim(
        group="baseline",
        id="criterion",
        ok=not (passed or stand or unmeasured),
        sentence=f"the success criterion fails on the baseline in all {len(verdicts)} repeats"
        if not (passed or stand or unmeasured)
        else f"the success criterion passes on the baseline in repeat {passed[0]}: there is nothing to measure"
        if passed
        else f"the baseline does not fail {', '.join(stand[0][1])}, which is counted, in repeat {stand[0][0]}"
        if stand
        else f"the success criterion could not be measured: {unmeasured[0]}",
        fix="the symptom has to reproduce on the baseline every time",
    )


def _not_done(bench: Bench, milestone: Milestone, commit: str) -> Claim:
    verify = bench.branch(commit).check(bench.kit.benchmark.entry.command(milestone.verify), f"{milestone.id}-before")
    where = "at the baseline" if commit == bench.baseline else "by the milestones before it"
    return Claim(
        group="baseline",
        id=f"verify-{milestone.id}",
        ok=not verify.passed,
        sentence=f"{milestone.id} is not done {where}"
        if not verify.passed
        else f"{milestone.id}'s verify passes before its work is begun: there is nothing to measure",
        fix="a verify command must fail until the milestone is developed",
    )
