"""``bench score`` and ``bench-score``: the scoring layers on a plain clone."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from runner.cli import score_run
from runner.cli.entry import run_app
from runner.cli.options import DEFAULT_REGISTRY, Registry

score_app = typer.Typer(
    name="score",
    help="Score a branch of a plain clone; JSON on stdout, what is done on stderr.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@score_app.callback()
def _top() -> None:
    """The scoring layers, one command each."""


@score_app.command("gates")
def gates(
    benchmark: Annotated[str, typer.Option("--benchmark", help="A benchmark of the registry.")],
    branch: Annotated[str, typer.Option("--branch", help="The branch to score.")],
    repo: Annotated[Path | None, typer.Option("--repo", help="The clone that holds it (default: source_repo).")] = None,
    registry: Registry = DEFAULT_REGISTRY,
) -> None:
    """Pass/fail checks on a finished branch: scope, CI, end-to-end cases, determinism, superseded tests gone."""
    from runner.cli.output import print_document
    from runner.stages.gates import gates_of_clone

    score = gates_of_clone(registry, benchmark, branch, repo, lambda line: typer.echo(line, err=True))
    print_document({g.id: {"pass": g.passed, "evidence": g.reason or g.evidence} for g in score.gates})


score_app.command("process")(score_run.process)
score_app.command("cost")(score_run.cost)


def main() -> None:
    """Entry point of ``bench-score``."""
    run_app("bench-score", score_app)
