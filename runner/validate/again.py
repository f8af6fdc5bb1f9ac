"""Claim group 5, for the patches: what the corpus was run on is judged once more, in another order and container."""

from __future__ import annotations

from collections.abc import Sequence

from runner.schema.certificate import Claim
from runner.scoring.mutations import Mutant, Sweep, Sweeper
from runner.scoring.patches import Patch


def prove_alike(
    sweeper: Sweeper, sweep: Sweep, patches: Sequence[Patch], placebos: Sequence[Patch], *, stops: bool
) -> list[Claim]:
    """``sweep``: what ``patches`` came to with every case, and ``placebos`` up to the first that fails. Now all end
    there, where the registry says how (``stops``). Nothing is claimed where the controls made a sweep impossible.
    """
    if not sweep.mutants:
        return []
    first = [*sweep.mutants, *sweep.placebos]
    # A mutant's command has other arguments than it had with every case: that is another check without a number.
    second = sweeper.again([(p, 0 if stops else 1) for p in patches] + [(p, 1) for p in placebos])
    flaky = [
        f"{one.name} ({_said(one)} | {_said(two)})"
        for one, two in zip(first, second, strict=True)
        if not _alike(one, two, stops)
    ]
    return [
        Claim(
            group="determinism",
            id="mutants",
            ok=not flaky,
            sentence=f"flaky, and so in quarantine: {'; '.join(sorted(flaky))}"
            if flaky
            else f"{len(first)} mutants and placebos judged twice, in another order: always alike",
            fix="a patch that is noticed now and then measures luck: mend it, or the case that notices it",
            evidence={"flaky": sorted(flaky)} if flaky else {},
        )
    ]


def _alike(one: Mutant, two: Mutant, stops: bool) -> bool:
    """Where the second run ended at its first failing case, that one has to be among the first run's."""
    named = set(two.killed_by) <= set(one.killed_by) if stops else set(two.killed_by) == set(one.killed_by)
    return one.verdict == two.verdict and named


def _said(mutant: Mutant) -> str:
    return f"{mutant.verdict} by {', '.join(mutant.killed_by)}" if mutant.killed_by else mutant.verdict
