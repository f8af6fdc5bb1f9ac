"""The way to one provider: its address and key, which headers pass, what must never come back."""

from __future__ import annotations

import os
import socket
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from urllib.parse import urlsplit

import aiohttp

from runner.gateway.scrub import Scrubber

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
READABLE = ("gzip", "deflate", "identity")
"""Encodings whose usage can be read in passing; the agent's wish is narrowed to these."""


@dataclass(frozen=True)
class Upstream:
    """Where requests go. ``key`` is not shown by ``repr``."""

    base_url: str
    key: str | None = field(default=None, repr=False)
    key_header: str = "bearer"
    proxy: str | None = field(default=None, repr=False)

    def url(self, suffix: str) -> str:
        return self.base_url + suffix

    def request_headers(self, given: Mapping[str, str], dropped: Iterable[str] = ()) -> dict[str, str]:
        """The agent's headers less ``dropped``, with the real key in place of the run's token."""
        not_up = _NOT_UP.union(dropped)
        headers = {
            name: value
            for name, value in given.items()
            if name.lower() not in not_up and not name.lower().startswith("x-forwarded")
        }
        wish = next((headers.pop(name) for name in list(headers) if name.lower() == "accept-encoding"), "")
        kept = [part.strip() for part in wish.split(",") if part.split(";")[0].strip().lower() in READABLE]
        headers["Accept-Encoding"] = ", ".join(kept) or "identity"
        if self.key is not None:
            if self.key_header == "x-api-key":
                headers["x-api-key"] = self.key
            else:
                headers["Authorization"] = f"Bearer {self.key}"
        return headers

    @cached_property
    def scrub(self) -> Scrubber:
        """Takes the key out of whatever is shown or kept."""
        return Scrubber([self.key])

    def response_headers(self, given: Mapping[str, str]) -> dict[str, str]:
        """The answer's headers as they came, less those of the connection and any that quotes the key."""
        return {
            name: value
            for name, value in given.items()
            if name.lower() not in _NOT_DOWN and not self.scrub.found(value.encode("utf-8", "surrogateescape"))
        }

    def error_text(self, body: bytes, encoding: str | None) -> bytes:
        """An error's plain text without the key that it may quote, unpacked so that it can be looked at."""
        return self.scrub(inflated(body, encoding, MAX_ERROR_TEXT))

    def why(self, error: Exception) -> str:
        """A failure to reach the provider in a few words; names the host, never a header."""
        host = urlsplit(self.base_url).netloc.rpartition("@")[2]
        proxy = urlsplit(self.proxy or "").netloc.rpartition("@")[2]
        if isinstance(error, aiohttp.ClientProxyConnectionError):
            return f"the proxy {proxy} is unreachable"
        if isinstance(error, aiohttp.ClientHttpProxyError):
            return f"the proxy {proxy} refuses {host} (HTTP {error.status})"
        if isinstance(error, aiohttp.ClientConnectorCertificateError | aiohttp.ClientConnectorSSLError):
            return f"{host} has no certificate that this machine trusts"
        if isinstance(error, aiohttp.ClientConnectorDNSError | socket.gaierror):
            return f"{host} is not a known host"
        if isinstance(error, aiohttp.ConnectionTimeoutError):
            return f"{host} does not answer"
        if isinstance(error, aiohttp.ClientConnectorError):
            number = error.os_error.errno
            return f"{host} is unreachable ({os.strerror(number) if number else 'no connection'})"
        return f"{host} ended the connection"


def inflated(body: bytes, encoding: str | None, most: int = 0) -> bytes:
    """The plain form of a body, at most ``most`` bytes (0: all); nothing where it cannot be read."""
    name = (encoding or "identity").strip().lower()
    try:
        if name in ("gzip", "x-gzip"):
            return zlib.decompressobj(16 + zlib.MAX_WBITS).decompress(body, most)
        if name == "deflate":
            return zlib.decompressobj().decompress(body, most)
    except zlib.error:
        return b""
    return body if name in ("identity", "") else b""
