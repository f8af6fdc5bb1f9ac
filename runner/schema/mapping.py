"""A judge's mapping of etalon cases onto a branch's cases: at least three independent votes."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from runner.schema.base import Strict

VOTES_NEEDED = 3


class Vote(Strict):
    """One judge's answer: from etalon case to the branch's case that tests the same behaviour, or null for none."""

    by: str = Field(min_length=1)
    mapping: dict[str, str | None]

    @model_validator(mode="after")
    def _one_to_one(self) -> Self:
        used = [case for case in self.mapping.values() if case is not None]
        twice = next((case for case in used if used.count(case) > 1), None)
        if twice is not None:
            raise ValueError(f"{self.by} maps two etalon cases onto {twice}")
        return self


class CaseMapping(Strict):
    """``mapping.json``: the votes, each cast without sight of the others."""

    schema_: Literal["bench/mapping/1"] = "bench/mapping/1"
    votes: list[Vote]

    @model_validator(mode="after")
    def _enough_and_independent(self) -> Self:
        names = {vote.by for vote in self.votes}
        if len(names) < VOTES_NEEDED:
            raise ValueError(f"{len(names)} independent votes; at least {VOTES_NEEDED} are needed")
        if len(names) < len(self.votes):
            raise ValueError("a judge votes twice")
        return self
