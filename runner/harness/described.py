"""Agents that the runner does not know: described in ``harnesses.yaml``, beside the registry's index."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Annotated, Literal, Self

from pydantic import Field, ValidationError, field_validator, model_validator

from runner.errors import ConfigError
from runner.gateway.providers import Protocol as Wire
from runner.schema.arm import EFFORTS, Mode
from runner.schema.base import Strict, complaint
from runner.schema.entry import Argv, ImageBuild

FILE = "harnesses.yaml"
PLACEHOLDERS = ("url", "token", "model", "effort", "prompt_file", "logs", "home")
TAKEN = ("pi", "claude-code", "codex", "mini-swe-agent", "opencode", "scripted", "command")
_NAMED = re.compile(r"\{([a-z_]+)\}")

LogFormat = Literal["pi", "claude-code", "codex", "mini-swe-agent", "opencode", "none"]
Template = Annotated[list[str | list[str]], Field(min_length=1)]


class Described(Strict):
    """One entry of ``harnesses.yaml``: how any CLI is built, started, and read.

    In ``argv``, ``env``, ``files`` and ``logs`` the words of PLACEHOLDERS stand in braces. An argument, a group of
    arguments (a list) or a variable that names ``{effort}`` is left out when no effort is asked for.
    """

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9._-]*$")
    about: str = ""
    version: str = Field(min_length=1)
    version_argv: Argv
    image: ImageBuild | None = None
    paths: list[str] = []
    protocols: Annotated[list[Wire], Field(min_length=1)]
    efforts: dict[str, str] = {}
    argv: Template
    env: dict[str, str] = {}
    files: dict[str, str] = {}
    stdin: bool = False
    logs: list[str] = []
    mode: Mode = "unknown"
    log_format: LogFormat = "none"

    @field_validator("name")
    @classmethod
    def _free(cls, name: str) -> str:
        if name in TAKEN:
            raise ValueError(f"{name!r} is a harness of the runner's own")
        return name

    @field_validator("paths")
    @classmethod
    def _whole(cls, paths: list[str]) -> list[str]:
        for path in paths:
            parts = PurePosixPath(path)
            if not parts.is_absolute() or ".." in parts.parts or len(parts.parts) < 3 or re.search(r"[\s\"'$\\]", path):
                raise ValueError(f"{path!r} is no folder of an image's own, like /opt/my-agent")
        return paths

    @field_validator("efforts")
    @classmethod
    def _words(cls, efforts: dict[str, str]) -> dict[str, str]:
        unknown = sorted(set(efforts) - set(EFFORTS) | (set(efforts) & {"unknown"}))
        if unknown:
            raise ValueError(f"{unknown[0]!r} is no effort; known are {', '.join(EFFORTS[:-1])}")
        return efforts

    @model_validator(mode="after")
    def _complete(self) -> Self:
        named = {word for text in self._strict_texts() for word in _NAMED.findall(text)}
        unknown = sorted(named - set(PLACEHOLDERS))
        if unknown:
            raise ValueError(f"there is no placeholder {{{unknown[0]}}}; known are {', '.join(PLACEHOLDERS)}")
        named |= {word for text in self.files.values() for word in _NAMED.findall(text)}
        if "url" not in named or "token" not in named:
            raise ValueError("nothing tells the agent {url} and {token}, so it could reach no model")
        if not self.stdin and "prompt_file" not in named:
            raise ValueError("nothing tells the agent {prompt_file}, and stdin is not true: it would have no task")
        if ("effort" in named) != bool(self.efforts):
            raise ValueError("{effort} and 'efforts' need each other")
        if bool(self.image) != bool(self.paths):
            raise ValueError("'image' and 'paths' need each other: what is copied from the image")
        if self.log_format != "none" and not self.logs:
            raise ValueError(f"log_format {self.log_format} needs 'logs'")
        return self

    def _strict_texts(self) -> Iterator[str]:
        for item in self.argv:
            yield from [item] if isinstance(item, str) else item
        yield from self.env.values()
        yield from self.files
        yield from self.logs


def load_described(folder: Path) -> dict[str, Described]:
    """All entries of the registry in ``folder``, by name; none where there is no file.

    Raises ConfigError naming the entry that cannot be used.
    """
    path = folder / FILE
    if not path.exists():
        return {}
    import yaml

    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise ConfigError(f"{path} cannot be read: {error}") from None
    entries = data.get("harnesses") if isinstance(data, dict) and set(data) == {"harnesses"} else None
    if not isinstance(entries, dict):
        raise ConfigError(f"{path} has no mapping 'harnesses', or other keys beside it")
    found = {}
    for name, entry in entries.items():
        if not isinstance(entry, dict):
            raise ConfigError(f"harness {name!r} in {path} is no mapping")
        try:
            one = Described.model_validate({**entry, "name": name})
        except ValidationError as error:
            raise ConfigError(f"harness {name!r} in {path}: {complaint(error)}") from None
        if one.image and not (folder / one.image.context / one.image.dockerfile).is_file():
            raise ConfigError(f"harness {name!r} in {path}: there is no {one.image.context}/{one.image.dockerfile}")
        found[one.name] = one
    return found
