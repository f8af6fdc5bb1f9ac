"""A scaffolded entry, filled in as the guide says, can be proven; its checks are carried out on this machine."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import yaml

from runner.lab.kit import Kit
from runner.lab.onhost import HostLab, NoEngine
from runner.registry.benchmark import load_benchmark
from runner.repo import Mirror
from runner.scaffold.scaffold import scaffold
from runner.scoring.patches import reference_commit
from runner.validate.bench import Bench
from runner.validate.patches import prove_patches
from runner.validate.solutions import prove_reference
from tests.unit.scaffold.conftest import PYTHON, MakeRepo, run_git

TESTS = """import pytest

from sums.calc import clamp, mean, total


def test_total():
    assert total([1, 2]) == 3
    assert total([1, -2]) == -1
    assert total([0], strict=True) == 0
    with pytest.raises(ValueError):
        total([-1], strict=True)


def test_mean():
    assert mean([]) is None
    assert mean([2, 4]) == 3


def test_clamp():
    assert [clamp(-5), clamp(7), clamp(101)] == [0, 7, 100]
"""
VERIFY = "import sys\nsys.path.insert(0, '.')\nimport sums.calc as c\nsys.exit(0 if hasattr(c, 'product') else 1)\n"


def test_a_filled_in_entry_is_proven(
    make_repo: MakeRepo, index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:/usr/bin:/bin")
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    page = "plan/milestones/M01-first/M01-first.md"
    repo = make_repo(
        {**PYTHON, "tests/test_calc.py": TESTS, "plan/index.md": "# Plan\n", page: "# M01\n", "tools/verify.py": VERIFY}
    )
    scaffold(index, "sums-1", repo, "main", patches=3)
    home = index.parent / "sums-1"
    (repo / "sums/product.py").write_text("")
    with (repo / "sums/calc.py").open("a") as program:
        program.write("\n\ndef product(a, b):\n    return a * b\n")
    run_git(repo, "add", "-A")
    (home / "M01.patch").write_text(run_git(repo, "diff", "--cached", "--binary"))
    text = (
        index.read_text()
        .replace("/out/cases.xml", "cases.xml")
        .replace("reference: []", "reference: [sums-1/M01.patch]")
    )
    text = text.replace("verify: ci", "verify: {argv: [python3, tools/verify.py]}")
    index.write_text(text)

    def opened(name: str) -> Bench:
        benchmark = load_benchmark(index, "sums-1")
        folder = tmp_path / name
        folder.mkdir()
        mirror, baseline = Mirror.create(folder / "mirror.git", benchmark.source, benchmark.entry.baseline)
        reference = reference_commit(benchmark, mirror, baseline)
        place = HostLab(benchmark, mirror).run
        return Bench(Kit(NoEngine(), benchmark), mirror, baseline, reference, "host", folder, lambda line: None, place)

    first = prove_patches(opened("first"), 1)
    assert {c.id for c in first.claims if not c.ok} == {"faults"}  # no killers are named yet
    # The guide: delete what nobody notices, and copy the tests that the matrix lists into 'killers'.
    manifest = home / "mutations/faults/manifest.yaml"
    entries = yaml.safe_load(manifest.read_text())["patches"]
    kept = [{**entry, "killers": first.matrix[entry["id"]]} for entry in entries if first.matrix[entry["id"]]]
    assert kept
    for entry in entries:
        if not first.matrix[entry["id"]]:
            (manifest.parent / f"{entry['id']}.patch").unlink()
    manifest.write_text(yaml.safe_dump({"patches": kept}))
    bench = opened("second")
    claims = prove_patches(bench, 1).claims + prove_reference(bench)
    assert {c.id: c.sentence for c in claims if not c.ok} == {}
