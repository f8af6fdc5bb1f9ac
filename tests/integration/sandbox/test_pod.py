"""A pod's life: database, gateway, HOME, and that nothing of it stays."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from runner.errors import RigError
from runner.sandbox.engine import Engine
from runner.sandbox.pod import Pod, PodSpec, Service

from .conftest import Images, OpenPod

pytestmark = pytest.mark.engine


def left_of(engine: Engine, run_id: str) -> list[str]:
    wanted = {"label": f"bench.run={run_id}"}
    containers = [entry["Id"] for entry in engine.api.containers(all=True, filters=wanted)]
    return containers + [entry["Name"] for entry in engine.api.volumes(filters=wanted)["Volumes"] or []]


def test_twenty_cold_databases(
    open_pod: OpenPod, service: Service, images: Images, record_property: Callable[[str, object], None]
) -> None:
    """Each is fresh, and answers at once when it is said to be ready."""
    pod = open_pod(service=service)
    seconds = [pod.start_database()]
    box = pod.contestant(images.database)
    for _ in range(19):
        done = box.exec(["psql", "-qAtc", "create table mine(); select count(*) from pg_stat_activity"], timeout_s=20)
        assert done.ok, done.stderr.decode()
        seconds.append(pod.start_database())
    record_property("seconds", sorted(seconds))
    assert sorted(seconds)[10] < 5


def test_a_database_that_does_not_start_says_why(open_pod: OpenPod, images: Images) -> None:
    def start(image: str, user: str = "app", size_mb: int = 512) -> None:
        service = Service(image=image, user=user, database="app", password="", size_mb=size_mb)
        open_pod(service=service).start_database()

    with pytest.raises(RigError, match="refuses nobody"):
        start(images.database, user="nobody")
    with pytest.raises(RigError, match=r"did not get ready.*postgresql\.conf"):
        start(images.postgres)
    with pytest.raises(RigError, match="size_mb"):
        start(images.database, size_mb=4)


def test_a_dump_of_the_database(open_pod: OpenPod, service: Service) -> None:
    pod = open_pod(service=service)
    pod.start_database()
    assert pod.database is not None
    done = pod.database.exec(["pg_dump", "-h", "127.0.0.1", "-U", "app", "app"], timeout_s=30)
    assert b"PostgreSQL database dump complete" in done.stdout


def test_home_outlives_the_contestant_and_is_fresh_next_time(open_pod: OpenPod, images: Images) -> None:
    pod = open_pod()
    box = pod.contestant(images.base)
    box.exec(["sh", "-c", "echo log > $HOME/log; echo work > /work/file; sleep 60"], timeout_s=1)
    assert pod.attic is not None
    assert pod.attic.get("/home/contestant/log", limit_bytes=100) == b"log\n"
    assert not pod.attic.exec(["touch", "/work/x", "/home/contestant/x"], timeout_s=10).ok
    box = pod.contestant(images.base)
    assert box.exec(["cat", "/work/file"], timeout_s=10).stdout == b"work\n"
    assert box.exec(["ls", "-A", "/home/contestant"], timeout_s=10).stdout == b""


def test_a_check_box_can_judge_as_somebody_else(open_pod: OpenPod, images: Images, tmp_path: Path) -> None:
    from runner.sandbox.container import Mount

    (tmp_path / "hidden").write_text("secret")
    pod = open_pod()
    inputs = [Mount(str(tmp_path), "/oracle")]
    oracle = pod.check_box(images.base, read_only_inputs=inputs, user="0:0", caps=("SETUID", "SETGID", "KILL"))
    script = (
        "import os, subprocess\n"
        "assert open('/oracle/hidden').read() == 'secret'\n"
        "print(subprocess.run(['id', '-u'], user=1000, group=1000, extra_groups=[], capture_output=True).stdout)\n"
        "open('/out/verdict', 'w').write('ok')\n"
    )
    done = oracle.exec(["python3", "-c", script], timeout_s=20)
    assert done.stdout == b"b'1000\\n'\n", done.stderr
    assert oracle.get("/out/verdict", limit_bytes=10) == b"ok"
    assert not oracle.exec(["touch", "/oracle/x"], timeout_s=10).ok
    with pytest.raises(RigError, match="not there"):
        pod.check_box(images.base, read_only_inputs=[Mount(str(tmp_path / "absent"), "/oracle")])


def test_a_start_that_fails_leaves_nothing(engine: Engine, images: Images, tmp_path: Path) -> None:
    spec = PodSpec(run_id="test-half-way", trusted_image="bench/no-such-image:1")
    with pytest.raises(RigError, match="image"), Pod(engine, spec):
        pass
    spec = PodSpec(run_id="test-half-way", trusted_image=images.trusted, gateway_socket_dir=tmp_path / "absent")
    with pytest.raises(RigError, match="not there"), Pod(engine, spec):
        pass
    assert left_of(engine, "test-half-way") == []


def test_an_interrupt_leaves_nothing(engine: Engine, images: Images) -> None:
    pod = Pod(engine, PodSpec("test-interrupt", images.trusted))

    def work() -> None:
        with pod:
            pod.contestant(images.base)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        work()
    assert left_of(engine, "test-interrupt") == []
    assert pod.close() == []


def test_the_deadline_ends_every_container(open_pod: OpenPod, images: Images, service: Service, engine: Engine) -> None:
    pod = open_pod(service=service, deadline_s=8)
    pod.start_database()
    pod.contestant(images.base)
    time.sleep(10)
    wanted = {"label": f"bench.pod={pod._label}"}
    assert len(engine.api.containers(all=True, filters=wanted)) == 4
    assert engine.api.containers(filters=wanted) == [], "nothing runs any more, though nobody ended it"


CLIENT = """
import socket, sys, time
link = socket.create_connection(("127.0.0.1", 4000), timeout=5)
took = []
for number in range(50):
    started = time.perf_counter()
    link.sendall(b"%4d" % number)
    assert link.recv(4) == b"%4d" % number
    took.append(time.perf_counter() - started)
link.shutdown(socket.SHUT_WR)
assert link.recv(100) == b"after"
assert link.recv(100) == b""
print(sorted(took)[25])
"""


async def _echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(100):
        writer.write(data)
        await writer.drain()
    writer.write(b"after")  # the other side has only half closed
    await writer.drain()
    writer.close()


def test_the_relay_carries_at_once_and_half_closes(open_pod: OpenPod, images: Images, tmp_path: Path) -> None:
    async def talk() -> str:
        server = await asyncio.start_unix_server(_echo, tmp_path / "gw.sock")
        async with server:
            pod = await asyncio.to_thread(lambda: open_pod(gateway_socket_dir=tmp_path))
            box = await asyncio.to_thread(pod.contestant, images.base)
            done = await asyncio.to_thread(lambda: box.exec(["python3", "-c", CLIENT], timeout_s=30))
            assert done.ok, done.stderr.decode()
            assert not (await asyncio.to_thread(lambda: box.exec(["ls", "/run/gw"], timeout_s=10))).ok
            return done.stdout.decode()

    median = float(asyncio.run(talk()))
    assert median < 0.02


def test_without_a_gateway_the_connection_ends(open_pod: OpenPod, images: Images, tmp_path: Path) -> None:
    box = open_pod(gateway_socket_dir=tmp_path).contestant(images.base)
    code = "import socket; s = socket.create_connection(('127.0.0.1', 4000), 5); print(s.recv(9))"
    assert box.exec(["python3", "-c", code], timeout_s=20).stdout == b"b''\n"
