"""The claim about the canary: it is worth something only where it stands in what is hidden, and nowhere else."""

from __future__ import annotations

from pathlib import Path

import pytest

from runner.registry.benchmark import load_benchmark
from runner.registry.load import read_entries
from runner.repo import blob_id
from runner.validate.leaks import canary_claim, hidden_blobs, hidden_files, secrets
from tests.unit.validate.conftest import Opened

REGISTRY = Path(__file__).parents[3] / "registry" / "index.md"


def test_a_canary_that_stands_in_no_hidden_file_proves_nothing() -> None:
    claim = canary_claim("bird-7", [b"one", b"two"], True, [])
    assert not claim.ok
    assert claim.sentence.startswith("the canary stands in none of 2 hidden files")
    assert claim.fix == "write it into a comment of each; text before a patch's first line does no harm"


def test_a_canary_in_hidden_files_alone_is_as_it_should_be() -> None:
    claim = canary_claim("bird-7", [b"# bird-7\n", b"two"], True, [])
    assert claim.ok
    assert claim.sentence == "the canary, which stands in 1 of 2 hidden files, is nowhere a contestant can read"
    assert canary_claim("bird-7", [], True, []).ok  # nothing is hidden: nothing to mark


@pytest.mark.parametrize("hidden", [[b"# bird-7"], [b"unmarked"], []])
def test_a_canary_within_reach_is_said_first(hidden: list[bytes]) -> None:
    claim = canary_claim("bird-7", hidden, True, ["/work/repo/notes"])
    assert not claim.ok
    assert claim.sentence == "within a contestant's reach: /work/repo/notes"
    unsearched = canary_claim("bird-7", hidden, False, [])
    assert not unsearched.ok
    assert unsearched.sentence == "within a contestant's reach: could not be searched"


def test_a_hidden_file_that_the_baseline_shows_is_no_secret(home: Path, opened: Opened) -> None:
    bench = opened()
    there = set(secrets(bench))
    copy = home / "etalon" / "copy.txtar"
    copy.write_bytes((bench.kit.benchmark.source / "plan" / "M01.md").read_bytes())
    (home / "etalon" / "mine.txtar").write_text("mine")
    assert set(secrets(bench)) - there == {home / "etalon" / "mine.txtar"}
    named = hidden_blobs(bench)
    assert named[blob_id(b"mine")] == "etalon/mine.txtar"
    assert blob_id(copy.read_bytes()) not in named
    shown = {entry.blob for entry in bench.mirror.tree(bench.baseline)}
    assert not shown & set(named)
    assert {entry.blob for entry in bench.mirror.tree(str(bench.reference))} - shown <= set(named)


@pytest.mark.parametrize("name", sorted(read_entries(REGISTRY)))
def test_every_hidden_file_of_our_own_holds_its_canary(name: str) -> None:
    benchmark = load_benchmark(REGISTRY, name)
    assert benchmark.entry.canary
    shown = {file.read_bytes() for file in benchmark.source.rglob("*") if file.is_file()}
    files = [file for file in hidden_files(benchmark) if file.read_bytes() not in shown]
    assert len(files) > 40
    assert [file.name for file in files if benchmark.entry.canary.encode() not in file.read_bytes()] == []
