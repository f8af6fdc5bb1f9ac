"""``bench score review``: grades by people or models, folded into a stored run's detail, report and row."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from runner.cli.options import DEFAULT_REGISTRY, Json, Registry


def review(
    run: Annotated[str, typer.Argument(help="A stored run that passed: its id or the beginning of it.")],
    given: Annotated[
        Path | None, typer.Option("--import", help="Grades that were given elsewhere (JSON), instead of asking.")
    ] = None,
    registry: Registry = DEFAULT_REGISTRY,
    json: Json = False,
) -> None:
    """Have a run reviewed: by the entry's reviewers, through the gateway, or by whoever filled in a file.

    Exit code 3: fewer than two reviews are valid, so there is no grade (they are recorded all the same).
    """
    from runner.cli.output import print_document
    from runner.stages.rescore import changed_lines
    from runner.stages.review import ask_reviewers, import_reviews
    from runner.stages.stored import open_stored
    from runner.store.rundir import RunDir

    stored = open_stored(registry, run)
    if given is not None:
        revision = import_reviews(stored, given)
    else:
        from runner.gateway.client import Gateway

        with Gateway() as gateway:
            revision = ask_reviewers(stored, gateway, lambda line: typer.echo(line, err=True))
    new = RunDir(stored.run.path, revision=revision.revision)
    result = new.result()
    if json:
        print_document({"run": new.path.name, "review": result.review.model_dump(mode="json"),
                        **revision.model_dump(mode="json")})  # fmt: skip
    else:
        for line in changed_lines(revision, new.folder):
            typer.echo(line)
    raise typer.Exit(0 if result.review.value is not None else 3)
