"""Claim group 5: what is judged again is judged alike, alone and side by side; flaky checks are named."""

from __future__ import annotations

import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from runner.lab.check import Check
from runner.lab.protected import as_run
from runner.schema.certificate import Claim
from runner.scoring.suite import Suite, folder_cases
from runner.validate.bench import Bench

REPEATS = 3

Judge = Callable[[int], str]


def _judges(bench: Bench) -> dict[str, Judge]:
    """What is repeated on the reference: every verify where its milestone is done, the commands behind gates, and the
    hidden etalon. Its mutants are repeated beside the patches' claims.
    """
    if bench.reference is None:
        return {}
    entry, reference = bench.kit.benchmark.entry, bench.reference
    commands = {name: entry.commands[name] for name in ("ci", "e2e", "e2e_update") if name in entry.commands}
    checks: dict[str, Check] = {
        name: Check(reference, command, watch_tree=name == "e2e_update") for name, command in commands.items()
    }
    stages = bench.stages()
    done = zip(entry.milestones, stages[1:], strict=True) if stages else [(entry.milestones[-1], reference)]
    checks |= {f"verify {m.id}": Check(commit, entry.command(m.verify)) for m, commit in done}
    found: dict[str, Judge] = {name: _judge(bench, check) for name, check in checks.items()}
    if entry.etalon_dir and entry.mutations:
        suite = Suite(
            bench.kit, bench.mirror, folder_cases(bench.kit.benchmark.path(entry.etalon_dir)), bench.run_id,
            place=bench.place,
        )  # fmt: skip
        found["the etalon"] = _etalon(suite, reference)
    return found


def _judge(bench: Bench, check: Check) -> Judge:
    whole, _ = as_run(bench.kit, bench.mirror, bench.baseline, check)
    return lambda repeat: bench.place(replace(whole, repeat=repeat)).why()


def _etalon(suite: Suite, program: str) -> Judge:
    def judge(repeat: int) -> str:
        result = suite.run(program, repeat=repeat)
        cases = "" if result.executed is None else f", {len(result.executed)} cases"  # a subset may be green as well
        return f"{result.ended} {','.join(result.failed)}".strip() + cases

    return judge


def prove_determinism(bench: Bench, seed: int) -> list[Claim]:
    """Each judged ``REPEATS`` times in fresh containers, in an order shuffled by ``seed``: the first time is the one
    that other claims stand on already, then two side by side, then one alone.
    """
    found = _judges(bench)
    if not found:
        return []
    verdicts: dict[str, list[str]] = {name: [] for name in found}

    def one(name: str, repeat: int) -> None:
        verdicts[name].append(found[name](repeat))
        bench.announce(f"again: {name}")

    for repeat, workers in enumerate((2, 2, 1)):
        order = sorted(found)
        random.Random(seed + repeat).shuffle(order)
        with ThreadPoolExecutor(workers) as pool:
            list(pool.map(one, order, [repeat] * len(order)))
    flaky = sorted(name for name, seen in verdicts.items() if len(set(seen)) > 1)
    return [
        Claim(
            group="determinism",
            id="repeat",
            ok=not flaky,
            sentence=f"{len(verdicts)} checks judged {REPEATS} times each, shuffled, with 1 and 2 workers: always alike"
            if not flaky
            else "flaky, and so in quarantine: "
            + "; ".join(f"{name} ({' | '.join(sorted(set(verdicts[name])))})" for name in flaky),
            fix="a check that flips measures luck: mend it, or leave it out of the benchmark",
            evidence={name: sorted(set(seen)) for name, seen in sorted(verdicts.items())},
        )
    ]
