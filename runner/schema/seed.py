"""What the documents of the seed's ``bench-score`` must hold to be folded, further keys are free."""

from __future__ import annotations

from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, RootModel, model_validator

Count = Annotated[int, Field(ge=0)]
Number = Annotated[float, Field(ge=0)]


class _Open(BaseModel):
    model_config = ConfigDict(strict=True)


class _Gate(_Open):
    pass_: bool | None = Field(alias="pass")
    evidence: Any = None
    statuses: dict[str, str] | None = None
    facts: dict[str, Any] | None = None


class Gates(RootModel[dict[str, _Gate]]):
    model_config = ConfigDict(strict=True)

    @model_validator(mode="after")
    def _a_plan_has_milestones(self) -> Self:
        gate = self.root.get("milestones")
        if gate and gate.pass_ is not None and not gate.statuses:
            raise ValueError("milestones has no statuses: a plan without milestones proves nothing")
        return self


class _Share(_Open):
    matched: Count
    total: Count

    @model_validator(mode="after")
    def _not_more_than_all(self) -> Self:
        if self.matched > self.total:
            raise ValueError(f"{self.matched} of {self.total} are matched")
        return self


class _Recall(_Share):
    pct: Number | None
    source: str = ""
    judged: list[str] = []
    unmatched_etalon: list[str] = []


class _Gaps(_Share):
    judged: Count = 0
    unmatched: list[str] = []


class _Aggregate(_Open):
    case_count: Count
    four_channel_cases: Count
    four_channel_pct: Number | None
    asserted_lines: Count
    wildcards: Count
    wildcard_lines: Count
    wildcard_line_ratio: Number | None
    recall: _Recall | None = None
    gaps: _Gaps | None = None

    @model_validator(mode="after")
    def _belong_together(self) -> Self:
        if (self.recall is None) != (self.gaps is None):
            raise ValueError("recall and gaps belong together")
        return self


class Corpus(_Open):
    aggregate: _Aggregate
    unusable: str | None = None


class _Patch(_Open):
    patch: str
    verdict: str
    killed_by: list[str]
    evidence: str


class Mutations(_Open):
    command: str | list[str]
    patch_count: Count
    kill_rate: str
    kill_rate_pct: Number | None
    patches: list[_Patch]
    unfit: list[str] = []
    unusable: str | None = None


class _Churn(_Open):
    pushed_lines: Count | None
    diff_lines: Count | None


class _Totals(_Open):
    tool_calls: Count
    malformed: Count
    loops: Count
    deaths: Count
    blind_rebaselines: Count | None
    blind_rebaselines_2: Count | None = None
    churn: _Churn


class _Run(_Open):
    retries: Count
    wall_ms: Number | None = None
    freezes: Count | None = None
    freeze_ms: Number | None = None


class Process(_Open):
    run: _Run
    totals: _Totals
    milestones: dict[str, dict[str, Any]]


class _Tokens(_Open):
    prompt: Count
    completion: Count
    cached: Count
    cache_write: Count


class Cost(_Open):
    source: str | None
    total_cost_usd: Number | None
    tokens: _Tokens | None
    milestones: dict[str, dict[str, Any]]


DOCUMENTS: dict[str, type[BaseModel]] = {
    "gates": Gates, "corpus": Corpus, "mutations": Mutations, "process": Process, "cost": Cost,
}  # fmt: skip
