"""Which packages the image needs, as the baseline declares them: files to be laid beside the Dockerfile."""

from __future__ import annotations

import json
import re
import tomllib
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

from runner.scaffold.guess import Guess
from runner.scaffold.read import Source

_TEST_SETS = ("test", "tests", "testing", "dev", "develop", "lint", "ci")
_REQUIREMENTS = re.compile(r"([\w-]*requirements[\w.-]*|requirements/[\w.-]+)\.(txt|lock|in)")
_OWN = re.compile(r"^\s*(-e\b|--editable\b|\.(\[|/|\s|$)|file:)")


@dataclass(frozen=True)
class Tools:
    """``files`` go into the image's build context; ``notes`` are sentences for a person."""

    files: dict[str, str] = field(default_factory=dict)
    installed: list[str] = field(default_factory=list)
    hashed: bool = False
    launchers: list[tuple[str, str, str]] = field(default_factory=list)
    roots: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def python_tools(source: Source, guessed: Guess) -> Tools:
    """Requirement files as they are, or a list made from ``pyproject.toml``."""
    project = _toml(source.text("pyproject.toml"))
    found = source.texts(sorted(n for n in source.files if _REQUIREMENTS.fullmatch(n)))
    notes: list[str] = []
    files = {name: _without_own(text) for name, text in found.items() if not name.endswith(".in")}
    installed = list(files)
    declared = _declared(project)
    if declared and not any("dev" in n or "test" in n for n in files):
        files["requirements-declared.txt"] = "\n".join(declared) + "\n"
        installed.append("requirements-declared.txt")
    everything = "\n".join(files.values())
    pytest = guessed.corpus_dir or "pytest" in (guessed.ci or [])
    if pytest and not re.search(r"^pytest\b", everything, re.MULTILINE):
        files["requirements-tests.txt"] = "pytest\n"
        installed.append("requirements-tests.txt")
    hashed = bool(installed) and all("--hash=" in files[name] for name in installed)
    if not hashed:
        notes.append("the image's packages are not pinned by hash: the same Dockerfile may give another image later")
    if _needs_newer_python(project):
        notes.append("the project wants a newer Python than the base image's 3.11: install one in the image")
    src = any(n.startswith("src/") and n.endswith(".py") for n in source.files)
    return Tools(files, installed, hashed, _launchers(project), ["src", ""] if src else [""], notes)


def node_tools(source: Source) -> Tools:
    """``package.json`` and its lock; without a lock the image has to be finished by a person."""
    files = {n: t for n in ("package.json", "package-lock.json") if (t := source.text(n)) is not None}
    notes = []
    if "package-lock.json" not in files:
        notes.append("the baseline has no package-lock.json: npm install --package-lock-only makes one in image/deps")
    package = _json(files.get("package.json"))
    if package.get("workspaces"):
        notes.append("the project has npm workspaces: their package.json files have to lie beside the Dockerfile too")
    return Tools(files=files, notes=notes)


def _declared(project: dict[str, Any]) -> list[str]:
    """Dependencies, and those of the optional sets and groups that tests and checks use; own extras are unfolded."""
    table = _map(project.get("project"))
    name = _plain_name(str(table.get("name", "")))
    extras = {k: _strings(v) for k, v in _map(table.get("optional-dependencies")).items()}
    groups = _map(project.get("dependency-groups"))
    wanted = _strings(table.get("dependencies"))
    queue = [("extra", s) for s in extras if s in _TEST_SETS] + [("group", s) for s in groups if s in _TEST_SETS]
    seen: set[tuple[str, str]] = set()
    while queue:
        item = queue.pop(0)
        if item in seen:
            continue
        seen.add(item)
        kind, key = item
        if kind == "extra":
            wanted += extras.get(key, [])
        else:
            members = groups.get(key, [])
            wanted += _strings(members)
            queue += [("group", m["include-group"]) for m in members if isinstance(m, dict) and "include-group" in m]
        # "the-project[test]" would fetch a published version of the very program that is measured.
        for own in [w for w in wanted if name and _plain_name(re.split(r"[\[<>=!~; ]", w, maxsplit=1)[0]) == name]:
            wanted.remove(own)
            inner = re.search(r"\[([^\]]*)\]", own)
            queue += [("extra", e.strip()) for e in (inner.group(1).split(",") if inner else [])]
    return list(dict.fromkeys(wanted))


def _launchers(project: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Console scripts: name, module, function. Only plain names, because they end up in a shell line."""
    found = []
    for name, target in sorted(_map(_map(project.get("project")).get("scripts")).items()):
        match = re.fullmatch(r"([\w.]+):([\w.]+)", target) if isinstance(target, str) else None
        if match and re.fullmatch(r"[\w.-]+", name):
            found.append((name, match.group(1), match.group(2)))
    return found


def _without_own(text: str) -> str:
    """The program itself is not installed: the contestant changes it."""
    return "".join(f"# not in the image: {x}" if _OWN.match(x) else x for x in text.splitlines(keepends=True))


def _needs_newer_python(project: dict[str, Any]) -> bool:
    asked = str(_map(project.get("project")).get("requires-python", ""))
    match = re.search(r">=?\s*3\.(\d+)", asked)
    return match is not None and int(match.group(1)) > 11


def _plain_name(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower().strip()


def _toml(text: str | None) -> dict[str, Any]:
    try:
        return tomllib.loads(text or "")
    except tomllib.TOMLDecodeError:
        return {}


def _json(text: str | None) -> dict[str, Any]:
    try:
        return _map(json.loads(text or "{}"))
    except ValueError:
        return {}


def _map(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _strings(value: Any) -> list[str]:
    return [x for x in value if isinstance(x, str)] if isinstance(value, list) else []


def folders_of(names: list[str]) -> list[str]:
    """The folders of a build context's files, each once."""
    return sorted({str(PurePosixPath(n).parent) for n in names} - {"."})
