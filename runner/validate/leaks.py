"""Claim group 6: nothing of the reference, of the hidden cases or of newer history is where a contestant can look."""

from __future__ import annotations

from pathlib import Path

from runner.hostgit import printable
from runner.lab.check import CONTESTANT
from runner.lab.tree import TREE, lay
from runner.repo import blob_id
from runner.sandbox.pod import Pod
from runner.schema.certificate import Claim
from runner.validate.bench import Bench

# Every regular file of the image up to 2 MiB, as git would name its content.
_SCAN = (
    "cd / && find . -xdev -type f -size -2048k -size +0 ! -name '*[[:cntrl:]]*' "
    "| git hash-object --no-filters --stdin-paths"
)
_OBJECTS = "git cat-file --batch-all-objects --batch-check='%(objectname)'; git for-each-ref --format='%(refname)'"


def prove_no_leaks(bench: Bench) -> list[Claim]:
    hidden = hidden_blobs(bench)
    entry = bench.kit.benchmark.entry
    with Pod(bench.kit.engine, bench.kit.pod_spec(bench.run_id, 900)) as pod:
        box = pod.check_box(
            bench.kit.contestant_image, env=bench.kit.environment, user="0:0", caps=("DAC_READ_SEARCH",)
        )
        lay(box, bench.mirror, bench.baseline, "bench/probe", user=CONTESTANT)
        scan = box.exec(["sh", "-c", _SCAN], timeout_s=600, output_limit=1 << 26)
        in_image = sorted({hidden[x] for x in scan.stdout.decode().split() if x in hidden})
        done = box.exec(["sh", "-c", _OBJECTS], timeout_s=60, cwd=TREE, user=CONTESTANT, output_limit=1 << 26)
        listed = done.stdout.decode().split()
        in_repo = sorted({hidden[x] for x in listed if x in hidden})
        refs = [x for x in listed if x.startswith("refs/")]
        canary = entry.canary or ""
        found = box.exec(
            ["grep", "-rlF", "-e", canary, TREE, "/home", "/opt", "/usr/local"], timeout_s=300, output_limit=1 << 16
        ) if canary else None  # fmt: skip
    with_canary = sorted(found.stdout.decode("utf-8", "backslashreplace").split()) if found else []
    extra = [r for r in refs if r != "refs/heads/bench/probe"]
    claims = [
        _claim("image", scan.ok, in_image, f"none of {len(hidden)} hidden files is in the contestant's image"),
        _claim("repository", done.ok and bool(listed), in_repo + extra,
               "the contestant's repository holds the baseline alone: one branch, no hidden object, nothing newer"),
    ]  # fmt: skip
    if canary:
        right = "the canary of the hidden files is nowhere a contestant can read"
        claims.append(_claim("canary", True, with_canary, right))
    return claims


def hidden_blobs(bench: Bench) -> dict[str, str]:
    """Git blob ids of everything hidden: files beside the registry, and what the reference adds to the baseline."""
    benchmark = bench.kit.benchmark
    visible = {f.blob for f in bench.mirror.tree(bench.baseline)}
    hidden: dict[str, str] = {}
    entry = benchmark.entry
    folders = [entry.etalon_dir, entry.mutations_dir, entry.probes_dir, entry.held_out_dir, entry.placebos_dir,
               entry.graded, entry.flawed, entry.criterion.dir if entry.criterion else None,
               *entry.reference]  # fmt: skip
    for folder in folders:
        if folder is None:
            continue
        path = benchmark.path(folder)
        for file in [path] if path.is_file() else sorted(p for p in path.rglob("*") if p.is_file()):
            content = file.read_bytes()
            if content.strip():
                hidden.setdefault(blob_id(content), _name(benchmark.home, file))
    if bench.reference is not None:
        for entry_of_tree in bench.mirror.tree(bench.reference):
            hidden.setdefault(entry_of_tree.blob, f"the reference's {printable(entry_of_tree.path)}")
    return {blob: name for blob, name in hidden.items() if blob not in visible and blob != blob_id(b"")}


def _name(home: Path, file: Path) -> str:
    return file.relative_to(home).as_posix()


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
