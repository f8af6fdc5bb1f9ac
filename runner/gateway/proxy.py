"""The company's network: which proxy the environment names for a host, and whom this machine trusts."""

from __future__ import annotations

import ipaddress
import os
import re
import ssl
from collections.abc import Mapping
from urllib.parse import urlsplit


def proxy_for(url: str, env: Mapping[str, str]) -> str | None:
    """The proxy that ``env`` names for ``url``, or None. This machine itself is never asked through one.

    ``https_proxy``/``http_proxy``, then ``all_proxy``, in either spelling (small letters win); ``no_proxy`` holds
    names, suffixes, addresses and networks, or ``*``.
    """
    parts = urlsplit(url)
    host = parts.hostname or ""
    if host in ("localhost", "::1", "0.0.0.0") or host.startswith("127."):
        return None
    # What a web server sets from a request's header of that name is no proxy of ours.
    names = ["all_proxy"] if parts.scheme == "http" and "REQUEST_METHOD" in env else [f"{parts.scheme}_proxy"]
    proxy = next((found for name in [*names, "all_proxy"] if (found := _either(env, name))), None)
    if proxy is None or _bypassed(host, parts.port, _either(env, "no_proxy") or ""):
        return None
    return proxy if "://" in proxy else f"http://{proxy}"


def trust(env: Mapping[str, str]) -> ssl.SSLContext:
    """Whom to trust: the system's authorities and the company's, where a variable names a bundle or a folder."""
    context = ssl.create_default_context()
    for variable in ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS"):
        bundle = env.get(variable)
        if bundle and os.path.isfile(bundle):
            context.load_verify_locations(bundle)
            break
        if bundle and os.path.isdir(bundle):
            context.load_verify_locations(capath=bundle)
            break
    return context


def _either(env: Mapping[str, str], name: str) -> str | None:
    return env.get(name) or env.get(name.upper()) or None


def _bypassed(host: str, port: int | None, no_proxy: str) -> bool:
    """``name`` and ``.name`` also stand for everything below; ``name:port`` for that port alone."""
    for entry in no_proxy.replace(" ", ",").split(","):
        parts = re.fullmatch(r"(\[[^]]+\]|[^:]+)(?::(\d+))?", entry.lower())
        name, at = (parts[1], parts[2]) if parts else (entry.lower(), None)
        name = name.removeprefix("*").removeprefix(".").strip("[]")
        if at and at != str(port or ""):
            continue
        if entry == "*" or (name and (host == name or host.endswith(f".{name}") or _within(host, name))):
            return True
    return False


def _within(host: str, network: str) -> bool:
    try:
        return "/" in network and ipaddress.ip_address(host) in ipaddress.ip_network(network, strict=False)
    except ValueError:
        return False
