"""How often the reference passes each gate: every run is judged anew, counted, kept, and never lost."""

from __future__ import annotations

import shutil
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from runner.cli.prove import Progress
from runner.errors import ConfigError, Interrupted, RigError
from runner.lab.check import Check, CheckResult
from runner.lab.kit import Kit
from runner.registry.benchmark import load_benchmark
from runner.repo import Mirror
from runner.schema.certificate import GateRun, Passes, Reliability
from runner.schema.run import ImageUse
from runner.scoring.patches import reference_commit
from runner.store.files import read_lines
from runner.validate import reliability
from runner.validate.reliability import (
    Bench,
    go_on,
    journal_file,
    measure_reliability,
    measured_gates,
    reliability_claims,
    reliability_file,
    store_reliability,
    summary,
)

MINI = Path(__file__).parents[2] / "support" / "mini"
GREEN = b"<testsuite>" + b"".join(b'<testcase name="%s.txtar"/>' % n for n in (b"add", b"refuse", b"sub")) + (
    b"</testsuite>"
)  # fmt: skip
PASSED = CheckResult(0, False, False, 0.1, b"", b"", report=GREEN)


@dataclass
class Place:
    """Answers checks; ``spoil`` says by command and number how one goes wrong."""

    spoil: dict[tuple[str, int], CheckResult | Exception] = field(default_factory=dict)
    seen: Counter[str] = field(default_factory=Counter)

    def __call__(self, check: Check) -> CheckResult:
        name = "behaviour" if check.report else check.command.argv[0]
        self.seen[name] += 1
        found = self.spoil.get((name, self.seen[name]), PASSED)
        if isinstance(found, Exception):
            raise found
        if check.output:
            check.output.with_name(check.output.name + ".out").write_bytes(found.stdout)
        return found


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    home = tmp_path / "registry"
    shutil.copytree(MINI, home, ignore=shutil.ignore_patterns(".bench", "__pycache__"))
    benchmark = load_benchmark(home / "index.md", "mini")
    info = SimpleNamespace(ncpu=2, mem_bytes=8 << 30, kernel="6.1", version="20.10")
    engine: Any = SimpleNamespace(info=info)
    kit = Kit(engine, benchmark, {"benchmark": ImageUse(tag="t", id="sha256:1")})
    folder = tmp_path / "work"
    folder.mkdir()
    mirror, baseline = Mirror.create(folder / "mirror.git", benchmark.source, benchmark.entry.baseline)
    journal_file(kit).parent.mkdir(parents=True)
    return Bench(kit, mirror, baseline, reference_commit(benchmark, mirror, baseline), folder, Place())


def measure(bench: Bench, place: Place, runs: int, workers: int = 1) -> Reliability:
    go_on(replace(bench, place=place), journal_file(bench.kit), runs, workers, lambda run, over, of: None)
    return summary(bench.kit, read_lines(journal_file(bench.kit), GateRun))


def test_every_run_is_judged_anew_and_a_flaky_gate_is_counted(bench: Bench) -> None:
    red = replace(PASSED, exit_code=1, stdout=b"sub.txtar came out otherwise")
    place = Place({("python3", 2): red})
    found = measure(bench, place, 3)
    assert place.seen == {"python3": 3, "tools/verify.sh": 3, "behaviour": 3}
    assert found.gates == {
        "ci": Passes(runs=3, passed=2, failures={"exit 1": 1}),
        "verify": Passes(runs=3, passed=3),
        "behaviour": Passes(runs=3, passed=3),
    }
    assert not found.holds
    assert found.shown() == "behaviour 3/3, ci 2/3 (1 x exit 1), verify 3/3"
    kept = journal_file(bench.kit).with_suffix("") / "ci-2-gate-ci.out"
    assert kept.read_bytes() == b"sub.txtar came out otherwise"
    assert found.machine == "2 cores, 8 GB, Linux 6.1, Docker 20.10"
    assert found.images == {"benchmark": "sha256:1"}
    assert found.since == found.date
    assert len(found.date) == len("2026-11-29")


def test_side_by_side_no_run_is_counted_twice(bench: Bench) -> None:
    place = Place()
    told: list[tuple[int, int]] = []
    go_on(replace(bench, place=place), journal_file(bench.kit), 8, 4, lambda run, over, of: told.append((over, of)))
    assert told == [(n, 24) for n in range(1, 25)]
    lines = read_lines(journal_file(bench.kit), GateRun)
    assert len({(line.gate, line.number) for line in lines}) == 24


