"""``bench doctor --efforts`` on an agent that the registry describes."""

from __future__ import annotations

from pathlib import Path

import pytest

from runner.cli.doctor import _ladder
from runner.errors import UsageError
from runner.gateway.providers import Provider

MINE = """harnesses:
  mine: {version: "1", version_argv: [mine], protocols: [chat], argv: [mine, "{url}", "{token}", "{prompt_file}"]}
"""


def test_an_agent_of_the_registrys_is_known(tmp_path: Path) -> None:
    (tmp_path / "harnesses.yaml").write_text(MINE)
    provider = Provider(name="x", base_url="http://h/v1")
    with pytest.raises(UsageError, match="mine has no image of its own"):
        _ladder(provider, "m", "mine", tmp_path, quiet=True)
    with pytest.raises(UsageError, match="there is no harness 'yours'"):
        _ladder(provider, "m", "yours", tmp_path, quiet=True)
