"""Providers as data: where a model is served, under which key, and what counts as the model asked for."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from datetime import UTC, date, datetime
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, Self
from urllib.parse import urlsplit

from pydantic import Field, ValidationError, field_validator, model_validator

import runner
from runner.errors import ConfigError, UsageError
from runner.prices import Price, price
from runner.schema.base import Strict, complaint
from runner.schema.entry import Limits
from runner.schema.ledger import Usage

Protocol = Literal["chat", "responses", "anthropic"]


class Rates(Strict):
    """Own prices of a model, USD per million tokens; for models that no list knows."""

    uncached_input: float = Field(ge=0)
    cache_read: float | None = Field(default=None, ge=0)
    cache_write: float | None = Field(default=None, ge=0)
    cache_write_1h: float | None = Field(default=None, ge=0)
    output: float = Field(ge=0)


class Routing(Strict):
    """Where a broker may send a request: its hosts by slug, the precision of the weights, and nowhere else."""

    only: list[str] = []
    quantizations: list[str] = []
    allow_fallbacks: bool = False

    def field(self) -> dict[str, Any]:
        """The broker's own words for it."""
        value: dict[str, Any] = {"allow_fallbacks": self.allow_fallbacks}
        if self.only:
            value["only"] = self.only
        if self.quantizations:
            value["quantizations"] = self.quantizations
        return {"provider": value}

    def allows(self, host: str) -> bool:
        """Whether ``host``, a name as answers carry it, is one of ``only`` (slugs, perhaps with ``/precision``)."""
        slug = _slug(host)
        return not self.only or _SLUGS.get(slug, slug) in {_slug(name.partition("/")[0]) for name in self.only}


class ModelOptions(Strict):
    """What is different for one model of a provider; null keeps what the provider says."""

    context_window: int | None = None
    max_tokens: int | None = None
    served_aliases: list[str] = []
    routing: Routing | None = None
    body: dict[str, Any] = {}
    rates: Rates | None = None
    released: date | None = None


_PLAIN = ModelOptions()


class Provider(Strict):
    """One entry of ``providers.yaml``; that file's head explains every key."""

    name: str
    about: str = ""
    kind: Literal["http", "embedded", "replay", "control"] = "http"
    local: bool = False
    default_url: str | None = None
    base_url: str | None = None
    base_url_env: str | None = None
    key_env: str | None = None
    key_required: bool = True
    key_header: Literal["bearer", "x-api-key"] = "bearer"
    protocols: list[Protocol] = ["chat"]
    dialect: Literal["openai", "openrouter", "anthropic", "generic"] = "generic"
    price: str | None = None
    accounting: Literal["answer", "generation"] = "answer"
    routing: Routing | None = None
    models: dict[str, ModelOptions] = {}
    free: bool = False
    served: Literal["exact", "first"] = "exact"
    served_aliases: list[str] = []
    context_window: int = 128_000
    max_tokens: int = 16_384
    limits: dict[str, float] = {}

    @model_validator(mode="after")
    def _has_an_address(self) -> Self:
        if self.kind == "http" and (self.base_url is None) == (self.base_url_env is None):
            raise ValueError("an http provider needs either base_url or base_url_env")
        if self.default_url is not None and self.base_url_env is None:
            raise ValueError("default_url is for a provider with base_url_env")
        if self.accounting == "generation" and self.dialect != "openrouter":
            raise ValueError("accounting 'generation' is known of the dialect openrouter alone")
        return self

    @field_validator("models")
    @classmethod
    def _bodies_change_no_identity(cls, value: dict[str, ModelOptions]) -> dict[str, ModelOptions]:
        for name, options in value.items():
            forbidden = sorted(options.body.keys() & {"model", "messages", "input", "tools", "stream", "provider"})
            if forbidden:
                raise ValueError(f"models.{name}.body may not set {forbidden[0]!r}")
            cls._compile(options.served_aliases)
        return value

    @field_validator("served_aliases")
    @classmethod
    def _compile(cls, value: list[str]) -> list[str]:
        for pattern in value:
            re.compile(pattern.format(model="m"))
        return value

    @field_validator("limits")
    @classmethod
    def _known_limits(cls, value: dict[str, float]) -> dict[str, float]:
        unknown = sorted(set(value) - set(Limits.model_fields))
        if unknown:
            raise ValueError(f"there is no limit {unknown[0]!r}")
        return value

    @property
    def asks_a_model(self) -> bool:
        """Whether runs of this provider go through the gateway."""
        return self.kind in ("http", "embedded")

    def url(self, env: Mapping[str, str] | None = None) -> str:
        """The base URL, without a trailing slash. Raises ConfigError when its variable is unset or no URL."""
        env = os.environ if env is None else env
        value = self.base_url or env.get(self.base_url_env or "", "").strip() or self.default_url
        if not value:
            raise ConfigError(
                f"provider {self.name} has no address: the variable {self.base_url_env} is not set",
                f"export {self.base_url_env}=http://HOST:PORT/v1",
            )
        parts = urlsplit(value)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ConfigError(
                f"the address of provider {self.name} is no http URL",
                f"export {self.base_url_env or 'the base_url in providers.yaml'}=http://HOST:PORT/v1",
            )
        value = value.rstrip("/")
        return value if parts.path.strip("/") else value + "/v1"

    def key(self, env: Mapping[str, str] | None = None) -> str | None:
        """The key, or None when the provider needs none. Raises ConfigError when its variable is unset."""
        env = os.environ if env is None else env
        if self.key_env is None:
            return None
        value = env.get(self.key_env, "").strip()
        if value:
            return value
        if self.key_required:
            raise ConfigError(
                f"provider {self.name} needs a key: the variable {self.key_env} is not set",
                f"export {self.key_env}=...",
            )
        return None

    def options(self, model: str) -> ModelOptions:
        """What holds for ``model``; defaults where the file says nothing of it."""
        return self.models.get(model, _PLAIN)

    def price_of(
        self, served: str, usage: Usage | None, at: datetime, *, pinned: str, own_cost: float | None = None
    ) -> Price:
        """What a request costs that was made for the arm's model ``pinned`` and answered by ``served``."""
        rates = self.options(pinned).rates
        return price(
            served, usage, at, catalogue=self.price, free=self.free, own_cost=own_cost,
            rates=None if rates is None else rates.model_dump(),
        )  # fmt: skip

    def for_model(self, model: str) -> Provider:
        """This provider as ``model`` finds it: its window, its longest answer, its aliases, its routing."""
        own = self.options(model)
        return self.model_copy(
            update={
                "context_window": own.context_window or self.context_window,
                "max_tokens": own.max_tokens or self.max_tokens,
                "served_aliases": [*self.served_aliases, *own.served_aliases],
                "routing": own.routing or self.routing,
            }
        )

    def pinned(self, model: str) -> dict[str, Any]:
        """The fields that every request for ``model`` gets."""
        own = self.options(model)
        routing = own.routing or self.routing
        return {**(routing.field() if routing else {}), **own.body}

    def served_ok(self, asked: str, served: str, first: str | None = None) -> bool:
        """Whether ``served``, the name in an answer, is the model ``asked`` for (``first``: the run's first answer)."""
        if served == asked:
            return True
        if self.served == "first":
            return first is None or served == first
        aliases = [*self.served_aliases, *self.options(asked).served_aliases]
        return any(re.fullmatch(pattern.format(model=re.escape(asked)), served) is not None for pattern in aliases)


