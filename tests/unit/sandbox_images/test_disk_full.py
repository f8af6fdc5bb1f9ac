"""A full disk is said in one sentence, the host's (/dev/full is always full) or the engine's."""

from __future__ import annotations

from pathlib import Path

import pytest
from docker.errors import APIError

from runner.errors import BuildError, DiskFull
from runner.sandbox.images import told_plainly


def test_the_hosts_disk() -> None:
    with pytest.raises(DiskFull, match="building x stopped") as caught, told_plainly("building x"):
        Path("/dev/full").write_text("x")
    assert not caught.value.retry


def test_the_engines_disk() -> None:
    with pytest.raises(DiskFull, match="engine's disk"), told_plainly("building x"):
        raise APIError("500", explanation="write /var/lib/docker/tmp: no space left on device")


def test_another_refusal_keeps_its_words() -> None:
    with pytest.raises(BuildError, match="invalid reference format"), told_plainly("building x"):
        raise APIError("400", explanation="invalid reference format")


def test_other_errors_pass() -> None:
    with pytest.raises(FileNotFoundError), told_plainly("building x"):
        Path("/nope/nope").read_text()
