"""``bench import``: rows that were measured elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from runner.cli.options import DEFAULT_REGISTRY, Json, Registry


def import_rows(
    file: Annotated[Path, typer.Argument(help="A markdown file with a history table.")],
    benchmark: Annotated[
        str | None, typer.Option("--benchmark", "-b", help="Whose rows they are (default: the registry's only one).")
    ] = None,
    registry: Registry = DEFAULT_REGISTRY,
    json: Json = False,
) -> None:
    """Read published rows into the history, word for word and marked as foreign; they are never scored again."""
    from runner.cli.output import print_document
    from runner.errors import UsageError
    from runner.registry.load import pick, read_entries
    from runner.report.foreign import import_table
    from runner.store.history import History

    registry = registry.resolve()
    entries = read_entries(registry)
    if benchmark is None and len(entries) > 1:
        raise UsageError(f"{registry} has {len(entries)} benchmarks", f"name one, --benchmark: {', '.join(entries)}")
    entry = pick(entries, benchmark or next(iter(entries)), registry)
    history = History((registry.parent / entry.runs_dir).resolve().parent)
    done = import_table(file, entry.id, history)
    if json:
        print_document({"benchmark": entry.id, "known": done.known,
                        "rows": [record.model_dump(mode="json") for record in done.added]})  # fmt: skip
    else:
        known = f", {done.known} were there already" if done.known else ""
        typer.echo(f"{entry.id}: {len(done.added)} foreign rows added to {history.file}{known}")
