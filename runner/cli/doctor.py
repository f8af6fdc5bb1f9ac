"""``bench doctor``: is this machine able to run?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from runner.cli.options import DEFAULT_REGISTRY, Json, Registry


def doctor(
    model: Annotated[str | None, typer.Option("--model", "-m", help="Also make one tiny real completion.")] = None,
    registry: Registry = DEFAULT_REGISTRY,
    json: Json = False,
) -> None:
    """Check every precondition and say how to mend it. Exit code 2 where something is missing that a run needs."""
    from runner.cli.output import print_document, print_table
    from runner.doctor import run_checks

    checks = run_checks(registry)
    if json:
        print_document([{"name": c.name, "ok": c.ok, "detail": c.detail, "fix": c.fix} for c in checks])
    else:
        rows = [
            {"check": c.name, "": "ok" if c.ok else "MEND", "found": c.detail, "how to mend": "" if c.ok else c.fix}
            for c in checks
        ]
        print_table("This machine", rows, empty="nothing to check")
    if model is not None:
        _ask(model, registry, json)
    raise typer.Exit(0 if all(c.ok for c in checks) else 2)


def _ask(model: str, registry: Path, json: bool) -> None:
    """One tiny real completion; raises ProviderError with the fix where it fails."""
    from runner.gateway.probe import probe
    from runner.gateway.providers import load_providers, providers_file

    provider, name = load_providers(providers_file(registry.resolve().parent)).resolve(model)
    found = probe(provider, name)
    price = "price known" if found.price_known else "price unknown: cost will be -"
    served = found.served or "not named in the answer"
    typer.echo(f"{model}: answered in {found.latency_s:.2f} s as {served}; {price}", err=json)
