"""Every deterministic layer of a stored run again, from its bundle and its logs: no agent, no model, no network.

The same branch, scorer, benchmark and images give the same score files to the byte. What comes out differently is said
cell by cell, with what explains it; a difference that nothing explains is a scorer that cannot be trusted.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from runner import __version__
from runner.errors import ProofError
from runner.gateway.providers import load_providers, providers_file
from runner.lab.baseline import prove_baseline
from runner.lab.kit import Kit
from runner.prices import Price
from runner.report.row import row
from runner.schema.arm import Arm
from runner.schema.base import canonical
from runner.schema.ledger import Usage
from runner.schema.mapping import CaseMapping
from runner.schema.run import Change, Revision, RunResult
from runner.schema.score import Component, Score
from runner.scoring import SCORER_VERSION
from runner.scoring.branch import Branch
from runner.scoring.code import Corpus, code_components
from runner.scoring.cost import Pricer
from runner.scoring.fold import compose
from runner.scoring.gates import GATES, measure_gates
from runner.scoring.layers import measure_corpus
from runner.stages.conclude import publish, series_of, write_pages
from runner.stages.stored import Stored, opened_branch
from runner.stages.trail import follow
from runner.store.clock import now
from runner.store.files import locked, write_record

Tell = Callable[[str], None]


@dataclass(frozen=True)
class How:
    """``full``: the corpus of a control, too. ``workers``: gates side by side, and mutants. ``seed``: shuffles the
    order in which gates are judged (null: as they are listed). Neither may change what comes out.
    """

    full: bool = False
    mapping: CaseMapping | None = None
    workers: int | None = None
    seed: int | None = None


def rescore(kit: Kit, stored: Stored, how: How, tell: Tell) -> Revision:
    """Score the run again into a new revision and append its row; the old revision stays as it is.

    Raises ProofError, after the revision is written, where something differs that nothing explains.
    """
    entry = stored.benchmark.entry
    with locked(stored.benchmark.runs_dir.parent / ".rescore.lock"), opened_branch(stored) as (mirror, head):
        prove_baseline(kit, mirror, stored.lock.baseline, run_id=stored.lock.run_id,
                       cache=stored.benchmark.runs_dir.parent / "cache")  # fmt: skip
        new = stored.run.draft()
        branch = Branch(kit, mirror, stored.lock.baseline, head, stored.lock.run_id, new.output)
        scores, corpus, why_not = _measure(branch, stored, how, tell)
        gates = next(score for score in scores if score.layer == "gates")
        parts = code_components(entry, gates, corpus, why_not)
        old = stored.result
        diff_lines = mirror.diff_lines(stored.lock.baseline, head)
        trail = follow(
            new,
            stored.lock,
            entry,
            old.attempts,
            old.outcome,
            diff_lines,
            list_prices(stored.benchmark.home, stored.lock.arm),
        )
        scores += [trail.process, trail.cost]
        result = old.model_copy(update={
            "components": parts + trail.agentic, "code": compose(parts, entry.formula),
            "agentic": compose(trail.agentic, entry.formula), "freeze": trail.freeze, "identity": trail.identity,
            "diff_lines": diff_lines, "revision": new.revision,
        })  # fmt: skip
        reasons = _reasons(kit, stored, how, scores)
        changes = differences(stored.result, stored.scores, result, scores, "; ".join(reasons))
        for score in scores:
            new.write_score(score)
        if stored.run.reviews_file.exists():
            new.reviews_file.write_bytes(stored.run.reviews_file.read_bytes())
        write_record(new.result_file, result)
        series = series_of(stored.lock, stored.benchmark.hash, entry.formula, result.rubric)
        revision = Revision(
            run_id=stored.lock.run_id, revision=new.revision, kind="rescore", at=now(), scorer_version=SCORER_VERSION,
            runner_version=__version__, benchmark_hash=stored.benchmark.hash, series=series,
            images={role: image.id for role, image in sorted(kit.images.items())},
            columns=entry.history_columns, changes=changes,
        )  # fmt: skip
        write_record(new.revision_file, revision)
        write_pages(stored.benchmark, new, stored.lock, result, scores, series)
        publish(stored.benchmark, new)
    if changes and not reasons:
        first = changes[0]
        raise ProofError(
            f"run {stored.run.path.name}: {first.what} was {first.before} and is {first.after}, although nothing that "
            "decides it has changed",
            f"the check is not deterministic; {new.folder} holds both",
        )
    return revision


def _measure(
    branch: Branch, stored: Stored, how: How, tell: Tell
) -> tuple[list[Score], Corpus | None, str]:  # fmt: skip
    order: list[str] = list(GATES)
    if how.seed is not None:
        random.Random(how.seed).shuffle(order)
    workers = how.workers or branch.kit.side_by_side
    gates = measure_gates(branch, stored.result.attempts, lambda gate: tell(f"gate {gate.id}: {gate.passed}"),
                          order=order, workers=workers)  # fmt: skip
    scores, corpus, why_not = [gates], None, "a run that did not pass has no score"
    if stored.result.outcome == "pass":
        why_not = "a control's corpus is scored by bench validate, or with --full"
        if how.full or stored.score("corpus") is not None or stored.lock.arm.role == "treatment":
            why_not = "the benchmark has no corpus"
            found = measure_corpus(branch, tell, workers, mapping=how.mapping)
            if found is not None:
                corpus = found.corpus
                scores += found.scores
    # What people graded is taken over as it is.
    return [*scores, *(score for score in stored.scores if score.layer == "review")], corpus, why_not


def list_prices(registry_folder: Path, arm: Arm) -> Pricer:
    """Prices as the registry's providers list them for the arm's model, each by the day of its request."""
    provider = load_providers(providers_file(registry_folder)).by_name.get(arm.provider)

    def by_list(model: str, usage: Usage, at: datetime) -> Price:
        if provider is None:
            return Price(None, f"there is no provider {arm.provider} any more")
        return provider.price_of(model, usage, at, pinned=arm.model)

    return by_list


def _reasons(kit: Kit, stored: Stored, how: How, scores: Sequence[Score]) -> list[str]:
    """What may explain a difference: everything that decides a score and is not as it was."""
    reasons = []
    now_by = {score.layer: score.scorer_version for score in scores}
    changed = {s.scorer_version: now_by[s.layer] for s in stored.scores
               if s.layer in now_by and now_by[s.layer] != s.scorer_version}  # fmt: skip
    reasons += [f"scorer version {before} to {after}" for before, after in sorted(changed.items())]
    lists = [_price_list(found) for found in (stored.scores, scores)]
    if lists[0] and lists[0] != lists[1]:
        reasons.append(f"price list {lists[0]} to {lists[1] or '-'}")
    if stored.benchmark_hash != stored.benchmark.hash:
        reasons.append(f"registry hash {stored.benchmark_hash[:12]} to {stored.benchmark.hash[:12]}")
    for role, image in sorted(kit.images.items()):
        used = stored.images.get(role)
        if role != "base" and used is not None and used != image.id:
            reasons.append(f"image {role} {_short(used)} to {_short(image.id)}")
    if how.mapping is not None:
        reasons.append("a judge's mapping was given")
    if how.full and stored.score("corpus") is None:
        reasons.append("the corpus was scored for the first time")
    return reasons


def _price_list(scores: Sequence[Score]) -> str | None:
    cost = next((score for score in scores if score.layer == "cost"), None)
    cell = cost.figures.get("list_usd") if cost else None
    return (cell.source or cell.reason) if cell else None


def _short(image: str) -> str:
    return image.removeprefix("sha256:")[:12]


def differences(
    old: RunResult, old_scores: Sequence[Score], new: RunResult, new_scores: Sequence[Score], why: str
) -> list[Change]:
    """Cell by cell: the row's, every gate, every figure and every component."""
    before = {**_row(old), **_facts(old_scores), **_parts(old.components)}
    after = {**_row(new), **_facts(new_scores), **_parts(new.components)}
    return [
        Change(what=what, before=before.get(what, "-"), after=after.get(what, "-"), why=why or "nothing explains it")
        for what in dict.fromkeys([*before, *after])
        if before.get(what, "-") != after.get(what, "-")
    ]


def _row(result: RunResult) -> dict[str, str]:
    cells = row(result, report="", series="")
    return {name: text for name, text in cells.items() if name not in ("revision", "report", "series", "rubric")}


def _facts(scores: Sequence[Score]) -> dict[str, str]:
    words = {True: "pass", False: "fail", None: "-"}
    found: dict[str, str] = {}
    for score in scores:
        for gate in score.gates:
            found[f"gate {gate.id}"] = words[gate.passed]
            found[f"gate {gate.id}, evidence"] = canonical(gate.evidence)
        for name, cell in score.figures.items():
            found[f"{score.layer}: {name}"] = cell.text()
    return found


def _parts(components: Sequence[Component]) -> dict[str, str]:
    return {f"component {c.id}": "-" if c.earned is None else f"{c.earned:g} of {c.weight:g}" for c in components}


def changed_lines(revision: Revision, folder: Path) -> list[str]:
    """The differences in words."""
    if not revision.changes:
        return [f"revision {revision.revision}: nothing changed ({folder})"]
    head = f"revision {revision.revision}: {len(revision.changes)} things changed ({folder})"
    return [head, *(f"  {c.what}: {c.before} -> {c.after}  [{c.why}]" for c in revision.changes)]
