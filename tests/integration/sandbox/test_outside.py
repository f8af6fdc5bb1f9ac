"""What of a container is seen from the host: processes and files, as a command inside would see them."""

from __future__ import annotations

import os
import time

import pytest

from runner.lab.survivors import end_survivors
from runner.sandbox.box import Box
from runner.sandbox.transfer import NotCopied
from runner.sandbox.watch import Watch

from .conftest import Images, OpenPod

pytestmark = pytest.mark.engine
needs_root = pytest.mark.skipif(os.getuid() != 0, reason="seen from outside by root alone")


@pytest.fixture
def box(open_pod: OpenPod, images: Images) -> Box:
    return open_pod().check_box(images.base)


@pytest.fixture(params=[pytest.param("outside", marks=needs_root), "inside"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both ways of looking; the second is that of a runner which is not root on the engine's host."""
    if request.param == "inside":
        monkeypatch.setattr(Watch, "read", lambda self, path, limit: None)
        monkeypatch.setattr(Watch, "processes", lambda self, uid: None)
    return str(request.param)


def sh(box: Box, script: str) -> None:
    done = box.exec(["sh", "-c", script], timeout_s=20)
    assert done.ok, done.stderr


def test_a_report_is_read(box: Box, way: str) -> None:
    sh(box, "printf 'a\\0b' > /out/report; mkdir /out/deep; echo x > /out/deep/x; ln -s deep /out/linked")
    assert box.get("/out/report", limit_bytes=10) == b"a\0b"
    assert box.get("/out/deep/x", limit_bytes=10) == b"x\n"
    assert box.get("/out/linked/x", limit_bytes=10) == b"x\n"
    with pytest.raises(NotCopied, match="larger than 2"):
        box.get("/out/report", limit_bytes=2)


@pytest.mark.parametrize(
    "left",
    ["true", "mkdir /out/report", "mkfifo /out/report", "ln -s /etc/passwd /out/report", "ln -s /out/x /out/report"],
)
def test_what_is_no_file_is_no_report(box: Box, way: str, left: str) -> None:
    sh(box, left)
    started = time.monotonic()
    with pytest.raises(NotCopied):
        box.get("/out/report", limit_bytes=10)
    assert time.monotonic() - started < 5


def test_a_link_in_the_way_never_leads_to_the_hosts_files(box: Box) -> None:
    """It leads where it leads inside the container."""
    sh(box, "ln -s / /out/root; ln -s ../../.. /out/up")
    inside = box.exec(["cat", "/etc/hostname"], timeout_s=10).stdout
    assert box.get("/out/root/etc/hostname", limit_bytes=100) == inside
    with pytest.raises(NotCopied):
        box.get("/out/up/proc/1/root/etc/docker-host-only", limit_bytes=100)
    assert box.outside().read("/out/../etc/hostname", 100) is None


def test_survivors_are_named_and_ended(box: Box, way: str) -> None:
    assert end_survivors(box, "1000:1000") == ()
    sh(box, "sleep 600 & sleep 601 & sh -c 'trap \"\" TERM; while :; do read x; done' < /dev/zero & exit 0")
    assert set(end_survivors(box, "1000:1000")) == {"sleep", "sh"}
    assert end_survivors(box, "1000:1000") == ()


THREADS = """
import ctypes, os, threading, time
if os.fork() == 0:
    os.closerange(0, 3)
    threading.Thread(target=time.sleep, args=(600,)).start()
    ctypes.CDLL(None).syscall(60, 0)
"""


def test_threads_that_outlive_the_first_of_their_process_are_survivors(box: Box, way: str) -> None:
    """The kernel shows such a process as a zombie."""
    assert box.exec(["python3", "-c", THREADS], timeout_s=20).ok
    assert end_survivors(box, "1000:1000") == ("python3",)
    assert end_survivors(box, "1000:1000") == ()


@needs_root
def test_others_processes_and_the_dead_are_not_counted(box: Box) -> None:
    sh(box, "sleep 600 >/dev/null 2>&1 &")
    assert box.outside().processes(1000) == ["sleep"]
    assert box.outside().processes(4242) == []


@needs_root
def test_after_its_end_nothing_is_seen(box: Box) -> None:
    sh(box, "echo x > /out/report")
    outside = box.outside()
    assert outside.read("/out/report", 10) == b"x\n"
    box.kill()
    assert outside.read("/out/report", 10) is None
    assert outside.processes(1000) is None