def test_what_was_stopped_goes_on_where_it_was(bench: Bench) -> None:
    with pytest.raises(Interrupted):
        measure(bench, Place({("tools/verify.sh", 2): Interrupted("stopped")}), 4)
    assert len(read_lines(journal_file(bench.kit), GateRun)) == 4  # ci twice, verify and behaviour once
    place = Place()
    found = measure(bench, place, 4)
    assert place.seen == {"python3": 2, "tools/verify.sh": 3, "behaviour": 3}
    assert {gate.runs for gate in found.gates.values()} == {4}
    assert measure(bench, Place({("python3", 1): RigError("not to be asked")}), 3).gates == found.gates


def test_the_rig_is_tried_twice_and_never_counted(bench: Bench) -> None:
    assert measure(bench, Place({("python3", 1): RigError("no engine")}), 1).gates["ci"] == Passes(runs=1, passed=1)
    twice = Place({("python3", 1): RigError("no engine"), ("python3", 2): RigError("no engine")})
    with pytest.raises(RigError, match="no engine"):
        measure(bench, twice, 2)
    assert [r.gate for r in read_lines(journal_file(bench.kit), GateRun)] == ["ci", "verify", "behaviour"]
    assert twice.seen == {"python3": 2}


def test_another_image_or_machine_begins_anew(bench: Bench) -> None:
    other = replace(bench.kit, images={"benchmark": ImageUse(tag="t", id="sha256:2")})
    assert journal_file(other) != journal_file(bench.kit)


def test_the_claim_needs_two_hundred_runs_and_199_passes(bench: Bench) -> None:
    kit = bench.kit
    assert reliability_claims(kit) == []
    few = measure(bench, Place(), 3)
    assert store_reliability(kit, few)
    (claim,) = reliability_claims(kit)
    assert not claim.ok
    assert "behaviour 3/3, ci 3/3, verify 3/3" in claim.sentence
    assert claim.sentence.endswith("too few to show 199 of 200")
    assert claim.fix == "bench validate mini --reliability 200"
    for passed, ok in ((200, True), (199, True), (198, False)):
        gates = {name: Passes(runs=200, passed=passed) for name in few.gates}
        assert store_reliability(kit, few.model_copy(update={"gates": gates}))
        assert reliability_claims(kit)[0].ok is ok
    assert not store_reliability(kit, few), "three runs took the place of two hundred"
    assert reliability_claims(kit)[0].sentence.startswith("the reference passed behaviour 198/200")
    kept = reliability_file(kit).read_text()
    reliability_file(kit).write_text(kept.replace(kit.benchmark.hash, "0" * 64))
    assert reliability_claims(kit) == []  # of another benchmark: nothing is claimed


def test_a_gate_that_could_not_be_measured_is_no_pass(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    def unmeasured(branch: object, attempts: object, announce: object, only: list[str]) -> object:
        gate = SimpleNamespace(passed=None, reason="it executed nothing (exit 2)", evidence={})
        return SimpleNamespace(gates=[gate])

    monkeypatch.setattr(reliability, "measure_gates", unmeasured)
    found = measure(bench, Place(), 1).gates["ci"]
    assert found == Passes(runs=1, passed=0, failures={"it executed nothing (exit 2)": 1})


def test_which_gates_there_are(bench: Bench) -> None:
    entry = bench.kit.benchmark.entry
    assert measured_gates(entry) == ["ci", "verify", "behaviour"]
    more = entry.model_copy(update={"commands": entry.commands | {"e2e": entry.commands["ci"]}})
    assert measured_gates(more) == ["ci", "verify", "behaviour", "e2e"]


def test_a_benchmark_without_a_reference_or_with_a_changed_file_is_refused(bench: Bench) -> None:
    kit = bench.kit
    bare = replace(kit.benchmark, entry=kit.benchmark.entry.model_copy(update={"reference": []}))
    with pytest.raises(ConfigError, match="no reference to measure"):
        measure_reliability(replace(kit, benchmark=bare), 1, lambda run, over, of: None)
    frozen = kit.benchmark.home / "mini" / "frozen.json"
    frozen.parent.mkdir(exist_ok=True)
    frozen.write_text('{"benchmark": "mini", "entry": "0", "baseline": "0", "files": {}}')
    with pytest.raises(ConfigError, match="is frozen, but the baseline differs"):
        measure_reliability(kit, 1, lambda run, over, of: None)


def test_progress_says_failures_at_once_and_the_rest_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    status: list[str] = []
    progress = Progress("mini", said.append, status.append)
    run = GateRun(gate="ci", number=7, passed=True, ended="pass", date="2026-11-29T00:00:00Z", seconds=1.0)
    progress(run, 1, 9)
    progress(run.model_copy(update={"passed": False, "ended": "exit 1"}), 2, 9)
    assert said == ["mini: ci run 7 did not pass: exit 1"]
    assert status[-1].startswith("mini: 2 of 9 checks")
    monkeypatch.setattr(Progress, "EVERY_S", 0.0)
    progress(run, 3, 9)
    assert said[-1].startswith("mini: 3 of 9 checks")
