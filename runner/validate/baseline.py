"""Claim group 2: on the untouched baseline CI is green, and nothing that is to be achieved is there before its turn."""

from __future__ import annotations

from runner.lab.text import plain
from runner.schema.certificate import Claim
from runner.schema.entry import Milestone
from runner.scoring.criterion import judge_criterion
from runner.scoring.patches import reference_stages
from runner.validate.bench import Bench


def prove_baseline_claims(bench: Bench) -> list[Claim]:
    entry = bench.kit.benchmark.entry
    baseline = bench.branch(bench.baseline)
    ci = baseline.check(entry.commands["ci"], "baseline-ci")  # its own tests have to prove it here as well
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
    claims += [
        _not_done(bench, milestone, before) for milestone, before in zip(entry.milestones, _stages(bench), strict=False)
    ]
    if entry.criterion is not None:
        verdicts = judge_criterion(bench.branch(bench.baseline))
        passed = [v.number for v in verdicts if v.passed]
        counted = set(entry.criterion.counted)
        stand = [(v.number, sorted(odd)) for v in verdicts if v.passed is False and (odd := counted - set(v.failed))]
        unmeasured = [v.detail for v in verdicts if v.passed is None]
        claims.append(
            Claim(
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
        )
    return claims


def _stages(bench: Bench) -> list[str]:
    """The commit that each milestone begins from, as far as the reference says: it has a patch for every one."""
    entry = bench.kit.benchmark.entry
    if bench.reference is None or len(entry.reference) != len(entry.milestones):
        return [bench.baseline]
    return reference_stages(bench.kit.benchmark, bench.mirror, bench.baseline)[:-1]


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
