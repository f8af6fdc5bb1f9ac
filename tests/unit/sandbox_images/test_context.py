"""What counts in a build context, and what does not."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from runner.errors import BuildError
from runner.sandbox.context import EPOCH, context_files, context_hash, stage
from runner.sandbox.images import ImageSpec, spec_hash


@pytest.fixture
def context(tmp_path: Path) -> Path:
    root = tmp_path / "context"
    (root / "sub").mkdir(parents=True)
    (root / "Dockerfile").write_text("FROM scratch\n")
    (root / "sub" / "tool").write_bytes(b"#!/bin/sh\n")
    (root / "link").symlink_to("sub/tool")
    return root


def test_time_owner_and_umask_do_not_count(context: Path) -> None:
    before = context_hash(context)
    os.utime(context / "Dockerfile", (1, 1))
    (context / "Dockerfile").chmod(0o600)
    assert context_hash(context) == before


@pytest.mark.parametrize(
    "change",
    [
        lambda root: (root / "Dockerfile").write_text("FROM scratch \n"),
        lambda root: (root / "sub" / "tool").chmod(0o755),
        lambda root: (root / "sub" / "tool").rename(root / "sub" / "tool2"),
        lambda root: (root / "new").write_text(""),
        lambda root: ((root / "link").unlink(), (root / "link").symlink_to("Dockerfile")),
        lambda root: ((root / "link").unlink(), (root / "link").write_bytes(b"#!/bin/sh\n")),
    ],
    ids=["bytes", "executable bit", "name", "new file", "link's target", "file for link"],
)
def test_content_counts(context: Path, change: object) -> None:
    before = context_hash(context)
    assert callable(change)
    change(context)
    assert context_hash(context) != before


def test_bytecode_and_git_are_left_out(context: Path) -> None:
    before = context_hash(context)
    (context / "__pycache__").mkdir()
    (context / "__pycache__" / "x.pyc").write_bytes(b"\0")
    (context / ".git").mkdir()
    (context / ".git" / "HEAD").write_text("ref: refs/heads/x\n")
    assert context_hash(context) == before


def test_bytes_cannot_wander_between_names(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    one.mkdir()
    two.mkdir()
    (one / "a").write_text("bc")
    (two / "ab").write_text("c")
    assert context_hash(one) != context_hash(two)


def test_a_name_that_is_no_text_is_hashed(context: Path) -> None:
    Path(os.fsdecode(os.fsencode(context) + b"/caf\xe9")).write_text("x")
    assert len(context_files(context)) == 4
    assert context_hash(context)


def test_a_fifo_is_refused(context: Path) -> None:
    os.mkfifo(context / "pipe")
    with pytest.raises(BuildError, match="neither a file"):
        context_hash(context)


def test_the_staged_copy_is_even(context: Path, tmp_path: Path) -> None:
    (context / "Dockerfile").chmod(0o640)
    (context / "sub" / "tool").chmod(0o711)
    target = tmp_path / "staged"
    target.mkdir()
    assert stage(context, target) == context_hash(context)
    assert (target / "Dockerfile").stat().st_mode & 0o777 == 0o644
    assert (target / "sub" / "tool").stat().st_mode & 0o777 == 0o755
    assert (target / "sub").stat().st_mtime == EPOCH
    assert os.readlink(target / "link") == "sub/tool"


def test_everything_that_decides_an_image_decides_its_tag(context: Path) -> None:
    def tag(parents: dict[str, str] | None = None, content: str = "c", **more: object) -> str:
        spec = ImageSpec("bench/x", context, **more)  # type: ignore[arg-type]
        return spec_hash(spec, parents or {}, content)

    tags = [
        tag(),
        tag(content="d"),
        tag(parents={"PARENT": "sha256:1"}),
        tag(parents={"PARENT": "sha256:2"}),
        tag(args={"VERSION": "1"}),
        tag(target="final"),
        tag(dockerfile="Other"),
    ]
    assert len(set(tags)) == len(tags)
    assert tag() == tag()
