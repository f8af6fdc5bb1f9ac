"""Layer ``review``: at least two reviewers on different models grade the change by one rubric, blind to who made it.

They see the task, the diff and what the checks printed, with the arm's names taken out. What they answer is checked
against a schema, and every place they cite must exist; an answer that fails is recorded as invalid and never patched.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from runner.errors import ConfigError
from runner.repo import Mirror
from runner.schema.arm import Arm
from runner.schema.base import complaint, digest
from runner.schema.cell import Cell
from runner.schema.review import CRITERIA, REVIEWERS_NEEDED, Answer, Finding, Review, ReviewImport, ReviewRecord
from runner.schema.score import Score
from runner.scoring import SCORER_VERSION

PENDING = "pending: no reviewer has graded it yet"
DIFF_BYTES = 400_000
OUTPUT_BYTES = 4_000
_TEMPLATES = Path(__file__).parent / "templates"


def rubric() -> str:
    """The shared rubric, word for word."""
    return (_TEMPLATES / "rubric.md").read_text(encoding="utf-8")


def basis(reviewers: Sequence[str]) -> dict[str, object]:
    """What makes reviews comparable: rubric, prompt and who reviews. A change of it is a new series."""
    return {"rubric": digest(rubric()), "prompt": digest(_template()), "reviewers": sorted(reviewers)}


def _template() -> str:
    return (_TEMPLATES / "review.md.j2").read_text(encoding="utf-8")


@dataclass(frozen=True)
class Places:
    """Which lines there are: of every file of the branch, and of those that it removed."""

    lines: Mapping[str, int]

    @classmethod
    def of(cls, mirror: Mirror, baseline: str, head: str) -> Places:
        found: dict[str, int] = {}
        for commit in (baseline, head):
            for file, content in mirror.blobs(mirror.tree(commit)):
                found[file.path.decode("utf-8", "backslashreplace")] = content.count(b"\n") + (
                    not content.endswith(b"\n") and bool(content)
                )
        return cls(found)

    def missing(self, findings: Sequence[Finding]) -> str | None:
        """The first cited place that does not exist."""
        for finding in findings:
            if finding.line > self.lines.get(finding.file, 0):
                return f"{finding.file}:{finding.line}"
        return None


def prompt_for(task: str, diff: str, outputs: Mapping[str, str], arm: Arm) -> str:
    """The one text that every reviewer of a run sees. The arm's names are taken out of diff and outputs."""
    from jinja2 import Environment, StrictUndefined

    blind = _Blinded(arm)
    shown = blind(diff)
    if len(shown) > DIFF_BYTES:
        shown = f"{shown[:DIFF_BYTES]}\n(cut here: the change is larger)\n"
    printed = "\n".join(f"## {name}\n\n{blind(text)[-OUTPUT_BYTES:]}\n" for name, text in sorted(outputs.items()))
    fence = f"===== {digest([shown, printed])[:24]} ====="
    environment = Environment(undefined=StrictUndefined, keep_trailing_newline=True, autoescape=False)
    template = environment.from_string(_template())
    return template.render(task=task.strip(), rubric=rubric(), diff=shown, outputs=printed, fence=fence)


class _Blinded:
    """Takes what names the arm out of a text."""

    def __init__(self, arm: Arm) -> None:
        names = {arm.label, arm.model, arm.model.rsplit("/", 1)[-1], arm.model_slug}
        words = sorted((re.escape(n) for n in names if len(n) > 3), key=len, reverse=True)
        self._pattern = re.compile("|".join(words), re.IGNORECASE) if words else None

    def __call__(self, text: str) -> str:
        return self._pattern.sub("[author]", text) if self._pattern else text


def read_answer(text: str, places: Places) -> tuple[Answer | None, str | None]:
    """A reviewer's answer, or why it is none. One JSON object is looked for; text around it is tolerated."""
    start, end = text.find("{"), text.rfind("}")
    if start < 0 or end < start:
        return None, "the answer holds no JSON object"
    try:
        answer = Answer.model_validate_json(text[start : end + 1])
    except ValidationError as error:
        return None, complaint(error)
    bare = next((c for c in CRITERIA if not any(f.criterion == c for f in answer.findings)), None)
    if bare is not None:
        return None, f"the grade for {bare} cites no place"
    missing = places.missing(answer.findings)
    return (None, f"it cites {missing}, which does not exist") if missing else (answer, None)


