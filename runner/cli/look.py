"""``bench list``, ``show`` and ``verify``: look things up."""

from __future__ import annotations

from typing import Annotated

import typer

from runner.cli.options import DEFAULT_REGISTRY, Json, Registry

Benchmark = Annotated[str | None, typer.Option("--benchmark", "-b", help="Only this benchmark of the registry.")]


def list_runs(
    registry: Registry = DEFAULT_REGISTRY,
    benchmark: Benchmark = None,
    by: Annotated[
        str, typer.Option("--by", help="run: a line per row; arm, benchmark: a line each, with counts.")
    ] = "run",
    json: Json = False,
) -> None:
    """List the rows of the history."""
    from runner.cli.output import print_document, print_table
    from runner.errors import UsageError
    from runner.report.lookup import arms_of, benchmarks_of, history_of, named, source_word, unrecorded

    if by not in ("run", "arm", "benchmark"):
        raise UsageError(f"--by {by!r} is neither run, arm nor benchmark")
    records = history_of(registry, benchmark)
    for lost in unrecorded(registry):
        typer.echo(f"{named(lost)} is sealed but has no row: bench verify --mend appends it", err=True)
    if by != "run":
        counted = arms_of(records) if by == "arm" else benchmarks_of(records, registry, benchmark)
        if json:
            print_document(counted)
        else:
            print_table(f"{by.capitalize()}s", counted, empty="no rows yet: make bench")
    elif json:
        print_document([r.model_dump(mode="json") for r in records])
    else:
        rows = [{"run": r.run_id, "benchmark": r.benchmark, **_some(r.cells), "sample": str(r.sample),
                 "source": source_word(r.provenance)} for r in records]  # fmt: skip
        print_table("History", rows, empty="no rows yet: make bench")


def _some(cells: dict[str, str]) -> dict[str, str]:
    names = ["model", "provider", "effort", "outcome", "att", "code", "diff", "tokens", "cost", "time"]
    return {name: cells.get(name, "-") for name in names}


def show(
    run: Annotated[str, typer.Argument(help="A run's id or the beginning of it.")],
    registry: Registry = DEFAULT_REGISTRY,
    json: Json = False,
) -> None:
    """Show everything that was measured of one run."""
    from runner.cli.output import print_document, print_markdown
    from runner.report.lookup import stored_run

    found = stored_run(registry, run)
    if json:
        scores = [s.model_dump(mode="json") for s in found.scores()]
        print_document(
            {
                "run": found.path.name,
                "revision": found.revision,
                "lock": found.lock().model_dump(mode="json"),
                "result": found.result().model_dump(mode="json"),
                "scores": scores,
            }
        )
    else:
        print_markdown(found.detail_file.read_text(encoding="utf-8"))


def verify(
    registry: Registry = DEFAULT_REGISTRY,
    mend: Annotated[
        bool, typer.Option("--mend", help="First append the rows of sealed runs whose writer died before it could.")
    ] = False,
    json: Json = False,
) -> None:
    """Check the history's hash chain and every stored run against its manifest. Exit code 4 where one does not hold."""
    from runner.cli.output import print_document
    from runner.report.lookup import mend as append_rows
    from runner.report.lookup import verify_store

    appended = append_rows(registry) if mend else []
    for name in appended:
        typer.echo(f"{name}: its row was appended", err=True)
    checked = verify_store(registry)
    if json:
        print_document({**checked, "mended": appended})
    else:
        typer.echo(f"{checked['records']} rows chained, {checked['runs']} stored runs match their manifests")
