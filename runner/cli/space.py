"""``bench checkout``, ``prune`` and ``sweep``: get a branch, get space back."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from runner.cli.options import DEFAULT_REGISTRY, Json, Registry


def checkout(
    run: Annotated[str, typer.Argument(help="A run's id or the beginning of it.")],
    directory: Annotated[Path, typer.Argument(help="A folder that is not there yet.")],
    registry: Registry = DEFAULT_REGISTRY,
    json: Json = False,
) -> None:
    """Make a plain clone of a run's branch, from the bundle that was copied out."""
    from runner.cli.output import print_document
    from runner.report.lookup import stored_run
    from runner.store.checkout import checkout_branch

    found = stored_run(registry, run)
    head = checkout_branch(found, directory)
    if json:
        print_document({"run": found.path.name, "directory": str(directory), "head": head})
    else:
        typer.echo(f"{directory}: {found.lock().branch} at {head[:12]}")


def prune(
    registry: Registry = DEFAULT_REGISTRY,
    days: Annotated[int, typer.Option(min=0, help="Only what is older than this.")] = 14,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would go.")] = False,
    json: Json = False,
) -> None:
    """Remove old workspaces (bare mirrors) of recorded runs, which keep their bundle and files, and what commands that
    were killed left in the temporary folder.
    """
    from runner.cli.output import print_document
    from runner.report.prune import prune_scratch, prune_workspaces

    gone = prune_workspaces(registry, days=days, dry_run=dry_run)
    gone += prune_scratch(days=days, dry_run=dry_run)
    if json:
        print_document({"removed": [str(p) for p in gone], "dry_run": dry_run})
    else:
        for path in gone:
            typer.echo(f"{'would remove' if dry_run else 'removed'} {path}")
        typer.echo(f"{len(gone)} folders {'would go' if dry_run else 'removed'}")


def sweep(
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would go.")] = False,
    json: Json = False,
) -> None:
    """Remove containers and volumes of controllers that are proven dead; what a live one owns is not touched."""
    from runner.cli.output import print_document
    from runner.sandbox.engine import connect
    from runner.sandbox.reaper import sweep as sweep_engine

    with connect() as engine:
        report = sweep_engine(engine, dry_run=dry_run)
    if json:
        print_document(
            {
                "found": [str(found) for found in report.found],
                "removed": report.removed,
                "kept": report.kept,
                "failed": report.failed,
                "dry_run": dry_run,
            }
        )
    else:
        for found in report.found:
            typer.echo(f"{'would remove' if dry_run else 'dead controller:'} {found}")
        count = f"{len(report.found)} would go" if dry_run else f"{report.removed} removed"
        typer.echo(f"{count}; {report.kept} belong to controllers that live, or of whom nothing can be proven")
        for line in report.failed:
            typer.echo(f"could not remove {line}", err=True)
    raise typer.Exit(3 if report.failed else 0)
