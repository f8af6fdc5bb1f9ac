"""python3 -m e2e [--update] [--junit FILE] [--cases DIR] [--program DIR] [--jobs N] [CASE...]

Exit code 0: every case passed; 1: a case failed; 2: wrong usage; 3: no database; 5: no cases.
With E2E_PROGRAM_USER=UID:GID and run as root, the program runs as that user.
"""

import argparse
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from queue import SimpleQueue

from e2e.freshdb import ROOT, FreshDatabase
from e2e.runner import Runner
from e2e.script import Program
from pgwire import PgError, Unreachable


def _options(argv: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="e2e", description="Run the end-to-end cases.")
    parser.add_argument("--update", action="store_true", help="write what the program does")
    parser.add_argument("--junit", type=Path, help="also write the verdicts as JUnit XML")
    parser.add_argument("--cases", type=Path, default=ROOT / "e2e" / "cases")
    parser.add_argument("--program", type=Path, default=ROOT, help="directory of the program")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("names", nargs="*", metavar="CASE", help="names, with or without .txtar")
    return parser.parse_args(argv)


def _select(directory: Path, names: Sequence[str]) -> list[Path]:
    paths = sorted(directory.glob("*.txtar"))
    if not names:
        return paths
    wanted = {name.removesuffix(".txtar") for name in names}
    unknown = wanted - {path.stem for path in paths}
    if unknown:
        print(f"e2e: no case {', '.join(sorted(unknown))} in {directory}", file=sys.stderr)
        raise SystemExit(2)
    return [path for path in paths if path.stem in wanted]


def _program_user() -> tuple[int, int] | None:
    word = os.environ.get("E2E_PROGRAM_USER", "")
    if not word or os.geteuid() != 0:
        return None
    uid, _, gid = word.partition(":")
    return int(uid), int(gid or uid)


def _run_all(
    paths: Sequence[Path], options: argparse.Namespace, work: Path
) -> Iterator[tuple[str, str | None]]:
    user = _program_user()
    cache = work / "bytecode"
    cache.mkdir()
    if user is not None:
        os.chmod(work, 0o711)
        os.chown(cache, *user)
    program = Program(options.program.resolve(), cache, user)
    free: SimpleQueue[Runner] = SimpleQueue()
    jobs = max(1, min(options.jobs, len(paths)))
    databases = [FreshDatabase(f"e2e_{os.getpid()}_{number}") for number in range(jobs)]
    for number, database in enumerate(databases):
        free.put(Runner(program, database, work / f"case-{number}"))

    def one(path: Path) -> tuple[str, str | None]:
        runner = free.get()
        try:
            return path.name, runner.run(path, update=options.update)
        finally:
            free.put(runner)

    try:
        if jobs == 1:
            yield from map(one, paths)
            return
        # Imported here: with its logging it costs as much as a case.
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(jobs) as pool:
            yield from pool.map(one, paths)
    finally:
        for database in databases:
            database.drop()


def main(argv: Sequence[str]) -> int:
    options = _options(argv)
    paths = _select(options.cases, options.names)
    if not paths:
        print(f"no cases in {options.cases}", file=sys.stderr)
        print("0 passed, 0 failed")
        return 5
    verdicts: list[tuple[str, str | None]] = []
    with tempfile.TemporaryDirectory(prefix="e2e-") as work:
        try:
            for name, reason in _run_all(paths, options, Path(work)):
                verdicts.append((name, reason))
                line = f"ok {name}" if reason is None else f"FAILED {name}: {reason}"
                print(line, flush=True)
        except (Unreachable, PgError) as error:
            print(f"e2e: the database: {error}", file=sys.stderr)
            return 3
    if options.junit is not None:
        from e2e.junit import write

        write(options.junit, verdicts)
    failed = sum(reason is not None for _, reason in verdicts)
    print(f"{len(verdicts) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