def from_import(given: ReviewImport, run_id: str, contestant: str, places: Places) -> ReviewRecord:
    """Grades given elsewhere. Raises ConfigError as ``check_reviewers`` does."""
    check_reviewers([one.reviewer for one in given.reviews], contestant)
    reviews = []
    for one in given.reviews:
        missing = places.missing(one.findings)
        reviews.append(Review(
            reviewer=one.reviewer, given="import", valid=missing is None, grades=one.grades, findings=one.findings,
            reason=f"it cites {missing}, which does not exist" if missing else None,
        ))  # fmt: skip
    return ReviewRecord(run_id=run_id, rubric=given.rubric, prompt="given elsewhere", reviews=reviews)


def check_reviewers(reviewers: Sequence[str], contestant: str) -> None:
    """At least two, on different models, none the contestant's. Raises ConfigError."""
    models = {_model(name) for name in reviewers}
    if len(models) < REVIEWERS_NEEDED:
        raise ConfigError(
            f"{len(models)} reviewing models; at least {REVIEWERS_NEEDED} different ones are needed",
            "name them as provider/model (the entry's key is reviewers: [provider/model, provider/model])",
        )
    own = next((name for name in reviewers if same_model(name, contestant)), None)
    if own is not None:
        raise ConfigError(f"{own} is the contestant: it cannot review itself", "name another reviewer")


def same_model(first: str, second: str) -> bool:
    """The same model, whoever serves it."""
    return _model(first) == _model(second)


def _model(name: str) -> str:
    return name.rsplit("/", 1)[-1].casefold()


def mean_grade(record: ReviewRecord) -> float | None:
    """Mean over reviewers of each reviewer's grade, itself the mean of the four criteria; null below two valid ones."""
    valid = [review.grades.mean for review in record.reviews if review.valid and review.grades]
    return sum(valid) / len(valid) if len(valid) >= REVIEWERS_NEEDED else None


def review_cell(record: ReviewRecord | None) -> Cell:
    """The row's cell: the mean grade (1 to 5), two decimals half up."""
    from runner.scoring.fold import cents

    if record is None:
        return Cell.none(PENDING)
    mean = mean_grade(record)
    if mean is None:
        valid = sum(review.valid for review in record.reviews)
        why = next((f"{r.reviewer}: {r.reason}" for r in record.reviews if not r.valid), "too few")
        return Cell.none(f"{valid} of {len(record.reviews)} reviews are valid, {REVIEWERS_NEEDED} are needed ({why})")
    return Cell.of(float(cents(mean)), f"{sum(r.valid for r in record.reviews)} reviewers")


def review_score(record: ReviewRecord) -> Score:
    """The layer as it is stored: every grade, and how far the reviewers are apart."""
    cell = review_cell(record)
    figures: dict[str, Cell] = {"grade": cell}
    valid = [review for review in record.reviews if review.valid and review.grades]
    for review in record.reviews:
        name = f"grade by {review.reviewer}"
        if review.valid and review.grades:
            figures[name] = Cell.of(review.grades.mean, review.given)
            listed = ", ".join(f"{c} {getattr(review.grades, c)}" for c in CRITERIA)
            figures[f"criteria by {review.reviewer}"] = Cell.of(f"{listed}; {len(review.findings)} findings", "review")
        else:
            figures[name] = Cell.none(f"invalid: {review.reason}")
    if len(valid) >= REVIEWERS_NEEDED:
        means = [review.grades.mean for review in valid if review.grades]
        figures["disagreement"] = Cell.of(max(means) - min(means), "review")
        for criterion in CRITERIA:
            grades = [getattr(review.grades, criterion) for review in valid]
            if max(grades) - min(grades) > 1:
                figures[f"disagreement on {criterion}"] = Cell.of(f"{min(grades)} to {max(grades)}", "review")
    figures["rubric"] = Cell.of(record.rubric, "review")
    figures["prompt"] = Cell.of(record.prompt, "review")
    return Score(layer="review", scorer_version=SCORER_VERSION, figures=figures, reason=cell.reason)
