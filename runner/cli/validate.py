"""``bench validate``: prove a benchmark before anybody is measured with it."""

from __future__ import annotations

from typing import Annotated

import typer

from runner.cli.options import DEFAULT_REGISTRY, Json, Registry


def validate(
    benchmark: Annotated[list[str], typer.Argument(help="Benchmarks of the registry.")],
    registry: Registry = DEFAULT_REGISTRY,
    matrix: Annotated[bool, typer.Option("--matrix", help="Also print the kill matrix.")] = False,
    freeze: Annotated[
        bool, typer.Option("--freeze", help="Freeze entry and files first, if they are not yet.")
    ] = False,
    seed: Annotated[int, typer.Option(help="Shuffles the order in which things are repeated.")] = 1,
    reliability: Annotated[
        int,
        typer.Option("--reliability", min=0, help="Instead: how often does the reference pass each gate, of N runs?"),
    ] = 0,
    json: Json = False,
) -> None:
    """Prove every claim a benchmark makes; exit code 0: proven, 4: at least one claim is broken (a line for each)."""
    from runner.cli.output import print_document
    from runner.cli.prove import Proof
    from runner.registry.benchmark import load_benchmark

    benchmark = list(dict.fromkeys(benchmark))
    for name in benchmark:  # a typo in the last one is known before minutes are spent on the first
        load_benchmark(registry, name)
    if reliability:
        measured = []
        for name in benchmark:
            with Proof(registry, name, quiet=json) as proof:
                measured.append(proof.measure(reliability))
        if json:
            print_document([m.model_dump(mode="json") for m in measured])
        raise typer.Exit(0 if all(m.holds for m in measured) else 4)
    certificates = []
    for name in benchmark:
        with Proof(registry, name, quiet=json) as proof:
            certificates.append(proof.prove(freeze=freeze, seed=seed))
            if not json:
                proof.print_result(matrix=matrix)
    if json:
        print_document([c.model_dump(mode="json") for c in certificates])
    raise typer.Exit(0 if all(c.proven for c in certificates) else 4)
