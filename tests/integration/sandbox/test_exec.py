"""How a command in a box ends, and what of its output is kept."""

from __future__ import annotations

import resource
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from runner.sandbox.box import Box, BoxDead, ExecResult, ToolMissing
from runner.sandbox.container import Limits
from runner.sandbox.engine import Engine
from runner.sandbox.stream import open_descriptors

from .conftest import Images, OpenPod

pytestmark = pytest.mark.engine
MIB = 1 << 20


@pytest.fixture
def box(open_pod: OpenPod, images: Images) -> Box:
    return open_pod().contestant(images.base)


def test_exit_code_streams_apart_stdin_cwd_env_user(box: Box) -> None:
    script = 'cat; pwd >&2; printf %s "$X" >&2; id -u >&2; exit 3'
    done = box.exec(["sh", "-c", script], timeout_s=10, cwd="/tmp", env={"X": "é"}, stdin=b"\xff\x00in", user="7:7")
    assert done.exit_code == 3
    assert done.stdout == b"\xff\x00in"
    assert done.stderr == b"/tmp\n" + "é".encode() + b"7\n"
    assert not done.ok
    assert not done.timed_out


def test_bytes_come_as_they_are(box: Box) -> None:
    text = "aß漢🙂\r\n\x1b[31m" * 20_000
    done = box.exec(["cat"], timeout_s=30, stdin=text.encode())
    assert done.stdout == text.encode()
    done = box.exec(["printf", r"\377\376\000x"], timeout_s=10)
    assert done.stdout == b"\xff\xfe\x00x"


def test_a_command_that_does_not_read_its_input(box: Box) -> None:
    assert box.exec(["true"], timeout_s=20, stdin=b"x" * (4 * MIB)).exit_code == 0


def test_300_mb_are_drained_within_bounds(box: Box, tmp_path: Path) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    script = "printf head; head -c 300000000 /dev/zero; printf tail; exit 5"
    done = box.exec(["sh", "-c", script], timeout_s=120)
    assert done.exit_code == 5
    assert done.stdout_truncated
    assert not done.stderr_truncated
    assert done.stdout.startswith(b"head")
    assert done.stdout.endswith(b"tail")
    assert b"bytes left out" in done.stdout
    assert len(done.stdout) < 5 * MIB
    log = tmp_path / "log"
    done = box.exec(["sh", "-c", script], timeout_s=120, stdout_to=log, output_limit=8 * MIB)
    assert done.exit_code == 5
    assert done.stdout == b""
    assert log.stat().st_size < 9 * MIB
    assert log.read_bytes().endswith(b"tail")
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    assert grown < 64 * MIB


def test_a_memory_hog_that_is_dead_before_anybody_listens(
    open_pod: OpenPod, images: Images, monkeypatch: pytest.MonkeyPatch
) -> None:
    box = open_pod(limits=Limits(memory_mb=64, disk_mb=8, inodes=1000), work_mb=8).check_box(images.base)
    begin = box._begin

    def late(*given: Any) -> Any:
        begun = begin(*given)
        time.sleep(1.5)
        return begun

    monkeypatch.setattr(box, "_begin", late)
    done = box.exec(["python3", "-c", "x = bytearray(1 << 30)"], timeout_s=60)
    assert done.oom
    assert done.exit_code == 137
    assert done.seconds > 1.5


def test_output_up_to_the_limit_is_exact(box: Box, tmp_path: Path) -> None:
    done = box.exec(["head", "-c", "100000", "/dev/urandom"], timeout_s=10, output_limit=100_000)
    assert len(done.stdout) == 100_000
    assert not done.stdout_truncated
    file = tmp_path / "file"
    done = box.exec(["cat"], timeout_s=10, stdin=bytes(range(256)) * 1000, stdout_to=file, output_limit=256_000)
    assert file.read_bytes() == bytes(range(256)) * 1000
    assert not done.stdout_truncated


def test_a_timeout_ends_everything(box: Box, engine: Engine) -> None:
    started = time.monotonic()
    script = "setsid sh -c 'while :; do date > /work/alive; sleep 0.05; done' & echo begun; sleep 600"
    done = box.exec(["sh", "-c", script], timeout_s=2)
    assert time.monotonic() - started < 10
    assert done.timed_out
    assert done.exit_code is None
    assert done.stdout == b"begun\n"
    state = engine.api.inspect_container(box.id)["State"]
    assert not state["Running"]
    with pytest.raises(BoxDead):
        box.exec(["true"], timeout_s=1)


def test_the_orphan_of_a_timeout_writes_no_more(open_pod: OpenPod, images: Images) -> None:
    pod = open_pod()
    box = pod.contestant(images.base)
    box.exec(["sh", "-c", "setsid sh -c 'while :; do date +%N > /work/alive; done' & sleep 9"], timeout_s=1)
    assert pod.attic is not None
    first = pod.attic.get("/work/alive", limit_bytes=100)
    time.sleep(0.3)
    assert pod.attic.get("/work/alive", limit_bytes=100) == first


