"""Claim group 1: every command exists in the image, and the oracle really executes the etalon's cases."""

from __future__ import annotations

from collections.abc import Sequence

from runner.lab.check import CONTESTANT
from runner.lab.tree import TREE, lay
from runner.sandbox.box import Box
from runner.sandbox.pod import Pod
from runner.schema.certificate import Claim
from runner.scoring.suite import Suite, folder_cases
from runner.validate.bench import Bench

_INTERPRETERS = ("sh", "bash", "python3", "python", "node")
_FIND = 'cd "$1" && command -v -- "$2"'


def prove_commands(bench: Bench) -> tuple[list[Claim], dict[str, str]]:
    """The claims, and the tools with what they say of their version."""
    entry = bench.kit.benchmark.entry
    named = {f"commands.{name}": command for name, command in entry.commands.items()}
    for milestone in entry.milestones:
        named[f"milestones.{milestone.id}.verify"] = entry.command(milestone.verify)
        for step in milestone.steps:
            named[f"milestones.{milestone.id}.steps.{step.id}"] = entry.command(step.verify)
    claims = []
    tools: dict[str, str] = {}
    with Pod(bench.kit.engine, bench.kit.pod_spec(bench.run_id, 600)) as pod:
        box = pod.check_box(bench.kit.images["benchmark"].tag, env=bench.kit.environment, user=CONTESTANT)
        lay(box, bench.mirror, bench.baseline, "checked", user=CONTESTANT)
        missing: dict[str, str] = {}
        for key, command in named.items():
            tool = command.argv[0]
            folder = f"{TREE}/{command.cwd}" if command.cwd else TREE
            if not box.exec(["sh", "-c", _FIND, "find", folder, tool], timeout_s=20).ok:
                missing[key] = f"the image has no {tool!r}"
                continue
            if tool not in tools:
                tools[tool] = _version(box, folder, tool)
            if odd := _unreadable(box, folder, command.argv):
                missing[key] = odd
    claims.append(
        Claim(
            group="commands",
            id="exist",
            ok=not missing,
            sentence=f"all {len(named)} commands exist in the image and can be read"
            if not missing
            else "; ".join(f"{key}: {odd}" for key, odd in missing.items()),
            fix="install the tool in the benchmark's image, or mend the command",
            evidence={"missing": missing},
        )
    )
    return claims + _oracle(bench), tools


def _unreadable(box: Box, folder: str, argv: Sequence[str]) -> str | None:
    """What of a command that hands a script to an interpreter is not there, or is no text of its language."""
    name, first, *rest = [argv[0].rsplit("/", 1)[-1], *argv[1:], ""]
    if name in ("sh", "bash") and first == "-c":
        done = box.exec([argv[0], "-n", "-c", rest[0]], timeout_s=20, cwd=folder)
        said = done.stderr.decode("utf-8", "backslashreplace").strip().splitlines()
        return None if done.ok else f"{name} cannot read it: {said[-1] if said else done.exit_code}"
    if name not in _INTERPRETERS or not first or first.startswith("-"):
        return None
    return None if box.exec(["test", "-f", first], timeout_s=20, cwd=folder).ok else f"there is no {first!r} to run"


def _version(box: Box, folder: str, tool: str) -> str:
    done = box.exec([tool, "--version"], timeout_s=20, cwd=folder)
    lines = (done.stdout or done.stderr).decode("utf-8", "backslashreplace").strip().splitlines()
    return lines[0][:120] if done.ok and lines else "says no version"


def _oracle(bench: Bench) -> list[Claim]:
    """Run on the reference, the corpus command executes exactly the etalon's cases."""
    entry = bench.kit.benchmark.entry
    if entry.etalon_dir is None or entry.mutations is None or bench.reference is None:
        return []
    cases = folder_cases(bench.kit.benchmark.path(entry.etalon_dir))
    suite = Suite(bench.kit, bench.mirror, cases, bench.run_id, place=bench.place)
    result = suite.run(bench.reference)
    executed, expected = set(result.executed or ()), set(entry.etalon_cases)
    odd = sorted(executed ^ expected)
    ok = result.ended == "green" and bool(executed) and not odd
    said = f"the corpus command executed {len(executed)} cases of {len(expected)} and ended {result.ended}"
    return [
        Claim(
            group="commands",
            id="oracle",
            ok=ok,
            sentence=f"the corpus command executes all {len(expected)} etalon cases"
            if ok
            else f"{said}: {', '.join(odd[:5])}",
            fix="etalon_cases must list the files of etalon_dir, and the command must run every one",
            evidence={"ended": result.ended, "odd": odd, "failed": list(result.failed)},
        )
    ]
