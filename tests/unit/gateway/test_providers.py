"""providers.yaml, and what ``provider/model`` resolves to."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from runner.errors import ConfigError, UsageError
from runner.gateway.providers import Provider, Routing, load_providers, resolve

SHIPPED = Path(__file__).parents[3] / "registry" / "providers.yaml"


def test_the_shipped_providers_are_there() -> None:
    found = load_providers(SHIPPED).by_name
    assert list(found) == [
        "openrouter",
        "anthropic",
        "openai",
        "llama-local",
        "ollama",
        "vllm",
        "lmstudio",
        "embedded",
        "replay",
        "control",
    ]
    assert [name for name, provider in found.items() if not provider.asks_a_model] == ["replay", "control"]


def test_the_model_keeps_its_slashes() -> None:
    provider, model = resolve("openrouter/meta/x", SHIPPED, {"OPENROUTER_API_KEY": "k"})
    assert (provider.name, model) == ("openrouter", "meta/x")


@pytest.mark.parametrize(
    ("reference", "error", "sentence"),
    [
        ("nobody/x", UsageError, "unknown provider 'nobody' in 'nobody/x' — known are openrouter, anthropic, openai"),
        ("openai", UsageError, "names no model — write openai/MODEL"),
        ("openai/", UsageError, "names no model"),
        ("embedded/gpt-9", UsageError, "provider embedded has no model 'gpt-9' — known are smollm2-135m"),
        ("openai/x", ConfigError, "the variable OPENAI_API_KEY is not set — export OPENAI_API_KEY"),
        ("llama-local/x", ConfigError, "the variable LLAMA_LOCAL_URL is not set — export LLAMA_LOCAL_URL"),
    ],
)
def test_what_cannot_be_asked_says_why(reference: str, error: type[Exception], sentence: str) -> None:
    with pytest.raises(error, match=sentence):
        resolve(reference, SHIPPED, {})


@pytest.mark.parametrize(
    ("given", "url"),
    [
        ("http://localhost:8080", "http://localhost:8080/v1"),
        ("http://localhost:8080/", "http://localhost:8080/v1"),
        ("http://localhost:8080/v1/", "http://localhost:8080/v1"),
        ("https://box/api/v3", "https://box/api/v3"),
    ],
)
def test_a_local_address_may_leave_out_the_version(given: str, url: str) -> None:
    provider, _ = resolve("llama-local/anything", SHIPPED, {"LLAMA_LOCAL_URL": given})
    assert provider.url({"LLAMA_LOCAL_URL": given}) == url


def test_an_address_that_is_none_is_refused() -> None:
    with pytest.raises(ConfigError, match="is no http URL"):
        resolve("llama-local/x", SHIPPED, {"LLAMA_LOCAL_URL": "localhost:8080"})


@pytest.mark.parametrize(
    ("name", "asked", "served", "same"),
    [
        ("openai", "gpt-4o", "gpt-4o", True),
        ("openai", "gpt-4o", "gpt-4o-2024-08-06", True),
        ("openai", "gpt-4o", "gpt-4o-mini", False),
        ("anthropic", "claude-sonnet-4-5", "claude-sonnet-4-5-20250929", True),
        ("anthropic", "claude-sonnet-4-5", "claude-haiku-4-5-20250929", False),
        ("openrouter", "meta/x.y", "meta/xzy", False),
        ("llama-local", "anything", "whatever.gguf", True),
    ],
)
def test_which_names_count_as_the_model(name: str, asked: str, served: str, same: bool) -> None:
    assert load_providers(SHIPPED).by_name[name].served_ok(asked, served) is same


def test_a_local_server_may_not_change_its_model() -> None:
    local = load_providers(SHIPPED).by_name["llama-local"]
    assert local.served_ok("x", "first.gguf", "first.gguf")
    assert not local.served_ok("x", "second.gguf", "first.gguf")


BROKEN = (
    "- a",
    "providers: [a]",
    "providers: {x: {kind: http}}",
    "providers: {x: {base_url: u, colour: red}}",
    "a: [",
    "providers: {x: {base_url: u, served_aliases: ['(']}}",
    "providers: {x: {base_url: u, served_aliases: ['{b}']}}",
)


@pytest.mark.parametrize("text", BROKEN)
def test_a_broken_file_is_named(tmp_path: Path, text: str) -> None:
    path = tmp_path / "providers.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=r"providers\.yaml") as error:
        load_providers(path)
    assert "Value error" not in error.value.what
    assert "input_value" not in error.value.what  # pydantic's own words


def test_the_key_that_is_unknown_is_named(tmp_path: Path) -> None:
    path = tmp_path / "providers.yaml"
    path.write_text("providers: {x: {base_url: u, colour: red}}")
    with pytest.raises(ConfigError) as error:
        load_providers(path)
    assert error.value.what == f"provider 'x' in {path} cannot be used: colour: unknown key"


def test_a_key_may_be_optional() -> None:
    provider = Provider(name="x", base_url="http://h/v1", key_env="K", key_required=False)
    assert provider.key({}) is None
    assert provider.key({"K": " k "}) == "k"


@pytest.mark.parametrize(
    ("name", "variable", "url"),
    [
        ("ollama", "OLLAMA_URL", "http://127.0.0.1:11434/v1"),
        ("vllm", "VLLM_URL", "http://127.0.0.1:8000/v1"),
        ("lmstudio", "LMSTUDIO_URL", "http://127.0.0.1:1234/v1"),
    ],
)
def test_known_servers_have_an_address(name: str, variable: str, url: str) -> None:
    provider, _ = resolve(f"{name}/m", SHIPPED, {})
    assert provider.local
    assert provider.url({}) == url
    assert provider.url({variable: "http://box:9"}) == "http://box:9/v1"


def test_a_broker_may_not_fall_back_unless_said() -> None:
    broker = load_providers(SHIPPED).by_name["openrouter"]
    assert broker.pinned("any/model") == {"provider": {"allow_fallbacks": False}}


OWN = Provider.model_validate(
    {
        "name": "x", "base_url": "http://h/v1", "context_window": 1000, "routing": {"only": ["a"]},
        "models": {
            "m": {"context_window": 10, "served_aliases": ["n"], "body": {"seed": 1}, "routing": {"only": ["b"]}},
        },
    }
)  # fmt: skip


def test_a_model_has_options_of_its_own() -> None:
    assert (OWN.for_model("m").context_window, OWN.for_model("o").context_window) == (10, 1000)
    assert OWN.pinned("m") == {"provider": {"allow_fallbacks": False, "only": ["b"]}, "seed": 1}
    assert OWN.pinned("o") == {"provider": {"allow_fallbacks": False, "only": ["a"]}}
    assert OWN.served_ok("m", "n")
    assert not OWN.served_ok("o", "n")


@pytest.mark.parametrize(
    ("only", "host", "allowed"),
    [
        (["some-host"], "Some Host", True),
        (["some-host/fp8"], "SomeHost", True),
        (["z-ai"], "Z.AI", True),
        (["google-vertex/us"], "Google", True),
        (["google-ai-studio"], "Google AI Studio", True),
        (["google-ai-studio"], "Google", False),
        (["some-host"], "Some Other Host", False),
        ([], "Anybody", True),
    ],
)
def test_a_host_is_known_by_its_slug(only: list[str], host: str, allowed: bool) -> None:
    assert Routing(only=only).allows(host) is allowed


@pytest.mark.parametrize(
    "fields",
    [
        {"accounting": "generation"},
        {"default_url": "http://h"},
        {"models": {"m": {"body": {"model": "other"}}}},
        {"models": {"m": {"body": {"provider": {}}}}},
        {"models": {"m": {"rates": {"uncached_input": -1, "output": 1}}}},
        {"models": {"m": {"served_aliases": ["("]}}},
    ],
)
def test_what_a_provider_may_not_say(fields: dict[str, Any]) -> None:
    with pytest.raises((ValueError, re.error)):
        Provider.model_validate({"name": "x", "base_url": "http://h/v1", **fields})
