"""A full disk is ENOSPC for the contestant: never an OOM kill, never the host's disk."""

from __future__ import annotations

import pytest

from runner.sandbox.container import Limits
from runner.sandbox.engine import Engine

from .conftest import Images, OpenPod

pytestmark = pytest.mark.engine

FILL = """
import errno, os, sys
done = 0
try:
    with open(sys.argv[1], "wb", buffering=0) as file:
        while True:
            done += file.write(b"x" * (1 << 20))
except OSError as error:
    print(errno.errorcode[error.errno], done >> 20)
"""
MANY = """
import errno, os, sys
made = 0
try:
    while True:
        os.close(os.open(os.path.join(sys.argv[1], str(made)), os.O_CREAT | os.O_WRONLY))
        made += 1
except OSError as error:
    print(errno.errorcode[error.errno], made)
"""
PLACES = ("/work", "/home/contestant", "/tmp")


def test_every_place_full_at_once(open_pod: OpenPod, images: Images) -> None:
    limits = Limits(memory_mb=128, disk_mb=64)
    box = open_pod(limits=limits, work_mb=64).contestant(images.base, home_mb=64)
    for place in PLACES:
        done = box.exec(["python3", "-c", FILL, f"{place}/big"], timeout_s=60)
        assert not done.oom
        said, size = done.stdout.decode().split()
        assert said == "ENOSPC"
        assert 60 <= int(size) <= 64, place
    assert box.exec(["python3", "-c", "print(len(bytearray(64 << 20)))"], timeout_s=20).ok, "RAM is still there"


def test_every_place_without_inodes(open_pod: OpenPod, images: Images) -> None:
    limits = Limits(memory_mb=64, disk_mb=32, inodes=20_000)
    box = open_pod(limits=limits, work_mb=32).contestant(images.base, home_mb=32)
    for place in PLACES:
        done = box.exec(["python3", "-c", MANY, place], timeout_s=60)
        assert not done.oom
        said, made = done.stdout.decode().split()
        assert said == "ENOSPC"
        assert 19_000 < int(made) <= 20_000, place


def test_an_attempt_after_a_full_one_starts_clean(open_pod: OpenPod, images: Images) -> None:
    pod = open_pod(limits=Limits(memory_mb=64, disk_mb=32), work_mb=32)
    for _ in range(3):
        box = pod.contestant(images.base, home_mb=32)
        assert box.exec(["ls", "-A", "/home/contestant", "/tmp"], timeout_s=10).stdout.split() == [
            b"/home/contestant:",
            b"/tmp:",
        ]
        for place in PLACES:
            assert not box.exec(["python3", "-c", FILL, f"{place}/big"], timeout_s=60).oom
    assert box.exec(["stat", "-c", "%s", "/work/big"], timeout_s=10).stdout.strip() == str(32 << 20).encode()


def test_a_volume_that_the_image_declares_is_bounded(open_pod: OpenPod, images: Images, engine: Engine) -> None:
    made = engine.api.create_container(images.base, command=["true"])
    image = engine.api.commit(made["Id"], repository="bench/test-volume", tag="1", changes="VOLUME /data")["Id"]
    engine.api.remove_container(made["Id"])
    before = {volume["Name"] for volume in engine.api.volumes()["Volumes"] or []}
    try:
        pod = open_pod(limits=Limits(memory_mb=64, disk_mb=32))
        box = pod.contestant(image)
        done = box.exec(["python3", "-c", FILL, "/data/big"], timeout_s=60)
        assert done.stdout.split() == [b"ENOSPC", b"32"]
        pod.close()
        named = {volume["Name"] for volume in engine.api.volumes()["Volumes"] or []}
        assert not [name for name in named - before if len(name) == 64], "no volume without a name is left"
    finally:
        engine.api.remove_image("bench/test-volume:1", force=True)
