"""Looks from the attic while a contestant works, as an attempt makes them."""

from __future__ import annotations

import time

import pytest

from runner.gateway.client import Passed
from runner.sandbox.copyout import snapshot
from runner.sandbox.peek import Peek
from runner.sandbox.pod import Pod
from runner.schema.look import Look
from runner.sprint.lookout import Lookout

from .conftest import Images, OpenPod
from .test_copyout import begin, work

pytestmark = pytest.mark.engine


@pytest.fixture
def pod(open_pod: OpenPod) -> Pod:
    return open_pod(work_mb=128)


def test_what_changes_between_requests_is_seen_and_the_work_comes_out_whole(pod: Pod, images: Images) -> None:
    box, base = begin(pod, images)
    assert pod.attic is not None
    passed, seen = Passed(), list[Look]()
    lookout = Lookout(Peek(pod.attic, base=base), passed, "M01-1", seen.append)
    lookout.start()
    for step, content in enumerate(("1\n", "1\n2\n", "1\n2\n3\n", "1\n"), 1):
        work(box, f"printf '%s' '{content}' > new.txt")
        passed.add(step)
        limit = time.monotonic() + 60
        while len(seen) < step and time.monotonic() < limit:
            time.sleep(0.05)
    work(box, "echo last > last.txt")
    box.kill()
    lookout.stop()
    assert [[(c.path, c.added, c.taken) for c in look.changes] for look in seen] == [
        [("new.txt", 1, 0)],
        [("new.txt", 1, 0)],
        [("new.txt", 1, 0)],
        [("new.txt", 0, 2)],
        [("last.txt", 1, 0)],
    ]
    assert [look.requests for look in seen] == [1, 2, 3, 4, 4]
    assert seen[0].changes[0].content == seen[3].changes[0].content  # back to what it was
    info = snapshot(pod.attic, base=base, branch="bench/x", message="left", when=1_800_000_000)
    assert info.tree == seen[-1].tree
    assert info.changed_paths == ("last.txt", "new.txt")
