"""One command on one commit in one fresh pod."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from runner.errors import Interrupted, RigError
from runner.lab.kit import Kit
from runner.lab.tree import TREE, Overlay, TreeUnreadable, lay, protected_overlay, tree_digest
from runner.repo import Mirror
from runner.sandbox.box import Box, ExecResult
from runner.sandbox.pod import Pod
from runner.sandbox.transfer import NotCopied
from runner.schema.entry import Command

CONTESTANT = "1000:1000"
ORACLE = "0:0"
# What an oracle needs to run the candidate's program as another user and to clean up after it.
ORACLE_CAPS = ("CHOWN", "DAC_OVERRIDE", "FOWNER", "KILL", "SETGID", "SETUID")
_GRACE_S = 60
_REPORT_BYTES = 16 << 20
_ORACLE_MB = 64


class SetupFails(RigError):
    """The benchmark's setup ran on this tree and failed; on a contestant's tree that is the contestant's doing."""

    retry = False

    def __init__(self, what: str, result: CheckResult) -> None:
        super().__init__(what)
        self.result = result


@dataclass(frozen=True)
class Check:
    """What is to be run. ``overlay`` replaces files of the commit (see ``protected_overlay``).

    ``output`` is a path without ending; ``.out`` and ``.err`` are written beside it. With ``watch_tree`` the files that
    the command changed, added or removed are listed (compared on the host, byte for byte). ``report`` is a file in the
    container that is fetched afterwards, ``evidence`` are files that are kept as they are, beside ``output``; ``more``
    is appended to the command's arguments. ``oracle_dir`` is a folder of the host that lies at /oracle, where only the
    oracle can read it; the tree then belongs to the contestant's user. ``image`` is the kit's image to run in.
    ``repeat`` numbers checks that are to be made anew although nothing differs.
    """

    commit: str
    command: Command
    overlay: Overlay | None = None
    output: Path | None = None
    watch_tree: bool = False
    report: str | None = None
    evidence: Sequence[str] = ()
    more: Sequence[str] = ()
    oracle_dir: Path | None = None
    image: str = "benchmark"
    repeat: int = 0


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
    report: bytes | None = None

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


Place = Callable[[Check], CheckResult]
"""Somewhere to carry out checks: a pod for each, or bays that many share."""


def protected_check(
    kit: Kit, mirror: Mirror, baseline: str, check: Check, *, run_id: str, place: Place | None = None
) -> CheckResult:
    """A check of a contestant's commit, with all that it may not change as the baseline has it; in a pod of its own
    unless ``place`` is another.

    A setup that fails there is a failed check: it was proven on the baseline, in the same images.
    """
    entry = kit.benchmark.entry
    overlay = protected_overlay(mirror, baseline, check.commit, entry.protected, entry.scope_allowlist)
    try:
        laid = _with_overlay(check, overlay)
        return place(laid) if place else run_check(kit, mirror, laid, run_id=run_id)
    except SetupFails as error:
        if check.commit == baseline:
            raise
        return error.result


def run_check(kit: Kit, mirror: Mirror, check: Check, *, run_id: str) -> CheckResult:
    """Run the command in a pod of its own: fresh container, fresh database.

    Raises RigError where the sandbox itself failed, Interrupted where somebody stopped the run.
    """
    with Pod(kit.engine, kit.lab_spec(run_id, check.command.timeout_s + _GRACE_S)) as pod:
        if pod.spec.service is not None:
            pod.start_database()
        return check_in_pod(kit, pod, mirror, check)


def check_in_pod(kit: Kit, pod: Pod, mirror: Mirror, check: Check) -> CheckResult:
    """The check in a fresh container of an open pod, whose database is fresh. The work tree is emptied before.

    A command marked ``oracle`` runs as root, so that it can run the candidate's program as another user.
    """
    user, caps = (ORACLE, ORACLE_CAPS) if check.command.oracle else (CONTESTANT, ())
    hidden = check.oracle_dir
    box = pod.check_box(
        kit.images[check.image].tag, env=kit.environment, user=user, caps=caps, oracle_mb=_ORACLE_MB if hidden else 0
    )
    try:
        owner = CONTESTANT if hidden else user
        lay(box, mirror, check.commit, "checked", overlay=check.overlay, user=owner, carried=kit.benchmark.carried)
        set_up(kit, box, owner)
        if hidden:
            box.put_tree(hidden, "/oracle")
        before = tree_digest(box) if check.watch_tree else None
        done = run_in(kit, box, check.command, check.output, check.more)
        changed = report = None
        if not done.timed_out and not done.oom:
            if before is not None:
                changed = _changed(box, before)
            if check.report is not None:
                report = _fetch(box, check.report)
            for path in check.evidence if check.output else ():
                content = _fetch(box, path)
                if content is not None and check.output:
                    check.output.with_name(f"{check.output.name}.{Path(path).name}").write_bytes(content)
    finally:
        box.remove()
    return CheckResult(
        exit_code=done.exit_code,
        timed_out=done.timed_out,
        oom=done.oom,
        seconds=done.seconds,
        stdout=done.stdout,
        stderr=done.stderr,
        changed=changed,
        report=report,
    )


def _changed(box: Box, before: dict[str, str]) -> list[str]:
    """Files that differ from ``before``. A tree that the command made unreadable differs, whatever is in it."""
    try:
        after = tree_digest(box)
    except TreeUnreadable as error:
        if not box.alive():
            raise
        return [f"({error.what})"]
    return sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path))


def set_up(kit: Kit, box: Box, user: str | None = None) -> None:
    """The benchmark's frozen set-up step, as ``user`` (default: the box's). Raises RigError where it fails."""
    step = kit.benchmark.entry.setup
    if step is None:
        return
    done = run_in(kit, box, step, None, user=user)
    if not done.ok:
        said = (done.stderr or done.stdout).decode("utf-8", "backslashreplace").strip().splitlines()
        result = CheckResult(done.exit_code or 1, done.timed_out, done.oom, done.seconds, done.stdout, done.stderr)
        raise SetupFails(f"the benchmark's setup failed: {said[-1] if said else done.exit_code}", result)


def run_in(
    kit: Kit, box: Box, command: Command, output: Path | None, more: Sequence[str] = (), user: str | None = None
) -> ExecResult:
    """A registry command in a box, in the tree. Raises Interrupted when somebody stops the run meanwhile."""
    done = box.exec(
        [*command.argv, *more],
        timeout_s=command.timeout_s,
        cwd=f"{TREE}/{command.cwd}" if command.cwd else TREE,
        env=command.env,
        user=user,
        cancel=kit.cancel,
    )
    if output:
        output.with_name(output.name + ".out").write_bytes(done.stdout)
        output.with_name(output.name + ".err").write_bytes(done.stderr)
    if kit.cancel.is_set():
        raise Interrupted("the run was stopped")
    return done


def _fetch(box: Box, path: str) -> bytes | None:
    """A report, or None where the command wrote none."""
    target = path if path.startswith("/") else f"{TREE}/{path}"
    try:
        return box.get(target, limit_bytes=_REPORT_BYTES)
    except NotCopied:
        return None


def _with_overlay(check: Check, overlay: Overlay) -> Check:
    return replace(check, overlay={**overlay, **(check.overlay or {})})
