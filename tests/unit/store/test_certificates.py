"""A certificate counts for what it was made of: this benchmark, these images, claims that all hold."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from runner.errors import RigError
from runner.schema.certificate import Certificate, Claim
from runner.store.certificates import certificate_path, proof_of
from runner.store.files import write_record

HASH = "a" * 64
IMAGES = {"benchmark": "sha256:1", "trusted": "sha256:2"}


def proof(tmp_path: Path, images: dict[str, str], **keys: Any) -> str | None:
    claims = [Claim(group="frozen", id="files", ok=True, sentence="as they were")]
    found = {"benchmark": "mini", "benchmark_hash": HASH, "images": IMAGES, "claims": claims, **keys}
    path = certificate_path(tmp_path / "runs", "mini", HASH)
    path.parent.mkdir(exist_ok=True)
    write_record(path, Certificate(baseline="b", tools={}, runner_version="1", matrix={}, **found))
    return proof_of(tmp_path / "runs", "mini", HASH, images)


def test_it_counts_on_the_images_that_it_was_made_with_and_on_no_other(tmp_path: Path) -> None:
    assert proof(tmp_path, {**IMAGES, "contestant": "sha256:9"})
    assert proof(tmp_path, {**IMAGES, "benchmark": "sha256:3"}) is None
    assert proof(tmp_path, {"benchmark": "sha256:1"}) is None


def test_one_of_another_benchmark_or_without_a_claim_proves_nothing(tmp_path: Path) -> None:
    assert proof(tmp_path, IMAGES, benchmark="maxi") is None
    assert proof(tmp_path, IMAGES, benchmark_hash="a" * 63 + "b") is None
    assert proof(tmp_path, IMAGES, claims=[]) is None


def test_one_that_cannot_be_read_says_how_to_go_on(tmp_path: Path) -> None:
    path = certificate_path(tmp_path / "runs", "mini", HASH)
    path.parent.mkdir()
    path.write_text("{")
    with pytest.raises(RigError, match="bench validate mini writes it anew"):
        proof_of(tmp_path / "runs", "mini", HASH, IMAGES)
