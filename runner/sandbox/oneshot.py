"""A box for one command alone, which its main process runs after it has laid out what it is sent.

By exec, one for the files and one for the command, it took half as much of the machine again as the container itself.
It is for commands that run as root: nobody else in there can end the main process, or learn the mark under which it
says how the command ended. The box then stays as it is until it is removed.
"""

from __future__ import annotations

import math
import shlex
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from runner.errors import RigError
from runner.sandbox.box import OUTPUT_LIMIT, Box, ExecResult, ToolMissing, Wish
from runner.sandbox.container import ContainerSpec
from runner.sandbox.engine import Engine, engine_errors
from runner.sandbox.stream import STDERR, STDOUT, Capture, Hijacked
from runner.sandbox.told import NO_FOLDER, NO_PROGRAM, Told

# It is told twice, each time a size and as many bytes: the archive, for the script $1; then, in the shell's words, the
# mark, the folder, and as arguments the program, the variables and the command. Nobody else sees either: a command line
# could be read by all.
# The tools are looked up first: the PATH may lead into what is then laid out.
# A variable of the same name in the image's environment would take the mark along.
# The command's streams are opened anew: whoever it lets write there could make shared ones refuse the last line.
# Its errors go by way of 3, and it runs in a subshell: a shell has words of its own for one that was killed.
# A session of its own, as by exec: what ends its whole group ends nobody else.
_MAIN = f"""
set -eu
unset bench_size bench_mark bench_folder bench_word bench_head bench_setsid bench_env
setsid env true
bench_head=$(command -v head) bench_setsid=$(command -v setsid) bench_env=$(command -v env)
found() (
    set -f
    IFS=:
    for folder in $PATH; do test -f "$folder/$1" && test -x "$folder/$1" && exit; done
    exit 1
)
IFS= read -r bench_size
"$bench_head" -c "$bench_size" | (eval "$1")
echo laid; echo laid >&2
IFS= read -r bench_size
eval "$("$bench_head" -c "$bench_size")"
exec 3>&2 2>/dev/null
set +e
if ! cd -- "$bench_folder"; then bench_word={NO_FOLDER}
elif ! found "$1"; then bench_word={NO_PROGRAM}
else
    shift
    set -- "$bench_setsid" "$bench_env" -u PWD -u OLDPWD -u SHLVL -u _ -- "$@"
    (exec "$@" </dev/null >/proc/self/fd/1 2>/proc/self/fd/3 3>&-)
    bench_word=$?
fi
printf '\\n%s %s\\n' "$bench_mark" "$bench_word"
printf '\\n%s %s\\n' "$bench_mark" "$bench_word" >&3
IFS= read -r bench_size
"""
_LAID = b"laid\n"
_LAY_S = 120
_KEPT_BYTES = 1 << 16


@dataclass(frozen=True)
class Work:
    """``lay``: a shell script that is given an archive; ``argv``: a program of the image's PATH with its arguments."""

    lay: str
    argv: Sequence[str]
    cwd: str = "/"
    env: Mapping[str, str] = field(default_factory=dict)

    def main(self, seconds: int) -> list[str]:
        """The box's main process; it ends by itself after ``seconds``, or when nobody is there to tell it anything."""
        return ["timeout", "-s", "KILL", str(seconds), "sh", "-c", _MAIN, "work", self.lay]

    def order(self, mark: str) -> bytes:
        """What the main process is told of the command, and under which mark it is to say how that ended."""
        variables = [f"{name}={value}" for name, value in self.env.items()]
        words = shlex.join([self.argv[0], *variables, *self.argv])
        return f"bench_mark={mark} bench_folder={shlex.quote(self.cwd)}; set -- {words}".encode()


class OneShot(Box):
    """Not for several threads at once, but ``kill`` may come from any."""

    def __init__(self, engine: Engine, spec: ContainerSpec, work: Work, *, deadline: float) -> None:
        """Create the container, not started. ``deadline`` is monotonic. Raises RigError."""
        seconds = max(1, math.ceil(deadline - time.monotonic()))
        super().__init__(engine, replace(spec, argv=work.main(seconds), told=True), deadline=deadline)
        self._work = replace(work, env={**spec.env, **work.env})  # a shell drops what it takes for no name of its own
        self._channel: Hijacked | None = None
        self._heard = False

    def start(self) -> None:
        """Start the main process. Raises RigError."""
        with engine_errors(f"listening to {self.name}"):
            streams = {"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1}
            self._channel = Hijacked(self.engine.api.attach_socket(self.id, params=streams))
        try:
            super().start()
        except BaseException:
            self._channel.close()
            raise

    def lay_out(self, archive: bytes) -> None:
        """Have ``archive`` laid out. Raises RigError, in the script's own words where it failed."""
        heard = {STDOUT: Capture(_KEPT_BYTES), STDERR: Capture(_KEPT_BYTES)}

        def stop() -> bool:
            return self.ended or all(stream.data().endswith(_LAID) for stream in heard.values())

        def take(stream: int, piece: memoryview) -> None:
            heard[stream].add(piece)

        over = self._open().talk(_sized(archive), take, until=time.monotonic() + _LAY_S, stop=stop, more=True)
        if over or not stop() or self.ended:
            said = heard[STDERR].data().decode("utf-8", "backslashreplace").strip().splitlines()
            ended = "it ended" if over or self.ended else f"it took more than {_LAY_S} seconds"
            raise RigError(f"files could not be laid out: {said[0] if said else ended}")

    def run(self, *, timeout_s: float, cancel: Wish | None = None) -> ExecResult:
        """Run the command to its end, as ``exec`` does; once."""
        told = Told()

        def outcome(out: Capture) -> tuple[int | None, bool]:
            return self._said(told)

        room, order = OUTPUT_LIMIT + told.longest, _sized(self._work.order(told.mark))
        try:
            with Capture(room) as out, Capture(room) as err:
                done = self._follow(
                    self._before(),
                    self._open(),
                    order,
                    out,
                    err,
                    outcome,
                    timeout_s=timeout_s,
                    cancel=cancel,
                    told=told,
                )
        finally:
            self._heard = True
        return replace(done, stdout=told.without(done.stdout), stderr=told.without(done.stderr))

    def let_go(self) -> None:
        """Hear and tell nothing more, after which it ends by itself; safe to call again.

        The engine ends no container while somebody who listens does not take what its leftovers write.
        """
        if self._channel is not None:
            self._channel.close()

    def remove(self) -> None:
        """End the container and remove it; safe to call again. Raises RigError."""
        self.let_go()
        super().remove()

    def _signal(self, why: str) -> None:
        if self._heard:
            self.let_go()
        super()._signal(why)

    def _open(self) -> Hijacked:
        self._must_live()
        assert self._channel is not None, "it was not started"
        return self._channel

    def _said(self, told: Told) -> tuple[int | None, bool]:
        if not told.over:
            return self._ended_early()
        if told.word == NO_FOLDER:
            raise ToolMissing(f"{self._work.argv[0]!r} could not be started: there is no folder {self._work.cwd}")
        if told.word == NO_PROGRAM:
            raise ToolMissing(f"{self._work.argv[0]!r} could not be started: it is not in the PATH of {self.image}")
        return int(told.word), False


def _sized(data: bytes) -> bytes:
    return b"%d\n" % len(data) + data
