"""Is the pod closed? Tries every way out that it should not have. Runs inside the pod, as the contestant would.

Shipped as source (``python3 -c``): standard library only. Arguments: addresses of the host. Prints what got out and
exits 1; exits 0 when nothing does. Only "there is no way" counts as closed: a packet that got no answer has left the
pod all the same.
"""

from __future__ import annotations

import errno
import fcntl
import os
import socket
import struct
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

_WAIT_S = 1.5
_AT_ONCE = 12
_SIOCGIFFLAGS, _IFF_UP = 0x8913, 1
_METADATA = ("169.254.169.254", "169.254.170.2", "100.100.100.200", "fd00:ec2::254")
_OUTSIDE = ("1.1.1.1", "8.8.8.8", "2606:4700:4700::1111")
_NEIGHBOURS = ("172.17.0.1", "172.17.0.2", "172.17.0.3", "172.18.0.1", "10.0.2.2", "192.168.0.1", "fe80::1")
_PORTS = (22, 80, 443, 2375, 5432)
_NO_WAY = frozenset(
    [
        errno.ENETUNREACH,
        errno.EPERM,
        errno.EACCES,
        errno.EAFNOSUPPORT,
        errno.EADDRNOTAVAIL,
        errno.EPROTONOSUPPORT,
        errno.ESOCKTNOSUPPORT,
        errno.ENODEV,
        errno.EINVAL,  # a link-local address without a link
    ]
)


def _family(address: str) -> int:
    return socket.AF_INET6 if ":" in address else socket.AF_INET


def connects(address: str, port: int) -> str | None:
    """How a connection gets out, or None."""
    try:
        with socket.socket(_family(address), socket.SOCK_STREAM) as link:
            link.settimeout(_WAIT_S)
            link.connect((address, port))
            return f"TCP to {address} port {port} is answered"
    except TimeoutError:
        return f"TCP to {address} port {port} leaves the pod"
    except OSError as error:
        return None if error.errno in _NO_WAY else f"TCP to {address} port {port}: {error.strerror}"


def sends(address: str, port: int) -> str | None:
    """How a datagram gets out (DNS, and whatever else speaks UDP), or None."""
    question = b"\x12\x34\x01\0\0\1\0\0\0\0\0\0\7example\3org\0\0\1\0\1"
    try:
        with socket.socket(_family(address), socket.SOCK_DGRAM) as link:
            link.connect((address, port))
            link.send(question)
            return f"UDP to {address} port {port} leaves the pod"
    except OSError as error:
        return None if error.errno in _NO_WAY else f"UDP to {address} port {port}: {error.strerror}"


def pings(address: str) -> str | None:
    """How an echo request gets out, or None."""
    six = ":" in address
    protocol = socket.IPPROTO_ICMPV6 if six else socket.IPPROTO_ICMP
    echo = struct.pack("!BBHHH", 128 if six else 8, 0, 0, 1, 1)
    for kind in (socket.SOCK_DGRAM, socket.SOCK_RAW):
        try:
            with socket.socket(_family(address), kind, protocol) as link:
                link.sendto(echo, (address, 0))
                return f"ICMP to {address} leaves the pod"
        except OSError as error:
            if error.errno not in _NO_WAY:
                return f"ICMP to {address}: {error.strerror}"
    return None


def resolves() -> str | None:
    """Whether a name leads anywhere."""
    for name in ("example.org", "host.docker.internal", "metadata.google.internal"):
        try:
            found = socket.getaddrinfo(name, 443)
        except OSError:
            continue
        return f"the name {name} resolves to {found[0][4][0]}"
    return None


def interfaces() -> str | None:
    """Whether there is an interface besides loopback that is up, or a route."""
    try:
        with open("/proc/net/route", encoding="ascii") as table:
            if len(table.readlines()) > 1:
                return "there is a route"
        with open("/proc/net/ipv6_route", encoding="ascii") as table:
            foreign = [row.split()[-1] for row in table if row.split()[-1] != "lo"]
            if foreign:
                return f"there is a route over {foreign[0]}"
    except OSError:
        pass  # no such protocol here
    # Devices that the kernel makes in every namespace (tunl0, sit0) are there, but never up.
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as link:
        for _, name in socket.if_nameindex():
            asked = struct.pack("16sH14x", name.encode()[:15], 0)
            flags = struct.unpack_from("16xH", fcntl.ioctl(link.fileno(), _SIOCGIFFLAGS, asked))[0]
            if name != "lo" and flags & _IFF_UP:
                return f"the interface {name} is up"
    return None


def engine() -> str | None:
    """Whether the engine's socket is in reach."""
    for path in ("/var/run/docker.sock", "/run/docker.sock", "/run/containerd/containerd.sock"):
        if os.path.exists(path):
            return f"{path} is in reach"
    return None


def ways(hosts: list[str]) -> list[Callable[[], str | None]]:
    """All that is tried."""
    near = [*_METADATA, *_NEIGHBOURS, *hosts]
    tried: list[Callable[[], str | None]] = [interfaces, engine, resolves]
    for address in (*_OUTSIDE, *near):
        tried += [lambda a=address: sends(a, 53), lambda a=address: pings(a)]  # type: ignore[misc]
    for address in _OUTSIDE:
        tried += [lambda a=address: connects(a, 443), lambda a=address: connects(a, 53)]  # type: ignore[misc]
    for address in near:
        tried += [lambda a=address, p=port: connects(a, p) for port in _PORTS]  # type: ignore[misc]
    return tried


def main(hosts: list[str]) -> int:
    """Try everything, side by side; the exit code."""
    found: list[str] = []

    def attempt(way: Callable[[], str | None]) -> None:
        said = None if found else way()  # one way out is enough
        if said:
            found.append(said)

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        for done in [pool.submit(attempt, way) for way in ways(hosts)]:
            done.result()
    for line in found:
        sys.stdout.write(line + "\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
