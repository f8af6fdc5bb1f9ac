"""Bodies made to mean two things, or to unpack to more than the gateway can hold."""

from __future__ import annotations

import gzip
import zlib

import pytest

from runner.gateway.wire import MAX_PLAIN, UnreadableBody, read_request


def test_a_key_that_stands_twice_is_refused() -> None:
    body = b'{"model": "cheap", "messages": [], "model": "pinned"}'
    with pytest.raises(UnreadableBody):
        read_request("chat", body, None)


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
def test_a_small_body_that_unpacks_to_a_huge_one_is_refused(encoding: str) -> None:
    pack = gzip.compress if encoding == "gzip" else zlib.compress
    bomb = pack(b" " * (MAX_PLAIN + 1))
    assert len(bomb) < 1 << 20
    with pytest.raises(UnreadableBody, match="too large"):
        read_request("chat", bomb, encoding)


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
def test_a_body_cut_short_is_refused(encoding: str) -> None:
    pack = gzip.compress if encoding == "gzip" else zlib.compress
    with pytest.raises(UnreadableBody):
        read_request("chat", pack(b'{"model": "m"}')[:-6], encoding)
