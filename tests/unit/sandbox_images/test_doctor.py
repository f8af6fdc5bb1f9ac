"""Doctor's questions, on a machine that lacks what they ask for."""

from __future__ import annotations

from pathlib import Path

from runner.doctor import data, engine, host, run_checks

ROOT = Path(__file__).resolve().parents[3]


def test_without_an_engine_the_rest_is_still_asked(tmp_path: Path) -> None:
    checks = run_checks(tmp_path / "index.md", env={"PATH": "/usr/bin:/bin", "DOCKER_HOST": "unix:///nope"})
    by_name = {check.name: check for check in checks}
    assert not by_name["engine"].ok
    assert "unix:///nope" in by_name["engine"].detail
    assert "make setup" in by_name["engine"].fix
    assert "storage driver" not in by_name
    assert not by_name["registry"].ok
    assert by_name["git"].ok
    assert all(check.fix for check in checks if not check.ok)


def test_a_full_disk_is_told_with_its_fix(tmp_path: Path) -> None:
    check = host.disk("disk", tmp_path / "not" / "there" / "yet", 10**9, "free some")
    assert (check.ok, check.fix) == (False, "free some")
    roomy = host.disk("disk", tmp_path, 1, "free some")
    assert (roomy.ok, roomy.fix) == (True, "")


def test_scarce_memory(tmp_path: Path) -> None:
    meminfo = tmp_path / "meminfo"
    meminfo.write_text("MemTotal: 9000000 kB\nMemAvailable:    1024000 kB\n")
    assert host.memory(meminfo).detail.startswith("1000 MiB")
    assert not host.memory(meminfo).ok
    assert host.memory(tmp_path / "none").ok


def test_a_bundle_without_certificates(tmp_path: Path) -> None:
    bundle = tmp_path / "ca.pem"
    bundle.write_text("")
    assert not host.certificates({"SSL_CERT_FILE": str(bundle)}).ok
    assert not host.certificates({"SSL_CERT_FILE": str(tmp_path / "gone")}).ok


def test_no_git(tmp_path: Path) -> None:
    assert host.git_version({"PATH": str(tmp_path)}).fix == "apt-get install git"


def test_limits_that_an_engine_cannot_enforce() -> None:
    check = engine.cgroup({"CgroupVersion": "2", "MemoryLimit": True, "CpuCfsQuota": False, "PidsLimit": False})
    assert not check.ok
    assert "CPU, processes" in check.detail


def test_keys_are_named_and_never_shown() -> None:
    secret = "s" * 24
    providers = ROOT / "registry"
    absent = data.keys(providers, {})
    names = [word for word in absent.detail.replace(";", "").split() if word.isupper()]
    assert names
    check = data.keys(providers, {names[0]: secret})
    assert secret not in check.detail
    assert f"set: {names[0]}" in check.detail
    assert check.ok
