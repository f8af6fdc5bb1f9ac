"""Bodies made to mean two things, or to unpack to more than the gateway can hold."""

from __future__ import annotations

import gzip
import json
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.gateway.wire import UnreadableBody, read_request


@pytest.mark.parametrize("body", [
    b'{"model": "cheap", "messages": [], "model": "pinned"}',
    b'{"model":"cheap","messages":[],"model":"pinned"}',
    b'{"model":"m","tools":[{"type":"function","type":"web_search"}]}',
    b'{"model":"m","m\\u006fdel":"n"}',
])  # fmt: skip
def test_a_key_that_stands_twice_is_refused(body: bytes) -> None:
    with pytest.raises(UnreadableBody):
        read_request("chat", body, None)


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=12,
)


@given(fields=st.dictionaries(st.text(), _VALUES, max_size=4), compact=st.booleans(), plain=st.booleans())
def test_however_a_body_is_written_the_same_is_read(fields: dict[str, object], compact: bool, plain: bool) -> None:
    fields.pop("background", None)
    separators = (",", ":") if compact else None
    body = json.dumps(fields, separators=separators, ensure_ascii=not plain).encode("utf-8", "surrogatepass")
    assert read_request("chat", body, None).data == json.loads(body)


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
def test_a_small_body_that_unpacks_to_a_huge_one_is_refused(encoding: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runner.gateway.wire.MAX_PLAIN", 4 << 20)
    pack = gzip.compress if encoding == "gzip" else zlib.compress
    bomb = pack(b" " * ((4 << 20) + 1))
    assert len(bomb) < 1 << 16
    with pytest.raises(UnreadableBody, match="too large"):
        read_request("chat", bomb, encoding)


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
def test_a_body_cut_short_is_refused(encoding: str) -> None:
    pack = gzip.compress if encoding == "gzip" else zlib.compress
    with pytest.raises(UnreadableBody):
        read_request("chat", pack(b'{"model": "m"}')[:-6], encoding)


def test_a_body_of_two_members_is_refused() -> None:
    """A server that reads only the first would be asked something else than was looked at."""
    with pytest.raises(UnreadableBody):
        read_request("chat", gzip.compress(b'{"model": "m"') + gzip.compress(b"}"), "gzip")
    with pytest.raises(UnreadableBody):
        read_request("chat", gzip.compress(b'{"model": "m"}') + gzip.compress(b" "), "gzip")


@pytest.mark.parametrize("odd", [b"\\ud83d", b"\xed\xa0\xbd"])
def test_half_a_character_is_read(odd: bytes) -> None:
    """It is no reason to keep an agent from its model: what the model's server makes of it is its own affair."""
    asked = read_request("chat", b'{"model": "m", "x": "' + odd + b'"}', None)
    assert (asked.model, asked.data["x"]) == ("m", "\ud83d")
