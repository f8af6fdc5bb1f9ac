"""Claim group 6: nothing of the reference, of the hidden cases or of newer history is where a contestant can look."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from runner.errors import Interrupted
from runner.hostgit import printable
from runner.lab.check import CONTESTANT
from runner.lab.tree import TREE, lay
from runner.registry.benchmark import Benchmark
from runner.repo import blob_id
from runner.sandbox.pod import Pod
from runner.schema.certificate import Claim
from runner.validate import scan
from runner.validate.bench import Bench

_OBJECTS = "git cat-file --batch-all-objects --batch-check='%(objectname)'; git for-each-ref --format='%(refname)'"
_SCAN_S = 900


def prove_no_leaks(bench: Bench) -> list[Claim]:
    hidden = hidden_blobs(bench)
    canary = bench.kit.benchmark.entry.canary or ""
    asked = json.dumps({"hidden": sorted(hidden), "canary": canary}).encode()
    with Pod(bench.kit.engine, bench.kit.pod_spec(bench.run_id, _SCAN_S + 300)) as pod:
        box = pod.check_box(
            bench.kit.contestant_image, env=bench.kit.environment, user="0:0", caps=("DAC_READ_SEARCH",)
        )
        lay(box, bench.mirror, bench.baseline, "bench/probe", user=CONTESTANT, carried=bench.kit.benchmark.carried)
        argv = ["python3", "-I", "-c", Path(scan.__file__).read_text("utf-8"), TREE]
        scanned = box.exec(argv, timeout_s=_SCAN_S, stdin=asked, output_limit=1 << 26, cancel=bench.kit.cancel)
        if bench.kit.cancel.is_set():
            raise Interrupted("the proof was stopped")
        done = box.exec(["sh", "-c", _OBJECTS], timeout_s=60, cwd=TREE, user=CONTESTANT, output_limit=1 << 26)
    found: dict[str, Any] = json.loads(scanned.stdout) if scanned.ok else {}
    in_image = [f"{hidden[blob]} ({', '.join(places[:3])})" for blob, places in found.get("hidden", {}).items()]
    listed = done.stdout.decode().split()
    in_repo = sorted({hidden[x] for x in listed if x in hidden})
    extra = [x for x in listed if x.startswith("refs/") and x != "refs/heads/bench/probe"]
    looked = scanned.ok and bool(found["files"])
    searched = f" ({found['files']} files and members of archives were searched)" if looked else ""
    claims = [
        _claim("image", looked, sorted(in_image),
               f"none of {len(hidden)} hidden files is in the contestant's image{searched}"),
        _claim("repository", done.ok and bool(listed), in_repo + extra,
               "the contestant's repository holds the baseline alone: one branch, no hidden object, nothing newer"),
    ]  # fmt: skip
    if canary:
        claims.append(canary_claim(canary, list(secrets(bench).values()), looked, found.get("canary", [])))
    return claims


def canary_claim(canary: str, hidden: Sequence[bytes], looked: bool, found: list[str]) -> Claim:
    """``hidden``: contents of the hidden files; ``found``: places within reach. What stands nowhere betrays nothing."""
    held = sum(canary.encode() in content for content in hidden)
    if looked and not found and hidden and not held:
        return Claim(
            group="leaks",
            id="canary",
            ok=False,
            sentence=f"the canary stands in none of {len(hidden)} hidden files, so one that got out cannot be told",
            fix="write it into a comment of each; text before a patch's first line does no harm",
        )
    right = f"the canary, which stands in {held} of {len(hidden)} hidden files, is nowhere a contestant can read"
    return _claim("canary", looked, found, right)


def secrets(bench: Bench) -> dict[Path, bytes]:
    """The hidden files with their contents, but for those that the baseline shows to everybody."""
    shown = _shown(bench)
    contents = {file: file.read_bytes() for file in hidden_files(bench.kit.benchmark)}
    return {file: content for file, content in contents.items() if blob_id(content) not in shown}


def hidden_blobs(bench: Bench) -> dict[str, str]:
    """Git blob ids of everything hidden: files beside the registry, and what the reference adds to the baseline."""
    hidden: dict[str, str] = {}
    for file, content in secrets(bench).items():
        if content.strip():
            hidden.setdefault(blob_id(content), _name(bench.kit.benchmark.home, file))
    if bench.reference is not None:
        nothing_new = _shown(bench) | {blob_id(b"")}
        for entry_of_tree in bench.mirror.tree(bench.reference):
            if entry_of_tree.blob not in nothing_new:
                hidden.setdefault(entry_of_tree.blob, f"the reference's {printable(entry_of_tree.path)}")
    return hidden


def _shown(bench: Bench) -> set[str]:
    """Git blob ids of what every contestant has."""
    return {f.blob for f in bench.mirror.tree(bench.baseline)}


def hidden_files(benchmark: Benchmark) -> list[Path]:
    """Everything beside the registry that no contestant may see."""
    entry = benchmark.entry
    commands = [*entry.commands.values(), *(m.verify for m in entry.milestones if not isinstance(m.verify, str))]
    decoys = [c.tests.decoy.file for c in commands if c.tests and c.tests.decoy]
    folders = [entry.etalon_dir, entry.mutations_dir, entry.probes_dir, entry.held_out_dir, entry.placebos_dir,
               entry.graded, entry.flawed, entry.criterion.dir if entry.criterion else None,
               *entry.reference, *decoys]  # fmt: skip
    paths = [benchmark.path(folder) for folder in folders if folder is not None]
    found = {file for path in paths for file in ([path] if path.is_file() else path.rglob("*")) if file.is_file()}
    return sorted(found)


def _name(home: Path, file: Path) -> str:
    return Path(os.path.relpath(file, home)).as_posix()


def _claim(name: str, measured: bool, found: list[str], right: str) -> Claim:
    return Claim(
        group="leaks",
        id=name,
        ok=measured and not found,
        sentence=right
        if measured and not found
        else f"within a contestant's reach: {', '.join(found[:6]) or 'could not be searched'}",
        fix="take it out of the image's context or the repository",
        evidence={"found": found} if found else {},
    )
