"""A controller that was killed leaves nothing that a sweep does not find, and a sweep finds nothing else."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest

from runner.sandbox.engine import Engine
from runner.sandbox.labels import owner_labels
from runner.sandbox.reaper import sweep

from .conftest import Images, OpenPod

pytestmark = pytest.mark.engine

CONTROLLER = """
    import sys, time
    from runner.sandbox.engine import connect
    from runner.sandbox.pod import Pod, PodSpec
    with connect() as engine, Pod(engine, PodSpec(sys.argv[1], sys.argv[2], deadline_s=300)) as pod:
        pod.contestant(sys.argv[3])
        print("ready", flush=True)
        time.sleep(300)
"""


def test_kill_9_then_sweep(engine: Engine, images: Images, open_pod: OpenPod) -> None:
    mine = open_pod()
    mine.contestant(images.base)
    controllers = [
        subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(CONTROLLER), run, images.trusted, images.base],
            stdout=subprocess.PIPE,
        )
        for run in ("test-reaper-dead", "test-reaper-alive")
    ]
    dead = controllers[0]
    foreign = engine.api.create_volume(
        name="bench-test-foreign", labels=owner_labels("test-reaper-foreign", "x") | {"bench.host": "elsewhere"}
    )
    try:
        for controller in controllers:
            assert controller.stdout is not None
            assert controller.stdout.readline() == b"ready\n"
        dead.kill()  # not waited for: a zombie is dead, too
        while (report := sweep(engine, dry_run=True)).found == []:
            pass
        mine_of = {(one.kind, one.role) for one in report.found if one.run == "test-reaper-dead"}
        wanted = {("container", role) for role in ("holder", "attic", "contestant")}
        assert mine_of == wanted | {("volume", "work"), ("volume", "home")}
        assert counts(engine) == {"test-reaper-dead": 5, "test-reaper-alive": 5}
        done = sweep(engine)
        assert done.failed == []
        assert {one.run for one in done.found} >= {"test-reaper-dead"}
        assert not {one.run for one in done.found} & {"test-reaper-alive", "test-reaper-foreign", mine.spec.run_id}
        assert counts(engine) == {"test-reaper-dead": 0, "test-reaper-alive": 5}
        assert not [one for one in sweep(engine).found if one.run.startswith("test-reaper")]
        assert engine.api.inspect_volume("bench-test-foreign")
    finally:
        for controller in controllers:
            controller.kill()
            controller.wait()
            assert controller.stdout is not None
            controller.stdout.close()
        engine.api.remove_volume(foreign["Name"])
        sweep(engine)
    assert counts(engine) == {"test-reaper-dead": 0, "test-reaper-alive": 0}


def counts(engine: Engine) -> dict[str, int]:
    """Containers and volumes of the two child controllers."""
    found = {}
    for run in ("test-reaper-dead", "test-reaper-alive"):
        wanted = {"label": f"bench.run={run}"}
        volumes = engine.api.volumes(filters=wanted)["Volumes"] or []
        found[run] = len(engine.api.containers(all=True, filters=wanted)) + len(volumes)
    return found
