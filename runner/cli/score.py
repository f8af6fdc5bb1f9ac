"""``bench score`` and ``bench-score``: the scoring layers on a plain clone."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from runner.cli import score_run
from runner.cli.entry import run_app
from runner.cli.options import DEFAULT_REGISTRY, Registry
from runner.cli.score_review import review

score_app = typer.Typer(
    name="score",
    help="Score a branch of a plain clone, or have a stored run reviewed; progress goes to stderr.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Benchmark = Annotated[str, typer.Option("--benchmark", help="A benchmark of the registry.")]
BranchName = Annotated[str, typer.Option("--branch", help="The branch to score; only what is committed counts.")]
Repo = Annotated[Path | None, typer.Option("--repo", help="The clone that holds it (default: source_repo).")]
Image = Annotated[
    str | None, typer.Option("--image", help="Run commands in this image of the engine's, not in the benchmark's.")
]
OnHost = Annotated[
    bool, typer.Option("--on-host", help="Run commands on this machine, as you, in no container: for trusted work.")
]
Mapping = Annotated[
    Path | None, typer.Option("--mapping", help="A judge's votes on which case tests which etalon behaviour (JSON).")
]


@score_app.callback()
def _top() -> None:
    """The scoring layers, one command each."""


@score_app.command("gates")
def gates(
    benchmark: Benchmark,
    branch: BranchName,
    repo: Repo = None,
    image: Image = None,
    on_host: OnHost = False,
    registry: Registry = DEFAULT_REGISTRY,
) -> None:
    """Pass/fail checks on a finished branch: milestones, CI, end-to-end cases, determinism, superseded tests, scope."""
    from runner.cli.output import print_document
    from runner.scoring.seed import gates_document
    from runner.stages.clone import Where, open_clone
    from runner.stages.seed import gates_of

    with open_clone(registry, benchmark, branch, repo, Where(on_host, image), _log) as judged:
        print_document(gates_document(judged.entry, gates_of(judged, _log)))


@score_app.command("corpus")
def corpus(
    benchmark: Benchmark,
    branch: BranchName,
    repo: Repo = None,
    mapping: Mapping = None,
    image: Image = None,
    on_host: OnHost = False,
    registry: Registry = DEFAULT_REGISTRY,
) -> None:
    """Quality of the branch's cases: channels, wildcards, recall of the etalon, gaps. Runs cases only for probes."""
    from runner.cli.output import print_document
    from runner.scoring.seed import corpus_document

    result = _measured(benchmark, branch, repo, mapping, image, on_host, registry, mutants=False)[1]
    print_document(corpus_document(result))


@score_app.command("mutations")
def mutations(
    benchmark: Benchmark,
    branch: BranchName,
    repo: Repo = None,
    image: Image = None,
    on_host: OnHost = False,
    registry: Registry = DEFAULT_REGISTRY,
) -> None:
    """Kill rate of the frozen set of faults: each is applied alone, and a named case of the branch's must fail."""
    from runner.cli.output import print_document
    from runner.scoring.seed import mutations_document

    judged, result = _measured(benchmark, branch, repo, None, image, on_host, registry, mutants=True)
    print_document(mutations_document(judged, result))


