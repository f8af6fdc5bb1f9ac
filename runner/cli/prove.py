"""Runs a proof and shows it: a line per claim as it stands, then the verdict."""

from __future__ import annotations

import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import FrameType
from typing import Self

from rich.console import Console
from rich.text import Text

from runner.errors import BuildError
from runner.lab.kit import Kit
from runner.lab.prepare import prepare_kit
from runner.registry.benchmark import Benchmark, load_benchmark
from runner.registry.frozen import freeze
from runner.report.format import duration
from runner.sandbox.engine import connect
from runner.sandbox.reaper import sweep
from runner.schema.certificate import Certificate, Claim, GateRun, Reliability
from runner.validate.certify import certify, place_of, store
from runner.validate.reliability import measure_reliability, reliability_file, store_reliability
from runner.validate.watch import Watch

HINT_S = 30.0
"""How often a proof says how far it is where there is no terminal."""


class Proof:
    """One benchmark's proof on this machine."""

    def __init__(self, registry: Path, benchmark: str, *, quiet: bool) -> None:
        self._registry, self._name, self._quiet = registry, benchmark, quiet
        self._console = Console(stderr=quiet or not Console().is_terminal, width=None)
        self._stack = ExitStack()
        self._watch = Watch()
        self._status = self._console.status(_Line(self._watch))
        self._certificate: Certificate | None = None
        self._path: Path | None = None
        self._seconds = 0.0

    def __enter__(self) -> Self:
        self._engine = self._stack.enter_context(connect())
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def prove(self, *, freeze: bool, seed: int) -> Certificate:
        """Raises ConfigError for a registry that cannot be used, RigError where the rig fails."""
        started = time.monotonic()
        if freeze:
            _freeze(self._registry, self._name)
        place_of(load_benchmark(self._registry, self._name))  # known before minutes are spent
        with self._working() as kit:
            self._certificate = certify(kit, self._watch, self._tell, seed=seed)
        self._path = store(kit, self._certificate)
        self._seconds = time.monotonic() - started
        return self._certificate

    def measure(self, runs: int) -> Reliability:
        """How often the reference passes each gate; kept beside the benchmark's files."""
        with self._working() as kit:
            measured = measure_reliability(kit, runs, Progress(self._name, self._say, self._status.update))
            stored = store_reliability(kit, measured)
            where = f"{reliability_file(kit)}{'' if stored else ' stays: it rests on more runs'}"
        self._say(f"{self._name}: {measured.shown()}; {where}")
        return measured

    @contextmanager
    def _working(self) -> Iterator[Kit]:
        """The benchmark's kit, while a spinner turns and Ctrl-C ends what runs."""
        benchmark = load_benchmark(self._registry, self._name)
        with self._status, _now_and_then(self._hint):
            sweep(self._engine)
            kit = self._kit(benchmark)
            previous = {n: signal.signal(n, _stopper(kit.cancel.set)) for n in (signal.SIGINT, signal.SIGTERM)}
            try:
                yield kit
            finally:
                for number, handler in previous.items():
                    signal.signal(number, handler)

    def _kit(self, benchmark: Benchmark) -> Kit:
        """The images. What a build prints is passed on where there is no terminal; on one, its end where it fails."""
        tail: deque[str] = deque(maxlen=20)

        def log(line: str) -> None:
            self._watch.say(line)
            if line.strip():
                tail.append(line.rstrip()) if self._console.is_terminal else self._say(line.rstrip())

        try:
            kit = prepare_kit(self._engine, benchmark, log)
        except BuildError:
            for line in tail:
                self._say(line)
            raise
        self._watch.say("")
        return kit

    def print_result(self, *, matrix: bool) -> None:
        certificate = self._certificate
        if certificate is None:
            return
        out = Console(soft_wrap=True)
        if matrix:
            for patch, cases in certificate.matrix.items():
                out.print(f"{patch}: {', '.join(cases) or 'nobody'}", markup=False, highlight=False)
        broken = [c for c in certificate.claims if not c.ok]
        for claim in broken:
            out.print(f"BROKEN {claim.group}/{claim.id}: {claim.sentence} — {claim.fix}", markup=False, highlight=False)
        verdict = "proven" if certificate.proven else f"NOT proven, {len(broken)} claims broken"
        out.print(
            f"{certificate.benchmark}: {verdict}; {len(certificate.claims)} claims in {duration(self._seconds)}; "
            f"{'certificate' if certificate.proven else 'what was found'}: {self._path}",
            markup=False,
            highlight=False,
        )

    def _say(self, line: str) -> None:
        self._console.print(line, markup=False, highlight=False, soft_wrap=True)

    def _hint(self) -> None:
        """For logs, where no line is alive."""
        line = self._watch.line()
        if line and not self._console.is_terminal:
            self._say(f"... {self._name}: {line}")

    def _tell(self, claim: Claim) -> None:
        mark = "ok    " if claim.ok else "BROKEN"
        self._say(f"{mark} {claim.group}/{claim.id}: {claim.sentence}")


class _Line:
    """How far it is, anew whenever the screen is drawn; never longer than a line."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch

    def __rich__(self) -> Text:
        return Text(self._watch.line(), no_wrap=True, overflow="ellipsis")


@contextmanager
def _now_and_then(hint: Callable[[], None]) -> Iterator[None]:
    """Calls ``hint`` every ``HINT_S`` until it is left."""
    over = threading.Event()

    def run() -> None:
        while not over.wait(HINT_S):
            hint()

    thread = threading.Thread(target=run, name="hint", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


class Progress:
    """Says each run that did not pass at once, how far it is every ``EVERY_S``, and on a terminal after each run."""

    EVERY_S = 60.0

    def __init__(self, name: str, say: Callable[[str], None], status: Callable[[str], None]) -> None:
        self._name, self._say, self._status = name, say, status
        self._started = self._said = time.monotonic()
        self._here = 0

    def __call__(self, run: GateRun, over: int, of: int) -> None:
        now = time.monotonic()
        self._here += 1
        left = (now - self._started) / self._here * (of - over)
        line = f"{self._name}: {over} of {of} checks, {duration(left)} to go"
        if not run.passed:
            self._say(f"{self._name}: {run.gate} run {run.number} did not pass: {run.ended}")
        if now - self._said >= self.EVERY_S:
            self._said = now
            self._say(line)
        self._status(line)


def _freeze(registry: Path, name: str) -> None:
    freeze(load_benchmark(registry, name))


def _stopper(stop: Callable[[], None]) -> Callable[[int, FrameType | None], None]:
    def handler(number: int, frame: FrameType | None) -> None:
        stop()

    return handler
