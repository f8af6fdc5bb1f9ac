"""One command on one commit in one fresh pod."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from runner.errors import Interrupted, RigError
from runner.lab.kit import Kit
from runner.lab.tree import TREE, lay, protected_overlay, tree_digest
from runner.repo import Mirror
from runner.sandbox.box import Box, ExecResult
from runner.sandbox.pod import Pod
from runner.schema.entry import Command

CONTESTANT = "1000:1000"
_GRACE_S = 60


@dataclass(frozen=True)
class CheckResult:
    """``exit_code`` null: the command was ended at its limit or by the kernel (``timed_out``, ``oom``)."""

    exit_code: int | None
    timed_out: bool
    oom: bool
    seconds: float
    stdout: bytes
    stderr: bytes
    changed: list[str] | None = None

    @property
    def passed(self) -> bool:
        return self.exit_code == 0 and not self.timed_out and not self.oom

    def why(self) -> str:
        """How it ended, in a few stable words."""
        if self.timed_out:
            return "timed out"
        if self.oom:
            return "out of memory"
        return f"exit {self.exit_code}"


def run_check(
    kit: Kit,
    mirror: Mirror,
    baseline: str,
    commit: str,
    command: Command,
    *,
    run_id: str,
    branch: str,
    output: Path | None = None,
    watch_tree: bool = False,
) -> CheckResult:
    """Run ``command`` on ``commit`` in a pod of its own: fresh container, fresh database, protected files restored.

    ``output`` is a path without ending; ``.out`` and ``.err`` are written beside it. With ``watch_tree`` the files
    that the command changed, added or removed are listed (compared on the host, byte for byte).
    Raises RigError where the sandbox itself failed.
    """
    overlay = protected_overlay(mirror, baseline, commit, kit.benchmark.entry.protected)
    spec = kit.pod_spec(run_id, command.timeout_s + _GRACE_S)
    with Pod(kit.engine, spec) as pod:
        if spec.service is not None:
            pod.start_database()
        box = pod.check_box(kit.images["benchmark"].tag, env=kit.environment, user=CONTESTANT)
        lay(box, mirror, commit, branch, overlay=overlay, user=CONTESTANT)
        set_up(kit, box)
        before = tree_digest(box) if watch_tree else None
        done = run_in(kit, box, command, output)
        changed = None
        if before is not None and not done.timed_out:
            after = tree_digest(box)
            changed = sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path))
    return CheckResult(
        exit_code=done.exit_code,
        timed_out=done.timed_out,
        oom=done.oom,
        seconds=done.seconds,
        stdout=done.stdout,
        stderr=done.stderr,
        changed=changed,
    )


def set_up(kit: Kit, box: Box) -> None:
    """The benchmark's frozen set-up step, as the contestant's user. Raises RigError where it fails."""
    step = kit.benchmark.entry.setup
    if step is None:
        return
    done = run_in(kit, box, step, None)
    if not done.ok:
        said = (done.stderr or done.stdout).decode("utf-8", "backslashreplace").strip().splitlines()
        raise RigError(f"the benchmark's setup failed: {said[-1] if said else done.exit_code}")


def run_in(kit: Kit, box: Box, command: Command, output: Path | None) -> ExecResult:
    """A registry command in a box, in the tree. Raises Interrupted when somebody stops the run meanwhile."""
    done = box.exec(
        command.argv,
        timeout_s=command.timeout_s,
        cwd=f"{TREE}/{command.cwd}" if command.cwd else TREE,
        stdout_to=output.with_name(output.name + ".out") if output else None,
        stderr_to=output.with_name(output.name + ".err") if output else None,
        cancel=kit.cancel,
    )
    if kit.cancel.is_set():
        raise Interrupted("the run was stopped")
    return done
