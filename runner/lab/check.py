"""One command on one commit in one fresh pod."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from runner.errors import Interrupted, RigError
from runner.lab.kit import Kit
from runner.lab.survivors import end_survivors
from runner.lab.tree import LAY_FIRST, TREE, Overlay, TreeUnreadable, lay_archive, tree_archive, tree_digest
from runner.repo import Mirror
from runner.sandbox.box import Box, ExecResult, ToolMissing
from runner.sandbox.oneshot import Work
from runner.sandbox.pod import Pod
from runner.sandbox.transfer import NotCopied
from runner.schema.entry import Command

CONTESTANT = "1000:1000"
ORACLE = "0:0"
# What an oracle needs to run the candidate's program as another user and to clean up after it.
ORACLE_CAPS = ("CHOWN", "DAC_OVERRIDE", "FOWNER", "KILL", "SETGID", "SETUID")
_GRACE_S = 60
_REPORT_BYTES = 16 << 20
ORACLE_MB = 64


class CannotBegin(RigError):
    """A command could not begin on this tree; on a contestant's that is the contestant's doing: it can elsewhere."""

    retry = False

    def __init__(self, what: str, result: CheckResult) -> None:
        super().__init__(what)
        self.result = result


class SetupFails(CannotBegin):
    """The benchmark's setup ran on this tree and failed."""


class NotThere(CannotBegin):
    """The command is a file of the tree that is not there or cannot be run, or so is its folder."""


@dataclass(frozen=True)
class Check:
    """What is to be run. ``overlay`` replaces files of the commit (see ``protected_check``).

    ``output`` is a path without ending; ``.out`` and ``.err`` are written beside it. With ``watch_tree`` the files that
    the command changed, added or removed are listed (compared on the host, byte for byte). ``report`` is a file in the
    container that is fetched afterwards, ``reports`` are further ones; none of them is ever the commit's own.
    ``evidence`` are files that are kept as they are, beside ``output``; ``more`` is appended to the arguments.
    ``oracle_dir`` is a folder of the host that lies at /oracle, where only the
    oracle can read it; the tree then belongs to the contestant's user. ``image`` is the kit's image to run in.
    ``repeat`` numbers checks that are to be made anew although nothing differs.
    """

    commit: str
    command: Command
    overlay: Overlay | None = None
    output: Path | None = None
    watch_tree: bool = False
    report: str | None = None
    reports: Sequence[str] = ()
    evidence: Sequence[str] = ()
    more: Sequence[str] = ()
    oracle_dir: Path | None = None
    image: str = "benchmark"
    repeat: int = 0


@dataclass(frozen=True)
class CheckResult:
    """``exit_code`` null: the command was ended at its limit or by the kernel (``timed_out``, ``oom``).

    ``left``: names of processes that were still there a second after the command's end; they were ended before a report
    was fetched. ``doubts``: what speaks against an exit code 0, one sentence each (see ``protected_check``).
    """

    exit_code: int | None
    timed_out: bool
    oom: bool
    seconds: float
    stdout: bytes
    stderr: bytes
    changed: list[str] | None = None
    report: bytes | None = None
    reports: Mapping[str, bytes] = field(default_factory=dict)
    left: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        return self.exit_code == 0 and not self.timed_out and not self.oom and not self.doubts

    def why(self) -> str:
        """How it ended, in a few stable words."""
        if self.timed_out:
            return "timed out"
        if self.oom:
            return "out of memory"
        return f"exit {self.exit_code}" + (f", but {self.doubts[0]}" if self.doubts else "")


Place = Callable[[Check], CheckResult]
"""Somewhere to carry out checks: a pod for each, or bays that many share."""


def run_check(kit: Kit, mirror: Mirror, check: Check, *, run_id: str) -> CheckResult:
    """Run the command in a pod of its own: fresh container, fresh database.

    Raises RigError where the sandbox itself failed, Interrupted where somebody stopped the run.
    """
    with (
        Pod(kit.engine, kit.lab_spec(run_id, check.command.timeout_s + _GRACE_S)) as pod,
        ThreadPoolExecutor(1) as aside,
    ):
        fresh = aside.submit(pod.start_database) if pod.spec.service is not None else None
        return check_in_pod(kit, pod, mirror, check, ready=lambda: fresh and fresh.result())


