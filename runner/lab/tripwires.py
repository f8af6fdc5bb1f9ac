"""Files by which a branch could bend what its own tests say: changed or added, and in effect when they run."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from runner.archive import shadow
from runner.hostgit import printable
from runner.lab.tree import Overlay
from runner.registry.globs import matcher
from runner.repo import Mirror, TreeFile

# Read or imported by a test runner or an interpreter unasked.
_HOOKS = re.compile(
    rb"(?:.*/)?(?:conftest\.py|(?:site|user)customize\.py|[^/]+\.(?:pth|egg-link|pyc|pyo)"
    rb"|[^/]+\.(?:dist|egg)-info/.*|(?:pytest|tox)\.(?:ini|toml)|\.pytest\.(?:ini|toml)|setup\.cfg|pyproject\.toml"
    rb"|\.coveragerc|package\.json|node_modules/.*|\.npmrc|\.mocharc[^/]*"
    rb"|(?:jest|vitest|babel|playwright)\.config\.[^/]+|(?:GNU)?[Mm]akefile|\.cargo/.*)\Z",
    re.DOTALL,
)
# Modules of the test machinery; a file of that name on the path comes before the real one.
_MODULES = re.compile(
    rb"(?:.*/)?(?:_?pytest|pluggy|iniconfig|unittest|doctest|coverage|xdist|nose|tox|site)(?:\.py|/.*)\Z", re.DOTALL
)
_TOOLS = {"bash", "cargo", "dash", "deno", "env", "gcc", "git", "go", "java", "make", "node", "npm", "npx", "perl",
          "pnpm", "py.test", "pytest", "python", "python3", "ruby", "sh", "tox", "uv", "yarn"}  # fmt: skip
# Names of a test runner's hooks; a program has no use for them.
_WORDS = re.compile(
    rb"\b(?:pytest_(?:addoption|cmdline|collect|configure|exception|generate|load|make|plugins|pycollect|pyfunc|report"
    rb"|runtest|sessionfinish|sessionstart|terminal|unconfigure)\w*|_pytest\b|hookimpl|TestReport|junitxml)"
)


def tripwires(
    mirror: Mirror,
    baseline: str,
    commit: str,
    overlay: Overlay,
    reports: Collection[str],
    allow: Sequence[str],
    tools: Collection[str],
) -> list[str]:
    """One sentence per file. ``overlay``: what is not the branch's own; ``tools``: programs of the registry."""
    before = {file.path: file for file in mirror.tree(baseline)}
    allowed, shadowed = matcher(allow), shadow(overlay)
    own = [
        file
        for file in mirror.tree(commit)
        if not shadowed(file.path)
        and before.get(file.path) != file
        and not allowed.match(file.path.decode("utf-8", "surrogateescape"))
    ]
    found = [f"{printable(file.path)} {why}" for file in own if (why := _by_name(file, {*_TOOLS, *tools}))]
    found += _by_words(mirror, before, own, reports)
    return sorted(found)


def _by_name(file: TreeFile, tools: Collection[str]) -> str | None:
    name = file.path.rpartition(b"/")[2].decode("utf-8", "backslashreplace")
    if _HOOKS.match(file.path):
        return "is read by the test machinery unasked"
    if _MODULES.match(file.path):
        return "takes the place of a module of the test machinery"
    if name in tools or re.fullmatch(r"python3?\.\d+", name):
        return "takes the place of a tool"
    return None


def _by_words(
    mirror: Mirror, before: dict[bytes, TreeFile], own: Sequence[TreeFile], reports: Collection[str]
) -> list[str]:
    """Hooks and reports that are named in a file and were not before."""
    names = [re.escape(report.rpartition("/")[2].encode()) for report in reports]
    words = re.compile(b"|".join([_WORDS.pattern, *names]))
    old = dict(mirror.blobs([before[file.path] for file in own if file.path in before]))
    known = {file.path: set(words.findall(content)) for file, content in old.items()}
    found = []
    for file, content in mirror.blobs(own):
        new = sorted(set(words.findall(content)) - known.get(file.path, set()))
        if new:
            found.append(f"{printable(file.path)} names {new[0].decode('utf-8', 'backslashreplace')}")
    return found
