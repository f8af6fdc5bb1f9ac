"""What each step of the plan asks for, as checks that return what is missing."""

import subprocess
from collections.abc import Callable, Mapping, Sequence

from tools import corpus, structure
from tools.corpus import CATALOGUE, FILES, GOODS, LISTS, PROMISES
from tools.process import ROOT, run, run_cases

Check = Callable[[], list[str]]

ALL_OR_NOTHING = ("transfer", "count close", "import items", "import receipts")

MAX_WILDCARD_SHARE = 0.15
MIN_COMPETING = 2
MIN_ROLLED_BACK = 2
SUPERSEDED = "test_commands"


def _covers(commands: Sequence[str]) -> Check:
    def check() -> list[str]:
        cases, problems = corpus.read_all()
        problems += corpus.not_covered(cases, commands)
        return problems or run_cases()

    return check


def _form() -> list[str]:
    cases, problems = corpus.read_all()
    if not problems:
        problems = corpus.not_covered(cases, CATALOGUE + GOODS + PROMISES + FILES)
    for case in cases:
        missing = corpus.missing_channels(case)
        if missing:
            problems.append(f"{case.name} does not assert {', '.join(missing)}")
    share = corpus.wildcard_share(cases)
    if share > MAX_WILDCARD_SHARE:
        problems.append(
            f"{share:.0%} of the asserted lines hold a wildcard, at most {MAX_WILDCARD_SHARE:.0%}"
        )
    return problems or _update_changes_nothing()


def _update_changes_nothing() -> list[str]:
    before = {path: path.read_bytes() for path in corpus.CASES.glob("*.txtar")}
    problems = run_cases("--update")
    for path, text in sorted(before.items()):
        if path.read_bytes() != text:
            problems.append(f"an update rewrites {path.name}: it is stale or not deterministic")
            path.write_bytes(text)
    return problems


def _session() -> list[str]:
    return structure.session_lacks() + structure.transactions_elsewhere()


def _no_sql() -> list[str]:
    problems = structure.sql_elsewhere() + structure.driver_elsewhere()
    if not structure.STORAGE.is_dir():
        problems.insert(0, "the package stockroom/storage does not exist")
    return problems or _quality()


def _quality() -> list[str]:
    return (
        run("ruff check", "ruff", "check", "--no-cache", ".")
        + run("mypy", "make", "--silent", "types")
        + run("make test", "make", "test")
        + run_cases()
    )


def _competition() -> list[str]:
    cases, problems = corpus.read_all()
    competing = sum(corpus.competes(case) for case in cases)
    if competing < MIN_COMPETING:
        problems.append(
            f"{competing} cases let commands compete (`&` with `@blocked`),"
            f" at least {MIN_COMPETING}"
        )
    undone = sum(corpus.rolls_back(case, ALL_OR_NOTHING) for case in cases)
    if undone < MIN_ROLLED_BACK:
        problems.append(
            f"{undone} cases have one of {', '.join(ALL_OR_NOTHING)} refused and look at"
            f" expected/db/... afterwards, at least {MIN_ROLLED_BACK}"
        )
    return problems or run_cases()


def _deleted() -> list[str]:
    problems = []
    if (ROOT / "tests" / f"{SUPERSEDED}.py").exists():
        problems.append(f"tests/{SUPERSEDED}.py still exists")
    if SUPERSEDED in (ROOT / "tests" / "suite.txt").read_text():
        problems.append(f"tests/suite.txt still lists {SUPERSEDED}.py")
    return problems or run("make test", "make", "test")


def _unreferenced() -> list[str]:
    # Not `git grep`: a file that is not committed yet can hold a stale reference too.
    argv = ["grep", "-rlI", "--exclude-dir=.git", "--exclude-dir=plan", "--exclude-dir=tools"]
    found = subprocess.run(
        [*argv, "--exclude-dir=__pycache__", SUPERSEDED, "."],
        cwd=ROOT, capture_output=True, text=True,
    )  # fmt: skip
    return [f"{name[2:]} still mentions {SUPERSEDED}" for name in found.stdout.split("\n") if name]


def _documented() -> list[str]:
    problems = []
    page = ROOT / "docs" / "architecture.md"
    text = page.read_text() if page.is_file() else ""
    if not text:
        problems.append("docs/architecture.md does not exist")
    modules = structure.storage_modules()
    if not modules:
        problems.append("the package stockroom/storage does not exist")
    problems += [
        f"docs/architecture.md does not name the module {name} of stockroom/storage"
        for name in modules
        if text and name not in text
    ]
    testing = (ROOT / "docs" / "testing.md").read_text()
    if "e2e/cases" not in testing:
        problems.append("docs/testing.md does not say that commands are tested by e2e/cases")
    if "docs/architecture.md" not in (ROOT / "README.md").read_text():
        problems.append("README.md does not lead to docs/architecture.md")
    return problems


def _ci() -> list[str]:
    return _deleted() or run("make ci", "make", "ci")


MILESTONES: Mapping[str, Sequence[tuple[str, Check]]] = {
    "M01": (
        ("the catalogue", _covers(CATALOGUE)),
        ("goods in and out", _covers(GOODS)),
        ("counts and reservations", _covers(PROMISES)),
        ("files", _covers(FILES)),
        ("the form of the corpus", _form),
    ),
    "M02": (
        ("transactions in one place", _session),
        ("no SQL outside the storage package", _no_sql),
        ("lists and reports", _covers(LISTS)),
        ("competition and rollback", _competition),
    ),
    "M03": (
        ("the superseded tests", _deleted),
        ("every reference to them", _unreferenced),
        ("the documents", _documented),
        ("continuous integration", _ci),
    ),
}
