"""Claim group 4: each frozen patch applies, changes behaviour, and is noticed by the cases its manifest names."""

from __future__ import annotations

import hashlib
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from runner.errors import ConfigError
from runner.hostgit import printable
from runner.registry.globs import matcher
from runner.registry.manifests import patch_entries
from runner.repo import Mirror, TreeFile
from runner.schema.certificate import Claim
from runner.schema.entry import Entry
from runner.schema.manifests import PatchEntry
from runner.scoring.mutations import Mutant, Sweep, Sweeper
from runner.scoring.patches import Patch, PatchFails, apply_patch, reverted_tree
from runner.scoring.suite import Cases, Suite, cases_of, folder_cases
from runner.validate.again import prove_alike
from runner.validate.bench import Bench

SETS = {"probes": "probes_dir", "faults": "mutations_dir", "held-out": "held_out_dir", "placebos": "placebos_dir"}

_NOT_KILLED = {
    "survived": "is noticed by nobody",
    "timeout": "makes the cases run into their time limit",
    "invalid": "fails, and no case says so",
}

Edit = frozenset[TreeFile]
"""The files that a patch changes, as they were and as it leaves them."""


@dataclass(frozen=True)
class PatchClaims:
    claims: list[Claim]
    matrix: dict[str, list[str]]


def prove_patches(bench: Bench, seed: int) -> PatchClaims:
    """Every set over the frozen program with the etalon; mutants in an order shuffled by ``seed``."""
    entry = bench.kit.benchmark.entry
    named = [name for name, key in SETS.items() if getattr(entry, key)]
    lists = _lists(entry, named)
    if entry.mutations is None:
        return PatchClaims(lists, {})
    try:
        sets = {name: patch_entries(bench.kit.benchmark, getattr(entry, key)) for name, key in SETS.items()}
    except ConfigError as error:
        return PatchClaims([*lists, _claim("manifests", [error.what], "every patch has its entry")], {})
    program = bench.reference if entry.mutations.target == "reference" and bench.reference else bench.baseline
    wrong, usable, edits = _applicable(bench, program, sets)
    wrong += [f"{SETS[name]} is named, but its set is empty" for name in named if not sets[name]]
    right = f"all {sum(map(len, sets.values()))} patches apply, change their file and come off again"
    claims = [*lists, _claim("apply", wrong, right), _disjoint(sets, edits)]
    order = [p for name in ("probes", "faults", "held-out") for p in usable[name]]
    random.Random(seed).shuffle(order)
    controls = {"the frozen baseline": bench.baseline} if "baseline" in entry.mutations.controls else {}
    workers = bench.kit.side_by_side
    suite = Suite(bench.kit, bench.mirror, _corpus(bench, program), bench.run_id, place=bench.place)
    sweeper = Sweeper(suite, program, False, workers, bench.announce)
    sweep = sweeper.sweep(order, usable["placebos"], controls, whole=True)
    claims += prove_alike(sweeper, sweep, order, usable["placebos"], stops=bool(entry.mutations.first_kill))
    sweep = _by_etalon(sweep, entry.etalon_cases)
    claims += _controls(sweep)
    killed = {m.name: m for m in sweep.mutants}
    claims += [_killers(name, sets[name], killed) for name in named if name != "placebos"]
    if entry.etalon_cases and sets["probes"]:
        claims.append(_own_probes(entry.etalon_cases, killed, sets["probes"]))
    matrix = {m.name: list(m.killed_by) for m in sorted(sweep.mutants, key=lambda m: m.name)}
    return PatchClaims(claims, matrix)


def _lists(entry: Entry, named: Sequence[str]) -> list[Claim]:
    """What is counted is named once, and what is named is run."""
    wrong = []
    for key, names in (("etalon_cases", entry.etalon_cases), ("gap_cases", entry.gap_cases)):
        wrong += [f"{key} names {name} {n} times" for name, n in Counter(names).items() if n > 1]
    if entry.etalon_cases:
        wrong += [f"{name} of gap_cases is no etalon case" for name in set(entry.gap_cases) - set(entry.etalon_cases)]
    if entry.mutations is None:
        wrong += [f"{SETS[name]} is named, but no 'mutations' that would run it" for name in named]
        wrong += ["etalon_dir is named, but no 'mutations' that would run it"] if entry.etalon_dir else []
    if not wrong and not entry.etalon_cases:
        return []
    right = f"{len(entry.etalon_cases)} etalon cases, {len(entry.gap_cases)} of them gaps, each named once"
    return [_claim("lists", sorted(wrong), right)]


def _corpus(bench: Bench, program: str) -> Cases:
    """The frozen program's own cases where they hold the hidden etalon, byte for byte; otherwise the etalon alone.

    So what the reference's corpus notices and what the etalon notices is found in one sweep.
    """
    entry = bench.kit.benchmark.entry
    own = cases_of(bench.mirror, program, entry.cases_dir or ".")
    if not entry.etalon_dir:
        return own
    etalon = folder_cases(bench.kit.benchmark.path(entry.etalon_dir))
    return own if own.items() >= etalon.items() else etalon


def _by_etalon(sweep: Sweep, etalon: Sequence[str]) -> Sweep:
    """Only what the etalon's cases noticed."""
    if not etalon:
        return sweep
    mutants = []
    for mutant in sweep.mutants:
        by = tuple(case for case in mutant.killed_by if case in etalon)
        verdict = "survived" if mutant.verdict == "killed" and not by else mutant.verdict
        mutants.append(replace(mutant, verdict=verdict, killed_by=by))
    return replace(sweep, mutants=tuple(mutants))


