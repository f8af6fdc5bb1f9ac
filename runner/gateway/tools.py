"""Tools that the provider would execute itself: a way out of the sandbox that no sealed pod can close.

What an agent executes is declared with a type that is known here; every other type is the provider's, also one that
was invented yesterday. Kinds, as the registry's ``provider_tools`` names them: ``web_search``, ``web_fetch``,
``code_execution``, ``mcp``, ``file_search``, ``image_generation``, ``computer``, ``stored_prompt``, ``other``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, get_args

from runner.schema.entry import ProviderTool
from runner.schema.ledger import Wire

KINDS: tuple[str, ...] = get_args(ProviderTool)

_AGENTS_OWN = {
    # Carried out by whoever declared them, in the sandbox; tool_search only looks through the declared tools.
    "chat": re.compile(r"function|custom"),
    "responses": re.compile(r"function|custom|local_shell|apply_patch|namespace|tool_search|computer(_use_preview)?"),
    # Anthropic's bash, editor, memory and computer run at the client's.
    "anthropic": re.compile(r"custom|(bash|text_editor|computer|memory|tool_search_tool_(bm25|regex))(_\d{8})?"),
}
_KIND = (
    ("web_fetch", re.compile(r"fetch|url_?context|browser")),
    ("web_search", re.compile(r"search_preview|web_?search|google_?search|live_?search|x_search|^search$|^web$")),
    ("code_execution", re.compile(r"code|shell|container|python|bash|skill")),
    ("mcp", re.compile(r"mcp|connector")),
    ("file_search", re.compile(r"file_search|retrieval|knowledge|collections")),
    ("image_generation", re.compile(r"image|video|audio_gen")),
    ("computer", re.compile(r"computer")),
)
# Fields beside ``tools`` that make a provider search, run code or reach another server.
_FIELDS = {
    "web_search_options": "web_search",
    "web_search": "web_search",
    "search_parameters": "web_search",
    "enable_search": "web_search",
    "search_options": "web_search",
    "enable_code_interpreter": "code_execution",
    "compound_custom": "other",
    "mcp_servers": "mcp",
    "plugins": "other",
    "agent_id": "other",
    "preset": "stored_prompt",
    "data_sources": "file_search",
    "connectors": "mcp",
    "container": "code_execution",
    "skills": "code_execution",
}


def provider_tools(wire: Wire, data: dict[str, Any]) -> list[str]:
    """The kinds of provider-side tools that a request asks for, sorted, each once."""
    if wire not in _AGENTS_OWN:
        return []
    found = {kind_of(name) for name in _foreign(wire, data)}
    for field in _FIELDS.keys() & data.keys():
        kind = _FIELDS[field]
        if data[field] not in (None, False, []):
            found |= {kind_of(name) for name in _plugins(data[field])} if field == "plugins" else {kind}
    if wire == "responses" and data.get("prompt") is not None:
        found.add("stored_prompt")  # it may bring tools of its own, which nobody sees here
    model = data.get("model")
    if isinstance(model, str) and re.search(r":online(:|$)", model):
        found.add("web_search")
    return sorted(found)


def kind_of(name: str) -> str:
    """The kind of a tool by its type's name; ``other`` where nothing fits."""
    name = name.lower()
    return next((kind for kind, pattern in _KIND if pattern.search(name)), "other")


def _foreign(wire: Wire, data: dict[str, Any]) -> Iterator[str]:
    """The types of declared tools that the agent does not execute itself."""
    own = _AGENTS_OWN[wire]
    for tool in _declared(wire, data):
        if not isinstance(tool, dict):
            yield tool if isinstance(tool, str) else "other"
            continue
        if "type" not in tool:
            yield from _untyped(tool)
            continue
        kind = tool["type"]
        if not isinstance(kind, str):
            yield "other"
        elif kind == "shell" and _runs_locally(tool):
            continue
        elif own.fullmatch(kind) is None:
            yield kind


def _untyped(tool: dict[str, Any]) -> Iterator[str]:
    """One that the agent executes has a name; Google's own are called by their keys, perhaps several in one."""
    named = "name" in tool or "function" in tool
    keys = [key for key, value in tool.items() if value not in (None, False)]
    yield from (key for key in keys if not named or kind_of(key) != "other")
    if not (keys or named):
        yield "other"


def _declared(wire: Wire, data: dict[str, Any]) -> Iterator[Any]:
    lists = [data.get("tools")]
    items = data.get("input")
    if wire == "responses" and isinstance(items, list):
        lists += [item.get("tools") for item in items if isinstance(item, dict)]
    depth = 0
    while lists and depth < 8:
        inner: list[Any] = []
        for tools in lists:
            for tool in tools if isinstance(tools, list) else [{"type": "no list"}] if tools else []:
                yield tool
                if isinstance(tool, dict) and tool.get("type") == "namespace":
                    inner.append(tool.get("tools"))
        lists, depth = inner, depth + 1
    if lists:
        yield {"type": "nested too deep"}


def _runs_locally(tool: dict[str, Any]) -> bool:
    where = tool.get("environment")
    return isinstance(where, dict) and where.get("type") == "local"


def _plugins(value: Any) -> Iterator[str]:
    for plugin in value if isinstance(value, list) else [value]:
        name = plugin.get("id") if isinstance(plugin, dict) else plugin
        yield str(name) if name else "other"
