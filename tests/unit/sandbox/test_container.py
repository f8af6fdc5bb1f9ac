"""What is asked of the engine, computed without one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from runner.errors import RigError
from runner.sandbox.container import ContainerSpec, Limits, Mount, Tmpfs, memory_bytes
from runner.sandbox.seccomp import profile


def test_memory_is_ram_plus_every_tmpfs() -> None:
    limits = Limits(memory_mb=100, inodes=1024)
    spec = ContainerSpec("r", "x", "i", ["true"], "1:1", limits, writable_mb=50, writable_volumes=1)
    bare = memory_bytes(spec) >> 20
    assert bare == 100 + 50 + 64 + 1
    with_tmp = ContainerSpec("r", "x", "i", ["true"], "1:1", limits, tmpfs=[Tmpfs("/tmp", 30, 2048)])
    assert memory_bytes(with_tmp) >> 20 == 100 + 64 + 30 + 2


def test_mounts(tmp_path: Path) -> None:
    assert Mount("name", "/x").bind() == "name:/x:rw,nocopy"
    assert Mount("name", "/x", read_only=True, fill=True).bind() == "name:/x:ro"
    assert Mount(str(tmp_path), "/x", read_only=True).bind() == f"{tmp_path}:/x:ro"
    with pytest.raises(RigError):
        Mount(str(tmp_path / "absent"), "/x").bind()


def test_a_tmpfs_is_sized_and_runs_programs() -> None:
    options = Tmpfs("/tmp", 64).options().split(",")
    assert {"size=64m", "nr_inodes=200000", "exec", "nosuid", "nodev", "mode=1777"} <= set(options)


def test_the_profile_denies_by_default() -> None:
    told = json.loads(profile())
    assert told["defaultAction"] == "SCMP_ACT_ERRNO"
    assert all(not entry["subArchitectures"] for entry in told["archMap"])
    named = [name for rule in told["syscalls"] for name in rule["names"] if rule["action"] == "SCMP_ACT_ALLOW"]
    assert not [name for name in named if name.startswith("io_uring") or name in ("socketcall", "userfaultfd")]
    sockets = [rule for rule in told["syscalls"] if "socket" in rule["names"]]
    assert [rule["args"] for rule in sockets] == [[{"index": 0, "value": 40, "op": "SCMP_CMP_NE"}]]
