"""Unpacks ``gzip``, also of several members, and ``deflate``, with and without zlib's header, as it comes."""

from __future__ import annotations

import zlib

_GZIP = 16 + zlib.MAX_WBITS


class Unpacker:
    """One body's. ``known``: whether this encoding can be unpacked."""

    def __init__(self, encoding: str | None) -> None:
        self._name = (encoding or "identity").strip().lower()
        self.known = self._name in ("identity", "", "gzip", "x-gzip", "deflate")
        self._early = b""
        self._stream = zlib.decompressobj(_GZIP) if self._name.endswith("gzip") else None

    def feed(self, data: bytes, most: int = 0) -> bytes:
        """What ``data`` adds, at most ``most`` bytes of it (0: all). Raises zlib.error for what is not packed so."""
        if self._name == "deflate" and self._stream is None:
            self._early, data = b"", self._early + data
            if len(data) < 2:
                self._early = data
                return b""
            wrapped = data[0] & 15 == 8 and (data[0] << 8 | data[1]) % 31 == 0
            self._stream = zlib.decompressobj(zlib.MAX_WBITS if wrapped else -zlib.MAX_WBITS)
        if self._stream is None:
            return data
        plain = self._stream.decompress(data, most)
        while self._stream.eof and self._name != "deflate":
            rest = self._stream.unused_data
            self._stream = zlib.decompressobj(_GZIP)
            plain += self._stream.decompress(rest, most)
        return plain[:most] if most else plain
