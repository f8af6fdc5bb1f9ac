"""Layer ``mutations``: does the branch's corpus notice frozen single faults in a frozen program?

A kill counts only when the unmutated control is green before and after, at least one named case fails, and the placebos
(patches that change no behaviour) survive. A mutant that does not apply to its frozen program is the rig's fault; on
the branch's own program, one that only the contestant's edits broke counts as survived.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from random import SystemRandom
from typing import Any, Literal

from runner.scoring.patches import Patch, PatchFails, mutant
from runner.scoring.suite import Suite, SuiteResult

Verdict = Literal["killed", "survived", "not-applicable", "timeout", "invalid"]

_AGAIN = 100  # repeats from here on ask whether a red result is one that flips


@dataclass(frozen=True)
class Mutant:
    """One patch's verdict, with the cases that noticed it; ``flips``: the same corpus then let it pass."""

    name: str
    verdict: Verdict
    killed_by: tuple[str, ...] = ()
    detail: str = ""
    flips: bool = False
    exit_code: int | None = None


@dataclass(frozen=True)
class Sweep:
    """A whole patch set. ``control`` is green, or says how the corpus fails on the unmutated program."""

    control: SuiteResult
    after: SuiteResult | None = None
    mutants: tuple[Mutant, ...] = ()
    placebos: tuple[Mutant, ...] = ()
    extra: dict[str, SuiteResult] = field(default_factory=dict)

    @property
    def bitten(self) -> list[str]:
        """Placebos that the corpus took for faults: it is guessing."""
        return [m.name for m in self.placebos if m.verdict != "survived"]

    @property
    def unusable(self) -> str | None:
        """Why no kill counts, as far as the contestant caused it; None where kills count."""
        for name, result in [("the frozen program", self.control), *self.extra.items()]:
            if result.flips:
                return f"the corpus is flaky: on {name} first {result.ended}, then green{_named(result)}"
            if result.ended != "green":
                return f"the corpus is not green on {name}: {result.ended}{_named(result)}"
        if self.after is not None and self.after.ended != "green":
            return f"the corpus is flaky: green before the sweep, {self.after.ended} after it{_named(self.after)}"
        if flips := [m.name for m in self.placebos if m.flips]:
            return f"the corpus is flaky: on {', '.join(flips)}, which changes no behaviour, first red, then green"
        if self.bitten:
            return f"the corpus fails on patches that change no behaviour: {', '.join(self.bitten)}"
        return None

    @property
    def killed(self) -> int:
        return 0 if self.unusable else sum(m.verdict == "killed" for m in self.mutants)


def _named(result: SuiteResult) -> str:
    said = ", ".join(result.failed[:5]) or (result.detail if result.ended == "invalid" else "")
    return f" ({said})" if said else ""


