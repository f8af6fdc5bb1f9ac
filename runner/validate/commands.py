"""Claim group 1: every command exists in the image, and the oracle really executes the etalon's cases."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePosixPath

from runner.lab.check import CONTESTANT, ORACLE, ORACLE_CAPS, ORACLE_MB
from runner.lab.tree import TREE, lay
from runner.sandbox.box import Box
from runner.sandbox.pod import Pod
from runner.schema.certificate import Claim
from runner.schema.entry import Command
from runner.scoring.suite import Suite, folder_cases
from runner.validate.bench import Bench

_LIMIT_S = 20
# As the engine looks for it: no keyword, builtin or folder of that name will do.
_FIND = """cd "$1" || exit 1
case $2 in */*) test -f "$2" && test -x "$2"; exit;; esac
IFS=:
for folder in $PATH; do test -f "$folder/$2" && test -x "$folder/$2" && exit; done
exit 1"""
_COMPILE = "import sys, tokenize; compile(tokenize.open(sys.argv[1]).read(), sys.argv[1], 'exec')"
_MODULE = "import sys, importlib.util as u; sys.exit(None if u.find_spec(sys.argv[1]) else 'there is no such module')"
# How an interpreter reads what it is handed without running it, by first argument or the script's ending.
_READ: dict[str, dict[str, list[str]]] = {
    "sh": {"-c": ["-n", "-c"], "": ["-n"], ".sh": ["-n"]},
    "python3": {"-c": ["-c", "import sys; compile(sys.argv[1], '-c', 'exec')"], "-m": ["-c", _MODULE],
                ".py": ["-c", _COMPILE]},
    "node": {".js": ["--check"], ".cjs": ["--check"], ".mjs": ["--check"]},
}  # fmt: skip
_ALIASES = {"bash": "sh", "dash": "sh", "python": "python3"}


def prove_commands(bench: Bench) -> tuple[list[Claim], dict[str, str]]:
    """The claims, and the tools with what they say of their version."""
    entry = bench.kit.benchmark.entry
    named = {f"commands.{name}": command for name, command in entry.commands.items()}
    if entry.setup is not None:
        named["setup"] = entry.setup
    for milestone in entry.milestones:
        named[f"milestones.{milestone.id}.verify"] = entry.command(milestone.verify)
        for step in milestone.steps:
            named[f"milestones.{milestone.id}.steps.{step.id}"] = entry.command(step.verify)
    tools: dict[str, str] = {}
    with Pod(bench.kit.engine, bench.kit.pod_spec(bench.run_id, 600)) as pod:
        box = pod.check_box(bench.kit.images["benchmark"].tag, env=bench.kit.environment, user=CONTESTANT)
        lay(box, bench.mirror, bench.baseline, "checked", user=CONTESTANT)
        missing = _missing(box, named, tools)
        if entry.criterion is not None:
            named["criterion.command"] = entry.criterion.command
            box.remove()
            box = pod.check_box(
                bench.kit.images["criterion" if entry.criterion.image else "benchmark"].tag,
                env=bench.kit.environment, user=ORACLE, caps=ORACLE_CAPS, oracle_mb=ORACLE_MB,
            )  # fmt: skip
            lay(box, bench.mirror, bench.baseline, "checked", user=CONTESTANT)
            box.put_tree(bench.kit.benchmark.path(entry.criterion.dir), "/oracle")
            missing |= _missing(box, {"criterion.command": entry.criterion.command}, tools)
    exist = Claim(
        group="commands",
        id="exist",
        ok=not missing,
        sentence=f"all {len(named)} commands exist in the image and can be read"
        if not missing
        else "; ".join(f"{key}: {odd}" for key, odd in missing.items()),
        fix="install the tool in the benchmark's image, or mend the command",
        evidence={"missing": missing},
    )
    return [exist, *_oracle(bench)], tools


def _missing(box: Box, named: Mapping[str, Command], tools: dict[str, str]) -> dict[str, str]:
    """What is wrong with each of the commands in that box; ``tools`` takes the version of each one's program."""
    missing: dict[str, str] = {}
    for key, command in named.items():
        tool = command.argv[0]
        folder = f"{TREE}/{command.cwd}" if command.cwd else TREE
        if not box.exec(["/bin/sh", "-c", _FIND, "find", folder, tool], timeout_s=_LIMIT_S, env=command.env).ok:
            missing[key] = f"there is no program {tool!r} in the tree" if "/" in tool else f"the image has no {tool!r}"
            continue
        if tool not in tools and (tool.startswith("/") or "/" not in tool):  # a script of the tree's is no tool
            tools[tool] = _version(box, folder, tool)
        if odd := _unreadable(box, folder, command):
            missing[key] = odd
    return missing


def _unreadable(box: Box, folder: str, command: Command) -> str | None:
    """What of a command that hands something to an interpreter is not there, or is no text of its language."""
    interpreter, first, *rest = [*command.argv, "", ""]
    name = interpreter.rsplit("/", 1)[-1]
    ways = _READ.get(_ALIASES.get(name, name), {})
    script = bool(first) and not first.startswith("-")
    if script and ways and not box.exec(["test", "-f", first], timeout_s=_LIMIT_S, cwd=folder).ok:
        return f"there is no {first!r} to run"
    way = ways.get(PurePosixPath(first).suffix if script else first or "-")
    if way is None:
        return None
    argv = ["timeout", str(_LIMIT_S // 2), interpreter, *way, first if script else rest[0]]
    done = box.exec(argv, timeout_s=_LIMIT_S, cwd=folder, env=command.env)
    said = done.stderr.decode("utf-8", "backslashreplace").strip().splitlines()
    return None if done.ok else f"{name} cannot read it: {said[-1] if said else done.exit_code}"


def _version(box: Box, folder: str, tool: str) -> str:
    # Time runs out within the box: a limit of the engine's would end the box.
    done = box.exec(["timeout", str(_LIMIT_S // 2), tool, "--version"], timeout_s=_LIMIT_S, cwd=folder)
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
