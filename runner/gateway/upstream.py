"""The way to one provider: its address and key, which headers pass, what must never come back."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from urllib.parse import quote, unquote, urlsplit

from runner.gateway.dial import login_of
from runner.gateway.scrub import Scrubber, Sieve, is_placeholder
from runner.gateway.unpack import Unpacker

_HOP_BY_HOP = {
    "connection",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
}
_NOT_UP = (
    _HOP_BY_HOP
    | {"host", "content-length", "authorization", "x-api-key", "cookie", "expect", "forwarded"}
    | {"openai-organization", "openai-project"}
)
# Without its length an answer ends with a mark of ours, which comes after the ledger's line.
_NOT_DOWN = _HOP_BY_HOP | {"set-cookie", "content-length", "alt-svc", "strict-transport-security", "server"}
MAX_ERROR_TEXT = 1 << 20
OUR_HEADERS = {"user-agent": "bakeoff-runner", "accept": "*/*"}
"""Of requests that no agent made."""


@dataclass(frozen=True)
class Upstream:
    """Where requests go. ``key`` is not shown by ``repr``."""

    base_url: str
    key: str | None = field(default=None, repr=False)
    key_header: str = "bearer"
    proxy: str | None = field(default=None, repr=False)

    def target(self, suffix: str, query: str = "") -> str:
        """What a request line asks for; ``suffix`` is below the base URL and decoded, ``query`` is as it came."""
        return self._path + _quoted(suffix) + (f"?{query}" if query else "")

    def request_headers(self, given: Mapping[str, str], dropped: Iterable[str] = ()) -> dict[str, str]:
        """The agent's headers (names in small letters) less ``dropped``, with the real key in place of the token.

        No answer is asked for packed: the key could not be taken out of one in passing.
        """
        headers = {
            name: value
            for name, value in given.items()
            if name not in _NOT_UP and name not in dropped and not name.startswith("x-forwarded")
        }
        headers["accept-encoding"] = "identity"
        if self.key is not None and self.key_header == "x-api-key":
            headers["x-api-key"] = self.key
        elif (authorization := self._authorization) is not None:
            headers["authorization"] = authorization
        return headers

    @cached_property
    def _path(self) -> str:
        return urlsplit(self.base_url).path.rstrip("/")

    @cached_property
    def _authorization(self) -> str | None:
        return login_of(self.base_url) if self.key is None else f"Bearer {self.key}"

    @cached_property
    def scrub(self) -> Scrubber:
        """Takes the key out of whatever is shown or kept."""
        return Scrubber(self.secrets)

    @cached_property
    def secrets(self) -> list[str]:
        """The key, and the passwords of logins in addresses."""
        logins = [urlsplit(url).password for url in (self.base_url, self.proxy) if url is not None]
        return [secret for secret in (self.key, *(unquote(login) for login in logins if login)) if secret]

    def sieve(self) -> Sieve:
        """Takes the key out of one answer in passing."""
        return Sieve(self._answers_scrub)

    @cached_property
    def _answers_scrub(self) -> Scrubber:
        return Scrubber(secret for secret in self.secrets if not is_placeholder(secret))

    def response_headers(self, given: Mapping[str, str]) -> dict[str, str]:
        """The answer's headers (names in small letters), less those of the connection and any that quotes the key."""
        return {
            name: value
            for name, value in given.items()
            if name not in _NOT_DOWN and not self.scrub.found(value.encode("utf-8", "surrogateescape"))
        }

    def error_text(self, body: bytes, encoding: str | None) -> bytes:
        """An error's plain text without the key that it may quote, unpacked so that it can be looked at."""
        sieve = Sieve(self.scrub)
        return sieve.feed(inflated(body, encoding, MAX_ERROR_TEXT)) + sieve.rest()


@lru_cache(maxsize=64)
def _quoted(path: str) -> str:
    return quote(path, safe="/:@!$&'()*+,;=~")


def inflated(body: bytes, encoding: str | None, most: int = 0) -> bytes:
    """The plain form of a body, at most ``most`` bytes (0: all); nothing where it cannot be read."""
    unpacker = Unpacker(encoding)
    try:
        return unpacker.feed(body, most) if unpacker.known else b""
    except zlib.error:
        return b""
