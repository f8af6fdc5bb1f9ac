"""The hostile set: each branch is one YAML file, made into a commit of the host's mirror and scored for real."""

from __future__ import annotations

import hashlib
import importlib._bootstrap_external as bytecode
import json
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import yaml

from runner.hostgit import git
from runner.lab.kit import Kit
from runner.lab.protected import Place
from runner.registry.benchmark import Benchmark
from runner.repo import Mirror
from runner.schema.entry import Entry
from runner.schema.score import Gate
from runner.scoring.branch import Branch
from runner.scoring.gates import measure_gates
from runner.scoring.layers import CorpusResult, measure_corpus
from runner.scoring.patches import apply_patch

HOME = Path(__file__).parents[2] / "support" / "hostile"
_KEYS = {"about", "benchmark", "entry", "patch", "files", "executable", "links", "remove", "compiled",
         "remains_forgeable", "expect"}  # fmt: skip
_MTIME = 1_767_225_600  # what a file of a laid-out tree has


@dataclass(frozen=True)
class Landed:
    """What the scorers said of one branch."""

    gates: dict[str, Gate]
    corpus: CorpusResult | None


def names() -> list[str]:
    return sorted(path.stem for path in (HOME / "branches").glob("*.yaml"))


def described(name: str) -> dict[str, Any]:
    data: dict[str, Any] = yaml.safe_load((HOME / "branches" / f"{name}.yaml").read_text(encoding="utf-8"))
    assert set(data) <= _KEYS, f"{name}: unknown key {sorted(set(data) - _KEYS)}"
    return data


def commit_of(mirror: Mirror, baseline: str, data: dict[str, Any]) -> str:
    """The branch as one commit on the baseline."""
    source = (HOME / "program" / "src" / "calc.py").read_text()
    known = {
        "SOURCE_SHA256": hashlib.sha256(source.encode()).hexdigest(),
        "SOURCE_SHAPE": hashlib.sha256(re.sub(r"#.*|[a-z_]+|\s+", "", source).encode()).hexdigest(),
    }
    start = baseline
    if "patch" in data:
        start = apply_patch(mirror, baseline, (HOME / "../mini/faults" / f"{data['patch']}.patch").read_bytes(), "x")
    entries: dict[bytes, tuple[str, bytes]] = {f.path: (f.mode, c) for f, c in mirror.blobs(mirror.tree(start))}
    for path in data.get("remove", []):
        del entries[path.encode()]
    for path, text in data.get("files", {}).items():
        for word, value in known.items():
            text = text.replace(word, value)
        mode = "100755" if path in data.get("executable", []) else "100644"
        entries[path.encode()] = (mode, text.encode())
    for path, target in data.get("links", {}).items():
        entries[path.encode()] = ("120000", target.encode())
    for path, of in data.get("compiled", {}).items():
        code = compile((HOME / "program" / of).read_text(), of, "exec")
        size = len(entries[of.encode()][1])
        entries[path.encode()] = ("100644", bytes(bytecode._code_to_timestamp_pyc(code, _MTIME, size)))
    lines = []
    for path, (mode, content) in entries.items():
        blob = mirror.git("hash-object", "-w", "--stdin", stdin=content).strip()
        lines.append(b"%s %s\t%s" % (mode.encode(), blob, path))
    more = {"GIT_INDEX_FILE": str(mirror.path / f"{hashlib.sha256(b''.join(lines)).hexdigest()[:12]}.index")}
    git(["update-index", "-z", "--index-info"], git_dir=mirror.path, extra=more, stdin=b"\0".join(lines) + b"\0")
    tree = git(["write-tree"], git_dir=mirror.path, extra=more).decode().strip()
    return mirror.commit_tree(tree, baseline, "work")


def changed_entry(benchmark: Benchmark, changes: dict[str, Any]) -> Benchmark:
    """The benchmark with some keys of its entry merged."""

    def merge(old: Any, new: Any) -> Any:
        if isinstance(old, dict) and isinstance(new, dict):
            return {**old, **{key: merge(old.get(key), value) for key, value in new.items()}}
        return new

    return replace(benchmark, entry=Entry.model_validate(merge(benchmark.entry.model_dump(), changes)))


def land(kit: Kit, mirror: Mirror, baseline: str, data: dict[str, Any], folder: Path, place: Place) -> Landed:
    """The real scorers on the branch: all gates, and the corpus where its verdict is expected."""
    kit = replace(kit, benchmark=changed_entry(kit.benchmark, data.get("entry", {})))
    folder.mkdir()
    head = commit_of(mirror, baseline, data)
    branch = Branch(kit, mirror, baseline, head, "hostile-test", folder, place)
    gates = {}
    if "gates" in data["expect"]:
        gates = {gate.id: gate for gate in measure_gates(branch, None, lambda gate: None).gates}
    corpus = measure_corpus(branch, lambda line: None, 1) if "corpus" in data["expect"] else None
    return Landed(gates, corpus)


def differences(expect: dict[str, Any], landed: Landed) -> list[str]:
    """Where a branch landed elsewhere than expected, or for other reasons than the named ones."""
    wrong = []
    for name, passed in expect.get("gates", {}).items():
        gate = landed.gates[name]
        if gate.passed is not passed:
            wrong.append(f"{name} is {gate.passed}, expected {passed}: {gate.evidence}")
    for name, said in expect.get("says", {}).items():
        evidence = json.dumps(landed.gates[name].evidence)
        wrong += [f"{name} does not say {word!r}: {evidence}" for word in said if word not in evidence]
    if "corpus" in expect:
        assert landed.corpus is not None
        assert landed.corpus.sweep is not None
        want, corpus, sweep = expect["corpus"], landed.corpus.corpus, landed.corpus.sweep
        killed = corpus.mutation[0] if corpus.mutation else None
        if killed != want["killed"]:
            wrong.append(f"{killed} are killed, expected {want['killed']}: {sweep.mutants}")
        if (want["unusable"] is None) != (corpus.unusable is None) or (want["unusable"] or "") not in (
            corpus.unusable or ""
        ):
            wrong.append(f"the corpus is taken for {corpus.unusable}, expected {want['unusable']}")
        for verdict in ("survived", "invalid"):
            found = {m.name for m in sweep.mutants if m.verdict == verdict}
            wrong += [f"{m} is not {verdict}: {sweep.mutants}" for m in want.get(verdict, []) if m not in found]
    return wrong
