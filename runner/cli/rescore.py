"""``bench rescore``: stored runs scored again, without agent, model or network."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from runner.cli.options import DEFAULT_REGISTRY, Json, Registry


def rescore(
    run: Annotated[list[str], typer.Argument(help="Runs, by id or the beginning of one.")],
    full: Annotated[bool, typer.Option("--full", help="Score the corpus of controls, too (minutes).")] = False,
    mapping: Annotated[
        Path | None, typer.Option("--mapping", help="A judge's votes on which case tests which behaviour (JSON).")
    ] = None,
    jobs: Annotated[
        int | None, typer.Option("--jobs", "-j", min=1, help="Checks side by side (default: as many as fit).")
    ] = None,
    seed: Annotated[
        int | None, typer.Option("--seed", help="Shuffle the order of the checks; nothing may depend on it.")
    ] = None,
    registry: Registry = DEFAULT_REGISTRY,
    json: Json = False,
) -> None:
    """Recompute every deterministic layer from the stored branch and logs, into a new revision; the old one stays.

    Prints, cell by cell, what changed and why. Exit code 4: something changed that nothing explains.
    """
    from runner.cli.output import print_document
    from runner.errors import ProofError, UsageError
    from runner.lab.prepare import prepare_kit
    from runner.sandbox.engine import connect
    from runner.schema.mapping import CaseMapping
    from runner.scoring.given import read_given
    from runner.stages.rescore import How, changed_lines
    from runner.stages.rescore import rescore as score_again
    from runner.stages.stored import open_stored
    from runner.store.rundir import RunDir

    if mapping is not None and len(run) > 1:
        raise UsageError("a mapping is of one run's cases", "name one run")
    how = How(full, read_given(CaseMapping, mapping) if mapping else None, jobs, seed)
    stored = [open_stored(registry, name) for name in run]  # all are known to be sound before the first is scored
    documents, broken = [], []
    with connect() as engine:
        for one in stored:
            kit = prepare_kit(engine, one.benchmark, _log)
            try:
                revision = score_again(kit, one, how, _log)
            except ProofError as error:
                broken.append(error)
                typer.echo(f"bench: {error}", err=True)
                continue
            documents.append({"run": one.run.path.name, **revision.model_dump(mode="json")})
            if not json:
                for line in changed_lines(revision, RunDir(one.run.path, revision=revision.revision).folder):
                    typer.echo(line if line.startswith(" ") else f"{one.run.path.name}: {line}")
    if json:
        print_document(documents)
    raise typer.Exit(4 if broken else 0)


def _log(line: str) -> None:
    typer.echo(line, err=True)
