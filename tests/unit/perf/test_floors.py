"""Floors are judged, and the load's own reading of answers is right."""

from __future__ import annotations

import pytest

from perf.floor import Floor
from perf.gateway import quantile
from perf.load import _whole
from perf.machine import Load
from perf.model import PLAIN, STREAM


@pytest.mark.parametrize(
    ("value", "bound", "side", "ok"),
    [
        (1500, 1500, "at least", True),
        (1499, 1500, "at least", False),
        (1, 1, "at most", True),
        (1.1, 1, "at most", False),
    ],
)
def test_a_floor_is_kept_or_broken(value: float, bound: float, side: str, ok: bool) -> None:
    floor = Floor("speed", value, bound, side, "/s", "so")  # type: ignore[arg-type]
    assert floor.ok is ok
    assert floor.words().startswith("kept" if ok else "BROKEN")
    assert floor.words().endswith("; so")


def test_quantiles() -> None:
    values = [float(n) for n in range(100)]
    assert (quantile(values, 0.5), quantile(values, 0.99)) == (49.5, 99.0)


@pytest.mark.parametrize("answer", [PLAIN, STREAM])
def test_an_answer_is_whole_at_its_last_byte_only(answer: bytes) -> None:
    assert [_whole(bytearray(answer[:n])) for n in range(len(answer))] == [False] * len(answer)
    assert _whole(bytearray(answer))


def test_the_load_of_others_is_a_share() -> None:
    with Load() as load:
        sum(range(100_000))
    assert 0 <= load.foreign <= 1
