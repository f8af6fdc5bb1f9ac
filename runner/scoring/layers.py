"""Measures the corpus of a branch: form, recall and mutations, as stored scores and as input of the fold."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass

from runner.lab.bay import Bays
from runner.lab.tree import Overlay, protected_overlay
from runner.registry.benchmark import Benchmark
from runner.registry.manifests import patch_entries
from runner.schema.cell import Cell
from runner.schema.score import Score
from runner.scoring import SCORER_VERSION
from runner.scoring.branch import Branch
from runner.scoring.code import Corpus
from runner.scoring.corpus import Form, Recall, form_of, recall_by_behaviour, recall_by_name
from runner.scoring.mutations import Mutant, Sweep, Sweeper
from runner.scoring.patches import patch_set, reference_commit
from runner.scoring.readers import reader
from runner.scoring.suite import Cases, Suite, cases_of


@dataclass(frozen=True)
class CorpusResult:
    """``sweep`` is null for a benchmark without mutations."""

    corpus: Corpus
    sweep: Sweep | None
    scores: list[Score]


def measure_corpus(
    branch: Branch, announce: Callable[[str], None], side_by_side: int, *, whole: bool = False
) -> CorpusResult | None:
    """The corpus of the branch's head, or null where the benchmark has none to measure. ``whole`` runs every case on
    every mutant instead of stopping at the first that fails: the same verdicts, and the full kill matrix.
    """
    entry = branch.kit.benchmark.entry
    if entry.cases_dir is None:
        return None
    cases = cases_of(branch.mirror, branch.head, entry.cases_dir)
    return measure_cases(branch, cases, announce, side_by_side, whole=whole)


def measure_cases(
    branch: Branch, cases: Cases, announce: Callable[[str], None], side_by_side: int, *, whole: bool = False
) -> CorpusResult:
    """The same for any set of cases (a graded corpus of the benchmark's own)."""
    benchmark = branch.kit.benchmark
    entry = benchmark.entry
    found = reader(entry.case_reader)({name.decode("utf-8", "backslashreplace"): c for name, (_, c) in cases.items()})
    form = form_of(found)
    if entry.mutations is None:
        recall = (
            recall_by_name([c.name for c in found], entry.etalon_cases, entry.gap_cases) if entry.etalon_cases else None
        )
        corpus = Corpus(form, recall, None)
        return CorpusResult(corpus, None, [_corpus_score(corpus, form, recall)])
    probes, faults = patch_set(benchmark, entry.probes_dir), patch_set(benchmark, entry.mutations_dir)
    sweep = _sweep(branch, cases, side_by_side, announce, whole)
    probe_names = {p.name for p in probes}
    by_set = _split(sweep, probe_names)
    recall = (
        recall_by_behaviour(by_set[0], probe_of(benchmark), entry.etalon_cases, entry.gap_cases)
        if probes
        else recall_by_name([c.name for c in found], entry.etalon_cases, entry.gap_cases)
    )
    total = len(faults)  # one that only the contestant's edits broke stays in it, as survived
    corpus = Corpus(form, recall, (by_set[1].killed, total) if faults else None, sweep.unusable)
    return CorpusResult(corpus, sweep, [_corpus_score(corpus, form, recall), _mutation_score(by_set[1], total)])


def _sweep(branch: Branch, cases: Cases, side_by_side: int, announce: Callable[[str], None], whole: bool) -> Sweep:
    benchmark, mirror = branch.kit.benchmark, branch.mirror
    entry = benchmark.entry
    assert entry.mutations is not None
    target = entry.mutations.target
    reference = reference_commit(benchmark, mirror, branch.baseline) if target == "reference" else branch.baseline
    program = branch.head if target == "branch" else reference
    controls = {"the frozen baseline": branch.baseline} if "baseline" in entry.mutations.controls else {}
    patches = patch_set(benchmark, entry.probes_dir) + patch_set(benchmark, entry.mutations_dir)
    protected: Overlay = {}
    if target == "branch":
        protected = protected_overlay(mirror, branch.baseline, branch.head, entry.protected, entry.scope_allowlist)
    with ExitStack() as stack:
        place = branch.place or stack.enter_context(Bays(branch.kit, mirror, branch.run_id, side_by_side)).run
        suite = Suite(branch.kit, mirror, cases, branch.run_id, dict(protected), place=place)
        sweeper = Sweeper(suite, program, target == "branch", side_by_side, announce)
        return sweeper.sweep(patches, patch_set(benchmark, entry.placebos_dir), controls, whole=whole)


def _split(sweep: Sweep, probes: set[str]) -> tuple[Sweep, Sweep]:
    def part(keep: Callable[[Mutant], bool]) -> Sweep:
        return Sweep(
            sweep.control, sweep.after, tuple(m for m in sweep.mutants if keep(m)), sweep.placebos, sweep.extra
        )

    return part(lambda m: m.name in probes), part(lambda m: m.name not in probes)


def probe_of(benchmark: Benchmark) -> dict[str, str]:
    """From etalon case to its own probe: the one that, of the whole etalon, only this case notices."""
    entries = patch_entries(benchmark, benchmark.entry.probes_dir)
    return {e.killers[0]: e.id for e in entries if len(e.killers) == 1}


def _corpus_score(corpus: Corpus, form: Form, recall: Recall | None) -> Score:
    figures = {
        "case_count": Cell.of(form.case_count, "files"),
        "four_channel_cases": Cell.of(form.four_channel_cases, "files"),
        "asserted_lines": Cell.of(form.asserted_lines, "files"),
        "wildcards": Cell.of(form.wildcards, "files"),
        "wildcard_lines": Cell.of(form.wildcard_lines, "files"),
        "wildcard_line_ratio": Cell.none("the corpus asserts nothing")
        if form.wildcard_line_ratio is None
        else Cell.of(round(form.wildcard_line_ratio, 4), "files"),
        "recall": Cell.none("the benchmark has no etalon")
        if recall is None
        else Cell.of(f"{len(recall.matched)}/{recall.total}", recall.source),
        "gaps": Cell.none("the benchmark names no gaps")
        if recall is None or not recall.gaps_total
        else Cell.of(f"{len(recall.gaps_matched)}/{recall.gaps_total}", recall.source),
        "unmatched": Cell.none("nothing to match")
        if recall is None
        else Cell.of(", ".join(recall.unmatched) or "none", recall.source),
    }
    return Score(layer="corpus", scorer_version=SCORER_VERSION, figures=figures, reason=corpus.unusable)


def _mutation_score(sweep: Sweep, total: int) -> Score:
    figures = {
        "control": Cell.of(sweep.control.ended, "lab"),
        "killed": Cell.of(f"{sweep.killed}/{total}", "lab"),
        "placebos": Cell.of(", ".join(sweep.bitten) or "none bitten", "lab"),
    }
    for verdict in ("survived", "timeout", "invalid", "not-applicable"):
        names = [m.name for m in sweep.mutants if m.verdict == verdict]
        figures[verdict] = Cell.of(", ".join(names) or "none", "lab")
    return Score(layer="mutations", scorer_version=SCORER_VERSION, figures=figures, reason=sweep.unusable)
