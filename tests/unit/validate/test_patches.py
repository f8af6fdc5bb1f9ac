"""Each claim about patches turns red, with the right sentence, where a single thing of a sound benchmark is spoilt."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from runner.errors import DiskFull
from runner.lab.check import Check, CheckResult
from runner.repo import Mirror
from runner.schema.manifests import PatchEntry
from runner.scoring.patches import PatchFails, apply_patch, reverted_tree
from runner.validate.patches import _disjoint, _stuck, prove_patches
from tests.support.small_disk import small_disk
from tests.unit.validate.conftest import MINI, Opened, spoilt

MODE = "diff --git a/src/calc.py b/src/calc.py\nold mode 100644\nnew mode 100755\n"
SAME = "--- a/src/calc.py\n+++ b/src/calc.py\n@@ -1,2 +1,2 @@\n-import sys\n+import sys\n \n"
PAIRS = ["in", "one", "out", "", "", "", "go", "one", "come"]
TWINS = ["in", "one", "out", "", "", "", "in", "two", "out"]


def red(opened: Opened) -> dict[str, str]:
    return {c.id: c.sentence for c in prove_patches(opened(), 1).claims if not c.ok}


def test_nothing_is_red_where_nothing_is_spoilt(opened: Opened) -> None:
    found = prove_patches(opened(), 1)
    assert [c.id for c in found.claims if not c.ok] == []
    assert {c.id for c in found.claims} == {
        "lists", "apply", "disjoint", "controls", "probes", "faults", "held-out", "own-probe", "mutants"
    }  # fmt: skip
    assert found.matrix["sub-plus"] == ["sub.txtar"]


def test_a_patch_that_no_longer_applies(home: Path, opened: Opened) -> None:
    patch = home / "faults" / "sub-plus.patch"
    patch.write_text(patch.read_text().replace("left - right", "left % right"))
    said = red(opened)
    assert "faults: sub-plus does not apply" in said["apply"]
    assert said["faults"] == "sub-plus was not run"


def test_a_patch_with_the_line_ends_of_another_system(home: Path, opened: Opened) -> None:
    patch = home / "faults" / "sub-plus.patch"
    patch.write_bytes(patch.read_bytes().replace(b"\n", b"\r\n"))
    assert "faults: sub-plus does not apply" in red(opened)["apply"]


@pytest.mark.parametrize(
    ("patch", "sentence"),
    [
        (MODE, "faults: sub-plus leaves the hash of src/calc.py as it is: it changes the mode alone"),
        (SAME, "faults: sub-plus changes nothing"),
        ("", "faults: sub-plus does not apply"),
    ],
)
def test_a_patch_that_leaves_the_hash_of_its_file(home: Path, opened: Opened, patch: str, sentence: str) -> None:
    (home / "faults" / "sub-plus.patch").write_text(patch)
    assert red(opened)["apply"].startswith(sentence)


def test_a_patch_that_edits_another_file_or_makes_another_one_of_it(home: Path, opened: Opened) -> None:
    other, hashes = "source: src/other.py", f"source: src/calc.py, patched_sha256: '{'0' * 64}'"
    manifest = home / "faults" / "manifest.yaml"
    manifest.write_text(manifest.read_text().replace("about: subtracts", other).replace("about: adds", hashes))
    apply = red(opened)["apply"]
    assert "faults: add-minus changes src/calc.py" in apply
    assert "faults: sub-plus does not meet the frozen hash of src/calc.py" in apply


def test_a_patch_that_is_not_the_program_again_when_it_is_reverted(home: Path, opened: Opened) -> None:
    """Its line numbers lead to a place that reads already as the patch would have it: reverted, that one changes."""
    with (home / "reference" / "M01.patch").open("a") as reference:
        reference.write("--- /dev/null\n+++ b/twins\n@@ -0,0 +1,9 @@\n" + "".join(f"+{x}\n" for x in TWINS))
    patch = "--- a/twins\n+++ b/twins\n@@ -7,3 +7,3 @@\n in\n-one\n+two\n out\n"
    (home / "faults" / "sub-plus.patch").write_text(patch)
    reverted = "faults: sub-plus reverted does not give the program that the controls are green on"
    assert red(opened)["apply"] == reverted


def test_a_patch_that_does_not_come_off_at_all(opened: Opened) -> None:
    """Reverted, its first hunk takes the twin, where the second one then finds nothing of its own."""
    mirror, baseline = (bench := opened()).mirror, bench.baseline
    lines = "".join(f"{line}\n" for line in [*TWINS, "x"]).encode()
    program = mirror.overlaid(baseline, {b"twins": ("100644", lines)}, "with twins")
    patch = b"--- a/twins\n+++ b/twins\n@@ -7,3 +7,3 @@\n in\n-one\n+two\n out\n"
    patch += b"@@ -7,4 +7,4 @@\n in\n two\n out\n-x\n+y\n"
    commit = apply_patch(mirror, program, patch, "twins")
    with pytest.raises(PatchFails, match="does not apply"):
        reverted_tree(mirror, commit, patch)
    assert _stuck(mirror, program, commit, patch) == [
        "reverted does not give the program that the controls are green on"
    ]


def test_two_patches_of_one_name_are_one_too_many() -> None:
    one = PatchEntry(id="a", killers=["x"])
    assert _disjoint({"probes": [one], "faults": [one]}, {}).sentence == "a of faults stands in probes too"


def test_a_set_that_is_not_named_is_not_spoken_of(home: Path, opened: Opened) -> None:
    index = home / "index.md"
    index.write_text(index.read_text().replace("  held_out_dir: held-out\n", ""))
    said = {c.id for c in prove_patches(opened(), 1).claims}
    assert said >= {"apply", "probes", "faults"}
    assert "held-out" not in said


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["sleep", "30"], "makes the cases run into their time limit"),
        (["sh", "-c", "exit 3"], "fails, and no case says so"),
    ],
    ids=["slow", "silent"],
)
def test_a_fault_that_no_case_names(opened: Opened, argv: list[str], said: str) -> None:
    bench = opened()

    def place(check: Check) -> CheckResult:
        if b"left + right" not in (bench.mirror.read(check.commit, "src/calc.py") or b"").partition(b"sub")[2]:
            return bench.place(check)
        return bench.place(replace(check, command=check.command.model_copy(update={"argv": argv, "timeout_s": 0.3})))

    claims = prove_patches(replace(bench, place=place), 1).claims
    assert f"sub-plus {said}" in next(c.sentence for c in claims if c.id == "faults")


def test_a_control_that_is_red_after_the_sweep_and_was_green_before(opened: Opened) -> None:
    worn_out = ["sh", "-c", "sed -i 's/= left/= -left/' src/calc.py; exec python3 tools/run_cases.py"]
    bench = spoilt(opened(), lambda check: check.repeat == 1, worn_out)
    said = {c.id: c.sentence for c in prove_patches(bench, 1).claims if not c.ok}
    assert said["controls"] == "the corpus is flaky: green before the sweep, red after it (add.txtar, sub.txtar)"


def test_a_control_that_is_red_before_the_sweep(home: Path, opened: Opened) -> None:
    case = home / "etalon" / "sub.txtar"
    case.write_text(case.read_text().replace("-- stdout --\n", "-- stdout --\n1"))
    said = red(opened)
    assert said["controls"] == "the corpus is not green on the frozen program: red (sub.txtar)"
    assert "add-minus was not run" in said["faults"]


def test_overlapping_sets_and_wrong_killers(home: Path, opened: Opened) -> None:
    shutil.copy(home / "probes" / "add-wrong.patch", home / "faults" / "add-minus.patch")
    manifest = home / "faults" / "manifest.yaml"
    manifest.write_text(manifest.read_text().replace("killers: [sub.txtar]", "killers: [refuse.txtar]"))
    said = red(opened)
    assert "add-minus of faults stands in probes too" in said["disjoint"]
    assert "sub-plus is not noticed by refuse.txtar" in said["faults"]


def test_the_same_edit_of_another_line_is_another_fault(home: Path, opened: Opened) -> None:
    with (home / "reference" / "M01.patch").open("a") as reference:
        reference.write("--- /dev/null\n+++ b/pairs\n@@ -0,0 +1,9 @@\n" + "".join(f"+{x}\n" for x in PAIRS))
    for name, lines in (("add-minus", " in\n-one\n+two\n out\n"), ("sub-plus", " go\n-one\n+two\n come\n")):
        start = 1 if name == "add-minus" else 7
        patch = f"--- a/pairs\n+++ b/pairs\n@@ -{start},3 +{start},3 @@\n{lines}"
        (home / "faults" / f"{name}.patch").write_text(patch)
    said = red(opened)
    assert list(said) == ["faults"], said


def test_a_fault_without_killers_and_one_that_nobody_notices(home: Path, opened: Opened) -> None:
    manifest = home / "faults" / "manifest.yaml"
    manifest.write_text(manifest.read_text().replace("killers: [sub.txtar]", "killers: []"))
    shutil.copy(home / "placebos" / "comment.patch", home / "faults" / "add-minus.patch")
    said = red(opened)["faults"]
    assert "sub-plus names no killers; noticed by sub.txtar" in said
    assert "add-minus is noticed by nobody" in said


def test_an_etalon_case_without_a_probe_of_its_own(home: Path, opened: Opened) -> None:
    (home / "probes" / "sub-wrong.patch").unlink()
    manifest = home / "probes" / "manifest.yaml"
    manifest.write_text("".join(x for x in manifest.read_text().splitlines(True) if "sub-wrong" not in x))
    assert "sub.txtar has no probe of its own" in red(opened)["own-probe"]


def test_a_set_without_a_patch_proves_nothing(home: Path, opened: Opened) -> None:
    for name in ("faults", "placebos"):
        for patch in (home / name).glob("*.patch"):
            patch.unlink()
        (home / name / "manifest.yaml").write_text("patches: []\n")
    said = red(opened)["apply"]
    assert said == "mutations_dir is named, but its set is empty; placebos_dir is named, but its set is empty"


def test_a_patch_without_its_entry_and_an_entry_without_its_patch(home: Path, opened: Opened) -> None:
    (home / "faults" / "sub-plus.patch").rename(home / "faults" / "sub-minus.patch")
    assert red(opened)["manifests"].endswith("faults: sub-minus is a patch without an entry")


def test_a_full_disk_is_no_claim_about_a_patch(opened: Opened, tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", 4) as disk:
        bench = opened()
        mirror = Mirror(Path(shutil.copytree(bench.mirror.path, disk / "mirror.git")))
        patch = (MINI / "faults" / "sub-plus.patch").read_bytes()
        apply_patch(mirror, bench.baseline, patch, "sub-plus")  # from now on it knows the program's index
        assert subprocess.run(["dd", "if=/dev/zero", f"of={disk / 'rest'}"], capture_output=True).returncode
        with pytest.raises(DiskFull, match=r"git read-tree found no space left — free some in .*mirror\.git"):
            apply_patch(Mirror(mirror.path), bench.baseline, patch, "sub-plus")
        with pytest.raises(DiskFull, match=r"no space left to write .*index — free some"):
            apply_patch(mirror, bench.baseline, patch, "sub-plus")
        (disk / "room").write_bytes(b"")
        os.truncate(disk / "rest", os.path.getsize(disk / "rest") - (4 << 10))
        with pytest.raises(DiskFull, match=r"git apply found no space left"):
            apply_patch(mirror, bench.baseline, patch, "sub-plus")


def test_a_patch_of_the_case_runner_is_no_fault_of_the_program(home: Path, opened: Opened) -> None:
    """It would be noticed by every case that it names, and say nothing of any of them."""
    patch = home / "faults" / "sub-plus.patch"
    first = (MINI / "program" / "tools" / "run_cases.py").read_text().splitlines()[0]
    patch.write_text(f"--- a/tools/run_cases.py\n+++ b/tools/run_cases.py\n@@ -1,2 +1,3 @@\n {first}\n+# edited\n \n")
    said = red(opened)["apply"]
    assert "faults: sub-plus changes tools/run_cases.py, which belongs to the checks and not to the program" in said


def test_a_patch_of_several_files_is_no_single_fault(home: Path, opened: Opened) -> None:
    patch = home / "faults" / "sub-plus.patch"
    patch.write_text(patch.read_text() + "--- /dev/null\n+++ b/src/more.py\n@@ -0,0 +1 @@\n+MORE = 1\n")
    assert "faults: sub-plus changes src/calc.py, src/more.py" in red(opened)["apply"]


def test_what_is_counted_is_named_once(home: Path, opened: Opened) -> None:
    index, probes = home / "index.md", home / "probes" / "manifest.yaml"
    text = index.read_text().replace("refuse.txtar, sub.txtar]", "refuse.txtar, sub.txtar, add.txtar]")
    index.write_text(text.replace("gap_cases: [refuse.txtar]", "gap_cases: [refuse.txtar, nobody.txtar]"))
    probes.write_text(probes.read_text().replace("[add.txtar]", "[add.txtar, add.txtar]"))
    said = red(opened)
    assert said["lists"] == "etalon_cases names add.txtar 2 times; nobody.txtar of gap_cases is no etalon case"
    assert "names add.txtar twice" in said["probes"]


def test_sets_that_nothing_runs(home: Path, opened: Opened) -> None:
    index = home / "index.md"
    lines = [line for line in index.read_text().splitlines() if not line.startswith("  mutations:")]
    index.write_text("\n".join(lines))
    said = red(opened)["lists"]
    assert "etalon_dir is named, but no 'mutations' that would run it" in said
    assert "held_out_dir is named, but no 'mutations' that would run it" in said
