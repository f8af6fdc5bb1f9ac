"""Is the database ready? Runs inside the holder, over TCP, as a client would come.

Shipped as source (``python3 -c``): standard library only. Arguments: user, database, seconds to keep trying.
Exit 0: a session could be opened twice in a row. Exit 1: not yet. Exit 2: it answers, and refuses for good.
"""

from __future__ import annotations

import socket
import struct
import sys
import time

_PORT = 5432
_STARTING = b"57P03"


def greet(user: str, database: str, port: int = _PORT) -> str:
    """Open a session and close it: ``ready``, ``waiting``, or what the server said."""
    fields = b"".join(part.encode() + b"\0" for part in ("user", user, "database", database)) + b"\0"
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=2) as link:
            link.sendall(struct.pack("!ii", 8 + len(fields), 196608) + fields)
            with link.makefile("rb") as answers:
                return _answer(link, answers)
    except OSError:
        return "waiting"


def _answer(link: socket.socket, answers: object) -> str:
    read = answers.read  # type: ignore[attr-defined]
    while True:
        header = read(5)
        if len(header) < 5:
            return "waiting"
        kind, size = header[:1], struct.unpack("!i", header[1:])[0]
        body = read(size - 4)
        if kind == b"E":
            return "waiting" if b"C" + _STARTING in body else body.replace(b"\0", b" ").decode("utf-8", "replace")
        asks_for_password = kind == b"R" and struct.unpack("!i", body[:4])[0] != 0
        if kind == b"Z" or asks_for_password:  # it asks only once it knows the role: it is up
            link.sendall(b"X\0\0\0\x04")
            return "ready"


def main(user: str, database: str, seconds: float) -> int:
    """Keep trying for ``seconds``; the exit code."""
    until, in_a_row, said = time.monotonic() + seconds, 0, ""
    while time.monotonic() < until:
        said = greet(user, database)
        in_a_row = in_a_row + 1 if said == "ready" else 0
        if in_a_row == 2:
            return 0
        if said not in ("ready", "waiting"):
            sys.stderr.write(said)
            return 2
        time.sleep(0.01)
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], float(sys.argv[3])))
