"""A benchmark as the registry describes it: every key of the seed's registry, and ours.

Paths: ``source_repo`` and everything beside the clone (images, etalon, mutations, reference, runs) is relative
to the folder of ``index.md``; ``plan``, ``cases_dir``, ``unit_file`` and the scope globs are paths inside the clone;
``workspaces_dir`` is relative to ``source_repo``, as in the seed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Literal, Self

from pydantic import Field, field_validator, model_validator

from runner.schema.base import Strict
from runner.schema.layers import CostSettings, ProcessSettings
from runner.schema.weights import Weights

ProviderTool = Literal[
    "web_search",
    "web_fetch",
    "code_execution",
    "mcp",
    "file_search",
    "image_generation",
    "computer",
    "stored_prompt",
    "other",
]
"""Kinds of tools that a model's provider executes itself."""

HostName = Annotated[
    str, Field(pattern=r"^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]([a-z0-9-]{0,61}[a-z0-9])$", max_length=253)
]
"""A full host name in small letters; no address, no pattern."""

Argv = Annotated[list[str], Field(min_length=1)]

SEED_COLUMNS = [
    "date",
    "model",
    "provider",
    "orch",
    "effort",
    "outcome",
    "att",
    "code",
    "agentic",
    "review",
    "diff",
    "tokens",
    "cache",
    "cost",
    "time",
    "freeze",
    "report",
    "comment",
]
EXTRA_COLUMNS = ["harness", "delegation", "sample", "available", "series", "rubric", "revision"]


class Decoy(Strict):
    """A test that fails: ``file`` (beside the registry) is laid at ``path`` in the clone for a second run, in which
    ``case`` has to be found red by name.
    """

    path: str
    file: str
    case: str


class OwnTests(Strict):
    """What a command that runs the candidate's own tests has to show besides exit code 0.

    ``expected``: a YAML file beside the registry, whose key ``expected_tests`` maps each JUnit report (relative to the
    clone, or absolute) to the cases that it must hold, executed and green, as ``name`` or ``classname::name``.
    ``allow``: globs of files that are a part of the test machinery and still a contestant's to change.
    """

    expected: str
    decoy: Decoy | None = None
    allow: list[str] = []


class Command(Strict):
    """An argument list, never a shell line. ``cwd`` is relative to the clone; ``timeout_s`` in seconds.

    ``oracle``: the command judges a program that it runs as another user itself (black-box), so it runs as root in its
    container; everything else runs as the contestant's user. ``tests``: it runs the candidate's own tests, whose exit
    code alone proves nothing.
    """

    argv: Argv
    cwd: str | None = None
    env: dict[str, str] = {}
    oracle: bool = False
    tests: OwnTests | None = None
    timeout_s: int = Field(600, gt=0, le=7200)


class Step(Strict):
    """A numbered part of a milestone that can be told done by itself (partial progress)."""

    id: str
    verify: Command | str


class Milestone(Strict):
    """``verify`` is a command or the name of one in ``commands``; default ``ci``. ``file`` is its page in the plan."""

    id: str = Field(pattern=r"^M\d{2,}$")
    file: str
    verify: Command | str = "ci"
    steps: list[Step] = []


class ImageBuild(Strict):
    """A folder with a Dockerfile, relative to the folder of the index."""

    context: str
    dockerfile: str = "Dockerfile"
    target: str | None = None


class Service(Strict):
    """A private database: the image is built FROM the runner's own PostgreSQL image and is already seeded."""

    image: ImageBuild
    user: str
    name: str
    password: str = ""
    seed: str | None = None
    memory_mb: int = Field(512, ge=64)
    size_mb: int = Field(512, ge=64)


class Services(Strict):
    database: Service | None = None


class Limits(Strict):
    """What a contestant may use. Sizes in MiB, times in seconds."""

    attempt_wall_s: int = Field(1800, gt=0)
    run_wall_s: int = Field(7200, gt=0)
    requests: int = Field(500, gt=0)
    tokens: int = Field(20_000_000, gt=0)
    input_tokens: int = Field(20_000_000, gt=0)
    output_tokens: int = Field(2_000_000, gt=0)
    usd: float = Field(20.0, ge=0)
    concurrent: int = Field(16, gt=0)
    attempt_requests: int = Field(500, gt=0)
    attempt_tokens: int = Field(20_000_000, gt=0)
    attempt_input_tokens: int = Field(20_000_000, gt=0)
    attempt_output_tokens: int = Field(2_000_000, gt=0)
    attempt_usd: float = Field(20.0, ge=0)
    memory_mb: int = Field(1024, ge=64)
    cpus: float = Field(1.0, gt=0)
    pids: int = Field(256, ge=16)
    disk_mb: int = Field(512, ge=16)
    feedback_bytes: int = Field(6000, ge=200)

    def tightened(self, other: Mapping[str, float]) -> Limits:
        """The smaller of both, limit by limit; ``other`` names some."""
        return self.model_copy(
            update={k: min(v, type(v)(other[k])) for k, v in self.model_dump().items() if k in other}
        )


