"""A company's network: a proxy, an authority of its own; and the tunnel to an allowed host."""

from __future__ import annotations

import base64
import http.client
import json
import os
import socket
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from runner.errors import ProviderError
from runner.gateway.client import Gateway
from runner.gateway.limits import Caps
from runner.gateway.probe import probe
from tests.integration.gateway.conftest import KEY, MODEL, Agent, stub_provider
from tests.support.stub_llm import StubServer

HOST = "models.example.org"
LOGIN = "someone:pass%40word"
DECODED = base64.b64encode(b"someone:pass@word").decode()


class Proxy(ThreadingHTTPServer):
    """CONNECT with a login; every name leads to one port of this machine."""

    daemon_threads = True

    def __init__(self, target: int) -> None:
        super().__init__(("127.0.0.1", 0), ProxyHandler)
        self.target, self.seen = target, list[str]()

    def __enter__(self) -> Proxy:
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.shutdown()
        self.server_close()


class ProxyHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Proxy

    def log_message(self, format: str, *args: object) -> None:
        pass

    def do_CONNECT(self) -> None:
        self.server.seen.append(self.path)
        if self.headers.get("proxy-authorization") != f"Basic {DECODED}":
            self.send_error(407)
            return
        if "forbidden" in self.path:
            self.send_error(403)
            return
        with socket.create_connection(("127.0.0.1", self.server.target)) as other:
            self.connection.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
            back = threading.Thread(target=_pump, args=(other, self.connection))
            back.start()
            _pump(self.connection, other)
            back.join()
        self.close_connection = True


