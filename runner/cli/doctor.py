"""``bench doctor``: is this machine able to run?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from runner.cli.options import DEFAULT_REGISTRY, Json, Registry

if TYPE_CHECKING:
    from runner.gateway.providers import Provider


def doctor(
    model: Annotated[str | None, typer.Option("--model", "-m", help="Also make one tiny real completion.")] = None,
    efforts: Annotated[
        bool, typer.Option("--efforts", help="With --model: draw the ladder, what each effort puts on the wire.")
    ] = False,
    harness: Annotated[
        str | None, typer.Option("--harness", help="With --efforts: the agent whose ladder is drawn.")
    ] = None,
    registry: Registry = DEFAULT_REGISTRY,
    json: Json = False,
) -> None:
    """Check every precondition and say how to mend it. Exit code 2 where something is to be mended."""
    from runner.cli.output import print_document, print_table
    from runner.doctor import run_checks
    from runner.errors import UsageError

    if efforts and model is None:
        raise UsageError("--efforts needs a model", "bench doctor --model PROVIDER/MODEL --efforts")
    checks = run_checks(registry)
    found: dict[str, Any] = {"checks": [{"name": c.name, "ok": c.ok, "detail": c.detail, "fix": c.fix} for c in checks]}
    if not json:
        rows = [
            {"check": c.name, "": "ok" if c.ok else "MEND", "found": c.detail, "how to mend": "" if c.ok else c.fix}
            for c in checks
        ]
        print_table("This machine", rows, empty="nothing to check")
    if model is not None:
        from runner.gateway.providers import load_providers, providers_file

        home = registry.resolve().parent
        provider, name = load_providers(providers_file(home)).resolve(model)
        found["model"] = _ask(provider, name, quiet=json)
        if efforts:
            found["efforts"] = _ladder(provider, name, harness, home, quiet=json)
    if json:
        print_document(found if model is not None else found["checks"])
    whole = found.get("model", {}).get("long_prompt", {}).get("ok", True)
    raise typer.Exit(0 if whole and all(c.ok for c in checks) else 2)


def _ask(provider: Provider, name: str, *, quiet: bool) -> dict[str, Any]:
    """One tiny real completion; of a local server also what it serves. Raises ProviderError with the fix."""
    import os
    from dataclasses import asdict

    from runner.gateway.local import look
    from runner.gateway.probe import long_prompt, probe

    said = probe(provider, name)
    price = "price known" if said.price_known else "price unknown: cost will be -"
    served = said.served or "not named in the answer"
    where = f", computed by {said.host}" if said.host else ""
    found: dict[str, Any] = {
        "served": said.served, "host": said.host, "latency_s": said.latency_s, "price_known": said.price_known,
    }  # fmt: skip
    lines = [f"answered in {said.latency_s:.2f} s as {served}{where}; {price}"]
    if provider.local:
        local = look(provider, name, os.environ)
        found["server"] = None if local is None else asdict(local)
        lines.append("the server says nothing about itself" if local is None else f"served by {local.words()}")
        long = long_prompt(provider, name, holds=None if local is None else local.context)
        found["long_prompt"] = {**asdict(long), "ok": long.ok}
        lines.append(long.detail if long.ok else f"MEND: {long.detail}: correct context_window in providers.yaml")
    for line in lines if not quiet else []:
        typer.echo(f"{provider.name}/{name}: {line}")
    return found


def _ladder(provider: Provider, name: str, harness: str | None, home: Path, *, quiet: bool) -> list[dict[str, Any]]:
    """What each effort puts on the wire."""
    import json as text
    from dataclasses import asdict

    from runner.cli.output import print_table
    from runner.doctor.ladder import draw, levels
    from runner.errors import UsageError
    from runner.harness import known
    from runner.lab.prepare import agent_image
    from runner.sandbox.engine import connect

    agent = known.harness(harness or known.DEFAULT, home)
    if agent.layer is None:
        why = f"{agent.name} has no image of its own to draw its ladder in"
        raise UsageError(why, "give it an `image` in harnesses.yaml")
    efforts = levels(agent, provider, name)
    with connect() as engine:
        image, trusted = agent_image(engine, agent.layer, lambda line: typer.echo(line, err=True))
        rungs = draw(engine, image, trusted, agent, provider.for_model(name), name, efforts)
    if not quiet:
        rows = [
            {
                "effort": "(none asked)" if rung.effort == "unknown" else rung.effort,
                "on the wire": rung.problem or text.dumps(rung.sent),
                "": f"the same arm as {rung.same_as}" if rung.same_as else f"not {rung.unlike}" if rung.unlike else "",
            }
            for rung in rungs
        ]
        print_table(f"Efforts of {agent.name} on {provider.name}/{name}", rows, empty="no effort can be asked for")
    return [asdict(rung) for rung in rungs]
