"""A proof that could not be kept, and a benchmark that could not be frozen, are refused before anything is run."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from runner.cli.prove import Proof
from runner.errors import ConfigError, DiskFull, RigError
from runner.registry.benchmark import load_benchmark
from runner.registry.frozen import freeze
from runner.registry.manifests import patch_entries
from runner.store.files import writable_folder
from runner.validate.certify import place_of
from tests.support.small_disk import small_disk


def test_a_folder_that_cannot_be_written(home: Path) -> None:
    benchmark = load_benchmark(home / "index.md", "mini")
    folder = place_of(benchmark).parent
    assert list(folder.iterdir()) == []
    folder.rmdir()
    folder.write_text("in the way")
    with pytest.raises(RigError, match=r"certificates cannot be written: .* — make .* a folder you may write to"):
        place_of(benchmark)


def test_a_proof_that_could_not_be_kept_does_not_begin(home: Path) -> None:
    (home / ".bench").mkdir(exist_ok=True)
    place = place_of(load_benchmark(home / "index.md", "mini")).parent
    place.rmdir()
    place.write_text("in the way")
    proof = Proof(home / "index.md", "mini", quiet=True)  # never entered: it has no engine to begin with
    with pytest.raises(RigError, match="certificates cannot be written"):
        proof.prove(freeze=False, seed=1)


def test_a_disk_without_room(home: Path) -> None:
    benchmark = load_benchmark(home / "index.md", "mini")
    with small_disk(home / ".bench", 1), pytest.raises(DiskFull, match=r"needs .* — free some"):
        place_of(benchmark)


def test_a_disk_that_is_full_to_the_last_byte(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", 1) as disk:
        assert subprocess.run(["dd", "if=/dev/zero", f"of={disk / 'rest'}"], capture_output=True).returncode
        with pytest.raises(DiskFull, match="no space left to write"):
            writable_folder(disk)


def test_what_cannot_be_frozen_says_so(home: Path) -> None:
    benchmark = load_benchmark(home / "index.md", "mini")
    (home / "mini").write_text("in the way")
    with pytest.raises(RigError, match=r"mini cannot be written: .* — make .* a folder you may write to"):
        freeze(benchmark)


def test_a_typo_in_a_manifest_is_named(home: Path) -> None:
    manifest = home / "faults" / "manifest.yaml"
    manifest.write_text(manifest.read_text().replace("killers", "killer"))
    benchmark = load_benchmark(home / "index.md", "mini")
    with pytest.raises(ConfigError, match=r"manifest\.yaml: patches\.0\.killer: unknown key \(and 2 more\) — see"):
        patch_entries(benchmark, "faults")
    manifest.unlink()
    with pytest.raises(ConfigError, match=r"manifest\.yaml is not there — a folder of patches, .* needs one"):
        patch_entries(benchmark, "faults")
