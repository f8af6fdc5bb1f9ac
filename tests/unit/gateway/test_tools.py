"""Which requests ask their provider to execute something."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.gateway.tools import KINDS, provider_tools
from runner.gateway.wire import read_request
from runner.schema.ledger import Wire


def tools(*types: str) -> dict[str, Any]:
    return {"tools": [{"type": kind} for kind in types]}


@pytest.mark.parametrize(
    ("wire", "body", "kinds"),
    [
        ("chat", tools("function", "custom"), []),
        ("chat", {"tools": [{"function": {"name": "web_search"}}]}, []),
        ("chat", {}, []),
        ("chat", tools("web_search_preview"), ["web_search"]),
        ("chat", tools("openrouter:web_search"), ["web_search"]),
        ("chat", tools("code_interpreter", "mcp"), ["code_execution", "mcp"]),
        ("chat", {"web_search_options": {"search_context_size": "low"}}, ["web_search"]),
        ("chat", {"web_search_options": {}}, ["web_search"]),
        ("chat", {"plugins": [{"id": "web", "max_results": 3}]}, ["web_search"]),
        ("chat", {"plugins": [{"id": "file-parser"}]}, ["other"]),
        ("chat", {"plugins": []}, []),
        ("chat", {"preset": "@preset/mine"}, ["stored_prompt"]),
        ("chat", {"data_sources": [{"type": "azure_search"}]}, ["file_search"]),
        ("chat", {"connectors": [{"id": "web-search"}]}, ["mcp"]),
        ("chat", tools("openrouter:web_search", "builtin_function"), ["other", "web_search"]),
        ("chat", {"search_parameters": {"mode": "auto"}}, ["web_search"]),
        ("chat", {"enable_search": True}, ["web_search"]),
        ("chat", {"enable_search": False}, []),
        ("anthropic", {"mcp_servers": {}}, ["mcp"]),
        ("chat", {"model": "a/b:online"}, ["web_search"]),
        ("chat", {"tools": [{"type": "invented_tomorrow"}]}, ["other"]),
        ("chat", {"tools": [{"type": ["function"]}]}, ["other"]),
        ("chat", {"tools": {"type": "web_search"}}, ["other"]),
        ("chat", {"tools": [{"googleSearch": {}}, {"urlContext": {}}]}, ["web_fetch", "web_search"]),
        ("chat", {"tools": [{"function": {"name": "google_search"}}, {}]}, ["other"]),
        ("responses", {"tools": [{"codeExecution": {}}, {"name": "mine", "parameters": {}}]}, ["code_execution"]),
        ("chat", {"tools": [{"urlContext": {}, "googleSearch": {}}]}, ["web_fetch", "web_search"]),
        ("chat", {"tools": [{"cache_control": {}, "google_search": {}}]}, ["other", "web_search"]),
        ("chat", {"tools": [{"name": "mine", "googleSearch": {}}]}, ["web_search"]),
        ("chat", {"tools": [{"function": {"name": "mine"}, "code_execution": {}}]}, ["code_execution"]),
        ("chat", {"tools": [{"function": {"name": "mine"}, "google_search": None}]}, []),
        ("anthropic", {"tools": [{"name": "m", "input_schema": {}, "cache_control": {}, "allowed_callers": []}]}, []),
        ("chat", {"tools": ["web_search", "function"]}, ["other", "web_search"]),
        ("chat", {"tools": [["web_search"], 7, None]}, ["other"]),
        ("chat", {"tools": "web_search"}, ["other"]),
        ("responses", tools("function", "custom", "local_shell", "apply_patch", "tool_search"), []),
        ("responses", {"tools": [{"type": "namespace", "tools": [{"type": "function"}]}]}, []),
        ("responses", {"tools": [{"type": "namespace", "tools": [{"type": "web_search"}]}]}, ["web_search"]),
        ("responses", {"input": [{"type": "additional_tools", "tools": [{"type": "mcp"}]}]}, ["mcp"]),
        ("responses", {"input": [{"type": "additional_tools", "tools": [{"type": "custom"}]}]}, []),
        ("responses", tools("web_search", "file_search"), ["file_search", "web_search"]),
        ("responses", tools("image_generation", "code_interpreter"), ["code_execution", "image_generation"]),
        ("responses", {"tools": [{"type": "shell", "environment": {"type": "local"}}]}, []),
        ("responses", {"tools": [{"type": "shell", "environment": {"type": "container_auto"}}]}, ["code_execution"]),
        ("responses", tools("shell"), ["code_execution"]),
        ("responses", {"prompt": {"id": "pmpt_1"}}, ["stored_prompt"]),
        ("anthropic", {"tools": [{"name": "bash", "input_schema": {}}]}, []),
        ("anthropic", tools("bash_20250124", "text_editor_20250728", "memory_20250818", "custom"), []),
        ("anthropic", tools("tool_search_tool_regex_20251119"), []),
        ("anthropic", tools("web_search_20250305", "web_fetch_20250910"), ["web_fetch", "web_search"]),
        ("anthropic", tools("code_execution_20250825"), ["code_execution"]),
        ("anthropic", {"mcp_servers": [{"type": "url", "url": "https://x"}]}, ["mcp"]),
        ("anthropic", {"mcp_servers": []}, []),
        ("anthropic", tools("mcp_toolset"), ["mcp"]),
        ("anthropic", {"container": {"skills": []}}, ["code_execution"]),
        ("models", tools("web_search"), []),
    ],
)
def test_what_the_provider_would_execute(wire: Wire, body: dict[str, Any], kinds: list[str]) -> None:
    assert provider_tools(wire, body) == kinds


def test_tools_hidden_in_many_boxes_are_not_believed() -> None:
    body: dict[str, Any] = {"type": "web_search"}
    for _ in range(20):
        body = {"type": "namespace", "tools": [body]}
    assert provider_tools("responses", {"tools": [body]}) == ["other"]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["type", "tools", "input", "plugins", "environment", "id"]), inner, max_size=4
        )
    ),
    max_leaves=12,
)


@given(st.dictionaries(st.sampled_from(["tools", "input", "plugins", "prompt", "model"]), json_values))
def test_any_request_can_be_judged(body: dict[str, Any]) -> None:
    for wire in ("chat", "responses", "anthropic"):
        read = read_request(wire, json.dumps(body).encode(), None)
        assert set(read.tools) <= set(KINDS)
