"""Layer ``corpus``: the form of the branch's cases, and how much of the frozen etalon's behaviour they notice.

Recall has three sources, in this order of trust, and each etalon case has one of them:

- *behaviour*: the case has a probe of its own (a frozen fault that, of the whole etalon, only this case notices), and
  the branch's corpus kills it. What it does not kill is not recalled, whatever a weaker source says.
- *exact names*, for cases without a probe.
- *a judge's mapping*, for what is left of those: where most of at least three independent votes name the same case.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from runner.schema.mapping import CaseMapping
from runner.scoring.mutations import Sweep
from runner.scoring.readers import Case


@dataclass(frozen=True)
class Form:
    """Sums over the corpus. ``wildcard_line_ratio`` is null for a corpus that asserts nothing; ``channels`` is false
    for a case format that has none, so that nothing can be said about them.
    """

    case_count: int
    four_channel_cases: int
    asserted_lines: int
    wildcards: int
    wildcard_lines: int
    channels: bool = True

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
        channels=all(c.channels is not None for c in cases),
    )


@dataclass(frozen=True)
class Tally:
    """What the fold needs of recall: counts, their source, and how many of them a judge decided."""

    matched: int
    total: int
    gaps_matched: int
    gaps_total: int
    source: str
    judged: int = 0
    judged_gaps: int = 0

    @property
    def share(self) -> float | None:
        return self.matched / self.total if self.total else None


@dataclass(frozen=True)
class Recall:
    """Etalon cases recalled; ``gaps`` is the part that no legacy test covered. ``judged``: those of ``matched`` that
    rest on votes; ``agreement``: mean share of the votes that agree, over the cases the judges were asked about.
    """

    matched: tuple[str, ...]
    unmatched: tuple[str, ...]
    gaps_matched: tuple[str, ...]
    gaps_total: int
    source: str
    judged: tuple[str, ...] = ()
    agreement: float | None = None
    gaps_unmatched: tuple[str, ...] = ()

    @property
    def total(self) -> int:
        return len(self.matched) + len(self.unmatched)

    @property
    def tally(self) -> Tally:
        by_votes = set(self.judged)
        return Tally(len(self.matched), self.total, len(self.gaps_matched), self.gaps_total, self.source,
                     len(by_votes), len(by_votes & set(self.gaps_matched)))  # fmt: skip


def recall_of(
    names: Sequence[str],
    etalon: Sequence[str],
    gaps: Sequence[str],
    *,
    sweep: Sweep | None = None,
    probe_of: Mapping[str, str] | None = None,
    mapping: CaseMapping | None = None,
) -> Recall:
    """``names``: the branch's cases; ``probe_of``: etalon case to the name of its probe, judged by ``sweep``."""
    probes = probe_of or {}
    killed = {m.name for m in sweep.mutants if m.verdict == "killed"} if sweep and not sweep.unusable else set()
    there = set(names)
    behaved = {case for case in etalon if probes.get(case) in killed}
    named = {case for case in etalon if case not in probes and case in there}
    open_ = [case for case in etalon if case not in probes and case not in named]
    voted, agreement = _vote(mapping, open_, there - named) if mapping and open_ else (set(), None)
    found = behaved | named | voted
    sources = ["behaviour"] if probes else []
    if named or not probes:
        sources.append("exact names")
    if voted:
        sources.append("judge")
    return Recall(
        matched=tuple(c for c in etalon if c in found),
        unmatched=tuple(c for c in etalon if c not in found),
        gaps_matched=tuple(c for c in gaps if c in found),
        gaps_total=len(gaps),
        source=" + ".join(sources),
        judged=tuple(sorted(voted)),
        agreement=agreement,
        gaps_unmatched=tuple(c for c in gaps if c not in found),
    )


def _vote(mapping: CaseMapping, open_: Sequence[str], free: set[str]) -> tuple[set[str], float]:
    """Etalon cases for which most votes name one and the same free case of the branch, and the mean agreement.

    A vote for a case that the branch does not have, or that matched by its name already, counts as "none". Each of the
    branch's cases is given away once, to the etalon case with the most votes.
    """
    votes = len(mapping.votes)
    agreement = 0.0
    wishes: list[tuple[int, str, str]] = []
    for case in open_:
        answers = [vote.mapping.get(case) for vote in mapping.votes]
        counted = Counter(answer if answer in free else None for answer in answers)
        agreement += max(counted.values()) / votes
        wishes += [(-n, case, answer) for answer, n in counted.items() if answer is not None and 2 * n > votes]
    taken: set[str] = set()
    given: set[str] = set()
    for _, case, answer in sorted(wishes):
        if answer not in taken:
            taken.add(answer)
            given.add(case)
    return given, round(agreement / len(open_), 3)
