"""From a benchmark's limits to what the gateway holds a run and each of its attempts to."""

from __future__ import annotations

from runner.fleet.arms import caps_of
from runner.gateway.limits import Caps
from runner.gateway.providers import Provider, Rates
from runner.schema.entry import Limits

PLAIN = Provider(name="x", base_url="http://h/v1")
PRICED = PLAIN.model_copy(
    update={"models": {"m": PLAIN.options("m").model_copy(update={"rates": Rates(uncached_input=1, output=1)})}}
)


def test_every_cap_comes_from_a_limit_of_the_run_and_of_the_attempt() -> None:
    names = [name for name in Caps.model_fields if name not in ("wall_s", "concurrent", "attempt")]
    limits = Limits(
        concurrent=99,
        **{name: number for number, name in enumerate(names, 1)},
        **{f"attempt_{name}": number for number, name in enumerate(names, 11)},
    )
    caps = caps_of(limits, PRICED, "m")
    assert [getattr(caps, name) for name in [*names, "concurrent"]] == [*range(1, len(names) + 1), 99]
    assert caps.attempt is not None
    assert [getattr(caps.attempt, name) for name in names] == [*range(11, len(names) + 11)]


def test_without_a_price_no_cap_in_usd_is_claimed_to_hold() -> None:
    caps = caps_of(Limits(), PLAIN, "m")
    assert caps.usd is None
    assert caps.attempt is not None
    assert caps.attempt.usd is None
