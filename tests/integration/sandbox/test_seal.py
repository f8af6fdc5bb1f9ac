"""What a contestant cannot reach, see or become."""

from __future__ import annotations

import fcntl
import socket
import struct
import textwrap
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from runner.sandbox.box import Box
from runner.sandbox.engine import Engine
from runner.sandbox.pod import Service

from .conftest import Images, OpenPod

pytestmark = pytest.mark.engine


@pytest.fixture
def box(open_pod: OpenPod, images: Images) -> Box:
    return open_pod().contestant(images.base)


def python(box: Box, code: str, *arguments: str) -> str:
    """What a program prints in the box; it must end well."""
    done = box.exec(["python3", "-c", textwrap.dedent(code), *arguments], timeout_s=30)
    assert done.ok, done.stderr.decode()
    return done.stdout.decode().strip()


CONNECT = """
    import socket, sys
    host, port = sys.argv[1], int(sys.argv[2])
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        with socket.socket(family) as s:
            s.settimeout(2)
            s.connect((host, port))
        print("connected")
    except OSError as error:
        print("refused", error)
"""


def addresses() -> list[str]:
    """Every IPv4 address of this host but loopback."""
    found = []
    for _, name in socket.if_nameindex():
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            try:
                raw = fcntl.ioctl(probe.fileno(), 0x8915, struct.pack("256s", name.encode()[:15]))
            except OSError:
                continue
            found.append(socket.inet_ntoa(raw[20:24]))
    return [address for address in found if not address.startswith("127.")]


@contextmanager
def listener() -> Iterator[int]:
    with socket.socket() as server:
        server.bind(("0.0.0.0", 0))
        server.listen()
        yield server.getsockname()[1]


def test_no_route_out_and_no_port_of_the_host(box: Box) -> None:
    assert python(box, "print(len(open('/proc/net/route').readlines()))") == "1", "a heading and no route"
    with listener() as port:
        for address in ["127.0.0.1", "172.17.0.1", "169.254.169.254", "1.1.1.1", *addresses()]:
            assert python(box, CONNECT, address, str(port)).startswith("refused"), address


def test_no_names_and_no_waiting_for_them(box: Box) -> None:
    code = """
        import socket, time
        started = time.monotonic()
        for name in ("example.org", "host.docker.internal", "x.attacker.example"):
            try:
                print("resolved", socket.getaddrinfo(name, 80))
            except OSError:
                pass
        print("none" if time.monotonic() - started < 1 else "slow")
    """
    assert python(box, code) == "none"
    assert python(box, "print(open('/etc/resolv.conf').read().split())") == "['nameserver', '127.0.0.1']"


def test_no_vsock_no_io_uring_no_foreign_system_calls(box: Box) -> None:
    code = """
        import ctypes, errno, socket
        libc = ctypes.CDLL(None, use_errno=True)
        for number in (425, 426, 427):
            assert libc.syscall(number, 1, 0) == -1 and ctypes.get_errno() == errno.EPERM, number
        for family, kind in ((40, socket.SOCK_STREAM), (40, socket.SOCK_DGRAM)):
            try:
                socket.socket(family, kind)
            except PermissionError:
                continue
            raise SystemExit("vsock is open")
        with socket.socket(socket.AF_UNIX), socket.socket(socket.AF_INET6):
            print("sealed")
    """
    assert python(box, code) == "sealed"


def test_the_32_bit_way_around_is_closed(box: Box) -> None:
    # A hand-made i386 program: socketcall(SYS_SOCKET, {AF_VSOCK, SOCK_STREAM, 0}), then exit(0 if it got a socket).
    code = """
        import os, struct, subprocess
        text = bytes.fromhex(
            "31c0" "50" "6a01" "6a28" "89e1" "31db" "43" "b866000000" "cd80"  # socketcall
            "89c3" "c1eb1f" "31c0" "40" "cd80"                                  # exit(sign bit of the result)
        )
        magic = b"\\x7fELF\\x01\\x01\\x01"
        head = struct.pack("<16sHHIIIIIHHHHHH", magic, 2, 3, 1, 0x8048054, 52, 0, 0, 52, 32, 1, 0, 0, 0)
        segment = struct.pack("<8I", 1, 0, 0x8048000, 0x8048000, 84 + len(text), 84 + len(text), 5, 4096)
        with open("/tmp/small", "wb") as file:
            file.write(head + segment + text)
        os.chmod("/tmp/small", 0o755)
        try:
            print(subprocess.run(["/tmp/small"]).returncode)
        except OSError as error:
            print(error)
    """
    assert python(box, code) != "0"


