"""A run that is scored again is priced as it was: by the registry's own rates where it has them."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from runner.schema.arm import Arm
from runner.schema.ledger import Usage
from runner.stages.rescore import list_prices

PROVIDERS = """providers:
  own:
    base_url: http://127.0.0.1:1
    models:
      m: {rates: {uncached_input: 2.0, output: 10.0}}
"""
USAGE = Usage(uncached_input=1_000_000, output=100_000)
NOW = datetime(2026, 6, 1, tzinfo=UTC)


def arm(provider: str) -> Arm:
    return Arm(provider=provider, model="m", harness="pi", harness_version="1", effort="high")


def test_the_registrys_own_rates_hold_for_whatever_name_the_answer_has(tmp_path: Path) -> None:
    (tmp_path / "providers.yaml").write_text(PROVIDERS)
    found = list_prices(tmp_path, arm("own"))("m-2026-01-01", USAGE, NOW)
    assert (found.usd, found.source) == (3.0, "registry")


def test_a_provider_that_is_gone_leaves_no_price(tmp_path: Path) -> None:
    (tmp_path / "providers.yaml").write_text(PROVIDERS)
    found = list_prices(tmp_path, arm("gone"))("m", USAGE, NOW)
    assert (found.usd, found.source) == (None, "there is no provider gone any more")
