"""The set-up: locks, stamp, leftovers of a killed engine, and what is said when it is not ours to mend."""

from __future__ import annotations

import json
import re
import socket
import threading
from pathlib import Path

import pytest

from runner.errors import ConfigError, EngineMissing
from runner.setup import engine as engine_module
from runner.setup.apt import is_debian
from runner.setup.engine import ensure_engine
from runner.setup.leftovers import names_live, process_named, remove_stale
from runner.setup.probe import ping
from runner.setup.venv import STAMP, ensure_venv, missing, wanted_hashes

ROOT = Path(__file__).resolve().parents[3]
LOCKS = sorted((ROOT / "requirements").glob("*.lock"))


@pytest.mark.parametrize("lock", LOCKS, ids=lambda path: path.name)
def test_a_lock_pins_everything_by_hash_and_holds_no_address(lock: Path) -> None:
    text = lock.read_text()
    assert "://" not in text
    assert "--index-url" not in text
    entries = [part for part in re.split(r"\n(?=[A-Za-z0-9])", text.strip()) if not part.startswith("#")]
    assert entries
    for entry in entries:
        assert re.match(r"[A-Za-z0-9_.\-\[\]]+==", entry), entry
        assert "--hash=sha256:" in entry, entry


def test_the_four_sets_are_there_and_agree() -> None:
    assert [path.stem for path in LOCKS] == ["build", "dev", "embedded", "runtime"]
    pins: dict[str, set[str]] = {}
    for lock in LOCKS:
        # A package may be pinned twice in one lock, for different Pythons: compare whole sets.
        here: dict[str, list[str]] = {}
        for name, rest in re.findall(r"^([A-Za-z0-9_.-]+)(==[^\\\n]*)", lock.read_text(), re.MULTILINE):
            here.setdefault(name, []).append(rest.strip())
        for name, versions in here.items():
            pins.setdefault(name, set()).add("|".join(sorted(versions)))
    assert {name: found for name, found in pins.items() if len(found) > 1} == {}


def make_root(tmp_path: Path) -> Path:
    (tmp_path / "requirements").mkdir()
    for name in ("build", "runtime", "dev"):
        (tmp_path / "requirements" / f"{name}.lock").write_text(name)
    (tmp_path / "pyproject.toml").write_text("[project]\n")
    return tmp_path


def test_the_stamp_decides_what_is_missing(tmp_path: Path) -> None:
    root = make_root(tmp_path)
    wanted = wanted_hashes(root, ["build", "runtime"])
    venv = root / ".venv"
    assert missing(venv, wanted) == ["build", "runtime", "project"]
    (venv / "bin").mkdir(parents=True)
    (venv / "bin" / "python").symlink_to("/bin/sh")
    (venv / STAMP).write_text(json.dumps(wanted))
    assert missing(venv, wanted) == []
    assert missing(venv, wanted_hashes(root, ["build", "runtime", "dev"])) == ["dev"]
    (root / "requirements" / "runtime.lock").write_text("newer")
    assert missing(venv, wanted_hashes(root, ["build", "runtime"])) == ["runtime"]
    (venv / STAMP).write_text("{half")
    assert missing(venv, wanted) == ["build", "runtime", "project"]
    (venv / STAMP).write_text(json.dumps(wanted))
    (venv / "bin" / "python").unlink()
    (venv / "bin" / "python").symlink_to("/gone/python3")
    assert missing(venv, wanted) == ["build", "runtime", "project"]


def test_an_unknown_set_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"no requirements/nope\.lock"):
        wanted_hashes(make_root(tmp_path), ["nope"])


def fake_proc(tmp_path: Path, **programs: str) -> Path:
    for pid, program in programs.items():
        folder = tmp_path / "proc" / pid.removeprefix("p")
        folder.mkdir(parents=True)
        (folder / "comm").write_text(program + "\n")
    return tmp_path / "proc"


def test_pid_files_of_the_dead_go_and_those_of_the_living_stay(tmp_path: Path) -> None:
    proc = fake_proc(tmp_path, p100="dockerd", p200="bash")
    for name, pid in (("var/run/docker.pid", "100"), ("run/containerd/containerd.pid", "200")):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text(pid)
    # 200 lives, but it is a shell that got a dead containerd's number.
    assert remove_stale(tmp_path, proc) == [tmp_path / "run/containerd/containerd.pid"]
    assert (tmp_path / "var/run/docker.pid").exists()


@pytest.mark.parametrize("content", ["", "abc", "4242", "-1", "100/../200"])
def test_what_is_no_live_pid_is_stale(tmp_path: Path, content: str) -> None:
    proc = fake_proc(tmp_path, p100="dockerd")
    (tmp_path / "docker.pid").write_text(content)
    assert not names_live(tmp_path / "docker.pid", "dockerd", proc)


