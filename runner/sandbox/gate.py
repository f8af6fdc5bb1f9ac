"""The pod's only way out: the relay in the holder, from a port of the pod's loopback to the gateway's socket."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from importlib import resources
from pathlib import Path

from runner.errors import RigError
from runner.sandbox.box import Box
from runner.sandbox.container import Mount

PORT = 4000
UNTRUSTED = "1000:1000"
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


class NotClosed(RigError):
    """Something leaves the pod: no run may start in it."""

    retry = False


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


def prove_closed(holder: Box, hosts: Sequence[str]) -> None:
    """Try every way out of the pod that there should not be; ``hosts`` are addresses of this machine.

    Raises RigError naming what got out: nothing may be measured in an open pod.
    """
    source = resources.files("runner.sandbox").joinpath("closed.py").read_text(encoding="utf-8")
    done = holder.exec(["python3", "-I", "-c", source, *hosts], timeout_s=60, user=UNTRUSTED)
    if done.ok:
        return
    said = done.stdout.decode("utf-8", "replace").split("\n")[0] or done.stderr.decode("utf-8", "replace").strip()
    raise NotClosed(
        f"the pod is not closed: {said[:200] or 'its probe did not end'}",
        "is a network plugin or a policy of the engine attaching networks to containers?",
    )


def host_addresses() -> list[str]:
    """Addresses of this machine but loopback, as far as the system names them."""
    found = set()
    for family, name in ((socket.AF_INET, "1.1.1.1"), (socket.AF_INET6, "2606:4700:4700::1111")):
        try:
            with socket.socket(family, socket.SOCK_DGRAM) as link:
                link.connect((name, 53))  # sends nothing: it only asks for the route
                found.add(str(link.getsockname()[0]))
        except OSError:
            continue
    return sorted(address for address in found if not address.startswith("127."))
