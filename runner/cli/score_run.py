"""``bench score process`` and ``bench score cost``: layers of a run's logs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from runner.cli.options import DEFAULT_REGISTRY, Registry

Benchmark = Annotated[str, typer.Option("--benchmark", help="A benchmark of the registry.")]
Branch = Annotated[str | None, typer.Option("--branch", help="The run's branch: adds the diff and the plan's state.")]
Repo = Annotated[Path | None, typer.Option("--repo", help="The clone that holds the branch (default: source_repo).")]
Log = Annotated[Path | None, typer.Option("--log", help="The run's one log, with run_segment markers.")]
Ndjson = Annotated[list[Path] | None, typer.Option("--ndjson", help="A log of one attempt; may be given repeatedly.")]
Since = Annotated[str | None, typer.Option("--since", help="Attempts from this stamp on (YYYYMMDD-HHMMSS).")]
Until = Annotated[str | None, typer.Option("--until", help="Attempts up to this stamp.")]
Plan = Annotated[
    str | None, typer.Option("--plan-segment", help="Take the newest segment of this label as the whole plan's.")
]
Endpoint = Annotated[
    str | None, typer.Option("--endpoint", help="Where answers are looked up (default: the registry's).")
]
ProcessJson = Annotated[
    Path | None, typer.Option("--process-json", help="What bench-score process printed, in place of the logs.")
]
ProviderName = Annotated[
    str | None,
    typer.Option(
        "--provider", help="Who served the model (providers.yaml): prices answers that no broker accounts for."
    ),
]


def process(
    benchmark: Benchmark,
    branch: Branch = None,
    repo: Repo = None,
    log: Log = None,
    ndjson: Ndjson = None,
    since: Since = None,
    until: Until = None,
    plan_segment: Plan = None,
    registry: Registry = DEFAULT_REGISTRY,
) -> None:
    """How the agent worked: attempts, malformed calls, loops, context deaths, rebaselines, churn, freezes."""
    from runner.cli.output import print_document
    from runner.stages.score_run import process_document

    print_document(process_document(_work(benchmark, branch, repo, log, ndjson, since, until, plan_segment, registry)))


def cost(
    benchmark: Benchmark,
    branch: Branch = None,
    repo: Repo = None,
    log: Log = None,
    ndjson: Ndjson = None,
    since: Since = None,
    until: Until = None,
    plan_segment: Plan = None,
    process_json: ProcessJson = None,
    endpoint: Endpoint = None,
    provider: ProviderName = None,
    registry: Registry = DEFAULT_REGISTRY,
) -> None:
    """What the answers cost: by the broker's accounts, else by the price list of a declared provider, else unknown."""
    from runner.cli.output import print_document
    from runner.gateway.providers import providers_file
    from runner.registry.load import pick, read_entries
    from runner.stages.score_cost import cost_document, named_provider, parts_of, parts_of_document

    index = registry.resolve()
    entry = pick(read_entries(index), benchmark, index)
    served = named_provider(providers_file(index.parent), provider) if provider else None
    if process_json is not None and not (log or ndjson):
        parts = parts_of_document(process_json)
    else:
        parts = parts_of(_work(benchmark, branch, repo, log, ndjson, since, until, plan_segment, registry))
    print_document(cost_document(entry, parts, endpoint=endpoint, provider=served))


def documents(
    benchmark: str,
    branch: str,
    repo: Path | None,
    logs: tuple[Path | None, list[Path] | None, str | None, str | None, str | None],
    endpoint: str | None,
    provider: str,
    registry: Path,
    given: Mapping[str, Any],
) -> dict[str, Any]:
    """Process and cost from ``logs`` (the options of the same names, in that order), unless they are given already."""
    from runner.gateway.providers import load_providers, providers_file
    from runner.stages.score_cost import cost_document, parts_of
    from runner.stages.score_run import process_document

    work = _work(benchmark, branch, repo, *logs, registry)
    served = load_providers(providers_file(registry.resolve().parent)).by_name.get(provider)
    made = {}
    if "process" not in given:
        made["process"] = process_document(work)
    if "cost" not in given:
        made["cost"] = cost_document(work.entry, parts_of(work), endpoint=endpoint, provider=served)
    return made


def _work(
    benchmark: str, branch: str | None, repo: Path | None, log: Path | None, ndjson: list[Path] | None,
    since: str | None, until: str | None, plan_segment: str | None, registry: Path,
) -> Any:  # fmt: skip
    from runner.stages.score_run import Selection, find_work

    selection = Selection(log, ndjson or (), since, until, plan_segment)
    return find_work(registry, benchmark, branch, repo, selection)
