"""The command line, run as a user runs it, on the tiny benchmark and the real engine."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from runner.sandbox.engine import Engine, connect

TINY = Path(__file__).parents[2] / "support" / "tiny"
ROOT = Path(__file__).parents[3]
KEY = "sk-secret-THE-REAL-KEY-0123456789"


@dataclass
class Done:
    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        return json.loads(self.out)


@dataclass
class Bench:
    """A copy of the tiny benchmark, and ``bench`` on it."""

    home: Path
    env: dict[str, str]
    program: Sequence[str] = ("-m", "runner.cli.main")

    @property
    def index(self) -> Path:
        return self.home / "index.md"

    @property
    def runs(self) -> Path:
        return self.home / ".bench" / "runs"

    def run_dirs(self) -> list[Path]:
        return sorted(self.runs.glob("2*")) if self.runs.exists() else []

    def argv(self, *arguments: str) -> list[str]:
        return [sys.executable, *self.program, *arguments]

    def __call__(self, *arguments: str, timeout: float = 240) -> Done:
        done = subprocess.run(
            self.argv(*arguments), capture_output=True, text=True, timeout=timeout, env=self.env, cwd=ROOT
        )
        return Done(done.returncode, done.stdout, done.stderr)

    def run(self, *models: str, timeout: float = 240) -> Done:
        chosen = [word for model in models for word in ("-m", model)]
        return self("run", "tiny", "--registry", str(self.index), "--json", *chosen, timeout=timeout)

    def start(self, *models: str) -> subprocess.Popen[str]:
        chosen = [word for model in models for word in ("-m", model)]
        argv = self.argv("run", "tiny", "--registry", str(self.index), "--events", "--json", *chosen)
        return subprocess.Popen(
            argv,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=self.env,
            cwd=ROOT,
            start_new_session=True,
        )

    def change(self, **keys: Any) -> None:
        """Another value for keys of the entry."""
        text = self.index.read_text()
        head, body, rest = text.split("---\n", 2)
        data = yaml.safe_load(body)
        data["benchmarks"][0].update(keys)
        self.index.write_text(f"{head}---\n{yaml.safe_dump(data)}---\n{rest}")


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    home = tmp_path / "registry"
    shutil.copytree(TINY, home, ignore=shutil.ignore_patterns(".bench", "__pycache__"))
    env = {k: v for k, v in os.environ.items() if not k.endswith("_API_KEY")}
    return Bench(home, env | {"COLUMNS": "160"})


@pytest.fixture(scope="session")
def engine() -> Iterator[Engine]:
    with connect() as found:
        yield found


@pytest.fixture
def left_behind(engine: Engine) -> Callable[[str], list[str]]:
    """Names of containers and volumes that carry a run's label."""

    def look(run_id: str) -> list[str]:
        label = {"label": f"bench.run={run_id}"}
        containers = engine.api.containers(all=True, filters=label)
        volumes = engine.api.volumes(filters=label)["Volumes"] or []
        return [c["Names"][0] for c in containers] + [v["Name"] for v in volumes]

    return look


def wait_for(what: Callable[[], bool], seconds: float = 60) -> None:
    until = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < until, "it did not happen in time"
        time.sleep(0.1)


def run_id_of(folder: Path) -> str:
    return str(json.loads((folder / "lock.json").read_text())["run_id"])
