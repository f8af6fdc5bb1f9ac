"""Claim group 5: what is judged twice is judged alike, alone and side by side; flaky checks are named."""

from __future__ import annotations

import random

from runner.lab.check import Check, run_check
from runner.schema.certificate import Claim
from runner.schema.entry import Command
from runner.scoring.suite import Suite, folder_cases
from runner.validate.bench import Bench

REPEATS = 3


def prove_determinism(bench: Bench, seed: int) -> list[Claim]:
    """Every verify, gate command and etalon case on the reference, repeated in fresh containers in shuffled order, with
    one worker and with two.
    """
    if bench.reference is None:
        return []
    entry = bench.kit.benchmark.entry
    last = entry.milestones[-1]
    named: dict[str, Command] = {
        name: entry.commands[name] for name in ("ci", "e2e", "e2e_update") if name in entry.commands
    }
    named[f"verify {last.id}"] = entry.command(last.verify)
    verdicts: dict[str, set[str]] = {}

    def one(item: tuple[str, Command | None]) -> None:
        name, command = item
        if command is None:
            verdict = _etalon(bench)
        else:
            check = Check(bench.reference or "", command)
            verdict = run_check(bench.kit, bench.mirror, check, run_id=bench.run_id).why()
        verdicts.setdefault(name, set()).add(verdict)
        bench.announce(f"again: {name}")

    work: list[tuple[str, Command | None]] = list(named.items())
    if entry.etalon_dir and entry.mutations:
        work.append(("the etalon", None))
    for workers in (1, 2):
        order = work * (1 if workers == 1 else REPEATS - 1)
        random.Random(seed + workers).shuffle(order)
        bench.side_by_side(one, order, workers)
    flaky = sorted(name for name, seen in verdicts.items() if len(seen) > 1)
    return [
        Claim(
            group="determinism",
            id="repeat",
            ok=not flaky,
            sentence=f"{len(work)} checks judged {REPEATS} times each, shuffled, with 1 and 2 workers: always alike"
            if not flaky
            else "flaky, and so in quarantine: "
            + "; ".join(f"{name} ({' | '.join(sorted(verdicts[name]))})" for name in flaky),
            fix="a check that flips measures luck: mend it, or leave it out of the benchmark",
            evidence={name: sorted(seen) for name, seen in sorted(verdicts.items())},
        )
    ]


def _etalon(bench: Bench) -> str:
    entry = bench.kit.benchmark.entry
    cases = folder_cases(bench.kit.benchmark.path(entry.etalon_dir or ""))
    result = Suite(bench.kit, bench.mirror, cases, bench.run_id).run(bench.reference or "")
    return f"{result.ended} {','.join(result.failed)}".strip()
