"""Reviews of a stored run: asked for here or given elsewhere, folded into a new revision's detail, report and row."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from runner import __version__
from runner.errors import ProviderError, UsageError
from runner.gateway.client import Gateway
from runner.repo import Mirror
from runner.schema.base import digest
from runner.schema.cell import Cell
from runner.schema.review import Review, ReviewImport, ReviewRecord
from runner.schema.run import Change, Revision
from runner.scoring import SCORER_VERSION
from runner.scoring.ask import Said
from runner.scoring.given import read_given
from runner.scoring.panel import answers
from runner.scoring.review import (
    Places,
    basis,
    check_reviewers,
    from_import,
    prompt_for,
    read_answer,
    review_cell,
    review_score,
)
from runner.stages.conclude import publish, series_of, write_pages
from runner.stages.rescore import Tell, differences
from runner.stages.stored import Stored, opened_branch
from runner.store.clock import now
from runner.store.files import locked, write_record
from runner.store.rundir import RunDir

_KEPT_CHARS = 4_000


def reviewable(stored: Stored) -> None:
    """Raises UsageError for a run that has no score: a failed run is not graded on its partial work."""
    if stored.result.outcome != "pass":
        raise UsageError(f"run {stored.run.path.name} is {stored.result.outcome}: only a run that passed is reviewed")


def import_reviews(stored: Stored, file: Path) -> Revision:
    """Fold grades that were given elsewhere. Raises ConfigError for a file that cannot be used."""
    reviewable(stored)
    given = read_given(ReviewImport, file)
    with opened_branch(stored) as (mirror, head):
        places = Places.of(mirror, stored.lock.baseline, head)
    record = from_import(given, stored.lock.run_id, stored.lock.arm.label, places)
    return _fold(stored, record, digest([record.rubric, record.prompt, sorted(r.reviewer for r in record.reviews)]))


def ask_reviewers(stored: Stored, gateway: Gateway, tell: Tell) -> Revision:
    """Ask every reviewer of the entry, each alone. Raises ConfigError for reviewers that may not review this run."""
    reviewable(stored)
    reviewers = stored.benchmark.entry.reviewers
    check_reviewers(reviewers, stored.lock.arm.label)
    with opened_branch(stored) as (mirror, head):
        places = Places.of(mirror, stored.lock.baseline, head)
        text = prompt_for(_task(stored, mirror), _diff(mirror, stored.lock.baseline, head), _outputs(stored.run),
                          stored.lock.arm)  # fmt: skip

    def read(name: str, said: Said | ProviderError) -> Review:
        review = _review(name, said, places)
        tell(f"{name}: {review.grades.mean if review.grades else review.reason}")
        return review

    run_id = f"{stored.lock.run_id}-review"
    with answers(gateway, stored.benchmark.home, reviewers, run_id, text, read) as (reviews, journals):
        by = basis(reviewers)
        record = ReviewRecord(run_id=stored.lock.run_id, rubric=str(by["rubric"]), prompt=str(by["prompt"]),
                              shown=digest(text), reviews=reviews)  # fmt: skip
        return _fold(stored, record, digest(by), journals)


def _review(name: str, said: Said | ProviderError, places: Places) -> Review:
    if isinstance(said, ProviderError):
        return Review(reviewer=name, given="gateway", valid=False, reason=f"no answer: {said.what}")
    answer, why_not = read_answer(said.text, places)
    if answer is None:
        return Review(reviewer=name, given="gateway", valid=False, reason=why_not, served=said.served,
                      answer=said.text[:_KEPT_CHARS])  # fmt: skip
    return Review(reviewer=name, given="gateway", valid=True, served=said.served, grades=answer.grades,
                  findings=answer.findings)  # fmt: skip


def _task(stored: Stored, mirror: Mirror) -> str:
    """The plan's pages as the baseline has them: what every contestant was asked for."""
    files = {m.file.encode(): m for m in stored.benchmark.entry.milestones}
    found = [f for f in mirror.tree(stored.lock.baseline) if f.path in files]
    return "\n\n".join(content.decode("utf-8", "replace").strip() for _, content in mirror.blobs(found))


def _diff(mirror: Mirror, baseline: str, head: str) -> str:
    out = mirror.git("diff", "--no-color", "--no-renames", "--no-ext-diff", "--no-textconv", baseline, head)
    return out.decode("utf-8", "backslashreplace")


def _outputs(run: RunDir) -> dict[str, str]:
    """What the gates printed when this revision was scored (where only reviews were given: when it last was)."""
    for number in reversed(run.sealed()):
        found = sorted(p for p in run.at(number).output.glob("gate-*") if p.suffix in (".out", ".err"))
        if found:
            return {p.name: p.read_bytes().decode("utf-8", "backslashreplace") for p in found if p.stat().st_size}
    return {}


def _fold(stored: Stored, record: ReviewRecord, rubric: str, journals: Sequence[Path] = ()) -> Revision:
    cell: Cell = review_cell(record)
    with locked(stored.benchmark.runs_dir.parent / ".rescore.lock"):
        new = stored.run.draft()
        scores = [score for score in stored.scores if score.layer != "review"] + [review_score(record)]
        result = stored.result.model_copy(update={"review": cell, "revision": new.revision, "rubric": rubric})
        changes: list[Change] = differences(stored.result, stored.scores, result, scores, "reviews were given")
        for score in scores:
            new.write_score(score)
        for journal in journals:
            (new.folder / f"review-{journal.name}").write_bytes(journal.read_bytes())
        write_record(new.reviews_file, record)
        write_record(new.result_file, result)
        series = series_of(stored.lock, stored.benchmark_hash, stored.benchmark.entry.formula, rubric)
        revision = Revision(
            run_id=stored.lock.run_id, revision=new.revision, kind="review", at=now(), scorer_version=SCORER_VERSION,
            runner_version=__version__, benchmark_hash=stored.benchmark_hash, series=series, images=stored.images,
            columns=stored.benchmark.entry.history_columns, changes=changes,
        )  # fmt: skip
        write_record(new.revision_file, revision)
        write_pages(stored.benchmark, new, stored.lock, result, scores, series)
        publish(stored.benchmark, new)
    return revision
