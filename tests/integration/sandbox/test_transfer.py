"""Files in and out of a box."""

from __future__ import annotations

import os
import resource
from pathlib import Path

import pytest

from runner.errors import RigError
from runner.sandbox.box import Box
from runner.sandbox.transfer import NotCopied

from .conftest import Images, OpenPod

pytestmark = pytest.mark.engine
ROOM = {"limit_bytes": 1 << 20, "limit_files": 100}


@pytest.fixture
def box(open_pod: OpenPod, images: Images) -> Box:
    return open_pod(work_mb=64).contestant(images.base)


def test_put_and_get(box: Box) -> None:
    box.put({"a/b c": b"\x00\xff", "run": (b"#!/bin/sh\nexit 9\n", 0o755), "empty": b""}, "/work/deep")
    assert box.get("/work/deep/a/b c", limit_bytes=2) == b"\x00\xff"
    assert box.get("/work/deep/empty", limit_bytes=0) == b""
    assert box.exec(["/work/deep/run"], timeout_s=10).exit_code == 9
    owner = box.exec(["stat", "-c", "%u:%g", "/work/deep/run"], timeout_s=10).stdout
    assert owner == b"1000:1000\n"


def test_many_files(box: Box, tmp_path: Path) -> None:
    for number in range(3000):
        folder = tmp_path / f"folder-{number % 7}"
        folder.mkdir(exist_ok=True)
        (folder / f"a rather long name, number {number}").write_text(str(number))
    box.put_tree(tmp_path, "/work/many")
    out = tmp_path.parent / "out"
    report = box.get_tree("/work/many", out, limit_bytes=1 << 20, limit_files=5000)
    assert (report.files, report.refused_count, report.truncated) == (3000, 0, False)
    names = {p.relative_to(out): p.read_bytes() for p in out.rglob("*") if p.is_file()}
    assert names == {p.relative_to(tmp_path): p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()}


def test_a_full_disk_is_said(box: Box) -> None:
    with pytest.raises(RigError, match="room left"):
        box.put({"big": bytes(80 << 20)}, "/work/deep")


def test_paths_that_leave_are_never_sent(box: Box) -> None:
    for name in ("/etc/x", "../x", "a/../../x"):
        with pytest.raises(RigError):
            box.put({name: b"x"}, "/work")


@pytest.mark.parametrize("make", ["ln -s /etc/passwd x", "mkfifo x", "mkdir x", "true"])
def test_get_takes_regular_files_only(box: Box, make: str) -> None:
    box.exec(["sh", "-c", make], timeout_s=10, cwd="/work")
    with pytest.raises(NotCopied):
        box.get("/work/x", limit_bytes=10_000)


def test_get_is_bounded(box: Box) -> None:
    box.exec(["truncate", "-s", "2G", "/work/sparse"], timeout_s=10)
    with pytest.raises(NotCopied, match="larger"):
        box.get("/work/sparse", limit_bytes=1000)


def test_get_tree_refuses_what_could_lead_elsewhere(box: Box, tmp_path: Path) -> None:
    script = (
        "mkdir -p t/d && cd t && echo ok > d/fine && ln -s /etc etc && ln -s /etc/passwd d/passwd && mkfifo pipe && "
        "python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"sock\")' && chmod 4755 d/fine"
    )
    assert box.exec(["sh", "-c", script], timeout_s=10, cwd="/work").ok
    out = tmp_path / "out"
    report = box.get_tree("/work/t", out, **ROOM)
    assert sorted(why for _, why in report.refused) == ["FIFO", "symbolic link", "symbolic link"]
    assert [str(p.relative_to(out)) for p in sorted(out.rglob("*"))] == ["d", "d/fine"]
    assert (out / "d" / "fine").stat().st_mode & 0o7777 == 0o755, "no set-user-id"
    box.exec(["ln", "-s", "/etc", "/work/link"], timeout_s=10)
    with pytest.raises(NotCopied):
        box.get_tree("/work/link", tmp_path / "other", **ROOM)


def test_a_sparse_giant_stops_at_the_limit(box: Box, tmp_path: Path) -> None:
    box.exec(["sh", "-c", "mkdir t && echo a > t/a && truncate -s 2G t/b && echo c > t/c"], timeout_s=10, cwd="/work")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    report = box.get_tree("/work/t", tmp_path / "out", **ROOM)
    assert report.truncated
    assert os.listdir(tmp_path / "out") == ["a"]
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024 < 64 << 20