def test_cancel_is_a_timeout_at_once(box: Box) -> None:
    cancel = threading.Event()
    threading.Timer(0.5, cancel.set).start()
    started = time.monotonic()
    done = box.exec(["sleep", "60"], timeout_s=60, cancel=cancel)
    assert done.timed_out
    assert time.monotonic() - started < 10


def test_endless_output_ends_at_the_limit(box: Box) -> None:
    started = time.monotonic()
    done = box.exec(["yes"], timeout_s=2)
    assert done.timed_out
    assert time.monotonic() - started < 15


def test_the_deadline_of_the_pod_ends_a_command(open_pod: OpenPod, images: Images) -> None:
    box = open_pod(deadline_s=6).contestant(images.base)
    done = box.exec(["sleep", "60"], timeout_s=60)
    assert done.timed_out
    assert done.exit_code is None


def test_ended_from_outside_is_no_result(box: Box, engine: Engine) -> None:
    threading.Timer(0.5, lambda: engine.api.kill(box.id)).start()
    with pytest.raises(BoxDead, match="from outside"):
        box.exec(["sleep", "60"], timeout_s=60)


@pytest.mark.parametrize(
    ("argv", "cwd"), [(["no-such-tool"], None), (["true"], "/no/such/place"), (["/etc/passwd"], None)]
)
def test_what_cannot_be_started_is_no_result(box: Box, argv: list[str], cwd: str | None) -> None:
    with pytest.raises(ToolMissing):
        box.exec(argv, timeout_s=10, cwd=cwd)
    assert box.exec(["true"], timeout_s=10).ok


@pytest.mark.parametrize("code", [126, 127, 137, 143])
def test_exit_codes_of_its_own_are_results(box: Box, code: int) -> None:
    done = box.exec(["sh", "-c", f"echo OCI runtime exec failed: not found; exit {code}"], timeout_s=10)
    assert done.exit_code == code
    assert not done.oom


def test_killed_by_itself_is_not_oom(box: Box) -> None:
    done = box.exec(["sh", "-c", "kill -9 $$"], timeout_s=10)
    assert done.exit_code == 137
    assert not done.oom


HOG = "x = []\nwhile True: x.append(bytearray(8 << 20))"


def test_a_memory_hog_is_oom(open_pod: OpenPod, images: Images) -> None:
    limits = Limits(memory_mb=96, disk_mb=16, inodes=1000)
    box = open_pod(limits=limits, work_mb=16).contestant(images.base, home_mb=16)
    done = box.exec(["python3", "-c", HOG], timeout_s=60)
    assert done.oom
    assert done.exit_code == 137
    done = box.exec(["sh", "-c", f"python3 -c '{HOG}'; exit 4"], timeout_s=60)
    assert (done.exit_code, done.oom) == (4, True), "also where a child was killed and its parent lives"
    assert not box.exec(["sh", "-c", "exit 1"], timeout_s=10).oom, "an earlier kill is not held against it"


def test_oom_by_the_engines_events(open_pod: OpenPod, images: Images) -> None:
    limits = Limits(memory_mb=96, disk_mb=16, inodes=1000)
    box = open_pod(limits=limits, work_mb=16).contestant(images.base, home_mb=16)
    assert box.exec(["true"], timeout_s=10).ok
    assert box._watch is not None
    box._watch._counter = None  # as where the host's cgroup tree cannot be seen
    assert not box.exec(["sh", "-c", "kill -9 $$"], timeout_s=10).oom
    assert box.exec(["python3", "-c", HOG], timeout_s=60).oom


def test_processes_are_limited_and_orphans_reaped(open_pod: OpenPod, images: Images) -> None:
    box = open_pod(limits=Limits(pids=64)).contestant(images.base)
    done = box.exec(["sh", "-c", "for i in $(seq 200); do sleep 3 & done; wait"], timeout_s=30)
    assert b"fork" in done.stderr.lower()
    script = "for i in $(seq 300); do (setsid true &) ; done"
    for _ in range(2):
        settled(box, ["sh", "-c", script])
    assert settled(box, ["true"]).ok


def settled(box: Box, argv: list[str]) -> ExecResult:
    """The command, as soon as there is room for it: on a busy machine the dead are reaped a little later."""
    until = time.monotonic() + 20
    while True:
        try:
            return box.exec(argv, timeout_s=30)
        except ToolMissing:
            if time.monotonic() > until:
                raise
            time.sleep(0.2)


def test_descriptors_do_not_grow(box: Box) -> None:
    box.exec(["true"], timeout_s=10)
    before = open_descriptors()
    for number in range(100):
        assert box.exec(["sh", "-c", f"echo {number}"], timeout_s=10).stdout == b"%d\n" % number
    assert open_descriptors() <= before + 2
