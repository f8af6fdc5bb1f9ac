"""Many checks in one bay: what one leaves behind never reaches the next, nor stops it."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from docker.errors import APIError

from runner.errors import RigError
from runner.lab.bay import Bay, Bays
from runner.lab.check import Check, CheckResult
from runner.lab.prepare import prepare_kit
from runner.registry.benchmark import load_benchmark
from runner.repo import Mirror
from runner.sandbox.engine import connect
from runner.sandbox.labels import ROLE, RUN
from runner.schema.entry import Command

TINY = Path(__file__).parents[2] / "support" / "tiny" / "index.md"


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Bay, str]]:
    benchmark = load_benchmark(TINY, "tiny")
    folder = tmp_path_factory.mktemp("bay")
    mirror, baseline = Mirror.create(folder / "mirror.git", benchmark.source, benchmark.entry.baseline)
    with connect() as engine:
        kit = prepare_kit(engine, benchmark, lambda line: None)
        with Bay(kit, mirror, "bay-test") as bay:
            yield bay, baseline


def run(lab: tuple[Bay, str], script: str, *, oracle: bool = False) -> CheckResult:
    bay, baseline = lab
    return bay.run(Check(baseline, Command(argv=["sh", "-c", script], oracle=oracle, timeout_s=30)))


@pytest.mark.parametrize("oracle", [False, True])
def test_locked_and_foreign_files_do_not_stop_the_next_check(lab: tuple[Bay, str], oracle: bool) -> None:
    left = "mkdir -p left/deep && touch left/deep/file left/file && chmod 0 left/deep left && chmod 500 . && echo ok"
    assert run(lab, left, oracle=oracle).stdout == b"ok\n"
    after = run(lab, "id -u; ls -A /work; test ! -e left && touch mine && echo clean")
    assert after.stdout.split() == [b"1000", b"repo", b"clean"], after.stderr


def test_a_command_that_outlives_its_check_is_gone_in_the_next(lab: tuple[Bay, str]) -> None:
    run(lab, "(while :; do date > /work/repo/alive; sleep 0.05; done) >/dev/null 2>&1 & sleep 0.2")
    after = run(lab, "sleep 0.5; test ! -e alive && echo quiet")
    assert after.stdout == b"quiet\n"


# The server hangs up first, so it is its end that lingers; it asks for no exception to the rule that follows.
SERVER = """
import socket
server = socket.socket()
server.bind(("127.0.0.1", 8099))
server.listen()
client = socket.create_connection(("127.0.0.1", 8099))
served, _ = server.accept()
served.close()
client.recv(1)
client.close()
print("served")
"""


def test_a_port_that_one_check_served_on_is_free_for_the_next(lab: tuple[Bay, str]) -> None:
    for _ in range(2):
        done = run(lab, f"exec python3 -c '{SERVER}'")
        assert done.stdout == b"served\n", done.stderr.decode()


def test_a_bay_in_which_the_rig_failed_is_taken_down_and_the_next_check_gets_a_new_one(tmp_path: Path) -> None:
    benchmark = load_benchmark(TINY, "tiny")
    mirror, baseline = Mirror.create(tmp_path / "mirror.git", benchmark.source, benchmark.entry.baseline)
    check = Check(baseline, Command(argv=["true"], timeout_s=30))
    run_id = f"bays-{secrets.token_hex(4)}"  # all that it has is killed: nobody else's

    with connect() as engine:
        kit = prepare_kit(engine, benchmark, lambda line: None)

        def standing() -> list[str]:
            return [c["Id"] for c in engine.api.containers(all=True, filters={"label": f"{RUN}={run_id}"})]

        with Bays(kit, mirror, run_id, 1) as bays:
            assert bays.run(check).passed
            volumes = engine.api.volumes(filters={"label": f"{RUN}={run_id}"})["Volumes"]
            assert "work" not in {volume["Labels"][ROLE] for volume in volumes}, "nobody uses it"
            for container in standing():  # all that it has; the check's own may be going already
                with suppress(APIError):
                    engine.api.kill(container)
            with pytest.raises(RigError):
                bays.run(check)
            assert standing() == []
            assert bays.run(check).passed
        assert standing() == []