def test_nobody_of_importance(box: Box) -> None:
    status = python(box, "print(open('/proc/self/status').read())")
    fields = dict(line.split(":", 1) for line in status.splitlines())
    for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
        assert int(fields[name], 16) == 0, name
    assert fields["NoNewPrivs"].strip() == "1"
    assert fields["Seccomp"].strip() == "2"
    assert fields["Uid"].split() == ["1000"] * 4
    assert fields["Gid"].split() == ["1000"] * 4
    assert fields["Groups"].split() in ([], ["1000"])


def test_only_its_own_places_are_writable(box: Box) -> None:
    code = """
        import os
        for place in ("/", "/usr/bin", "/etc", "/opt", "/var/tmp", "/run", "/dev", "/home"):
            try:
                open(os.path.join(place, "x"), "w")
            except OSError:
                continue
            print(place)
        for place in ("/work", "/tmp", os.environ["HOME"]):
            open(os.path.join(place, "x"), "w").write("x")
    """
    assert python(box, code) == ""
    script = "printf '#!/bin/sh\\nexit 7\\n' > /tmp/s && chmod +x /tmp/s && exec /tmp/s"
    assert box.exec(["sh", "-c", script], timeout_s=10).exit_code == 7, "/tmp may run programs"


def test_nothing_inside_can_end_the_box(box: Box) -> None:
    box.exec(["sh", "-c", "kill -9 -1; kill -9 1; kill 1"], timeout_s=10)
    assert box.exec(["true"], timeout_s=10).ok


def test_what_the_engine_was_told(box: Box, engine: Engine) -> None:
    told = engine.api.inspect_container(box.id)
    host = told["HostConfig"]
    assert host["LogConfig"]["Type"] == "none"
    assert host["RestartPolicy"]["Name"] == "no"
    assert host["Init"] is True
    assert host["Privileged"] is False
    assert host["PortBindings"] in (None, {})
    assert host["MemorySwap"] == host["Memory"] > 0
    assert host["PidsLimit"] == 256
    assert not told["NetworkSettings"]["Ports"]
    assert not told["NetworkSettings"]["Networks"]
    assert {mount["Type"] for mount in told["Mounts"]} == {"volume"}
    assert all(told["Config"]["Labels"].get(f"bench.{name}") for name in ("run", "role", "host", "boot", "pid"))


def test_the_environment(box: Box) -> None:
    said = dict(line.split("=", 1) for line in box.exec(["env"], timeout_s=10).stdout.decode().splitlines())
    wanted = {"TZ": "UTC", "LC_ALL": "C.UTF-8", "PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1"}
    assert wanted.items() <= said.items()
    assert said["HOME"] == "/home/contestant"


def test_siblings_do_not_meet(open_pod: OpenPod, images: Images, service: Service) -> None:
    """Two pods write different values under the same key at the same time; each reads its own."""
    pods = [open_pod(service=service), open_pod(service=service), open_pod()]
    boxes = [pod.contestant(images.database) for pod in pods]
    for pod in pods[:2]:
        pod.start_database()
    said: dict[int, bytes] = {}

    def work(number: int) -> None:
        sql = f"create table t (k int primary key, v int); insert into t values (1, {number});"
        assert boxes[number].exec(["psql", "-qc", sql], timeout_s=20).ok
        said[number] = boxes[number].exec(["psql", "-Atc", "select v from t"], timeout_s=20).stdout

    threads = [threading.Thread(target=work, args=(number,)) for number in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert said == {0: b"0\n", 1: b"1\n"}
    alone = boxes[2].exec(["psql", "-h", "127.0.0.1", "-U", "app", "-d", "app", "-c", "select 1"], timeout_s=20)
    assert not alone.ok, "a pod without a database sees none"


def test_the_contestant_is_no_superuser_and_cannot_become_one(
    open_pod: OpenPod, images: Images, service: Service
) -> None:
    pod = open_pod(service=service)
    pod.start_database()
    box = pod.contestant(images.database)
    assert not box.exec(["psql", "-U", "postgres", "-c", "select 1"], timeout_s=20).ok
    assert box.exec(["createdb", "mine"], timeout_s=20).ok
    assert not box.exec(["psql", "-c", "copy (select 1) to program 'id'"], timeout_s=20).ok
