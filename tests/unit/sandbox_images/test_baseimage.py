"""The base image's sources: an engine whose registry is silent, and a tree fresh from debootstrap."""

from __future__ import annotations

import json
import socketserver
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from types import SimpleNamespace

import pytest

from runner.sandbox import baseimage
from runner.sandbox.debian import finish_debootstrap


class Engine(BaseHTTPRequestHandler):
    """As much of an engine as a pull needs: it negotiates, then its registry is silent or refuses."""

    protocol_version = "HTTP/1.0"
    silent = threading.Event()

    def address_string(self) -> str:
        return "unix"

    def log_message(self, *args: object) -> None:
        pass

    def do_GET(self) -> None:
        if "/distribution/" not in self.path:
            self.reply(200, {"ApiVersion": "1.41", "MinAPIVersion": "1.12"})
            return
        if self.silent.is_set():
            time.sleep(5)
        self.reply(500, {"message": "no such host"})

    def reply(self, code: int, body: object) -> None:
        content = json.dumps(body).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


class Quiet(socketserver.ThreadingUnixStreamServer):
    """A client that gives up early is what is tested: no word about it."""

    daemon_threads = True
    block_on_close = False

    def handle_error(self, request: object, client_address: object) -> None:
        pass


@pytest.fixture
def engine_env(tmp_path: Path) -> Iterator[dict[str, str]]:
    path = tmp_path / "s"
    with Quiet(str(path), Engine) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield {"DOCKER_HOST": f"unix://{path}"}
        server.shutdown()
        thread.join()


def pull(env: dict[str, str]) -> tuple[bool, list[str]]:
    lines: list[str] = []
    unused = SimpleNamespace(client=None)
    return baseimage.pull(unused, log=lines.append, env=env), lines


def test_a_refusing_registry_is_no_registry(engine_env: dict[str, str]) -> None:
    Engine.silent.clear()
    found, lines = pull(engine_env)
    assert not found
    assert "no such host" in lines[-1]


def test_a_silent_registry_costs_seconds_only(engine_env: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    Engine.silent.set()
    monkeypatch.setattr(baseimage, "PROBE_SECONDS", 1)
    began = time.monotonic()
    found, lines = pull(engine_env)
    assert not found
    assert time.monotonic() - began < 4
    assert "timed out" in lines[-1]


def test_no_engine_is_no_registry(tmp_path: Path) -> None:
    assert pull({"DOCKER_HOST": f"unix://{tmp_path}/none"})[0] is False


def test_a_debootstrap_tree_gets_the_security_sources_and_loses_its_lists(tmp_path: Path) -> None:
    sources = tmp_path / "etc/apt/sources.list"
    lists = tmp_path / "var/lib/apt/lists/mirror_Packages"
    for path in (sources, lists):
        path.parent.mkdir(parents=True)
    sources.write_text("deb http://mirror.test/debian bookworm main\n")
    lists.write_text("Package: x\n")
    (tmp_path / "etc/resolv.conf").write_text("nameserver 192.0.2.1\n")
    finish_debootstrap(tmp_path)
    assert sources.read_text().splitlines() == [
        "deb http://mirror.test/debian bookworm main",
        "deb http://mirror.test/debian bookworm-updates main",
        "deb http://mirror.test/debian-security bookworm-security main",
    ]
    assert not lists.exists()
    assert not (tmp_path / "etc/resolv.conf").exists()
    assert "path-exclude" in (tmp_path / "etc/dpkg/dpkg.cfg.d/99slim").read_text()