def test_a_socket_nobody_listens_on_goes(tmp_path: Path) -> None:
    path = tmp_path / "run/containerd/containerd.sock"
    path.parent.mkdir(parents=True)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        assert remove_stale(tmp_path, tmp_path) == []
    assert remove_stale(tmp_path, tmp_path) == [path]


def test_a_process_is_found_by_name(tmp_path: Path) -> None:
    proc = fake_proc(tmp_path, p7="dockerd")
    assert process_named("dockerd", proc)
    assert not process_named("containerd", proc)


@pytest.mark.parametrize(("reply", "answer"), [(b"HTTP/1.0 200 OK\r\n\r\nOK", "yes"), (b"HTTP/1.0 500 \r\n\r\n", "no")])
def test_a_ping_is_answered(tmp_path: Path, reply: bytes, answer: str) -> None:
    path = tmp_path / "s"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()

        def serve() -> None:
            stream, _ = listener.accept()
            with stream:
                stream.recv(1024)
                stream.sendall(reply)

        thread = threading.Thread(target=serve)
        thread.start()
        assert ping(f"unix://{path}") == answer
        thread.join()


def test_nobody_there() -> None:
    assert ping("unix:///nope/docker.sock") == "no"
    assert ping("tcp://127.0.0.1:1") == "no"
    assert ping("rubbish") == "no"


def test_a_named_engine_is_used_or_reported_never_replaced() -> None:
    with pytest.raises(EngineMissing, match="unset DOCKER_HOST") as caught:
        ensure_engine({"DOCKER_HOST": "unix:///nope/docker.sock", "PATH": ""}, say=lambda line: None)
    assert caught.value.exit_code == 2


def test_where_it_is_not_ours_to_install_the_commands_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_module, "ping", lambda host, tls=False: "no")
    monkeypatch.setattr(engine_module, "other_hosts", lambda env: [])
    monkeypatch.setattr(engine_module, "find_program", lambda name, env: None)
    monkeypatch.setattr(engine_module, "can_install", lambda env: False)
    with pytest.raises(EngineMissing, match=r"apt-get install docker\.io"):
        ensure_engine({}, say=lambda line: None)


def test_an_installed_engine_is_not_started_by_an_ordinary_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_module, "ping", lambda host, tls=False: "no")
    monkeypatch.setattr(engine_module, "other_hosts", lambda env: [])
    monkeypatch.setattr(engine_module, "find_program", lambda name, env: "/usr/sbin/dockerd")
    monkeypatch.setattr(engine_module, "dockerd_alive", lambda: False)
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    with pytest.raises(EngineMissing, match="sudo"):
        ensure_engine({}, say=lambda line: None)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ID=debian\n", True),
        ('ID=ubuntu\nID_LIKE="debian"\n', True),
        ('ID=mint\nID_LIKE="ubuntu debian"\n', True),
        ("ID=fedora\n", False),
    ],
)
def test_debians_family(tmp_path: Path, text: str, expected: bool) -> None:
    (tmp_path / "os-release").write_text(text)
    assert is_debian(tmp_path / "os-release") is expected


PIP = """#!/bin/sh
# Stands for .venv's python: notes what pip is asked for, and has nothing for the embedded set.
echo "$@" >> "$0.asked"
case "$*" in *embedded.lock*) echo "ERROR: No matching distribution found for engine==1"; exit 1;; esac
case "$*" in *broken.lock*) echo "ERROR: No matching distribution found for core==1"; exit 1;; esac
"""


def make_venv(root: Path) -> Path:
    python = root / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(PIP)
    python.chmod(0o755)
    return python


def test_what_is_not_built_for_this_machine_is_done_without_and_not_asked_again(tmp_path: Path) -> None:
    root = make_root(tmp_path)
    (root / "requirements" / "embedded.lock").write_text("engine==1")
    python = make_venv(root)
    said: list[str] = []
    for _ in range(2):
        ensure_venv(root, ["embedded"], env={"PATH": "/usr/bin:/bin"}, say=said.append)
    assert said[-1] == "No matching distribution found for engine==1: the provider `embedded` will not be there"
    asked = Path(f"{python}.asked").read_text().splitlines()
    assert len(asked) == 3  # build and runtime together, embedded, the project itself
    assert all("--require-hashes" in line for line in asked[:2])
    assert "--no-index" in asked[2]


def test_what_is_needed_and_not_there_ends_the_set_up(tmp_path: Path) -> None:
    root = make_root(tmp_path)
    (root / "requirements" / "broken.lock").write_text("core==1")
    make_venv(root)
    with pytest.raises(ConfigError, match="core==1"):
        ensure_venv(root, ["broken"], env={"PATH": "/usr/bin:/bin"}, say=lambda line: None)
    assert missing(root / ".venv", wanted_hashes(root, ["build"])) == ["build", "project"]
