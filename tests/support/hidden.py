"""Looks for a secret in whatever form it could have been written down. Its own code, not that of what it tests."""

from __future__ import annotations

import base64
import gzip
import json
import re
import urllib.parse
import zlib
from collections.abc import Iterable, Iterator


def forms(secret: str) -> Iterator[bytes]:
    """Plain, quoted for JSON and for URLs (twice, too), hex, base64 and base32 wherever in a longer text."""
    raw = secret.encode()
    quoted = [quote(secret, safe=safe) for quote in (urllib.parse.quote, urllib.parse.quote_plus) for safe in ("", "/")]
    texts = [secret, json.dumps(secret)[1:-1], repr(secret)[1:-1], raw.hex(), raw.hex().upper(), raw.hex(" "), *quoted]
    texts += [urllib.parse.quote(text, safe="") for text in quoted]
    texts += ["".join(f"%{byte:02X}" for byte in raw), "".join(f"\\x{byte:02x}" for byte in raw), secret[::-1]]
    for text in texts:
        yield text.encode()
    for kind in (base64.b64encode, base64.urlsafe_b64encode, base64.b32encode):
        digit, group = (5, 5) if kind is base64.b32encode else (6, 3)
        for before in range(group):  # what stands before shifts it; neighbours blur the first digit and the last
            digits = kind(b"\0" * before + raw)
            core = digits[(before * 8 + digit - 1) // digit : (before + len(raw)) * 8 // digit]
            yield core
            yield urllib.parse.quote(core.decode(), safe="").encode()


def holds(secret: str, data: bytes) -> list[bytes]:
    """The forms of ``secret`` in ``data``, also where it is packed, or broken into lines."""
    plain = _unpacked(data)
    joined = re.sub(rb"\\r|\\n|[\r\n]", b"", plain)
    lower = (plain.lower(), joined.lower())
    return [form for form in forms(secret) if any(form.lower() in text for text in lower)]


def holders(secret: str, places: Iterable[tuple[str, bytes]]) -> list[str]:
    """Names of the places that hold it."""
    return [name for name, data in places if holds(secret, data) or holds(secret, name.encode())]


def _unpacked(data: bytes) -> bytes:
    if data[:2] != b"\x1f\x8b":
        return data
    try:
        return gzip.decompress(data)
    except (OSError, EOFError, zlib.error):
        return data
