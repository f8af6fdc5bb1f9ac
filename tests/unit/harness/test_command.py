"""Any CLI as a harness: what a description may say, and what is made of it."""

from __future__ import annotations

import string
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from runner.errors import ConfigError, UsageError
from runner.gateway.providers import Provider
from runner.harness.base import Request, guard_version
from runner.harness.command import Command
from runner.harness.described import Described, load_described
from runner.harness.known import harness
from runner.harness.summary import LogError

GOOD: dict[str, Any] = {
    "version": "1.4.2",
    "version_argv": ["/opt/mine/bin/mine", "--version"],
    "image": {"context": "mine"},
    "paths": ["/opt/mine"],
    "protocols": ["responses", "chat"],
    "efforts": {"low": "little", "max": "all"},
    "argv": ["/opt/mine/bin/mine", "-m", "{model}", ["--think", "{effort}"], "--file", "{prompt_file}"],
    "env": {"BASE": "{url}/v1", "KEY": "{token}", "LEVEL": "{effort}"},
    "files": {"{home}/.mine.json": '{"key": "{token}", "other": {kept}}'},
    "logs": ["{logs}"],
}


def registry(folder: Path, **changes: Any) -> Path:
    (folder / "mine").mkdir(exist_ok=True)
    (folder / "mine" / "Dockerfile").write_text("ARG PARENT\nFROM ${PARENT}\n")
    entry = {key: value for key, value in (GOOD | changes).items() if value is not None}
    (folder / "harnesses.yaml").write_text(yaml.safe_dump({"harnesses": {"mine": entry}}))
    return folder


def request(effort: str = "low", **provider: Any) -> Request:
    served = Provider.model_validate({"name": "p", "base_url": "http://h/v1", "protocols": ["chat"], **provider})
    return Request("http://127.0.0.1:4000", "bench-token", served, "meta/x", effort, "do it", session="M01-1")


def test_the_words_in_braces_are_filled_in(tmp_path: Path) -> None:
    made = harness("mine", registry(tmp_path)).prepare(request())
    prompt = "/home/contestant/.bench/M01-1.prompt.md"
    assert made.argv == ["/opt/mine/bin/mine", "-m", "meta/x", "--think", "little", "--file", prompt]
    told = {"BASE": "http://127.0.0.1:4000/v1", "KEY": "bench-token", "LEVEL": "little", "TERM": "dumb"}
    assert made.env == told
    assert made.files[prompt] == b"do it"
    assert made.files["/home/contestant/.mine.json"] == b'{"key": "bench-token", "other": {kept}}'
    assert made.logs == ["/home/contestant/.bench/M01-1"]


def test_without_an_effort_all_that_names_it_is_left_out(tmp_path: Path) -> None:
    made = harness("mine", registry(tmp_path)).prepare(request("unknown"))
    assert "--think" not in made.argv
    assert "LEVEL" not in made.env


def test_effort_and_protocol_are_checked(tmp_path: Path) -> None:
    mine = harness("mine", registry(tmp_path))
    with pytest.raises(UsageError, match="mine has no effort 'high' — known are low, max"):
        mine.prepare(request("high"))
    with pytest.raises(UsageError, match="mine speaks responses and chat only"):
        mine.prepare(request(protocols=["anthropic"]))


def test_another_command_line_is_another_arm(tmp_path: Path) -> None:
    first = harness("mine", registry(tmp_path)).version
    assert first.startswith("1.4.2+")
    assert harness("mine", registry(tmp_path, about="only words")).version == first
    assert harness("mine", registry(tmp_path, env=GOOD["env"] | {"FAST": "1"})).version != first


def test_the_pin_is_guarded_and_the_image_is_its_own(tmp_path: Path) -> None:
    mine = harness("mine", registry(tmp_path))
    assert guard_version(mine, lambda _: "mine, release 1.4.2\n") == "1.4.2"
    assert mine.layer is not None
    assert (mine.layer.name, mine.layer.context) == ("bench/agent-mine", str(tmp_path / "mine"))
    assert "COPY --from=agent /opt/mine /opt/mine" in mine.layer.dockerfile()
    assert harness("mine", registry(tmp_path, image=None, paths=None)).layer is None


def test_a_log_that_nobody_reads_is_no_clean_profile(tmp_path: Path) -> None:
    with pytest.raises(LogError, match="mine has no log that the runner can read, so its process is not measured"):
        harness("mine", registry(tmp_path)).read_summary(tmp_path)
    with pytest.raises(LogError, match="pi left no log"):
        harness("mine", registry(tmp_path, log_format="pi")).read_summary(tmp_path)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"argv": ["x", "{prompt}"]}, r"there is no placeholder \{prompt\}"),
        ({"argv": ["x", "{effort}"]}, r"nothing tells the agent \{prompt_file\}"),
        ({"env": {}, "files": {}}, r"nothing tells the agent \{url\} and \{token\}"),
        ({"efforts": {}}, r"\{effort\} and 'efforts' need each other"),
        ({"efforts": {"turbo": "x"}}, "'turbo' is no effort"),
        ({"efforts": {"unknown": "x"}}, "'unknown' is no effort"),
        ({"image": None}, "'image' and 'paths' need each other"),
        ({"paths": ["/"]}, "'/' is no folder of an image's own"),
        ({"paths": ["/opt/../etc"]}, "is no folder of an image's own"),
        ({"paths": ["/opt/a b"]}, "is no folder of an image's own"),
        ({"image": {"context": "elsewhere"}}, "there is no elsewhere/Dockerfile"),
        ({"log_format": "pi", "logs": []}, "log_format pi needs 'logs'"),
        ({"log_format": "aider"}, "log_format"),
        ({"protocols": []}, "protocols"),
        ({"shell": True}, "shell"),
        ({"version": None}, "version"),
    ],
)
def test_a_description_that_cannot_work_is_refused(tmp_path: Path, change: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=f"harness 'mine' in .*{words}"):
        load_described(registry(tmp_path, **change))


@pytest.mark.parametrize("name", ["pi", "codex", "scripted", "Mine", "../x"])
def test_a_name_that_is_taken_or_no_name_is_refused(tmp_path: Path, name: str) -> None:
    registry(tmp_path)
    (tmp_path / "harnesses.yaml").write_text(yaml.safe_dump({"harnesses": {name: GOOD}}))
    with pytest.raises(ConfigError, match="harness"):
        load_described(tmp_path)


@pytest.mark.parametrize("text", ["[", "a: 1", "harnesses: []", "harnesses: {mine: 3}", "harnesses: {}\nmore: 1"])
def test_a_file_that_is_none_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "harnesses.yaml").write_text(text)
    with pytest.raises(ConfigError):
        load_described(tmp_path)


def test_without_a_file_there_are_only_the_runners_own(tmp_path: Path) -> None:
    assert load_described(tmp_path) == {}
    with pytest.raises(UsageError, match="there is no harness 'mine'"):
        harness("mine", tmp_path)


@given(st.text(string.printable, max_size=60))
def test_what_is_filled_in_is_never_read_again(prompt: str) -> None:
    """A model's name or a brief that holds braces stays what it is."""
    mine = Command(Described.model_validate(GOOD | {"name": "mine"}), Path("/nowhere"))
    asked = Request("http://u", "t{model}", request().provider, "{token}" + prompt, "low", prompt)
    made = mine.prepare(asked)
    assert made.argv[2] == "{token}" + prompt
    assert made.env["KEY"] == "t{model}"
