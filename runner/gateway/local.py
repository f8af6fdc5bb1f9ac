"""What a server of one's own really serves, as it says itself: the name in a request is only a wish.

Asked directly, without the gateway's door: llama.cpp (``/props``), Ollama (``/api/show``, ``/api/ps``), LM Studio
(``/api/v0/models``), vLLM (``/version`` and the model list). None of these calls makes a model answer.
"""

from __future__ import annotations

import hashlib
import json
import re
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from runner.gateway.providers import Provider
from runner.gateway.proxy import proxy_for

TIMEOUT_S = 5.0
MAX_ANSWER = 4 << 20

_PRECISION = re.compile(
    r"(?<![a-z0-9])(I?Q\d\w*|FP?(?:4|8|16|32)|BF16|INT[48]|AWQ|GPTQ|MXFP4)(?![a-z0-9])", re.IGNORECASE
)

Ask = Callable[[str, Mapping[str, Any] | None], Any]
"""Path and JSON body (null: GET) to the JSON answer, or null where there is none."""


@dataclass(frozen=True)
class Local:
    """What is loaded. ``context``: tokens of the running instance; ``trained``: what the model was made for.

    ``template``: SHA-256 of the chat template, 12 digits; ``weights``: file or name that the server says it loaded.
    """

    server: str
    version: str | None = None
    weights: str | None = None
    quantization: str | None = None
    context: int | None = None
    trained: int | None = None
    template: str | None = None

    def words(self) -> str:
        """One line for people."""
        said = {name: value for name, value in asdict(self).items() if value is not None and name != "server"}
        return ", ".join([self.server, *(f"{name} {value}" for name, value in said.items())])


def look(provider: Provider, model: str, env: Mapping[str, str]) -> Local | None:
    """What the server behind ``provider`` says of itself and of ``model``; None where it says nothing."""
    root = provider.url(env).removesuffix("/v1")
    headers = {"accept": "application/json"}
    key = provider.key(env)
    if key is not None:
        headers["authorization"] = f"Bearer {key}"
    proxy = proxy_for(root, env)
    opener = urllib.request.build_opener(
        urllib.request.ProxyHandler({} if proxy is None else {"http": proxy, "https": proxy}), _NoRedirect()
    )

    def ask(path: str, body: Mapping[str, Any] | None = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        more = {} if body is None else {"content-type": "application/json"}
        request = urllib.request.Request(root + path, data, {**headers, **more})
        try:
            with opener.open(request, timeout=TIMEOUT_S) as answer:
                return json.loads(answer.read(MAX_ANSWER))
        except (OSError, ValueError):
            return None

    return next((found for known in (_ollama, _lm_studio, _llama_cpp, _vllm) if (found := known(ask, model))), None)


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Following one would carry the key elsewhere."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


def _ollama(ask: Ask, model: str) -> Local | None:
    version = _text(ask("/api/version", None), "version")
    if version is None:
        return None
    shown = _object(ask("/api/show", {"model": model}))
    details, info = _object(shown.get("details")), _object(shown.get("model_info"))
    running = _list(_object(ask("/api/ps", None)).get("models"))
    loaded = [one for one in running if one.get("model") in (model, f"{model}:latest")]
    trained = next((v for k, v in info.items() if k.endswith(".context_length") and isinstance(v, int)), None)
    return Local(
        "Ollama",
        version,
        _text(details, "parent_model") or _text(details, "family"),
        _text(details, "quantization_level"),
        _whole(loaded[0] if loaded else {}, "context_length"),
        trained,
        _hash(shown.get("template")),
    )


def _lm_studio(ask: Ask, model: str) -> Local | None:
    listed = _object(ask("/api/v0/models", None))
    if "data" not in listed:
        return None
    one = next((one for one in _list(listed["data"]) if one.get("id") == model), {})
    return Local(
        "LM Studio",
        None,
        _text(one, "id"),
        _text(one, "quantization"),
        _whole(one, "loaded_context_length"),
        _whole(one, "max_context_length"),
    )


def _llama_cpp(ask: Ask, model: str) -> Local | None:
    props = _object(ask("/props", None))
    if "default_generation_settings" not in props:
        return None
    listed = _list(_object(ask("/v1/models", None)).get("data"))
    meta = _object(listed[0].get("meta")) if listed else {}
    path = _text(props, "model_path")
    name = path.replace("\\", "/").rpartition("/")[2] if path else None
    settings = _object(props["default_generation_settings"])
    return Local(
        "llama.cpp",
        _text(props, "build_info"),
        name,
        _quantization(name),
        _whole(settings, "n_ctx"),
        _whole(meta, "n_ctx_train"),
        _hash(props.get("chat_template")),
    )


def _vllm(ask: Ask, model: str) -> Local | None:
    version = _text(ask("/version", None), "version")
    listed = _list(_object(ask("/v1/models", None)).get("data"))
    one = next((one for one in listed if one.get("id") == model), listed[0] if listed else {})
    if version is None and "max_model_len" not in one:
        return None
    name = _text(one, "root")
    return Local("vLLM", version, name, _quantization(name), _whole(one, "max_model_len"))


def _quantization(name: str | None) -> str | None:
    """The precision that a file or repository name carries, such as ``Q4_K_M`` or ``FP8``."""
    found = _PRECISION.search(name or "")
    return found.group(1).upper() if found else None


def _hash(template: Any) -> str | None:
    return hashlib.sha256(template.encode()).hexdigest()[:12] if isinstance(template, str) and template else None


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: Any) -> list[dict[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _text(value: Any, key: str) -> str | None:
    found = _object(value).get(key)
    return " ".join(found.split())[:200] or None if isinstance(found, str) else None


def _whole(value: Any, key: str) -> int | None:
    found = _object(value).get(key)
    return found if isinstance(found, int) and not isinstance(found, bool) else None
