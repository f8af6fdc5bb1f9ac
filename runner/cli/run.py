"""``bench run``: arms on a benchmark, one row each."""

from __future__ import annotations

from typing import Annotated

import typer

from runner.cli.options import DEFAULT_REGISTRY, Json, Registry


def run(
    benchmark: Annotated[str, typer.Argument(help="A benchmark of the registry.")],
    model: Annotated[
        list[str], typer.Option("--model", "-m", help="provider/model, once per arm; control/nop needs no model.")
    ],
    harness: Annotated[str | None, typer.Option(help="The agent that drives the model: pi (the default), claude-code, "
                                                "codex, mini-swe-agent, opencode, or one of harnesses.yaml.")] = None,
    effort: Annotated[str | None, typer.Option(help="Thinking effort: none, minimal, low, medium, high, xhigh, max, "
                                               "ultra; refused where the harness cannot express it.")] = None,
    orch: Annotated[str, typer.Option(help="How a milestone is driven; direct is the one there is.")] = "direct",
    delegation: Annotated[str, typer.Option(help="One brief per milestone is the one there is.")] = "milestone",
    samples: Annotated[int | None, typer.Option(min=1, help="Runs per arm (default: the registry's).")] = None,
    jobs: Annotated[int, typer.Option("--jobs", "-j", min=1, help="Runs side by side.")] = 1,
    full: Annotated[bool, typer.Option("--full", help="Score the corpus of controls, too (minutes).")] = False,
    registry: Registry = DEFAULT_REGISTRY,
    json: Json = False,
    events: Annotated[bool, typer.Option("--events", help="Progress as JSON lines on stderr.")] = False,
) -> None:  # fmt: skip
    """Let arms develop the benchmark's plan in sealed sandboxes; prints one comparable row per run.

    Exit code 0: everything asked for was scored (fail@Mnn is a result); 2: usage or configuration; 3: at least one
    run is invalid, the rig's or the provider's fault; 130: interrupted.
    """
    from runner.cli.session import Session, only
    from runner.cli.table import print_rows

    only("--orch", orch, "direct")
    only("--delegation", delegation, "milestone")
    with Session(registry, benchmark, events=events) as session:
        orders = session.orders(model, harness=harness, effort=effort, samples=samples, full=full)
        results = session.run(orders, jobs)
    print_rows(session.benchmark, results, asked=len(orders), as_json=json)
    raise typer.Exit(session.exit_code(results, asked=len(orders)))
