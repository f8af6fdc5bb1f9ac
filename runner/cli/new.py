"""``bench new``: a registry entry for one's own repository, to be finished by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from runner.cli.options import DEFAULT_REGISTRY, Json, Registry


def new(
    benchmark: Annotated[str, typer.Argument(metavar="ID", help="The new benchmark's id; it is for ever.")],
    repo: Annotated[Path, typer.Option("--repo", help="A local clone. It is only read; nothing is fetched.")],
    baseline: Annotated[str, typer.Option("--baseline", help="The commit where every contestant starts.")],
    registry: Registry = DEFAULT_REGISTRY,
    patches: Annotated[
        int, typer.Option("--patches", min=0, max=40, help="At most so many proposed faults; 0: none.")
    ] = 40,
    json: Json = False,
) -> None:
    """Scaffold an entry from a clone and a commit: keys, image, guide, and a first set of faults to review."""
    from runner.cli.output import print_document
    from runner.scaffold.scaffold import scaffold

    made = scaffold(registry, benchmark, repo, baseline, patches=patches)
    if json:
        print_document(
            {
                "id": made.id,
                "registry": str(made.index),
                "folder": str(made.folder),
                "baseline": made.baseline,
                "language": made.language,
                "files": made.files,
                "patches": made.patches,
                "todos": made.todos,
                "notes": made.notes,
                "next": made.next_steps,
            }
        )
        return
    typer.echo(f"{made.id}: an entry in {made.index}, {len(made.files)} files in {made.folder}")
    typer.echo(f"baseline {made.baseline[:12]}, {made.language}, {made.patches} faults proposed, {made.todos} TODOs")
    for note in made.notes:
        typer.echo(f"note: {note}")
    typer.echo("next:")
    for number, step in enumerate(made.next_steps, 1):
        typer.echo(f"  {number}. {step}")
