"""The way to one provider: its address and key, which headers pass, what must never come back."""

from __future__ import annotations

import os
import socket
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import quote, quote_plus, urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp

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
_NOT_DOWN = _HOP_BY_HOP | {"set-cookie", "content-length", "alt-svc", "strict-transport-security", "server"}
READABLE = ("gzip", "deflate", "identity")
"""Encodings whose usage can be read in passing; the agent's wish is narrowed to these."""


@dataclass(frozen=True)
class Upstream:
    """Where requests go. ``key`` is not shown by ``repr``."""

    base_url: str
    key: str | None = field(default=None, repr=False)
    key_header: str = "bearer"
    proxy: str | None = None

    def url(self, suffix: str) -> str:
        return self.base_url + suffix

    def request_headers(self, given: Mapping[str, str]) -> dict[str, str]:
        """The agent's headers, with the real key in place of the run's token."""
        headers = {
            name: value
            for name, value in given.items()
            if name.lower() not in _NOT_UP and not name.lower().startswith("x-forwarded")
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

    def response_headers(self, given: Mapping[str, str]) -> dict[str, str]:
        """The answer's headers as they came, less those of the connection and any that quotes the key."""
        return {
            name: value
            for name, value in given.items()
            if name.lower() not in _NOT_DOWN and (self.key is None or self.key not in value)
        }

    def scrub(self, body: bytes) -> bytes:
        """An error's text without the key that it may quote."""
        if self.key is None:
            return body
        for form in {self.key, quote(self.key, safe=""), quote_plus(self.key)}:
            body = body.replace(form.encode(), b"[key]")
        return body

    def why(self, error: Exception) -> str:
        """A failure to reach the provider in a few words; names the host, never a header."""
        host = urlsplit(self.base_url).netloc.rpartition("@")[2]
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


def proxy_for(url: str, env: Mapping[str, str]) -> str | None:
    """The proxy that the environment names for ``url``, or None. This machine itself is never asked through one."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    if host == "localhost" or host.startswith("127.") or host == "::1":
        return None
    if env is os.environ:
        return None if proxy_bypass(host) else getproxies().get(parts.scheme)
    return env.get(f"{parts.scheme}_proxy") or env.get(f"{parts.scheme.upper()}_PROXY")


def trust(env: Mapping[str, str]) -> ssl.SSLContext:
    """Whom to trust: the system's authorities and the company's, where a variable names a bundle."""
    context = ssl.create_default_context()
    for variable in ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"):
        bundle = env.get(variable)
        if bundle and os.path.isfile(bundle):
            context.load_verify_locations(bundle)
            break
    return context