class Mutations(Strict):
    """How the corpus is run against a mutant; ``failure_pattern`` group 1 names the case.

    ``target`` says whose program is mutated: the branch's own (the seed's way), the frozen baseline or the
    frozen reference. ``report``: a JUnit file that the command writes, relative to the clone or absolute; with it the
    verdict needs named cases of the report. ``first_kill``: arguments that make the command stop at the first failure.
    ``controls``: further frozen programs on which the corpus has to be green (a sprint that keeps behaviour).
    """

    command: str
    failure_pattern: str
    target: Literal["branch", "baseline", "reference"] = "branch"
    report: str | None = None
    first_kill: list[str] = []
    controls: list[Literal["baseline"]] = []

    @field_validator("failure_pattern")
    @classmethod
    def _compiles(cls, pattern: str) -> str:
        try:
            re.compile(pattern)
        except re.error as error:
            raise ValueError(f"{pattern!r} is no regular expression: {error}") from None
        return pattern


class Criterion(Strict):
    """A hidden success criterion: files that only the scorer sees, a command, and where its JUnit report lies.

    ``counted``: the cases that the baseline fails; the part of them that passes in every repeat is what a contestant
    has achieved (the others must simply not break).
    """

    command: Command
    dir: str
    image: ImageBuild | None = None
    report: str | None = None
    counted: list[str] = []
    evidence: list[str] = []


class Entry(Strict):
    """One benchmark of ``registry/index.md``."""

    id: str = Field(pattern=r"^[a-z0-9][a-z0-9._-]*$")
    title: str = ""
    source_repo: str
    workspaces_dir: str = ".benchmarks"
    workspace_scheme: str = "{workspace_id}-{model_slug}"
    push_remote: dict[str, str] | None = None
    baseline: str
    plan: str
    branch_scheme: str = "bench/{model_slug}"
    worker: str = ""
    logs_dir: str = ""
    api_key_env: str | None = None
    scope_allowlist: list[str]
    milestones_glob: str = "milestones/*/M*.md"
    milestones: list[Milestone] = []
    cases_dir: str | None = None
    unit_file: str | None = None
    unit_grep: str | None = None
    unit_grep_exclude: list[str] = []
    commands: dict[str, Command]
    etalon_cases: list[str] = []
    gap_cases: list[str] = []
    etalon_dir: str | None = None
    case_reader: str = "txtar"
    mutations_dir: str | None = None
    probes_dir: str | None = None
    held_out_dir: str | None = None
    placebos_dir: str | None = None
    mutations: Mutations | None = None
    runs_dir: str = "runs"
    reports_dir: str = "reports"
    history_columns: list[str] = SEED_COLUMNS
    process: ProcessSettings = ProcessSettings()
    cost: CostSettings = CostSettings()
    weights: Weights = Weights()

    formula: Literal["seed-1", "runner-1"] = "seed-1"
    image: ImageBuild | None = None
    services: Services = Services()
    setup: Command | None = None
    carry: list[str] = []
    artifacts: list[str] = []
    protected: list[str] = []
    limits: Limits = Limits()
    attempts: int = Field(2, ge=1, le=9)
    environment: dict[str, str] = {"TZ": "UTC", "LC_ALL": "C.UTF-8", "PYTHONHASHSEED": "0"}
    reference: list[str] = []
    graded: str | None = None
    flawed: str | None = None
    criterion: Criterion | None = None
    criterion_repeats: int = Field(3, ge=1)
    objective: str = ""
    reviewers: list[str] = []
    samples: int = Field(1, ge=1)
    providers_allowed: list[str] = []
    provider_tools: list[ProviderTool] = []
    egress: list[HostName] = []
    canary: str | None = None
    published: str | None = None
    status: Literal["provisional", "proven", "saturated"] = "provisional"

    @field_validator("history_columns")
    @classmethod
    def _known_columns(cls, columns: list[str]) -> list[str]:
        unknown = [c for c in columns if c not in SEED_COLUMNS + EXTRA_COLUMNS]
        if unknown:
            raise ValueError(f"unknown column {unknown[0]!r}; known: {', '.join(SEED_COLUMNS + EXTRA_COLUMNS)}")
        if len(set(columns)) != len(columns):
            raise ValueError("a column is named twice")
        return columns

    @field_validator("baseline", mode="before")
    @classmethod
    def _quoted_commit(cls, value: object) -> object:
        if isinstance(value, (int, float)):
            raise ValueError("YAML reads this commit id as a number: put it in quotes")
        return value

    @field_validator("branch_scheme", "workspace_scheme")
    @classmethod
    def _known_fields(cls, scheme: str) -> str:
        try:
            scheme.format(model_slug="m", run_id="r", workspace_id="w")
        except (KeyError, IndexError, ValueError):
            raise ValueError("may name {model_slug}, {run_id} and {workspace_id} alone") from None
        return scheme

    @model_validator(mode="after")
    def _named_commands_exist(self) -> Self:
        if "ci" not in self.commands:
            raise ValueError("commands: 'ci' is missing; it is the command that proves the baseline")
        names: list[tuple[str, str]] = []
        for milestone in self.milestones:
            if isinstance(milestone.verify, str):
                names.append((f"milestones.{milestone.id}.verify", milestone.verify))
            names += [
                (f"milestones.{milestone.id}.steps.{step.id}.verify", step.verify)
                for step in milestone.steps
                if isinstance(step.verify, str)
            ]
        if self.mutations:
            names.append(("mutations.command", self.mutations.command))
        for key, name in names:
            if name not in self.commands:
                raise ValueError(f"{key}: no command named {name!r}; known: {', '.join(sorted(self.commands))}")
        ids = [m.id for m in self.milestones]
        if len(set(ids)) != len(ids):
            raise ValueError("milestones: an id is used twice")
        return self

    def command(self, ref: Command | str) -> Command:
        """A command given inline or by its name in ``commands``."""
        return self.commands[ref] if isinstance(ref, str) else ref
