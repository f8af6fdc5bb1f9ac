"""The components of ``code``: gates and corpus, by the registry's weights and formula."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from runner.schema.entry import Entry
from runner.schema.score import Component, Score
from runner.schema.weights import Band
from runner.scoring.corpus import Form, Tally
from runner.scoring.fold import band_share, cents, points, unmeasured

_WILDCARD_BAND = Band(full=0.05, zero=0.3)


@dataclass(frozen=True)
class Corpus:
    """What was measured of a corpus. ``unusable``: why the contestant's corpus earns nothing (red, flaky, guessing).

    ``recall`` and ``mutation`` null: the benchmark has nothing to measure them with, or the rig did not measure them.
    """

    form: Form
    recall: Tally | None
    mutation: tuple[int, int] | None
    unusable: str | None = None


def code_components(entry: Entry, gates: Score | None, corpus: Corpus | None, why_not: str) -> list[Component]:
    """All components that the registry weighs; ``why_not`` is the reason for a layer that was not measured."""
    return [
        *_gates(entry, "prerequisites", "prerequisite", gates, why_not),
        *_gates(entry, "gates", "points", gates, why_not),
        *_criterion(entry, gates, why_not),
        *_corpus(entry, corpus, why_not),
    ]


def _gates(
    entry: Entry, part: str, kind: Literal["points", "prerequisite"], gates: Score | None, why_not: str
) -> list[Component]:
    found = {gate.id: gate for gate in gates.gates} if gates else {}
    components = []
    for name, weight in entry.weights.code.get(part, {}).items():
        gate = found.get(name)
        if gate is None or gate.passed is None:
            component = unmeasured(f"{part}.{name}", weight, (gate.reason if gate else None) or why_not)
        else:
            said = f"pass: {weight:g}" if gate.passed else "fail: 0"
            component = points(f"{part}.{name}", weight, float(gate.passed), said)
        components.append(component.model_copy(update={"kind": kind}))
    return components


def _criterion(entry: Entry, gates: Score | None, why_not: str) -> list[Component]:
    """The part of the counted cases that pass in every repeat."""
    weight = entry.weights.code.get("criterion", {}).get("cases")
    if weight is None:
        return []
    gate = next((g for g in gates.gates if g.id == "criterion"), None) if gates else None
    if gate is None or gate.share is None:
        return [unmeasured("criterion.cases", weight, (gate.reason if gate else None) or why_not)]
    return [points("criterion.cases", weight, gate.share, f"{gate.share:.3f} of the counted cases x {weight:g}")]


def _corpus(entry: Entry, corpus: Corpus | None, why_not: str) -> list[Component]:
    shares = _seed_shares if entry.formula == "seed-1" else _runner_shares
    components = []
    for name, weight in entry.weights.code.get("corpus", {}).items():
        if corpus is None:
            components.append(unmeasured(f"corpus.{name}", weight, why_not))
            continue
        found = shares(entry, corpus).get(name)
        if found is None:
            components.append(unmeasured(f"corpus.{name}", weight, "the benchmark has nothing to measure it with"))
        elif corpus.unusable:
            components.append(points(f"corpus.{name}", weight, 0.0, corpus.unusable))
        else:
            judged = {"judged": weight * found.judged} if found.judged else {}
            part = points(f"corpus.{name}", weight, found.share, f"{found.of} x {weight:g}")
            components.append(part.model_copy(update=judged))
    return components


@dataclass(frozen=True)
class Share:
    """A part (0 to 1) of a component's weight, of what; ``judged``: how much of it a judge's votes decided."""

    share: float
    of: str
    judged: float = 0.0


def _seed_shares(entry: Entry, corpus: Corpus) -> dict[str, Share]:
    """As published; a corpus that asserts nothing earns nothing for its form.

    The seed rounds the share of four-channel cases to hundredths of a percent and the ratio to four decimals first.
    """
    out: dict[str, Share] = {}
    form, recall = corpus.form, corpus.recall
    if corpus.mutation is not None:
        killed, total = corpus.mutation
        out["mutation"] = Share(killed / total if total else 0.0, f"{killed}/{total} mutants killed")
    if recall is not None:
        votes = f", {recall.judged} of them by votes" if recall.judged else ""
        said = f"{recall.matched}/{recall.total} etalon cases by {recall.source}{votes}"
        total = recall.total or 1
        out["recall"] = Share(recall.matched / total, said, recall.judged / total)
        if recall.gaps_total:
            gaps = f"{recall.gaps_matched}/{recall.gaps_total} gap cases"
            out["gaps"] = Share(
                recall.gaps_matched / recall.gaps_total, gaps, recall.judged_gaps / recall.gaps_total
            )  # fmt: skip
    if not form.channels:
        return out
    four = float(cents(100 * (form.four_channel_share or 0.0))) / 100
    out["four_channel"] = Share(four, f"{form.four_channel_cases}/{form.case_count} cases")
    band = entry.weights.thresholds.get("wildcard", _WILDCARD_BAND)
    if form.wildcard_line_ratio is None:
        out["wildcard"] = Share(0.0, "no asserted line")
    else:
        ratio = round(form.wildcard_line_ratio, 4)
        said = f"wildcard line ratio {ratio:g} against band {band.full:g} to {band.zero:g}"
        out["wildcard"] = Share(band_share(band, ratio), said)
    return out


def _runner_shares(entry: Entry, corpus: Corpus) -> dict[str, Share]:
    """Form counts in proportion to recall: a tidy corpus that notices nothing is worth nothing."""
    out = _seed_shares(entry, corpus)
    recalled = (corpus.recall.share if corpus.recall else None) or 0.0
    for name in ("four_channel", "wildcard"):
        if name in out:
            found = out[name]
            out[name] = Share(found.share * recalled, f"{found.of} x recall {recalled:.3f}")
    return out
