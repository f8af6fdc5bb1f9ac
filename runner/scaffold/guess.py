"""What the baseline's tree gives away: language, tests, plan, commands, what to protect. A person has to judge it."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any, Literal

from runner.registry.testnames import TEST_FOLDERS, is_test
from runner.scaffold.read import Source

Language = Literal["python", "node", "other"]

_PROTECTED_NAMES = (
    "Makefile", "justfile", "pyproject.toml", "setup.cfg", "setup.py", "tox.ini", "noxfile.py", "pytest.ini",
    "mypy.ini", "ruff.toml", ".pre-commit-config.yaml", ".gitignore", ".gitlab-ci.yml", "package.json",
    "package-lock.json", "tsconfig.json", "Cargo.toml", "Cargo.lock", "go.mod", "go.sum", "pom.xml", "build.gradle",
)  # fmt: skip
_PROTECTED_PATTERNS = (r"(eslint|vitest|jest|playwright|babel)\.config\.\w+", r"requirements[\w.-]*\.(txt|lock|in)")
_PROTECTED_FOLDERS = (".github", ".ci", ".circleci", "requirements")
_MILESTONE = re.compile(r"(?:.*/)?(M\d{2,})[^/]*\.md")
_PLAN_FOLDERS = ("plan", "plans", "docs/plan", "roadmap", "docs/roadmap")
_POSTGRES = re.compile(r"\b(psycopg\w*|asyncpg|pg8000|postgresql|postgres|node-postgres|pg-promise)\b|\"pg\"\s*:", re.I)
_DECLARED_PYTHON = re.compile(r"pyproject\.toml|setup\.(py|cfg)|[\w./-]*requirements[\w.-]*\.txt")
_DECLARES_PYTEST = re.compile(r"pyproject\.toml|setup\.cfg|tox\.ini|Makefile|.*requirements.*\.txt")
_CODE = {"python": (".py",), "node": (".js", ".mjs", ".cjs", ".ts", ".tsx", ".jsx")}
_SOURCE_FOLDERS = ("src", "lib", "cmd", "app", "internal", "pkg")


@dataclass(frozen=True)
class Guess:
    """``tests`` is the folder of tests, ``sources`` the top folders (or files) of the program; ``ci`` may be None."""

    language: Language
    title: str
    ci: list[str] | None
    tests: str | None
    sources: list[str]
    scope: list[str]
    protected: list[str]
    plan: str | None
    milestones: list[tuple[str, str]]
    corpus_dir: str | None
    postgres: bool
    sql: list[str]
    scripts: dict[str, str] = field(default_factory=dict)


def guess(source: Source) -> Guess:
    """Look at names, and at the few files that declare things; nothing of the repository is run."""
    names = sorted(source.files)
    language = _language(names)
    tests = next((t for t in TEST_FOLDERS if _below(names, t)), None)
    scripts = _scripts(source) if language == "node" else {}
    sources = _sources(names, language)
    plan, milestones = _plan(names)
    corpus = _python_corpus(names, tests) if language == "python" else None
    return Guess(
        language=language,
        title=_title(source),
        ci=_ci(source, language, scripts, tests),
        tests=tests,
        sources=sources,
        scope=_scope(names, sources, tests),
        protected=_protected(names),
        plan=plan,
        milestones=milestones,
        corpus_dir=corpus if corpus and _uses_pytest(source, names) else None,
        postgres=_uses_postgres(source, names),
        sql=[n for n in names if n.endswith(".sql")][:12],
        scripts=scripts,
    )


def _language(names: list[str]) -> Language:
    python = sum(n.endswith(_CODE["python"]) for n in names)
    node = sum(n.endswith(_CODE["node"]) for n in names)
    declared_python = any(_DECLARED_PYTHON.fullmatch(n) for n in names)
    declared_node = "package.json" in names
    if declared_node and (node >= python or not declared_python):
        return "node"
    if declared_python or (python and python >= node):
        return "python"
    return "node" if declared_node else "other"


def _below(names: list[str], folder: str) -> bool:
    return any(n.startswith(f"{folder}/") for n in names)


def _title(source: Source) -> str:
    for name in ("README.md", "readme.md", "README.rst", "README"):
        for line in (source.text(name) or "").splitlines():
            if line.strip(" #=\t") and not line.lstrip().startswith(("[!", "<", "!")):
                return line.strip(" #\t")[:100]
    return source.repo.name


def _scripts(source: Source) -> dict[str, str]:
    try:
        package: Any = json.loads(source.text("package.json") or "{}")
    except ValueError:
        return {}
    scripts = package.get("scripts") if isinstance(package, dict) else None
    return {k: v for k, v in scripts.items() if isinstance(v, str)} if isinstance(scripts, dict) else {}


def _ci(source: Source, language: Language, scripts: dict[str, str], tests: str | None) -> list[str] | None:
    targets = set(re.findall(r"^([A-Za-z][\w-]*)\s*:(?!=)", source.text("Makefile") or "", re.MULTILINE))
    for target in ("ci", "check", "test", "tests"):
        if target in targets:
            return ["make", target]
    for script in ("ci", "check", "test"):
        if script in scripts:
            return ["npm", "test"] if script == "test" else ["npm", "run", script]
    if language == "python" and _uses_pytest(source, sorted(source.files)):
        return ["python3", "-m", "pytest", "-q"]
    if language == "python" and tests:
        return ["python3", "-m", "unittest", "discover", "-s", tests]
    return None


def _uses_pytest(source: Source, names: list[str]) -> bool:
    if any(PurePosixPath(n).name in ("pytest.ini", "conftest.py") for n in names):
        return True
    declared = [
        n for n in names if re.fullmatch(r"pyproject\.toml|setup\.cfg|tox\.ini|Makefile|.*requirements.*\.txt", n)
    ]
    tests = [n for n in names if n.endswith(".py") and is_test(n)][:50]
    return any(re.search(r"\bpytest\b", text) for text in source.texts([*declared, *tests]).values())


def _uses_postgres(source: Source, names: list[str]) -> bool:
    pattern = (
        r"(.*/)?(pyproject\.toml|setup\.(py|cfg)|package\.json|.*requirements.*\.txt|Gemfile|go\.mod|Cargo\.toml|pom\.xml"
        r"|(docker-)?compose[\w.-]*\.ya?ml)"
    )
    declared = [n for n in names if re.fullmatch(pattern, n)][:50]
    return any(_POSTGRES.search(text) for text in source.texts(declared).values())


def _sources(names: list[str], language: Language) -> list[str]:
    """Top folders of the program; a ``src`` folder speaks for itself."""
    endings = _CODE.get(language)
    if endings is None:
        return [t for t in _SOURCE_FOLDERS if _below(names, t)]
    code = [n for n in names if n.endswith(endings) and not is_test(n)]
    tops = {n.split("/", 1)[0] for n in code if "/" in n}
    tops -= {"docs", "doc", "examples", "scripts", "tools", "bin", "benchmarks", "vendor", "node_modules", "plan"}
    flat = {n for n in code if "/" not in n and n not in _PROTECTED_NAMES
            and not any(re.fullmatch(p, n) for p in _PROTECTED_PATTERNS)}  # fmt: skip
    return sorted(t for t in tops if not t.startswith(".")) + sorted(flat)


def _scope(names: list[str], sources: list[str], tests: str | None) -> list[str]:
    scope = [f"{s}/**" if s not in names else s for s in sources]
    scope += [f"{folder}/**" for folder in (tests, "docs", "plan") if folder and _below(names, folder)]
    flat = [PurePosixPath(n) for n in names if "/" not in n and is_test(n) and n != "conftest.py"]
    scope += [f"test_*{p.suffix}" if p.name.startswith("test_") else p.name for p in flat]
    scope += [n for n in ("README.md", "README.rst", "CHANGELOG.md") if n in names]
    return list(dict.fromkeys(scope)) or ["**"]


def _protected(names: list[str]) -> list[str]:
    found = [n for n in names if n in _PROTECTED_NAMES or any(re.fullmatch(p, n) for p in _PROTECTED_PATTERNS)]
    found += [f"{f}/**" for f in _PROTECTED_FOLDERS if _below(names, f)]
    return found + [n for n in names if PurePosixPath(n).name == "conftest.py"]


def _plan(names: list[str]) -> tuple[str | None, list[tuple[str, str]]]:
    """The plan's index page, and its milestones (id and page) in order."""
    for folder in _PLAN_FOLDERS:
        inside = [n for n in names if n.startswith(folder + "/") and n.endswith(".md")]
        if not inside:
            continue
        pages: dict[str, str] = {}
        for name in inside:
            match = _MILESTONE.fullmatch(name)
            if match:
                pages.setdefault(match.group(1), name)
        index = next((n for n in (f"{folder}/index.md", f"{folder}/README.md") if n in inside), None)
        return index or next((n for n in inside if n not in pages.values()), inside[0]), sorted(pages.items())
    return None, []


def _python_corpus(names: list[str], tests: str | None) -> str | None:
    """The folder with most test files directly in it: a corpus is the files of one folder."""
    folders: dict[str, int] = {}
    for name in names:
        path = PurePosixPath(name)
        if re.fullmatch(r"test_.*\.py|.*_test\.py", path.name) and len(path.parts) > 1:
            folders[str(path.parent)] = folders.get(str(path.parent), 0) + 1
    return max(sorted(folders), key=lambda f: folders[f]) if folders and tests else None
