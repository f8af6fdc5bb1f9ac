"""Measures the corpus of a branch: form, recall and mutations, as stored scores and as input of the fold."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from runner.lab.bay import Bays
from runner.registry.benchmark import Benchmark
from runner.registry.manifests import patch_entries
from runner.schema.cell import Cell
from runner.schema.mapping import CaseMapping
from runner.schema.score import Score
from runner.scoring import SCORER_VERSION
from runner.scoring.branch import Branch
from runner.scoring.code import Corpus
from runner.scoring.corpus import Recall, form_of, recall_of
from runner.scoring.mutations import Mutant, Sweep, Sweeper
from runner.scoring.patches import fits, patch_set, reference_commit
from runner.scoring.readers import Case, reader
from runner.scoring.suite import Cases, Suite, SuiteResult, cases_of


@dataclass(frozen=True)
class CorpusResult:
    """``sweep`` (over the faults) is null for a benchmark without mutations. ``unfit``: patches that fit no frozen
    program; they are nobody's to kill.
    """

    corpus: Corpus
    sweep: Sweep | None
    scores: list[Score]
    cases: list[Case]
    recall: Recall | None
    unfit: frozenset[str] = frozenset()


def measure_corpus(
    branch: Branch,
    announce: Callable[[str], None],
    side_by_side: int,
    *,
    mapping: CaseMapping | None = None,
    whole: bool = False,
    faults: bool = True,
    run: bool = True,
) -> CorpusResult | None:
    """The corpus of the branch's head, or null where the benchmark has none to measure.

    ``mapping``: a judge's votes, for recall that nothing better can measure; ``whole``: every case on every mutant;
    without ``faults`` only the probes are judged, without ``run`` nothing is run and the form and names of the cases
    are all that is measured.
    """
    benchmark = branch.kit.benchmark
    entry = benchmark.entry
    if entry.cases_dir is None:
        return None
    cases = cases_of(branch.mirror, branch.head, entry.cases_dir)
    read = reader(entry.case_reader)
    files = {name.decode("utf-8", "backslashreplace"): c for name, (_, c) in cases.items()}
    sweep = None
    if entry.mutations is not None and run:
        sweep = _sweep(branch, cases, side_by_side, announce, whole=whole, faults=faults)
    found = read(files, sweep.control.executed or () if sweep else ())
    form = form_of(found)
    unusable = (sweep.unusable if sweep else None) or (None if found else "the corpus is empty")
    if sweep is None:
        recall = _recall(benchmark, found, None, mapping)
        corpus = Corpus(form, recall.tally if recall else None, None, unusable)
        return CorpusResult(corpus, None, [_corpus_score(corpus, recall)], found, recall)
    probe_names = {p.name for p in patch_set(benchmark, entry.probes_dir)}
    on_probes, on_faults = _split(sweep, probe_names)
    recall = _recall(benchmark, found, on_probes, mapping)
    unfit = _unfit(branch, on_faults)
    total = len(patch_set(benchmark, entry.mutations_dir)) - len(unfit)  # one that the contestant's edits broke stays
    corpus = Corpus(form, recall.tally if recall else None, (on_faults.killed, total) if total else None, unusable)
    scores = [_corpus_score(corpus, recall), _mutation_score(on_faults, total, unusable)]
    return CorpusResult(corpus, on_faults, scores, found, recall, unfit)


def _recall(
    benchmark: Benchmark, found: Sequence[Case], probes: Sweep | None, mapping: CaseMapping | None
) -> Recall | None:
    entry = benchmark.entry
    if not entry.etalon_cases:
        return None
    return recall_of(
        [c.name for c in found], entry.etalon_cases, entry.gap_cases,
        sweep=probes, probe_of=probe_of(benchmark) if entry.probes_dir else None, mapping=mapping,
    )  # fmt: skip


def _sweep(
    branch: Branch, cases: Cases, side_by_side: int, announce: Callable[[str], None], *, whole: bool, faults: bool
) -> Sweep:
    benchmark, mirror = branch.kit.benchmark, branch.mirror
    entry = benchmark.entry
    assert entry.mutations is not None
    if not cases:
        return Sweep(SuiteResult("no-tests", executed=(), detail="the corpus is empty"))
    target = entry.mutations.target
    reference = reference_commit(benchmark, mirror, branch.baseline) if target == "reference" else branch.baseline
    # What the branch may not change is the baseline's before anything is mutated: restored afterwards, it would undo
    # the mutation itself wherever the program lies outside the allowlist.
    program = mirror.overlaid(branch.head, branch.overlay, "restored") if target == "branch" else reference
    controls = {"the frozen baseline": branch.baseline} if "baseline" in entry.mutations.controls else {}
    patches = patch_set(benchmark, entry.probes_dir) + (patch_set(benchmark, entry.mutations_dir) if faults else [])
    with ExitStack() as stack:
        place = branch.place
        if place is None:
            place = stack.enter_context(Bays(branch.kit, mirror, branch.run_id, side_by_side)).run
        own = branch.baseline if target == "branch" else None
        suite = Suite(branch.kit, mirror, cases, branch.run_id, place=place, baseline=own)
        sweeper = Sweeper(suite, program, target == "branch", side_by_side, announce)
        return sweeper.sweep(patches, patch_set(benchmark, entry.placebos_dir), controls, whole=whole)


def _unfit(branch: Branch, sweep: Sweep) -> frozenset[str]:
    """Faults that fit neither the branch's program nor a frozen one: not the contestant's edits broke them."""
    lost = {m.name for m in sweep.mutants if m.verdict == "not-applicable"}
    benchmark, mirror = branch.kit.benchmark, branch.mirror
    frozen = {branch.baseline, reference_commit(benchmark, mirror, branch.baseline)} if lost else set()
    return frozenset(
        patch.name
        for patch in patch_set(benchmark, benchmark.entry.mutations_dir)
        if patch.name in lost and not any(fits(mirror, program, patch) for program in frozen)
    )


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


def _corpus_score(corpus: Corpus, recall: Recall | None) -> Score:
    form = corpus.form
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
    if recall is not None and recall.agreement is not None:
        figures["judged"] = Cell.of(", ".join(recall.judged) or "none", "judge")
        figures["agreement"] = Cell.of(recall.agreement, "judge")
    return Score(layer="corpus", scorer_version=SCORER_VERSION, figures=figures, reason=corpus.unusable)


def _mutation_score(sweep: Sweep, total: int, unusable: str | None) -> Score:
    figures = {
        "control": Cell.of(sweep.control.ended, "lab"),
        "killed": Cell.of(f"{sweep.killed}/{total}", "lab"),
        "placebos": Cell.of(", ".join(sweep.bitten) or "none bitten", "lab"),
    }
    for verdict in ("survived", "timeout", "invalid", "not-applicable"):
        names = [m.name for m in sweep.mutants if m.verdict == verdict]
        figures[verdict] = Cell.of(", ".join(names) or "none", "lab")
    return Score(layer="mutations", scorer_version=SCORER_VERSION, figures=figures, reason=unusable)