def _pump(source: socket.socket, sink: socket.socket) -> None:
    try:
        while data := source.recv(65536):
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        pass


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate for HOST that no system trusts, and its key."""
    folder = tmp_path_factory.mktemp("ca")
    argv = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    argv += ["-days", "2", "-subj", f"/CN={HOST}", "-addext", f"subjectAltName=DNS:{HOST}"]
    argv += ["-keyout", str(folder / "key.pem"), "-out", str(folder / "ca.pem")]
    subprocess.run(argv, check=True, capture_output=True)
    return folder


@pytest.fixture(scope="module")
def secure(authority: Path) -> Iterator[StubServer]:
    """The stub model server behind TLS."""
    server = StubServer()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(authority / "ca.pem", authority / "key.pem")
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    with server:
        yield server


@pytest.fixture
def proxy(secure: StubServer) -> Iterator[Proxy]:
    with Proxy(secure.server_address[1]) as server:
        yield server


Start = Callable[..., Gateway]


@pytest.fixture
def start(proxy: Proxy, authority: Path) -> Iterator[Start]:
    """A gateway with an environment of its own."""
    running: list[Gateway] = []
    plain = {k: v for k, v in os.environ.items() if "proxy" not in k.lower() and "CA_BUNDLE" not in k}

    def start(**env: str) -> Gateway:
        own = {
            **plain,
            "STUB_KEY": KEY,
            "HTTPS_PROXY": f"http://{LOGIN}@127.0.0.1:{proxy.server_address[1]}",
            "SSL_CERT_FILE": str(authority / "ca.pem"),
            **env,
        }
        gateway = Gateway(env=own)
        gateway.start()
        running.append(gateway)
        return gateway

    yield start
    for gateway in running:
        gateway.close()


def test_the_proxy_and_the_companys_authority_are_used(start: Start, proxy: Proxy, secure: StubServer) -> None:
    found = probe(stub_provider(f"https://{HOST}/talk/r/v1"), MODEL, gateway=start())
    assert found.served == MODEL
    assert proxy.seen == [f"{HOST}:443"]
    headers = secure.seen[-1]["headers"]
    assert headers["authorization"] == f"Bearer {KEY}"
    assert "proxy-authorization" not in headers


@pytest.mark.parametrize(
    ("url", "env", "sentence"),
    [
        (f"https://{HOST}/talk/r/v1", {"SSL_CERT_FILE": ""}, "no certificate that this machine trusts"),
        (f"https://{HOST}/talk/r/v1", {"NO_PROXY": ".example.org"}, "is not a known host|is unreachable"),
        ("https://forbidden.example.org/talk/r/v1", {}, r"refuses forbidden.example.org \(HTTP 403\)"),
        (f"https://{HOST}/talk/r/v1", {"HTTPS_PROXY": "http://user:secret@127.0.0.1:9"}, "proxy 127.0.0.1:9 is unrea"),
    ],
)
def test_what_is_wrong_with_the_way_is_said(
    start: Start, authority: Path, url: str, env: dict[str, str], sentence: str
) -> None:
    with pytest.raises(ProviderError, match=sentence) as caught:
        probe(stub_provider(url), MODEL, gateway=start(**env), timeout_s=15)
    assert "secret" not in str(caught.value)
    assert "pass" not in str(caught.value)


# -- the tunnel


def _tunnel(agent: Agent, target: str, login: str | None = "") -> tuple[int, socket.socket]:
    """CONNECT through the run's own socket; the status and the connection."""
    link = socket.socket(socket.AF_UNIX)
    link.settimeout(10)
    link.connect(str(agent.door.socket_dir / "gw.sock"))
    login = f"bench:{agent.door.token}" if login == "" else login
    auth = f"Proxy-Authorization: Basic {base64.b64encode(login.encode()).decode()}\r\n" if login else ""
    link.sendall(f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n{auth}\r\n".encode())
    head = b""
    while b"\r\n\r\n" not in head:
        piece = link.recv(1)
        if not piece:
            break
        head += piece
    return int(head.split()[1]), link


@pytest.fixture
def agent(start: Start, tmp_path: Path) -> Agent:
    gateway = start()
    ledger = tmp_path / "gateway.jsonl"
    provider = stub_provider(f"https://{HOST}/talk/r/v1")
    return Agent("r", gateway.open_run("r", provider, MODEL, Caps(), ledger, egress=[HOST]), ledger)


def test_an_allowed_host_is_reached_through_the_same_socket(agent: Agent, authority: Path, secure: StubServer) -> None:
    status, link = _tunnel(agent, f"{HOST}:443")
    assert status == 200
    context = ssl.create_default_context(cafile=str(authority / "ca.pem"))
    with context.wrap_socket(link, server_hostname=HOST) as safe:
        connection = http.client.HTTPConnection(HOST)
        connection.sock = safe
        big = "x" * 3_000_000
        connection.request("POST", "/talk/t/v1/chat/completions", json.dumps({"model": "m", "messages": [big]}))
        assert connection.getresponse().status == 200
    assert "bench" not in json.dumps(secure.seen[-1]["headers"])
    totals = agent.door.close()
    line = agent.lines()[-1]
    assert (line.protocol, line.path, line.outcome) == ("egress", f"CONNECT {HOST}:443", "answered")
    assert line.request_bytes > 3_000_000
    assert line.response_bytes > 500
    assert (totals.requests, totals.provider_fault, totals.price_usd) == (0, None, 0.0)


@pytest.mark.parametrize(
    "target",
    [
        "other.example.org:443",
        f"sub.{HOST}:443",
        f"x{HOST}:443",
        f"{HOST}:80",
        f"{HOST}:22",
        f"{HOST}",
        "127.0.0.1:443",
        "169.254.169.254:443",
        "[::1]:443",
        "localhost:443",
        f"{HOST}@evil.example:443",
        f"{HOST}%00.evil.example:443",
    ],
)
def test_nothing_else_is_reached(agent: Agent, proxy: Proxy, target: str) -> None:
    status, link = _tunnel(agent, target)
    link.close()
    assert status in (400, 403)
    assert proxy.seen == []


def test_a_tunnel_needs_the_runs_token(agent: Agent, proxy: Proxy) -> None:
    for login in (None, "bench:nonsense", agent.door.token):
        status, link = _tunnel(agent, f"{HOST}:443", login)
        link.close()
        assert status == 407
    assert proxy.seen == []
    assert {line.refused for line in agent.lines()} == {"token"}


def test_without_a_list_nothing_is_reached(start: Start, proxy: Proxy, tmp_path: Path) -> None:
    ledger = tmp_path / "gateway.jsonl"
    door = start().open_run("r", stub_provider(f"https://{HOST}/talk/r/v1"), MODEL, Caps(), ledger)
    status, link = _tunnel(Agent("r", door, ledger), f"{HOST}:443")
    link.close()
    assert (status, proxy.seen) == (403, [])


def test_a_name_that_leads_into_this_machine_is_not_followed(start: Start, tmp_path: Path) -> None:
    ledger = tmp_path / "gateway.jsonl"
    name = "ip6-localhost.localdomain"
    gateway = start(HTTPS_PROXY="")
    door = gateway.open_run("r", stub_provider(f"https://{HOST}/talk/r/v1"), MODEL, Caps(), ledger, egress=[name])
    status, link = _tunnel(Agent("r", door, ledger), f"{name}:443")
    link.close()
    assert status == 502
