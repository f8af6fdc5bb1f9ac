"""A command that a box's main process runs ends, is bounded and is told apart as one that came by exec."""

from __future__ import annotations

import io
import tarfile
import threading
import time
from collections.abc import Sequence
from typing import Any

import pytest

from runner.errors import RigError
from runner.lab.check import ORACLE_CAPS
from runner.sandbox.box import OUTPUT_LIMIT, BoxDead, ToolMissing
from runner.sandbox.container import Limits
from runner.sandbox.engine import Engine
from runner.sandbox.oneshot import OneShot, Work
from runner.sandbox.pod import Pod
from runner.sandbox.stream import Hijacked, open_descriptors

from .conftest import Images, OpenPod

pytestmark = pytest.mark.engine

LAY = "tar -x -f - -C /work"


def archive(**files: bytes) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as packed:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            packed.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


def shot(
    pod: Pod, image: str, argv: Sequence[str], *, lay: str = LAY, laid: bytes | None = None, **more: Any
) -> OneShot:
    box = pod.one_shot(image, Work(lay, argv, **more), caps=ORACLE_CAPS)
    box.lay_out(archive(hello=b"there\n") if laid is None else laid)
    return box


def test_it_runs_on_what_was_laid_out_and_the_box_stays(open_pod: OpenPod, images: Images) -> None:
    script = 'cat /work/hello; pwd >&2; printf %s "$X" >&2; id -u >&2; echo kept >/out/file; exit 3'
    box = shot(open_pod(), images.base, ["sh", "-c", script], cwd="/tmp", env={"X": "é = $1 'x'"})
    done = box.run(timeout_s=20)
    assert (done.exit_code, done.timed_out, done.oom) == (3, False, False)
    assert done.stdout == b"there\n"
    assert done.stderr.decode() == "/tmp\né = $1 'x'0\n"
    assert box.get("/out/file", limit_bytes=99) == b"kept\n"
    assert box.exec(["cat", "/out/file"], timeout_s=20).stdout == b"kept\n"
    box.remove()
    assert not box.alive()


def test_a_large_archive_and_exact_bytes(open_pod: OpenPod, images: Images) -> None:
    noise = bytes(range(256)) * 40_000
    box = shot(open_pod(), images.base, ["cat", "/work/noise"], laid=archive(noise=noise))
    done = box.run(timeout_s=60)
    assert len(noise) > OUTPUT_LIMIT
    assert done.stdout_truncated
    assert done.stdout.startswith(noise[:1000])
    assert done.stdout.endswith(noise[-1000:])
    for size in (OUTPUT_LIMIT, 1, 0):
        box = shot(open_pod(), images.base, ["head", "-c", str(size), "/work/noise"], laid=archive(noise=noise))
        done = box.run(timeout_s=60)
        assert done.stdout == noise[:size]
        assert not done.stdout_truncated
        assert done.exit_code == 0


def test_it_reads_nothing_and_a_signal_is_told_without_a_shells_words(open_pod: OpenPod, images: Images) -> None:
    done = shot(open_pod(), images.base, ["sh", "-c", "cat; kill -SEGV $$"]).run(timeout_s=20)
    assert done.exit_code == 139
    assert (done.stdout, done.stderr) == (b"", b"")


def test_one_that_ends_its_whole_group_ends_nobody_else(open_pod: OpenPod, images: Images) -> None:
    box = shot(open_pod(), images.base, ["sh", "-c", "kill -KILL 0"])
    assert box.run(timeout_s=20).exit_code == 137
    assert box.alive()


def test_what_is_not_there(open_pod: OpenPod, images: Images) -> None:
    pod = open_pod()
    with pytest.raises(ToolMissing, match="'no-such-tool' could not be started: it is not in the PATH"):
        shot(pod, images.base, ["no-such-tool"]).run(timeout_s=20)
    with pytest.raises(ToolMissing, match="there is no folder /work/none"):
        shot(pod, images.base, ["true"], cwd="/work/none").run(timeout_s=20)
    done = shot(pod, images.base, ["sh", "-c", "exit 127"]).run(timeout_s=20)
    assert done.exit_code == 127


def test_files_that_cannot_be_laid_out(open_pod: OpenPod, images: Images) -> None:
    pod = open_pod(work_mb=1)
    with pytest.raises(RigError, match="files could not be laid out: tar: "):
        shot(pod, images.base, ["true"], laid=archive(big=b"x" * (3 << 20)))
    with pytest.raises(RigError, match="files could not be laid out"):
        shot(pod, images.base, ["true"], laid=b"no archive at all")


def test_a_timeout_ends_everything(open_pod: OpenPod, images: Images) -> None:
    box = shot(open_pod(), images.base, ["sh", "-c", "echo begun; setsid sleep 99 & sleep 99"])
    began = time.monotonic()
    done = box.run(timeout_s=1)
    assert time.monotonic() - began < 15
    assert (done.exit_code, done.timed_out, done.stdout) == (None, True, b"begun\n")
    assert not box.alive()
    with pytest.raises(BoxDead):
        box.run(timeout_s=1)


def test_somebodys_wish_ends_it(open_pod: OpenPod, images: Images) -> None:
    wish = threading.Event()
    box = shot(open_pod(), images.base, ["sleep", "99"])
    threading.Timer(0.5, wish.set).start()
    assert box.run(timeout_s=60, cancel=wish).timed_out


