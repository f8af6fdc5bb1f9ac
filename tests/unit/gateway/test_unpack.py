"""Packed bodies, however a server packs them and the network cuts them."""

from __future__ import annotations

import gzip
import struct
import zlib

import pytest

from runner.gateway.answers import AnswerReader
from runner.gateway.unpack import Unpacker
from runner.gateway.upstream import inflated

TEXT = b'{"id": "r", "model": "m", "choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 2}}'


def raw(plain: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return packer.compress(plain) + packer.flush()


def stored(plain: bytes) -> bytes:
    """As it stands, in a block that begins as zlib's header would."""
    return b"\x08" + struct.pack("<HH", len(plain), len(plain) ^ 0xFFFF) + plain + raw(b"")


@pytest.mark.parametrize("size", [1, 2, 30, 10_000])
@pytest.mark.parametrize(
    ("encoding", "packed"),
    [
        (None, TEXT),
        (" Identity ", TEXT),
        ("gzip", gzip.compress(TEXT)),
        ("X-GZip", gzip.compress(TEXT[:20]) + gzip.compress(b"") + gzip.compress(TEXT[20:])),
        ("deflate", zlib.compress(TEXT)),
        ("deflate", zlib.compress(TEXT) + b"behind"),
        ("deflate", raw(TEXT)),
        ("deflate", stored(TEXT)),
    ],
)
def test_all_that_is_packed_comes_out(encoding: str | None, packed: bytes, size: int) -> None:
    unpacker = Unpacker(encoding)
    assert unpacker.known
    assert b"".join(unpacker.feed(packed[at : at + size]) for at in range(0, len(packed), size)) == TEXT


def test_a_raw_stream_that_looks_like_a_header_is_raw() -> None:
    for number in range(200):
        plain = b"%d" % number * 3
        assert inflated(raw(plain), "deflate") == plain


@pytest.mark.parametrize("packed", [gzip.compress(TEXT), gzip.compress(TEXT[:9]) + gzip.compress(TEXT[9:])])
def test_no_more_is_unpacked_than_is_wanted(packed: bytes) -> None:
    assert inflated(packed, "gzip", 30) == TEXT[:30]


@pytest.mark.parametrize(
    ("encoding", "body", "why"),
    [
        ("br", TEXT, "the answer is compressed with br"),
        ("gzip", TEXT, "the answer's compression is broken"),
        ("deflate", b"\xff" * 9, "the answer's compression is broken"),
    ],
)
def test_what_cannot_be_unpacked_says_why(encoding: str, body: bytes, why: str) -> None:
    reader = AnswerReader("chat", encoding=encoding)
    reader.feed(body)
    reader.feed(body)
    assert reader.finish().unreadable == why
    assert inflated(body, encoding) == b""