@dataclass(frozen=True)
class Sweeper:
    """Runs patch sets for one corpus. ``program`` is the frozen commit that is mutated (or the branch's own head)."""

    suite: Suite
    program: str
    own_program: bool
    side_by_side: int
    announce: Callable[[str], None]

    def sweep(
        self, patches: Sequence[Patch], placebos: Sequence[Patch], controls: dict[str, str], *, whole: bool = False
    ) -> Sweep:
        """Control; placebos and mutants, in an order that nobody knows, so that a corpus which counts its runs (by a
        clock, a transaction's number, ...) cannot tell which is which; when none is left to begin, control again. Once
        a placebo bites no kill counts, and only the other placebos are still run. ``controls`` are further programs
        (name to commit) on which the corpus has to be green; ``whole`` runs every case on every mutant (the full kill
        matrix) instead of stopping at the first failure. Raises PatchFails for a patch that does not fit its frozen
        program.
        """
        with ThreadPoolExecutor(self.side_by_side + 1) as pool:  # one more: it makes its mutant while the others run
            control_of = pool.submit(self._control, self.program)
            extra_of = {name: pool.submit(self._control, commit) for name, commit in controls.items()}
            control, extra = control_of.result(), {name: one.result() for name, one in extra_of.items()}
            sweep = Sweep(control, extra=extra)
            if sweep.unusable:
                return sweep if control.ended == "green" else Sweep(control)
            asked = [partial(self._placebo, p) for p in placebos]
            asked += [partial(self._one, p, whole=whole) for p in patches]
            begun = {n: pool.submit(asked[n]) for n in SystemRandom().sample(range(len(asked)), len(asked))}
            looked = [begun[n] for n in range(len(asked))]
            quiet, mutants = looked[: len(placebos)], looked[len(placebos) :]
            after = pool.submit(self._control, self.program, repeat=1)
            try:
                for one in quiet:
                    one.add_done_callback(partial(_stop_at_a_bite, others=[*mutants, after]))
                sweep = Sweep(control, None, (), tuple(one.result() for one in quiet), extra)
                if sweep.unusable:
                    return sweep
                found = tuple(one.result() for one in mutants)
                return Sweep(control, after.result(), found, sweep.placebos, extra)
            finally:
                pool.shutdown(wait=False, cancel_futures=True)

    def again(self, numbered: Sequence[tuple[Patch, int]]) -> tuple[Mutant, ...]:
        """Each patch up to the first failure, in an order that nobody knows; its number tells one run from another."""
        with ThreadPoolExecutor(self.side_by_side + 1) as pool:
            order = SystemRandom().sample(range(len(numbered)), len(numbered))
            begun = {n: pool.submit(self._one, numbered[n][0], whole=False, repeat=numbered[n][1]) for n in order}
            return tuple(begun[n].result() for n in range(len(numbered)))

    def _control(self, commit: str, repeat: int = 0) -> SuiteResult:
        result = self.suite.run(commit, repeat=repeat)
        if result.ended == "timeout":
            result = self.suite.run(commit, repeat=repeat)
        if result.ended == "red":
            result = replace(result, flips=self.suite.run(commit, repeat=repeat + _AGAIN).ended == "green")
        self.announce(f"control: {result.ended}")
        return result

    def _placebo(self, patch: Patch) -> Mutant:
        """One that is taken for a fault is run once more: a corpus that then passes is flaky, not guessing."""
        found = self._one(patch, whole=False)
        if found.verdict != "killed":
            return found
        return replace(found, flips=self._one(patch, whole=False, repeat=_AGAIN).verdict == "survived")

    def _one(self, patch: Patch, *, whole: bool, repeat: int = 0) -> Mutant:
        try:
            commit = mutant(self.suite.mirror, self.program, patch)
        except PatchFails as error:
            if not self.own_program:
                raise
            return Mutant(patch.name, "not-applicable", detail=error.what)
        result = self.suite.run(commit, first_kill=not whole, repeat=repeat)
        if result.ended == "timeout":  # a slow machine must not look like a kill: once more, and only then believed
            result = self.suite.run(commit, first_kill=not whole, repeat=repeat)
        judged = replace(_verdict(patch.name, result), exit_code=result.exit_code)
        self.announce(f"{patch.name}: {judged.verdict}")
        return judged


def _stop_at_a_bite(placebo: Future[Mutant], others: Sequence[Future[Any]]) -> None:
    if placebo.cancelled() or placebo.exception() or placebo.result().verdict == "survived":
        return
    for other in others:
        other.cancel()


def _verdict(name: str, result: SuiteResult) -> Mutant:
    if result.ended == "green":
        return Mutant(name, "survived")
    if result.ended == "red":
        return Mutant(name, "killed", result.failed)
    if result.ended == "timeout":
        return Mutant(name, "timeout", detail="ran into its limit twice")
    if result.ended == "no-tests":
        return Mutant(name, "invalid", detail="no case was executed although the control's were")
    return Mutant(name, "invalid", detail=result.detail)