def check_in_pod(
    kit: Kit,
    pod: Pod,
    mirror: Mirror,
    check: Check,
    *,
    ready: Callable[[], object],
    discard: Callable[[Box], None] = lambda box: box.remove(),
) -> CheckResult:
    """The check in a fresh container of an open pod.

    ``ready`` is called before anything of the check's runs, and returns when the pod's database is fresh and nothing of
    an earlier check is alive; ``discard`` takes the container down afterwards. A command marked ``oracle`` runs as
    root, so that it can run the candidate's program as another user.
    """
    hidden = check.oracle_dir
    owner = _owner(check)
    with ThreadPoolExecutor(1) as aside:
        tree = aside.submit(
            tree_archive, mirror, check.commit, "checked", overlay=laid(check), carried=kit.benchmark.carried
        )
        box, lay, run = _opened(kit, pod, check)
    try:
        lay(tree.result())
        ready()
        set_up(kit, box, owner)
        if hidden:
            box.put_tree(hidden, "/oracle")
        before = tree_digest(box) if check.watch_tree else None
        try:
            done = run()
        except ToolMissing as error:
            raise NotThere(error.what, CheckResult(127, False, False, 0.0, b"", error.what.encode())) from error
        changed = report = None
        reports: dict[str, bytes] = {}
        left: tuple[str, ...] = ()
        read = check.report or check.reports or check.watch_tree
        if read and not check.command.oracle and not done.timed_out and not done.oom:
            left = end_survivors(box, owner)
        if not done.timed_out and not done.oom and not box.ended:
            if before is not None:
                changed = _changed(box, before)
            if check.report is not None:
                report = _fetch(box, check.report)
            reports = {path: content for path in check.reports if (content := _fetch(box, path)) is not None}
            for path in check.evidence if check.output else ():
                content = _fetch(box, path)
                if content is not None and check.output:
                    check.output.with_name(f"{check.output.name}.{Path(path).name}").write_bytes(content)
    finally:
        discard(box)
    return CheckResult(
        exit_code=done.exit_code,
        timed_out=done.timed_out,
        oom=done.oom,
        seconds=done.seconds,
        stdout=done.stdout,
        stderr=done.stderr,
        changed=changed,
        report=report,
        reports=reports,
        left=left,
    )


def _opened(kit: Kit, pod: Pod, check: Check) -> tuple[Box, Callable[[bytes], None], Callable[[], ExecResult]]:
    """The check's container, how its tree is laid out in it, and how the command is run there."""
    image, env = kit.images[check.image].tag, kit.environment
    user, caps = (ORACLE, ORACLE_CAPS) if check.command.oracle else (CONTESTANT, ())
    if work := at_once(check, kit.benchmark.entry.setup):
        shot = pod.one_shot(image, work, env=env, caps=caps)

        def run() -> ExecResult:
            return _kept(kit, shot.run(timeout_s=check.command.timeout_s, cancel=kit.cancel), check.output)

        return shot, shot.lay_out, run
    box = pod.check_box(image, env=env, user=user, caps=caps, oracle_mb=ORACLE_MB if check.oracle_dir else 0)
    return (
        box,
        lambda tree: lay_archive(box, tree, user=_owner(check)),
        lambda: run_in(kit, box, check.command, check.output, check.more),
    )


def _owner(check: Check) -> str:
    """Whose the tree is: the judge's, but for one that may not be seen by the candidate's program."""
    return ORACLE if check.command.oracle and not check.oracle_dir else CONTESTANT


def at_once(check: Check, setup: Command | None) -> Work | None:
    """The command as the main process's own, where that says the same: it runs as root, with nothing in between."""
    command = check.command
    between = check.oracle_dir or check.watch_tree or setup
    if not command.oracle or between or "/" in command.argv[0] or "PATH" in command.env:
        return None
    return Work(LAY_FIRST, [*command.argv, *check.more], _folder(command), command.env)


def _folder(command: Command) -> str:
    return f"{TREE}/{command.cwd}" if command.cwd else TREE


def laid(check: Check) -> Overlay:
    """The overlay; a report that the commit brings along is taken away: it would be told from no fresh one."""
    own = [path for path in (check.report, *check.reports) if path and not path.startswith("/")]
    return {**(check.overlay or {}), **dict.fromkeys((path.encode() for path in own), None)}


def _changed(box: Box, before: dict[str, str]) -> list[str]:
    """Files that differ from ``before``. A tree that the command made unreadable differs, whatever is in it."""
    try:
        after = tree_digest(box)
    except ToolMissing:  # no room for one more process: it left as many as may be
        return ["(the tree cannot be read back)"]
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
    try:
        done = run_in(kit, box, step, None, user=user)
    except ToolMissing as error:
        what = f"the benchmark's setup could not be started: {error.what}"
        raise SetupFails(what, CheckResult(127, False, False, 0.0, b"", error.what.encode())) from error
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
        cwd=_folder(command),
        env=command.env,
        user=user,
        cancel=kit.cancel,
    )
    return _kept(kit, done, output)


def _kept(kit: Kit, done: ExecResult, output: Path | None) -> ExecResult:
    if output:
        output.with_name(output.name + ".out").write_bytes(done.stdout)
        output.with_name(output.name + ".err").write_bytes(done.stderr)
    if kit.cancel.is_set():
        raise Interrupted("the run was stopped")
    return done


def _fetch(box: Box, path: str) -> bytes | None:
    """A report, or None where the command wrote none, or left no room for one more process to read it."""
    target = path if path.startswith("/") else f"{TREE}/{path}"
    try:
        return box.get(target, limit_bytes=_REPORT_BYTES)
    except (NotCopied, ToolMissing):
        return None
