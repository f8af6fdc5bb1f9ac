"""The controls: contestants whose result is known before, so that the rig can be told from what it measures.

``reference`` applies the reference patch of each milestone, ``nop`` does nothing, ``saboteur`` deletes the tests and
edits the CI configuration.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from runner.errors import ConfigError, RigError, UsageError
from runner.hostgit import printable
from runner.lab.check import CONTESTANT
from runner.lab.tree import TREE
from runner.registry.benchmark import Benchmark
from runner.registry.globs import matches
from runner.registry.testnames import is_test
from runner.repo import TreeFile
from runner.schema.cell import Cell
from runner.schema.entry import Entry
from runner.schema.run import RunLock
from runner.sprint.worker import Door, Facts, Task, Work, Worker
from runner.store.rundir import RunDir

VERSION = "1"


class Reference:
    """Applies the frozen patch of the milestone in hand; a patch that does not apply is the rig's fault."""

    def __init__(self, benchmark: Benchmark) -> None:
        ids = [m.id for m in benchmark.entry.milestones]
        if len(benchmark.entry.reference) != len(ids):
            raise ConfigError(
                f"{benchmark.index}: {benchmark.id}: reference: {len(benchmark.entry.reference)} patches for "
                f"{len(ids)} milestones",
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
        baseline = task.mirror.tree("refs/heads/baseline")
        doomed = tests_of(entry, baseline)
        config = [printable(f.path) for f in baseline if f.mode != "120000" and matches(entry.protected, f.path)]
        script = "\n".join(
            ["set -u"]
            + [f"rm -rf -- {shlex.quote(path)}" for path in doomed]
            + [f"test -f {q} && printf '\\n# always green\\n' >> {q}" for q in map(shlex.quote, config)]
            + ["printf 'all:\\n\\ttrue\\n' > always-green.mk", "true"]
        )
        # By standard input: an argument has a length that many names do not fit into.
        done = task.box.exec(["sh", "-s"], timeout_s=60, user=CONTESTANT, cwd=TREE, stdin=script.encode())
        if not done.ok:
            raise RigError(f"the saboteur could not work: {done.stderr.decode('utf-8', 'backslashreplace').strip()}")
        return Work("done")


def tests_of(entry: Entry, tree: Sequence[TreeFile]) -> list[str]:
    """What tests the program: the files that the entry names, and those that are called like tests."""
    named = [path.rstrip("/") for path in (entry.unit_file, entry.cases_dir) if path]
    paths = [printable(file.path) for file in tree]
    return [p for p in paths if is_test(p) or any(p == n or p.startswith(f"{n}/") for n in named)]


class Control:
    """A control as a contestant: no model, no gateway. Raises UsageError for an unknown name, listing the known."""

    def __init__(self, name: str, benchmark: Benchmark) -> None:
        self._worker = _worker(name, benchmark)

    @contextmanager
    def open(self, run: RunDir, lock: RunLock) -> Iterator[Door]:
        yield Door(self._worker)

    def facts(self) -> Facts:
        reason = "a control uses no model"
        return Facts(tokens=None, tokens_reason=reason, requests=None, models_served=[], cost=Cell.none(reason))


def _worker(name: str, benchmark: Benchmark) -> Worker:
    makers: dict[str, Callable[[], Worker]] = {
        "reference": lambda: Reference(benchmark),
        "nop": Nop,
        "saboteur": lambda: Saboteur(benchmark),
    }
    if name not in makers:
        raise UsageError(f"there is no control {name!r}", f"known: {', '.join('control/' + n for n in makers)}")
    return makers[name]()
