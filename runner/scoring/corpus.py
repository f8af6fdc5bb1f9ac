"""Layer ``corpus``: the form of the branch's cases, and how much of the frozen etalon's behaviour they notice.

Recall is measured by behaviour: an etalon case is recalled when its own probe (a frozen fault that, of the whole
etalon, only this case notices) is killed by the branch's corpus. Where the benchmark has no probes, exact file names
are what is left, and the cell says so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from runner.scoring.mutations import Sweep
from runner.scoring.readers import Case


@dataclass(frozen=True)
class Form:
    """Sums over the corpus. ``wildcard_line_ratio`` is null for a corpus that asserts nothing."""

    case_count: int
    four_channel_cases: int
    asserted_lines: int
    wildcards: int
    wildcard_lines: int

    @property
    def four_channel_share(self) -> float | None:
        return self.four_channel_cases / self.case_count if self.case_count else None

    @property
    def wildcard_line_ratio(self) -> float | None:
        return self.wildcard_lines / self.asserted_lines if self.asserted_lines else None


def form_of(cases: Sequence[Case]) -> Form:
    return Form(
        case_count=len(cases),
        four_channel_cases=sum(c.four_channel for c in cases),
        asserted_lines=sum(c.asserted_lines for c in cases),
        wildcards=sum(c.wildcards for c in cases),
        wildcard_lines=sum(c.wildcard_lines for c in cases),
    )


@dataclass(frozen=True)
class Recall:
    """Etalon cases recalled, of all; ``gaps`` is the part that no legacy test covered. ``source`` says by what."""

    matched: tuple[str, ...]
    unmatched: tuple[str, ...]
    gaps_matched: tuple[str, ...]
    gaps_total: int
    source: str

    @property
    def total(self) -> int:
        return len(self.matched) + len(self.unmatched)

    @property
    def share(self) -> float | None:
        return len(self.matched) / self.total if self.total else None


def recall_by_behaviour(
    sweep: Sweep, probe_of: Mapping[str, str], etalon: Sequence[str], gaps: Sequence[str]
) -> Recall:
    """``probe_of``: etalon case to the name of its probe. Where no kill counts, nothing is recalled."""
    killed = set() if sweep.unusable else {m.name for m in sweep.mutants if m.verdict == "killed"}
    return _recall([case for case in etalon if probe_of.get(case) in killed], etalon, gaps, "behaviour")


def recall_by_name(names: Sequence[str], etalon: Sequence[str], gaps: Sequence[str]) -> Recall:
    """Exact file names: weak evidence, used only where there are no probes."""
    return _recall([case for case in etalon if case in set(names)], etalon, gaps, "exact names")


def _recall(matched: Sequence[str], etalon: Sequence[str], gaps: Sequence[str], source: str) -> Recall:
    found = set(matched)
    return Recall(
        matched=tuple(c for c in etalon if c in found),
        unmatched=tuple(c for c in etalon if c not in found),
        gaps_matched=tuple(c for c in gaps if c in found),
        gaps_total=len(gaps),
        source=source,
    )
