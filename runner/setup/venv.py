"""The project's .venv, from hash-pinned locks; a stamp inside says what it already holds."""

from __future__ import annotations

import fcntl
import hashlib
import importlib.util
import json
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from runner.errors import ConfigError
from runner.setup.apt import can_install, install
from runner.setup.commands import run

Say = Callable[[str], None]

# `build` installs the project itself, `runtime` is what it imports.
ALWAYS = ("build", "runtime")
# What is installed from them can be missed; there are machines for which it is not built.
OPTIONAL = {"embedded": "the provider `embedded`"}
STAMP = "bench-setup.json"
PROJECT = "project"
# Settings that would send pip's packages elsewhere; index, proxy and CA settings stay.
DISTURBING = (
    "PYTHONPATH",
    "PYTHONHOME",
    "VIRTUAL_ENV",
    "PIP_TARGET",
    "PIP_PREFIX",
    "PIP_USER",
    "PIP_REQUIRE_VIRTUALENV",
    "PIP_NO_BINARY",
    "__PYVENV_LAUNCHER__",
)


class NotForThisMachine(ConfigError):
    """A package has no release that fits this Python and platform."""


def ensure_venv(root: Path, sets: Iterable[str], *, env: Mapping[str, str], say: Say) -> None:
    """Bring `root`/.venv up to the locks of `sets`. Does nothing when the stamp says so.

    Raises ConfigError with the command to run when it cannot.
    """
    wanted = wanted_hashes(root, [*ALWAYS, *sets])
    venv = root / ".venv"
    if not missing(venv, wanted):
        return
    # Two `make`s at once: the second finds the work done.
    lock_file = root / ".bench" / "setup.lock"
    lock_file.parent.mkdir(exist_ok=True)
    with lock_file.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        todo = missing(venv, wanted)
        if todo:
            _fill(root, venv, todo, wanted, env, say)


def wanted_hashes(root: Path, sets: Iterable[str]) -> dict[str, str]:
    """Name -> SHA-256 (hex) of each set's lock file, and of pyproject.toml under `project`."""
    files = {name: root / "requirements" / f"{name}.lock" for name in dict.fromkeys(sets)}
    files[PROJECT] = root / "pyproject.toml"
    for name, path in files.items():
        if not path.is_file():
            raise ConfigError(f"there is no {path.relative_to(root)} for the set {name}")
    return {name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in files.items()}


def missing(venv: Path, wanted: Mapping[str, str]) -> list[str]:
    """The names that the stamp does not show with the wanted hash; all of them when .venv is broken."""
    if not os.access(venv / "bin" / "python", os.X_OK):
        return list(wanted)
    held = read_stamp(venv)
    return [name for name, digest in wanted.items() if held.get(name) != digest]


def read_stamp(venv: Path) -> dict[str, str]:
    """What .venv holds; empty when nothing readable says."""
    try:
        held = json.loads((venv / STAMP).read_text())
    except (OSError, ValueError):
        return {}
    return held if isinstance(held, dict) else {}


def _fill(root: Path, venv: Path, todo: list[str], wanted: Mapping[str, str], env: Mapping[str, str], say: Say) -> None:
    clean = {name: value for name, value in env.items() if name not in DISTURBING}
    python = venv / "bin" / "python"
    if not os.access(python, os.X_OK):
        _create(venv, clean, say)
    pip = [str(python), "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    # The locks are complete. Bytecode is written by whatever gets imported: compiling all takes longer.
    pip += ["--no-deps", "--no-compile"]
    held = read_stamp(venv)
    locks = [name for name in todo if name != PROJECT]
    for names in ([name for name in locks if name not in OPTIONAL], [name for name in locks if name in OPTIONAL]):
        if not names:
            continue
        say(f"installing requirements into .venv, once: {', '.join(names)}")
        files = [part for name in names for part in ("-r", f"requirements/{name}.lock")]
        try:
            _pip([*pip, "--require-hashes", *files], root, clean)
        except NotForThisMachine as error:
            if not set(names) <= OPTIONAL.keys():
                raise
            say(f"{error.what}: {', '.join(OPTIONAL[name] for name in names)} will not be there")
        held |= {name: wanted[name] for name in names}
        _write_stamp(venv, held)
    if PROJECT in todo:
        _pip([*pip, "--no-index", "--no-build-isolation", "--editable", "."], root, clean)
        held[PROJECT] = wanted[PROJECT]
        _write_stamp(venv, held)


def _create(venv: Path, env: Mapping[str, str], say: Say) -> None:
    if importlib.util.find_spec("ensurepip") is None:
        package = f"python{sys.version_info.major}.{sys.version_info.minor}-venv"
        if not can_install(env):
            raise ConfigError("this Python cannot make virtual environments", f"apt-get install {package}")
        say(f"this Python cannot make virtual environments: installing {package} with apt-get")
        install([package], env=env)
    say(f"making .venv with Python {sys.version.split()[0]}")
    made = run([sys.executable, "-m", "venv", "--clear", str(venv)], env=env, timeout_s=300)
    if made.code != 0:
        raise ConfigError(f"making .venv failed: {made.last}", "apt-get install python3-venv")


def _pip(argv: list[str], root: Path, env: Mapping[str, str]) -> None:
    done = run(argv, env=env, timeout_s=1800, cwd=root)
    if done.code != 0:
        reason = next((line for line in done.lines if line.startswith("ERROR")), done.last)
        unfit = next((line for line in done.lines if "No matching distribution" in line), None)
        if unfit:
            raise NotForThisMachine(unfit.removeprefix("ERROR: "))
        raise ConfigError(f"pip could not install {argv[-1]}: {reason}", "is a package index reachable?")


def _write_stamp(venv: Path, held: Mapping[str, str]) -> None:
    partial = venv / f"{STAMP}.new"
    partial.write_text(json.dumps(held, indent=1, sort_keys=True) + "\n")
    partial.replace(venv / STAMP)