def _applicable(
    bench: Bench, program: str, sets: dict[str, list[PatchEntry]]
) -> tuple[list[str], dict[str, list[Patch]], dict[tuple[str, str], Edit]]:
    """What is wrong, the patches that can be run, and what each (by set and id) makes of the program."""
    wrong: list[str] = []
    usable: dict[str, list[Patch]] = {}
    edits: dict[tuple[str, str], Edit] = {}
    for name, key in SETS.items():
        usable[name] = []
        for item in sets[name]:
            path = bench.kit.benchmark.path(getattr(bench.kit.benchmark.entry, key)) / f"{item.id}.patch"
            try:
                commit = apply_patch(bench.mirror, program, path.read_bytes(), item.id)
            except PatchFails as error:
                wrong.append(f"{name}: {error.what}")
                continue
            usable[name].append(Patch(item.id, path))
            edits[name, item.id] = frozenset(bench.mirror.tree(commit)) ^ frozenset(bench.mirror.tree(program))
            odd = _misplaced(bench, program, commit, item) or _stuck(bench.mirror, program, commit, path.read_bytes())
            wrong += [f"{name}: {item.id} {what}" for what in odd]
    return wrong, usable, edits


def _misplaced(bench: Bench, program: str, commit: str, item: PatchEntry) -> list[str]:
    """A patch edits the one file it was made for, and gives exactly the content it was frozen with."""
    touched = [printable(p) for p in bench.mirror.changed_paths(program, commit)]
    before, after = ({(f.path, f.blob) for f in bench.mirror.tree(c)} for c in (program, commit))
    if before == after:
        return [f"leaves the hash of {', '.join(touched)} as it is: it changes the mode alone"]
    wrong = [] if touched == [item.source or touched[0]] else [f"changes {', '.join(touched)}"]
    entry = bench.kit.benchmark.entry
    yardstick = matcher([*entry.protected, *([f"{entry.cases_dir.rstrip('/')}/**"] if entry.cases_dir else [])])
    wrong += [f"changes {path}, which belongs to the checks and not to the program" for path in touched
              if yardstick.match(path)]  # fmt: skip
    for where, expected in ((program, item.source_sha256), (commit, item.patched_sha256)):
        if expected is not None and item.source is not None:
            content = bench.mirror.read(where, item.source)
            if content is None or hashlib.sha256(content).hexdigest() != expected:
                wrong.append(f"does not meet the frozen hash of {item.source}")
    return wrong


def _stuck(mirror: Mirror, program: str, commit: str, patch: bytes) -> list[str]:
    """Taken off again, a patch leaves the very program that the controls are green on."""
    try:
        same = reverted_tree(mirror, commit, patch) == mirror.tree_id(program)
    except PatchFails:
        same = False
    return [] if same else ["reverted does not give the program that the controls are green on"]


def _disjoint(sets: dict[str, list[PatchEntry]], edits: dict[tuple[str, str], Edit]) -> Claim:
    """No patch stands in a set twice or in two sets, by name or by what it makes of the program."""
    seen: dict[str | Edit, str] = {}
    wrong = []
    for name, entries in sets.items():
        for item in entries:
            marks: list[str | Edit] = [item.id, *([edits[name, item.id]] if (name, item.id) in edits else [])]
            known = next((seen[mark] for mark in marks if mark in seen), None)
            if known:
                wrong.append(f"{item.id} of {name} stands in {known} too")
            seen |= dict.fromkeys(marks, name)
    return _claim("disjoint", wrong, "the patch sets have nothing in common")


def _controls(sweep: Sweep) -> list[Claim]:
    wrong = [sweep.unusable] if sweep.unusable else []
    placebos = f"{len(sweep.placebos)} placebos survive" if sweep.placebos else "there are no placebos to survive"
    return [_claim("controls", wrong, f"controls are green before and after; {placebos}")]


def _killers(name: str, entries: Sequence[PatchEntry], killed: dict[str, Mutant]) -> Claim:
    """Every named killer kills; a probe is killed by nothing else."""
    wrong = []
    for item in entries:
        mutant = killed.get(item.id)
        if mutant is None:
            wrong.append(f"{item.id} was not run")
        elif mutant.verdict != "killed":
            wrong.append(f"{item.id} {_NOT_KILLED[mutant.verdict]}")
        elif not item.killers:
            wrong.append(f"{item.id} names no killers; noticed by {', '.join(mutant.killed_by)}")
        elif twice := [case for case, n in Counter(item.killers).items() if n > 1]:
            wrong.append(f"{item.id} names {', '.join(twice)} twice")
        elif missing := sorted(set(item.killers) - set(mutant.killed_by)):
            wrong.append(f"{item.id} is not noticed by {', '.join(missing)}")
        elif name == "probes" and (more := sorted(set(mutant.killed_by) - set(item.killers))):
            wrong.append(f"{item.id} is noticed by {', '.join(more)} as well")
    return _claim(name, wrong, f"all {len(entries)} {name} are noticed by the cases named for them")


def _own_probes(etalon: Sequence[str], killed: dict[str, Mutant], probes: Sequence[PatchEntry]) -> Claim:
    alone = {m.killed_by[0] for p in probes if (m := killed.get(p.id)) and len(m.killed_by) == 1}
    without = [case for case in etalon if case not in alone]
    return _claim("own-probe", [f"{case} has no probe of its own" for case in without],
                  f"each of {len(etalon)} etalon cases has a probe that only it notices")  # fmt: skip


def _claim(name: str, wrong: Sequence[str], right: str) -> Claim:
    said = "; ".join(wrong[:6]) + (f"; and {len(wrong) - 6} more" if len(wrong) > 6 else "")
    return Claim(
        group="patches",
        id=name,
        ok=not wrong,
        sentence=said if wrong else right,
        fix="mend the patch or its manifest; a frozen set changes only under a new id",
        evidence={"wrong": list(wrong)} if wrong else {},
    )
