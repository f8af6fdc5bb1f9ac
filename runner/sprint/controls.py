"""The controls: contestants whose result is known before, so that the rig can be told from what it measures.

``reference`` applies the reference patch of each milestone, ``nop`` does nothing, ``saboteur`` deletes the tests and
edits the CI configuration.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable

from runner.errors import ConfigError, RigError, UsageError
from runner.lab.check import CONTESTANT
from runner.lab.tree import TREE
from runner.registry.benchmark import Benchmark
from runner.sprint.worker import Task, Work, Worker

VERSION = "1"


class Reference:
    """Applies the frozen patch of the milestone in hand; a patch that does not apply is the rig's fault."""

    def __init__(self, benchmark: Benchmark) -> None:
        ids = [m.id for m in benchmark.entry.milestones]
        if len(benchmark.entry.reference) != len(ids):
            raise ConfigError(
                f"{benchmark.index}: {benchmark.id}: reference: {len(benchmark.entry.reference)} patches for {len(ids)} milestones",
                "name one patch per milestone, in order",
            )
        self._patches = {
            milestone: benchmark.path(patch) for milestone, patch in zip(ids, benchmark.entry.reference, strict=True)
        }

    def work(self, task: Task) -> Work:
        patch = self._patches[task.milestone.id].read_bytes()
        argv = ["git", "apply", "--whitespace=nowarn", "-"]
        done = task.box.exec(argv, timeout_s=60, user=CONTESTANT, cwd=TREE, stdin=patch)
        if not done.ok:
            said = done.stderr.decode("utf-8", "backslashreplace").strip()
            raise RigError(f"the reference patch of {task.milestone.id} does not apply: {said}")
        return Work("done")


class Nop:
    """Does nothing at all."""

    def work(self, task: Task) -> Work:
        return Work("done")


class Saboteur:
    """Deletes what tests the program and edits the files that the registry protects, whatever benchmark it is."""

    def __init__(self, benchmark: Benchmark) -> None:
        self._entry = benchmark.entry

    def work(self, task: Task) -> Work:
        entry = self._entry
        doomed = [p for p in (entry.unit_file, entry.cases_dir) if p] + ["tests", "test"]
        config = [g for g in entry.protected if not any(c in g for c in "*?")]
        script = "\n".join(
            ["set -u"]
            + [f"rm -rf -- {shlex.quote(path)}" for path in doomed]
            + [f"test -f {q} && printf '\\n# always green\\n' >> {q}" for q in map(shlex.quote, config)]
            + ["printf 'all:\\n\\ttrue\\n' > always-green.mk", "true"]
        )
        done = task.box.exec(["sh", "-c", script], timeout_s=60, user=CONTESTANT, cwd=TREE)
        if not done.ok:
            raise RigError(f"the saboteur could not work: {done.stderr.decode('utf-8', 'backslashreplace').strip()}")
        return Work("done")


def control(name: str, benchmark: Benchmark) -> Worker:
    """The control of that name. Raises UsageError listing the known ones."""
    makers: dict[str, Callable[[], Worker]] = {
        "reference": lambda: Reference(benchmark),
        "nop": Nop,
        "saboteur": lambda: Saboteur(benchmark),
    }
    if name not in makers:
        raise UsageError(f"there is no control {name!r}", f"known: {', '.join('control/' + n for n in makers)}")
    return makers[name]()
