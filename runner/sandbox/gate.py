"""The pod's only way out: the relay in the holder, from a port of the pod's loopback to the gateway's socket."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

from runner.errors import RigError
from runner.sandbox.box import Box
from runner.sandbox.container import Mount

PORT = 4000
_DIRECTORY = "/run/gw"
_SOCKET = "gw.sock"
# A look at the kernel's table, not a connection: the gateway would see one that says nothing.
_LISTENS = """
import sys, time
for _ in range(int(sys.argv[2])):
    with open("/proc/net/tcp") as table:
        if any(row.split()[1] == sys.argv[1] and row.split()[3] == "0A" for row in list(table)[1:]):
            sys.exit(0)
    time.sleep(0.02)
sys.exit(1)
"""


def mount(directory: Path) -> Mount:
    """The gateway's socket directory as the holder sees it."""
    return Mount(str(directory.absolute()), _DIRECTORY, read_only=True)


def command(seconds: int) -> list[str]:
    """The holder's main process; it ends by itself after ``seconds``."""
    source = resources.files("runner.sandbox").joinpath("relay.py").read_text(encoding="utf-8")
    return ["python3", "-I", "-c", source, str(PORT), f"{_DIRECTORY}/{_SOCKET}", str(seconds)]


def await_listening(holder: Box) -> None:
    """Return once the relay listens. Raises RigError where it does not."""
    done = holder.exec(["python3", "-I", "-c", _LISTENS, f"0100007F:{PORT:04X}", "1000"], timeout_s=60)
    if not done.ok:
        raise RigError("the relay to the gateway does not listen")