@score_app.command("report")
def report(
    benchmark: Benchmark,
    branch: BranchName,
    repo: Repo = None,
    gates_json: Annotated[Path | None, typer.Option(help="Take the gates from this document.")] = None,
    corpus_json: Annotated[Path | None, typer.Option(help="Take the corpus from this document.")] = None,
    mutations_json: Annotated[Path | None, typer.Option(help="Take the mutations from this document.")] = None,
    process_json: Annotated[Path | None, typer.Option(help="Take the process profile from this document.")] = None,
    cost_json: Annotated[Path | None, typer.Option(help="Take the cost from this document.")] = None,
    log: score_run.Log = None,
    ndjson: score_run.Ndjson = None,
    since: score_run.Since = None,
    until: score_run.Until = None,
    plan_segment: score_run.Plan = None,
    endpoint: score_run.Endpoint = None,
    review_json: Annotated[Path | None, typer.Option(help="Fold grades that were given elsewhere.")] = None,
    provider: Annotated[str, typer.Option(help="openrouter, local or anthropic.")] = "openrouter",
    orch: Annotated[str, typer.Option(help="loop, orchestrate or direct, as whoever ran it states.")] = "-",
    effort: Annotated[str, typer.Option(help="The effort, as whoever ran it states.")] = "-",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Write no detail: print it after the row.")] = False,
    image: Image = None,
    on_host: OnHost = False,
    registry: Registry = DEFAULT_REGISTRY,
) -> None:
    """Fold all layers into the history row (on stdout) and the run detail (under runs_dir)."""
    from runner.report.seed import Stated
    from runner.stages.clone import Where, open_clone
    from runner.stages.seed import Given, read_document
    from runner.stages.seed import report as fold

    _one_of("--provider", provider, ("openrouter", "local", "anthropic"))
    _one_of("--orch", orch, ("loop", "orchestrate", "direct", "-"))
    named = {"gates": gates_json, "corpus": corpus_json, "mutations": mutations_json, "process": process_json,
             "cost": cost_json}  # fmt: skip
    documents = {layer: read_document(layer, path) for layer, path in named.items() if path is not None}
    if log is not None or ndjson:
        logs = (log, ndjson, since, until, plan_segment)
        documents |= score_run.documents(benchmark, branch, repo, logs, endpoint, provider, registry, documents)
    runs_something = not {"gates", "corpus", "mutations"} <= documents.keys()
    with open_clone(registry, benchmark, branch, repo, Where(on_host, image), _log, commands=runs_something) as judged:
        stated = Stated(branch, provider, orch, effort)
        typer.echo(fold(judged, Given(documents, review_json), stated, _log, dry_run=dry_run))


score_app.command("review")(review)


@score_app.command("judge")
def judge(
    benchmark: Benchmark,
    branch: BranchName,
    judges: Annotated[list[str], typer.Option("--judge", help="provider/model; at least three different ones.")],
    repo: Repo = None,
    registry: Registry = DEFAULT_REGISTRY,
) -> None:
    """Ask models which case tests which etalon behaviour, for cases without a probe; prints a file for --mapping."""
    from runner.cli.output import print_document
    from runner.gateway.client import Gateway
    from runner.scoring.judge import check_judges
    from runner.stages.clone import Where, open_clone
    from runner.stages.judge import ask_judges

    check_judges(judges)
    with open_clone(registry, benchmark, branch, repo, Where(), _log, commands=False) as judged, Gateway() as gateway:
        print_document(ask_judges(judged, judges, gateway, _log).model_dump(mode="json"))


def _measured(
    benchmark: str,
    branch: str,
    repo: Path | None,
    mapping: Path | None,
    image: str | None,
    on_host: bool,
    registry: Path,
    *,
    mutants: bool,
) -> tuple[Any, Any]:
    from runner.errors import ConfigError
    from runner.registry.load import pick, read_entries
    from runner.schema.mapping import CaseMapping
    from runner.scoring.given import read_given
    from runner.scoring.layers import measure_corpus
    from runner.stages.clone import Where, open_clone

    entry = pick(read_entries(registry.resolve()), benchmark, registry)
    votes = read_given(CaseMapping, mapping) if mapping else None
    runs_something = mutants or entry.probes_dir is not None or entry.case_reader == "junit"
    with open_clone(registry, benchmark, branch, repo, Where(on_host, image), _log, commands=runs_something) as judged:
        result = measure_corpus(judged, _log, judged.kit.side_by_side, mapping=votes, whole=True,
                                faults=mutants, run=runs_something)  # fmt: skip
    if result is None:
        raise ConfigError(f"{benchmark} has no cases_dir", "name it in the entry")
    return judged.kit.benchmark, result


def _one_of(option: str, value: str, known: tuple[str, ...]) -> None:
    from runner.errors import UsageError

    if value not in known:
        raise UsageError(f"{option} {value!r} is not one of {', '.join(known)}")


def _log(line: str) -> None:
    typer.echo(line, err=True)


score_app.command("process")(score_run.process)
score_app.command("cost")(score_run.cost)


def main() -> None:
    """Entry point of ``bench-score``."""
    run_app("bench-score", score_app)
