"""The manifests that lie beside a benchmark's frozen patches and solutions."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from runner.schema.base import Strict


class PatchEntry(Strict):
    """One patch: ``<id>.patch`` beside the manifest. ``killers``: cases that must notice it; none for a placebo.

    ``source`` is the one file it changes, with its hashes before and after (the place it was meant for).
    """

    id: str
    about: str = ""
    killers: list[str] = []
    source: str | None = None
    source_sha256: str | None = None
    patched_sha256: str | None = None


class PatchManifest(Strict):
    patches: list[PatchEntry]


class Expectation(Strict):
    """Where a solution must land; what is not named is not measured. Percentages and points are closed ranges;
    ``criterion_failed``: in any of ``criterion_repeats`` (default: the registry's).
    """

    outcome: str | None = Field(None, pattern=r"^(pass|fail@M\d{2,})$")
    gates: dict[str, bool] = {}
    killed: tuple[float, float] | None = None
    code: tuple[float, float] | None = None
    criterion_failed: list[str] | None = None
    criterion_repeats: int | None = Field(None, ge=1)
    unusable: Literal["red", "flaky", "placebo", "empty"] | None = None

    @property
    def says_nothing(self) -> bool:
        """Whether every solution meets it. How often something is repeated expects nothing."""
        return self.model_copy(update={"criterion_repeats": None}) == Expectation()


class Solution(Strict):
    """A branch whose result is known: patches on the baseline, in order, and a corpus in place of the cases."""

    id: str
    about: str = ""
    patches: list[str] = []
    corpus: str | None = None
    expect: Expectation = Expectation()


class ExpectedTests(Strict):
    """Cases that have to be executed, by the JUnit report that names them. ``measured``: notes for people."""

    expected_tests: dict[str, Annotated[list[str], Field(min_length=1)]] = Field(min_length=1)
    measured: dict[str, object] = {}


class SolutionManifest(Strict):
    """``gap``: points of ``code`` that neighbours of the list lie apart, in its order (graded solutions only)."""

    gap: float | None = Field(None, gt=0, allow_inf_nan=False)
    solutions: list[Solution] = Field(min_length=1)

    @model_validator(mode="after")
    def _named_once(self) -> Self:
        ids = [solution.id for solution in self.solutions]
        if twice := next((name for name in ids if ids.count(name) > 1), None):
            raise ValueError(f"the id {twice!r} is used twice")
        return self
