"""`bench validate` proves a sound benchmark; breaking one claim by hand turns it red with the right sentence.

Claims about patches are broken one by one in the unit tests.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from runner.errors import ConfigError, Interrupted
from runner.lab.check import Check, CheckResult, SetupFails, run_check
from runner.lab.prepare import prepare_kit
from runner.registry.benchmark import load_benchmark
from runner.registry.frozen import check_frozen, freeze
from runner.repo import Mirror
from runner.sandbox.engine import Engine, connect
from runner.sandbox.pod import Pod
from runner.schema.certificate import Claim
from runner.scoring.patches import reference_commit
from runner.validate.baseline import prove_baseline_claims
from runner.validate.bench import Bench
from runner.validate.certify import _groups, frozen_claim
from runner.validate.commands import prove_commands
from runner.validate.determinism import prove_determinism
from runner.validate.leaks import prove_no_leaks
from runner.validate.patches import prove_patches
from runner.validate.saboteur import prove_saboteur
from runner.validate.solutions import prove_solutions

MINI = Path(__file__).parents[2] / "support" / "mini"


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    with connect() as found:
        yield found


@pytest.fixture
def home(tmp_path: Path) -> Path:
    target = tmp_path / "registry"
    shutil.copytree(MINI, target, ignore=shutil.ignore_patterns(".bench", "__pycache__"))
    return target


def change(home: Path, **keys: Any) -> None:
    head, body, rest = (home / "index.md").read_text().split("---\n", 2)
    data = yaml.safe_load(body)
    data["benchmarks"][0].update(keys)
    (home / "index.md").write_text(f"{head}---\n{yaml.safe_dump(data)}---\n{rest}")


def opened(engine: Engine, home: Path) -> Bench:
    benchmark = load_benchmark(home / "index.md", "mini")
    folder = home.parent / "work"
    folder.mkdir()
    mirror, baseline = Mirror.create(folder / "mirror.git", benchmark.source, benchmark.entry.baseline)
    kit = prepare_kit(engine, benchmark, lambda line: None)
    reference = reference_commit(benchmark, mirror, baseline)

    def place(check: Check) -> CheckResult:
        return run_check(kit, mirror, check, run_id="validate-test")

    return Bench(kit, mirror, baseline, reference, "validate-test", folder, lambda line: None, place)


def red(claims: list[Claim]) -> dict[str, str]:
    return {claim.id: claim.sentence for claim in claims if not claim.ok}


def test_a_sound_benchmark_is_proven_and_its_certificate_goes_into_the_rows(home: Path) -> None:
    def bench(*argv: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "runner.cli.main", *argv, "--registry", str(home / "index.md"), "--json"]
        return subprocess.run(command, capture_output=True, text=True, cwd=MINI.parents[2], timeout=600)

    done = bench("validate", "mini", "--freeze")
    (certificate,) = json.loads(done.stdout)
    assert red([Claim.model_validate(c) for c in certificate["claims"]]) == {}, done.stderr
    assert done.returncode == 0
    assert certificate["matrix"]["add-wrong"] == ["add.txtar"]
    order = next(c for c in certificate["claims"] if c["id"] == "order")
    assert "nop 0.0 < one-case" in order["sentence"]
    ran = bench("run", "mini", "-m", "control/reference", "--full")
    assert ran.returncode == 0, ran.stderr
    (row,) = json.loads(ran.stdout)["rows"]
    assert (row["cells"]["outcome"], row["cells"]["code"]) == ("pass", "100.0")
    history = (home / ".bench" / "history.jsonl").read_text()
    assert json.loads(history.splitlines()[0])["certificate"]
    # frozen: one changed file is refused by name, for validate and for run
    (home / "etalon" / "add.txtar").write_text("changed\n")
    refused = bench("run", "mini", "-m", "control/nop")
    assert refused.returncode == 2
    assert "etalon/add.txtar differs from what was frozen" in refused.stderr


def test_an_unfrozen_benchmark_is_not_proven(engine: Engine, home: Path) -> None:
    kit = opened(engine, home).kit
    assert "is not frozen" in frozen_claim(kit).sentence
    freeze(kit.benchmark)
    assert frozen_claim(kit).ok
    (home / "faults" / "sub-plus.patch").write_text("changed\n")
    with pytest.raises(ConfigError, match=r"faults/sub-plus\.patch differs"):
        check_frozen(load_benchmark(home / "index.md", "mini"))


def test_a_placebo_that_bites(engine: Engine, home: Path) -> None:
    shutil.copy(home / "held-out" / "refuse-words.patch", home / "placebos" / "comment.patch")
    claims = red(prove_patches(opened(engine, home), 1).claims)
    assert "change no behaviour: comment" in claims["controls"]
    assert "stands in held-out too" in claims["disjoint"]


def test_a_missing_tool_and_an_oracle_that_runs_too_little(engine: Engine, home: Path) -> None:
    commands = {
        "ci": {"argv": ["python3", "tools/run_cases.py"]},
        "lint": {"argv": ["no-such-linter", "."]},
        "unit": {"argv": ["python3", "tools/no_such_script.py"]},
        "typecheck": {"argv": ["sh", "-c", "if true; then"]},
        "docs": {"argv": ["/bin/sh", "-c", "fi"]},
        "inline": {"argv": ["python3", "-c", "pass"]},
        "within": {"argv": ["python3", "run_cases.py"], "cwd": "tools"},
        "folder": {"argv": ["./tools"]},
        "keyword": {"argv": ["if"]},
        "text": {"argv": ["src/calc.py"]},
        "module": {"argv": ["python3", "-m", "no.such.module"]},
        "code": {"argv": ["python3", "-c", "if ("]},
        "cases": {
            "argv": ["sh", "-c", "rm cases/add.txtar; python3 tools/run_cases.py"],
            "env": {"REPORT": "/out/cases.xml"},
        },
    }
    criterion = {"dir": "etalon", "command": {"argv": ["no-such-judge"], "oracle": True}}
    change(home, commands=commands, criterion=criterion)
    claims, tools = prove_commands(opened(engine, home))
    exist = red(claims)["exist"]
    assert "commands.lint: the image has no 'no-such-linter'" in exist
    assert "commands.unit: there is no 'tools/no_such_script.py' to run" in exist
    assert "commands.typecheck: sh cannot read it: " in exist
    assert "commands.docs: sh cannot read it: " in exist
    assert not [key for key in ("ci", "inline", "within") if f"commands.{key}" in exist]
    assert "commands.folder: there is no program './tools' in the tree" in exist
    assert "commands.keyword: the image has no 'if'" in exist
    assert "commands.text: there is no program 'src/calc.py' in the tree" in exist
    assert "commands.module: python3 cannot read it: ModuleNotFoundError" in exist
    assert "commands.code: python3 cannot read it: SyntaxError" in exist
    assert "criterion.command: the image has no 'no-such-judge'" in exist
    assert "executed 2 cases of 3" in red(claims)["oracle"]
    assert tools["python3"].startswith("Python 3")


def test_a_command_and_a_setup_that_cannot_begin_break_a_claim_and_no_proof(engine: Engine, home: Path) -> None:
    change(home, milestones=[{"id": "M01", "file": "plan/M01.md", "verify": {"argv": ["tools/no_such_script.sh"]}}])
    bench = opened(engine, home)
    groups = [group() for name, group in _groups(bench, 1, {}, {}).items() if name in ("commands", "baseline")]
    claims = red([claim for group in groups for claim in group])
    assert "M01.verify: there is no program 'tools/no_such_script.sh' in the tree" in claims["exist"]
    assert "nothing of this could be proven: " in claims["baseline-not-begun"]
    change(home, setup={"argv": ["no-such-setup"]})
    bench = replace(bench, kit=replace(bench.kit, benchmark=load_benchmark(home / "index.md", "mini")))
    with pytest.raises(SetupFails, match=r"setup could not be started: .*no-such-setup"):
        run_check(bench.kit, bench.mirror, Check(bench.baseline, bench.kit.benchmark.entry.commands["ci"]), run_id="x")


def test_a_red_baseline_and_one_with_nothing_to_do(engine: Engine, home: Path) -> None:
    done = [{"id": "M01", "file": "plan/M01.md", "verify": {"argv": ["true"]}}]
    change(
        home,
        milestones=done,
        commands={"ci": {"argv": ["sh", "-c", "echo broken; exit 1"]}, "cases": {"argv": ["true"]}},
    )
    claims = red(prove_baseline_claims(opened(engine, home)))
    assert "CI is red on the baseline (exit 1): broken" in claims["ci"]
    assert "there is nothing to measure" in claims["verify-M01"]


def test_a_flaky_check_is_named(engine: Engine, home: Path) -> None:
    coin = ["python3", "-c", "import os, sys; sys.exit(os.urandom(1)[0] % 2)"]
    change(home, commands={"ci": {"argv": coin}, "cases": {"argv": ["python3", "tools/run_cases.py"]}})
    bench = opened(engine, home)
    found = [red(prove_determinism(bench, seed)) for seed in range(6)]  # misses one in 4,000 times
    assert any("flaky, and so in quarantine: ci (exit 0 | exit 1)" in claims.get("repeat", "") for claims in found)


def test_a_leak_is_found_by_its_content(engine: Engine, home: Path) -> None:
    bench = opened(engine, home)
    assert red(prove_no_leaks(bench)) == {}
    shown = replace(bench, baseline=bench.reference or "", run_id="leak")
    assert red(prove_no_leaks(shown)) == {}  # what the baseline itself shows is not hidden
    # The reference in the history below the baseline: no file of the tree gives it away.
    buried = bench.mirror.commit_tree(bench.mirror.tree_id(bench.baseline), bench.reference or "", "tidied up")
    claims = red(prove_no_leaks(replace(bench, baseline=buried)))
    assert list(claims) == ["repository"]
    assert "within a contestant's reach: etalon/add.txtar" in claims["repository"]
    # A hidden file under another name in the image, and the canary in the tree.
    with Pod(engine, bench.kit.pod_spec("leak", 60)) as pod:
        box = pod.check_box(bench.kit.contestant_image)
        (home / "etalon" / "hidden.txtar").write_bytes(box.exec(["cat", "/usr/lib/os-release"], timeout_s=20).stdout)
    change(home, canary="Write cases for every command.")
    claims = red(
        prove_no_leaks(replace(bench, kit=replace(bench.kit, benchmark=load_benchmark(home / "index.md", "mini"))))
    )
    assert claims["image"] == "within a contestant's reach: etalon/hidden.txtar (/usr/lib/os-release)"
    assert "/work/repo/plan/M01.md" in claims["canary"]
    assert "/work/repo: its history" in claims["canary"]
    # An ignored file that is carried into every tree is within reach too.
    (home / "program" / "notes.env").write_bytes((home / "etalon" / "add.txtar").read_bytes())
    change(home, carry=["notes.env"])
    claims = red(
        prove_no_leaks(replace(bench, kit=replace(bench.kit, benchmark=load_benchmark(home / "index.md", "mini"))))
    )
    assert "etalon/add.txtar (/work/repo/notes.env)" in claims["image"]
    # A search that was stopped says so; it is no leak, and no clean image.
    bench.kit.cancel.set()
    with pytest.raises(Interrupted, match="the proof was stopped"):
        prove_no_leaks(bench)


def test_a_success_criterion_that_passes_on_the_baseline(engine: Engine, home: Path) -> None:
    (home / "criterion").mkdir()
    (home / "criterion" / "run.sh").write_text("exit 0\n")
    change(home, criterion={"dir": "criterion", "command": {"argv": ["sh", "/oracle/run.sh"], "oracle": True}})
    claims = red(prove_baseline_claims(opened(engine, home)))
    assert claims == {
        "criterion": "the success criterion passes on the baseline in repeat 1: there is nothing to measure"
    }


def test_a_solution_that_lands_elsewhere(engine: Engine, home: Path) -> None:
    manifest = home / "graded" / "manifest.yaml"
    manifest.write_text(
        "gap: 50\nsolutions:\n"
        "- {id: nop, patches: [], expect: {outcome: pass, gates: {scope: false}, killed: [50, 100]}}\n"
        "- {id: one-case, patches: [], corpus: one-case}\n"
    )
    bench = opened(engine, home)
    claims = red(prove_solutions(bench, "graded", "graded"))
    assert "outcome fail@M01, expected pass" in claims["graded-nop"]
    assert "gate scope passes, expected to fail" in claims["graded-nop"]
    assert "kills 0.0 %" in claims["graded-nop"]
    assert "is not 50 points above" in claims["order"]


def test_a_saboteur_that_passes(engine: Engine, home: Path) -> None:
    green = {"ci": {"argv": ["true"]}, "cases": {"argv": ["true"]}}
    change(home, commands=green, scope_allowlist=["**"])
    (claim,) = prove_saboteur(opened(engine, home))
    assert not claim.ok
    assert claim.sentence == (
        "the saboteur passes the gate scope and ci: 1 deleted files of tests and an edited CI go unnoticed"
    )


def test_reliability_counts_a_flaky_gate_and_goes_on_where_it_was(home: Path) -> None:
    coin = ["python3", "-c", "import os, sys; sys.exit(os.urandom(1)[0] % 2)"]
    change(home, commands={"ci": {"argv": coin}, "cases": {"argv": ["python3", "tools/run_cases.py"],
           "env": {"REPORT": "/out/cases.xml"}, "timeout_s": 60}})  # fmt: skip

    def measure(runs: int) -> tuple[int, Any, str]:
        argv = ["validate", "mini", "--reliability", str(runs), "--registry", str(home / "index.md"), "--json"]
        done = subprocess.run([sys.executable, "-m", "runner.cli.main", *argv], capture_output=True, text=True,
                              cwd=MINI.parents[2], timeout=300)  # fmt: skip
        return done.returncode, json.loads(done.stdout)[0], done.stderr

    code, found, said = measure(3)
    assert {name: gate["runs"] for name, gate in found["gates"].items()} == {"behaviour": 3, "ci": 3, "verify": 3}
    assert found["gates"]["behaviour"]["passed"] == found["gates"]["verify"]["passed"] == 3, said
    code, found, said = measure(12)  # a coin that falls 12 times on one side: once in 2,000
    coins = found["gates"]["ci"]
    assert coins["runs"] == 12
    assert 0 < coins["passed"] < 12
    assert coins["failures"] == {"exit 1": 12 - coins["passed"]}
    assert code == 4
    journal = next((home / ".bench" / "reliability").glob("mini-*.jsonl"))
    numbers = [(line["gate"], line["number"]) for line in map(json.loads, journal.read_text().splitlines())]
    assert sorted(numbers) == sorted((gate, n) for gate in ("behaviour", "ci", "verify") for n in range(1, 13))
    kept = json.loads((home / "mini" / "reliability.json").read_text())
    assert kept == found
    assert (kept["date"], "cores" in kept["machine"], kept["benchmark"]) == (found["date"], True, "mini")
