"""Any CLI as a harness, by its description in ``harnesses.yaml``."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from runner.gateway.providers import Protocol as Wire
from runner.harness.base import HOME, Harness, HarnessPlan, ImageLayer, Request, choose_effort, choose_wire
from runner.harness.described import PLACEHOLDERS, Described
from runner.harness.summary import Identity, LogError, Summary
from runner.schema.arm import Mode
from runner.schema.base import digest

_PLACE = re.compile("|".join(rf"\{{{word}\}}" for word in PLACEHOLDERS))


class Command:
    """The arm's version holds the description's hash: another command line is another arm."""

    def __init__(self, described: Described, folder: Path) -> None:
        self._described = described
        self.name = described.name
        self.pin = described.version
        self.version = f"{described.version}+{digest(described.model_dump(mode='json', exclude={'about', 'mode'}))[:8]}"
        self.version_argv: Sequence[str] = tuple(described.version_argv)
        self.speaks: Sequence[Wire] = tuple(described.protocols)
        self.efforts: Mapping[str, str] = described.efforts
        self.mode: Mode = described.mode
        self.log_format: str = described.log_format
        self.layer: ImageLayer | None = None
        if described.image:
            context = str((folder / described.image.context).resolve())
            name = f"bench/agent-{described.name}"
            self.layer = ImageLayer(name, context, tuple(described.paths), described.image.dockerfile)

    def prepare(self, request: Request) -> HarnessPlan:
        level = choose_effort(self, request.effort)
        choose_wire(self, request.provider)
        logs, prompt = f"{HOME}/.bench/{request.session}", f"{HOME}/.bench/{request.session}.prompt.md"
        values = {"url": request.url, "token": request.token, "model": request.model, "home": HOME, "logs": logs}
        values |= {"prompt_file": prompt, **({"effort": level} if level else {})}

        def fill(text: str) -> str:
            return _PLACE.sub(lambda found: values.get(found.group()[1:-1], ""), text)

        def applies(*texts: str) -> bool:
            return level is not None or not any("{effort}" in text for text in texts)

        groups = [[item] if isinstance(item, str) else item for item in self._described.argv]
        files = {fill(path): fill(text).encode() for path, text in self._described.files.items() if applies(text)}
        return HarnessPlan(
            argv=[fill(text) for group in groups if applies(*group) for text in group],
            env={name: fill(text) for name, text in self._described.env.items() if applies(text)} | {"TERM": "dumb"},
            files={**files, prompt: request.prompt.encode(), f"{logs}/.keep": b""},
            stdin=request.prompt.encode() if self._described.stdin else None,
            logs=[fill(path) for path in self._described.logs],
        )

    def read_identity(self, log_dir: Path, requested: Request | None = None) -> Identity:
        return self._reader().read_identity(log_dir, requested)

    def read_summary(self, log_dir: Path) -> Summary:
        return self._reader().read_summary(log_dir)

    def _reader(self) -> Harness:
        from runner.harness.known import shipped

        if self.log_format == "none":
            raise LogError(f"{self.name} has no log that the runner can read, so its process is not measured")
        return shipped()[self.log_format]()
