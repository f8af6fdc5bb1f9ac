"""The controller is told of a request after it has gone, and of many together."""

from __future__ import annotations

import asyncio

import pytest

from runner.gateway.arrivals import APART_S, Arrivals


def test_the_request_goes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """By a clock that stands still: however often the loop turns, nobody is told within two milliseconds."""
    now, told = 100.0, list[int]()

    async def turn() -> None:
        for _ in range(10):
            await asyncio.sleep(0)

    async def main() -> None:
        nonlocal now
        monkeypatch.setattr(asyncio.get_running_loop(), "time", lambda: now)
        arrivals = Arrivals(told.append)
        arrivals.passes()
        arrivals.passes()
        await turn()
        now += 0.0019
        await turn()
        assert told == []
        now += 0.0002
        await turn()
        assert told == [2]
        arrivals.passes()
        now += APART_S - 0.001
        await turn()
        assert told == [2]
        now += 0.002
        await turn()
        assert told == [2, 3]
        arrivals.passes()
        arrivals.begin()
        now += 1
        await turn()
        assert told == [2, 3]

    asyncio.run(main())