def test_a_memory_hog_is_told(open_pod: OpenPod, images: Images) -> None:
    pod = open_pod(limits=Limits(memory_mb=64, disk_mb=8, inodes=1000), work_mb=8)
    hog = ["python3", "-c", "x = bytearray(1 << 30)"]
    done = shot(pod, images.base, hog).run(timeout_s=60)
    assert done.oom
    assert done.exit_code == 137


def test_ended_from_outside_is_no_result(open_pod: OpenPod, images: Images, engine: Engine) -> None:
    box = shot(open_pod(), images.base, ["sleep", "60"])
    threading.Timer(0.7, lambda: engine.api.kill(box.id)).start()
    with pytest.raises(BoxDead, match="was ended from outside"):
        box.run(timeout_s=60)


def test_a_deadline_of_the_pod_is_a_timeout(open_pod: OpenPod, images: Images) -> None:
    box = shot(open_pod(deadline_s=6), images.base, ["sleep", "60"])
    assert box.run(timeout_s=60).timed_out


def test_nobody_in_it_can_say_how_it_ended(open_pod: OpenPod, images: Images) -> None:
    """What another user finds: no mark, no way to the main process or its streams; what it leaves changes nothing."""
    script = r"""
import os, signal, subprocess, sys
os.write(1, b"\n" + b"0" * 32 + b" 0\n")
program = r'''
import glob, os, signal
for pid in [name for name in os.listdir("/proc") if name.isdigit()]:
    seen = []
    for what in ("cmdline", "environ", "fd/0", "fd/1", "mem"):
        try:
            with open(f"/proc/{pid}/{what}", "rb") as file:
                seen.append(what)
        except OSError:
            continue
    if int(pid) != os.getpid():
        print(pid, *seen)
        try:
            os.kill(int(pid), signal.SIGKILL)
            print("killed", pid)
        except OSError:
            continue
os.fork() or os.execvp("sleep", ["sleep", "90"])
'''
done = subprocess.run([sys.executable, "-c", program], user=1000, group=1000, extra_groups=[], capture_output=False)
sys.exit(4)
"""
    box = open_pod().one_shot(images.base, Work(LAY, ["python3", "-c", script]), caps=ORACLE_CAPS)
    box.lay_out(archive(hello=b""))
    done = box.run(timeout_s=30)
    assert done.exit_code == 4
    assert done.stdout.startswith(b"\n" + b"0" * 32 + b" 0\n")
    lines = done.stdout.decode().split("\n")[2:]
    assert lines
    assert not [line for line in lines if line and line.split()[1:] not in ([], ["cmdline"])]
    assert box.alive()


# As another user, on the judge's own streams: it makes them refuse what they have no room for, and keeps them full.
_FLOOD = """
import fcntl, os, time
for fd in (1, 2):
    fcntl.fcntl(fd, fcntl.F_SETFL, fcntl.fcntl(fd, fcntl.F_GETFL) | os.O_NONBLOCK)
for _ in range(30):
    if os.fork() == 0:
        until = time.time() + 120
        while time.time() < until:
            for fd in (1, 2):
                try:
                    os.write(fd, b"y" * 65536)
                except BlockingIOError:
                    continue
        os._exit(0)
"""
_FLOODED = f"""
import subprocess, sys
subprocess.run([sys.executable, "-c", {_FLOOD!r}], user=1000, group=1000, extra_groups=[])
sys.exit(4)
"""


def test_streams_that_leftovers_keep_full_still_tell_the_end(
    open_pod: OpenPod, images: Images, monkeypatch: pytest.MonkeyPatch
) -> None:
    box = shot(open_pod(), images.base, ["python3", "-c", _FLOODED])
    receive = Hijacked.receive

    def slowly(channel: Hijacked) -> bytes | None:
        time.sleep(0.02)
        return receive(channel)

    monkeypatch.setattr(Hijacked, "receive", slowly)
    done = box.run(timeout_s=30)
    assert (done.exit_code, done.timed_out) == (4, False)


def test_a_box_can_be_ended_while_leftovers_write(open_pod: OpenPod, images: Images) -> None:
    box = shot(open_pod(), images.base, ["python3", "-c", _FLOODED])
    assert box.run(timeout_s=30).exit_code == 4
    time.sleep(1)  # until nothing more has room between them and us
    began = time.monotonic()
    box.kill()
    assert time.monotonic() - began < 20
    assert not box.alive()


def test_its_pod_can_be_closed_while_leftovers_write(open_pod: OpenPod, images: Images) -> None:
    pod = open_pod()
    box = shot(pod, images.base, ["python3", "-c", _FLOODED])
    assert box.run(timeout_s=30).exit_code == 4
    time.sleep(1)
    began = time.monotonic()
    assert pod.close() == []
    assert time.monotonic() - began < 20
    assert not box.alive()


def test_descriptors_do_not_grow(open_pod: OpenPod, images: Images) -> None:
    pod, held = open_pod(), []
    for _ in range(8):
        box = shot(pod, images.base, ["true"])
        assert box.run(timeout_s=20).ok
        box.remove()
        held.append(open_descriptors())
    assert held[-1] <= held[1]


def test_it_ends_when_nobody_is_there_to_tell_it_anything(open_pod: OpenPod, images: Images, engine: Engine) -> None:
    box = shot(open_pod(), images.base, ["true"])
    assert box.run(timeout_s=20).ok
    assert box.alive()
    assert box._channel is not None
    box._channel.close()
    limit = time.monotonic() + 10
    while box.alive() and time.monotonic() < limit:
        time.sleep(0.1)
    assert not box.alive()