_SLUGS = {"google": "googlevertex"}
"""Of hosts that are called otherwise in answers: OpenRouter's ``google-vertex`` is ``Google`` there."""


def _slug(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


class Providers(Strict):
    """All providers of a registry, by name."""

    providers: list[Provider]

    @cached_property
    def by_name(self) -> dict[str, Provider]:
        return {provider.name: provider for provider in self.providers}

    def resolve(self, reference: str, env: Mapping[str, str] | None = None) -> tuple[Provider, str]:
        """``provider/model`` as a provider that can be asked, and the model's name there.

        Raises UsageError for an unknown provider or a missing model, ConfigError for an unset variable or an
        embedded model that is not installed.
        """
        name, _, model = reference.partition("/")
        known = ", ".join(self.by_name)
        provider = self.by_name.get(name)
        if provider is None:
            raise UsageError(f"unknown provider {name!r} in {reference!r}", f"known are {known}")
        if not model or model != model.strip():
            raise UsageError(f"{reference!r} names no model", f"write {name}/MODEL")
        if provider.kind == "http":
            provider.url(env)
            provider.key(env)
        elif provider.kind == "embedded":
            from runner.gateway.embedded import weights

            weights(model)
        return provider, model


def price_is_known(provider: Provider, model: str) -> bool:
    """Whether a request to ``model`` has a price today."""
    return provider.price_of(model, Usage(uncached_input=1, output=1), datetime.now(UTC), pinned=model).usd is not None


def providers_file(registry_folder: Path) -> Path:
    """``providers.yaml`` beside the registry; where there is none, the one that the runner ships."""
    package = Path(runner.__file__).parent
    shipped = [package / "_providers.yaml", package.parent / "registry" / "providers.yaml"]
    return next((path for path in [registry_folder / "providers.yaml", *shipped] if path.is_file()), shipped[-1])


def load_providers(path: Path) -> Providers:
    """Read ``providers.yaml``. Raises ConfigError naming the entry that cannot be used."""
    import yaml

    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}") from None
    except yaml.YAMLError as error:
        raise ConfigError(f"{path} is no YAML: {error}") from None
    entries = data.get("providers") if isinstance(data, dict) else None
    if not isinstance(entries, dict):
        raise ConfigError(f"{path} has no mapping 'providers'")
    found = []
    for name, entry in entries.items():
        try:
            found.append(Provider.model_validate({"name": name, **(entry or {})}))
        except ValidationError as error:
            raise ConfigError(f"provider {name!r} in {path} cannot be used: {complaint(error)}") from None
        except (TypeError, KeyError, IndexError, re.error) as error:
            raise ConfigError(f"provider {name!r} in {path} cannot be used: {error}") from None
    return Providers(providers=found)


def resolve(reference: str, path: Path, env: Mapping[str, str] | None = None) -> tuple[Provider, str]:
    """``provider/model`` against the providers in the file ``path``; see Providers.resolve."""
    return load_providers(path).resolve(reference, env)
