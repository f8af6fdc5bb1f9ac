"""An engine that is not there, or goes away, is a rig failure with a fix, never a result."""

from __future__ import annotations

import selectors
import socket
import threading
import time
from pathlib import Path

import pytest

from runner.errors import EngineMissing, RigError
from runner.sandbox.box import Box, waiting
from runner.sandbox.container import ContainerSpec, Limits
from runner.sandbox.engine import Engine, connect

from .conftest import Images

pytestmark = pytest.mark.engine


def test_what_the_engine_is(engine: Engine) -> None:
    assert engine.info.version
    assert engine.info.mem_bytes > 0
    assert engine.info.api_version


@pytest.mark.parametrize("host", ["unix:///no/such/socket", "tcp://127.0.0.1:1", "nonsense"])
def test_no_engine(monkeypatch: pytest.MonkeyPatch, host: str) -> None:
    monkeypatch.setenv("DOCKER_HOST", host)
    with pytest.raises(EngineMissing, match="DOCKER_HOST"):
        connect()


class Proxy:
    """A socket in front of the engine's, which can be cut as if the engine had stopped."""

    def __init__(self, path: Path, engine_path: str) -> None:
        self._server = socket.socket(socket.AF_UNIX)
        self._server.bind(str(path))
        self._server.listen()
        self._engine_path = engine_path
        self._links: list[socket.socket] = []
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        selector = selectors.DefaultSelector()
        selector.register(self._server, selectors.EVENT_READ, None)
        while not self._stopped.is_set():
            for key, _ in selector.select(0.05):
                here = key.fileobj
                assert isinstance(here, socket.socket)
                if here is self._server:
                    client, _ = self._server.accept()
                    upstream = socket.socket(socket.AF_UNIX)
                    upstream.connect(self._engine_path)
                    selector.register(client, selectors.EVENT_READ, upstream)
                    selector.register(upstream, selectors.EVENT_READ, client)
                    self._links += [client, upstream]
                    continue
                data = here.recv(1 << 16)
                if data:
                    key.data.sendall(data)
                else:
                    selector.unregister(here)
                    key.data.shutdown(socket.SHUT_WR)
        for link in [self._server, *self._links]:
            link.close()
        selector.close()

    def stop(self) -> None:
        self._stopped.set()
        self._thread.join()


def test_an_engine_that_stops_in_the_middle(
    engine: Engine, images: Images, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = engine.api.base_url
    assert real.startswith("http+docker://")
    path = tmp_path / "engine.sock"
    proxy = Proxy(path, "/var/run/docker.sock")
    monkeypatch.setenv("DOCKER_HOST", f"unix://{path}")
    with connect() as mine:
        spec = ContainerSpec("test-engine", "check", images.base, waiting(60), "1000:1000", Limits())
        box = Box(mine, spec, deadline=time.monotonic() + 60)
        try:
            box.start()
            threading.Timer(1, proxy.stop).start()
            with pytest.raises(RigError):
                box.exec(["sleep", "30"], timeout_s=30)
        finally:
            proxy.stop()
            box.engine = engine
            box.remove()
