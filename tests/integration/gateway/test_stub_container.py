"""The same traffic to a model server on another machine: the stub in a container of its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from runner.sandbox.baseimage import ensure_base
from runner.sandbox.engine import connect
from tests.integration.gateway.conftest import Open

pytestmark = pytest.mark.engine

SCRIPT = Path(__file__).parents[2] / "support" / "stub_llm.py"


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    # The engine's own clean-up helper would have to be pulled; the context manager cleans up as well.
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TESTCONTAINERS_RYUK_DISABLED", "true")
        from testcontainers.core.config import testcontainers_config
        from testcontainers.core.container import DockerContainer
        from testcontainers.core.wait_strategies import LogMessageWaitStrategy

        patch.setattr(testcontainers_config, "ryuk_disabled", True, raising=False)
        with connect() as engine:
            image = ensure_base(engine, log=print).tag
        container = (
            DockerContainer(image)
            .with_volume_mapping(str(SCRIPT), "/stub_llm.py", "ro")
            .with_command("python3 /stub_llm.py --host 0.0.0.0 --port 8080")
            .with_exposed_ports(8080)
            .waiting_for(LogMessageWaitStrategy("stub on port"))
        )
        with container:
            yield f"http://{container.get_container_host_ip()}:{container.get_exposed_port(8080)}"


@pytest.mark.parametrize(
    ("scenario", "statuses", "fault"),
    [
        ("happy", [200, 200, 200], None),
        ("limited", [200, 429, 200], None),
        ("broken_forever", [500, 500, 500], "HTTP 500"),
        ("other_model", [200, 403, 403], "wrong model served: somebody-else instead of stub-model"),
    ],
)
@pytest.mark.parametrize("stream", [False, True])
def test_each_ends_as_it_must(
    enter: Open, address: str, scenario: str, statuses: list[int], fault: str | None, stream: bool
) -> None:
    agent = enter(url=f"{address}/{scenario}/{stream}/v1")
    assert [agent.post(stream=stream).status for _ in statuses] == statuses
    assert agent.door.fault() == fault
