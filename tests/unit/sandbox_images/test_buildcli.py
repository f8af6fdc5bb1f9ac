"""Which client builds: real executables that say what a Docker client would."""

from __future__ import annotations

from pathlib import Path

import pytest

from runner.errors import BuildError
from runner.sandbox import buildcli
from runner.sandbox.buildcli import ca_bundle, find_cli, needs_host_network, proxy_settings


@pytest.fixture(autouse=True)
def _no_system_client(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(buildcli, "SYSTEM_CLI", str(tmp_path / "none"))


def client(folder: Path, said: str, *, buildx: bool) -> Path:
    folder.mkdir()
    path = folder / "docker"
    path.write_text(
        f'#!/bin/sh\ncase "$1" in --version) echo "{said}";; buildx) exit {0 if buildx else 1};; *) exit 9;; esac\n'
    )
    path.chmod(0o755)
    return path


def path_of(*clients: Path) -> dict[str, str]:
    return {"PATH": ":".join(str(path.parent) for path in clients)}


def test_an_old_client_is_asked_by_variable(tmp_path: Path) -> None:
    old = client(tmp_path / "a", "Docker version 20.10.24+dfsg1, build 297e128", buildx=False)
    found = find_cli(path_of(old))
    assert (found.path, found.version, found.mode) == (str(old), "20.10.24+dfsg1", "buildkit")
    assert found.command == [str(old), "build"]
    assert found.environment["DOCKER_BUILDKIT"] == "1"


def test_a_new_client_needs_its_plugin(tmp_path: Path) -> None:
    bare = client(tmp_path / "a", "Docker version 28.2.2, build e6534b4", buildx=False)
    whole = client(tmp_path / "b", "Docker version 27.0.1, build 1", buildx=True)
    found = find_cli(path_of(bare, whole))
    assert (found.path, found.mode) == (str(whole), "buildx")
    assert found.command == [str(whole), "buildx", "build", "--load"]


def test_a_stray_new_client_does_not_hide_the_old_one(tmp_path: Path) -> None:
    bare = client(tmp_path / "a", "Docker version 28.2.2, build e6534b4", buildx=False)
    old = client(tmp_path / "b", "Docker version 20.10.24, build 1", buildx=False)
    assert find_cli(path_of(bare, old)).path == str(old)


def test_none_that_can_build_is_told_with_the_reasons(tmp_path: Path) -> None:
    bare = client(tmp_path / "a", "Docker version 28.2.2, build e6534b4", buildx=False)
    other = client(tmp_path / "b", "podman version 4.3.1", buildx=False)
    with pytest.raises(BuildError) as caught:
        find_cli(path_of(bare, other))
    assert "without the buildx plugin" in caught.value.what
    assert "not Docker's own client" in caught.value.what
    assert "docker-buildx" in caught.value.fix


def test_no_client_at_all(tmp_path: Path) -> None:
    with pytest.raises(BuildError, match=r"no docker command line client .* apt-get install docker\.io"):
        find_cli({"PATH": str(tmp_path)})


def test_the_ca_bundle_is_the_named_one(tmp_path: Path) -> None:
    bundle = tmp_path / "ca.pem"
    bundle.write_text("x")
    assert ca_bundle({"SSL_CERT_FILE": str(bundle)}) == bundle
    with pytest.raises(BuildError, match="SSL_CERT_FILE"):
        ca_bundle({"SSL_CERT_FILE": str(tmp_path / "gone.pem")})


def test_proxies_keep_their_spelling() -> None:
    env = {"http_proxy": "http://proxy.test:3128", "NO_PROXY": "localhost", "HTTPS_PROXY": "", "HOME": "/root"}
    assert proxy_settings(env) == {"http_proxy": "http://proxy.test:3128", "NO_PROXY": "localhost"}


@pytest.mark.parametrize(
    ("proxies", "needed"),
    [
        ({"http_proxy": "http://user:word@127.0.0.1:3128"}, True),
        ({"HTTPS_PROXY": "localhost:3128"}, True),
        ({"HTTPS_PROXY": "http://proxy.test:3128", "NO_PROXY": "127.0.0.1"}, False),
        ({}, False),
    ],
)
def test_a_proxy_on_this_host_needs_its_network(proxies: dict[str, str], needed: bool) -> None:
    assert needs_host_network(proxies) is needed
