"""Reviews: grades by a shared rubric, with the places they rest on."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from runner.schema.base import Strict

Criterion = Literal["correctness", "test_quality", "code_quality", "scope_discipline"]
CRITERIA: tuple[Criterion, ...] = ("correctness", "test_quality", "code_quality", "scope_discipline")
REVIEWERS_NEEDED = 2
Grade = Annotated[int, Field(ge=1, le=5, strict=True)]


class Finding(Strict):
    """What a reviewer saw, and where: ``line`` counts from 1 in ``file`` as the branch (or the baseline) has it."""

    criterion: Criterion
    file: str = Field(min_length=1)
    line: int = Field(ge=1, strict=True)
    text: str = Field(min_length=1, max_length=2000)


class Grades(Strict):
    """Whole numbers from 1 (bad) to 5 (nothing to add)."""

    correctness: Grade
    test_quality: Grade
    code_quality: Grade
    scope_discipline: Grade

    @property
    def mean(self) -> float:
        return (self.correctness + self.test_quality + self.code_quality + self.scope_discipline) / len(CRITERIA)


class Answer(Strict):
    """What a reviewer has to answer with, as JSON and nothing else."""

    grades: Grades
    findings: list[Finding] = Field(max_length=60)


class GivenReview(Strict):
    """A review that was made elsewhere. ``reviewer`` names its model."""

    reviewer: str = Field(min_length=1)
    grades: Grades
    findings: list[Finding] = []


class ReviewImport(Strict):
    """The file of ``bench score review --import``. ``rubric``: by what they graded (a name, a link or a hash)."""

    schema_: Literal["bench/review-import/1"] = "bench/review-import/1"
    rubric: str = Field(min_length=1)
    reviews: list[GivenReview]

    @model_validator(mode="after")
    def _enough_and_different(self) -> Self:
        names = {review.reviewer for review in self.reviews}
        if len(names) < len(self.reviews):
            raise ValueError("a reviewer is named twice")
        if len(names) < REVIEWERS_NEEDED:
            raise ValueError(f"{len(names)} reviewers; at least {REVIEWERS_NEEDED} are needed")
        return self


class Review(Strict):
    """One review as it came, valid or not: an invalid one is recorded and never patched."""

    reviewer: str
    given: Literal["gateway", "import"]
    valid: bool
    reason: str | None = None
    served: str | None = None
    grades: Grades | None = None
    findings: list[Finding] = []
    answer: str | None = None
    """What an invalid reviewer said, cut at 4,000 characters."""


class ReviewRecord(Strict):
    """``reviews.json``: all reviews of a run by one rubric. ``rubric`` and ``prompt`` are hashes (or, for grades given
    elsewhere, what was said of their rubric); ``shown`` is the hash of the very text that the reviewers saw.
    """

    schema_: Literal["bench/reviews/1"] = "bench/reviews/1"
    run_id: str
    rubric: str
    prompt: str
    shown: str | None = None
    reviews: list[Review]
