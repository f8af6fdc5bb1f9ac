"""One connection, used by one thread at a time."""

from __future__ import annotations

from _socket import AF_INET, IPPROTO_TCP, SOCK_STREAM, TCP_NODELAY, socket

from pgwire.errors import PgError, Unreachable
from pgwire.values import Param, Row, decode_row, decode_types, encode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType


def _int16(value: int) -> bytes:
    return value.to_bytes(2, "big")


def _int32(value: int) -> bytes:
    return value.to_bytes(4, "big", signed=True)


def _message(kind: bytes, body: bytes) -> bytes:
    return kind + _int32(len(body) + 4) + body


def _fields(body: bytes) -> dict[str, str]:
    parts = body.rstrip(b"\0").split(b"\0")
    return {part[:1].decode(): part[1:].decode(errors="replace") for part in parts if part}


class Connection:
    """Statements run outside a transaction unless one was begun with `BEGIN`."""

    def __init__(self, sock: socket) -> None:
        self._sock = sock
        self._buffer = b""
        self.backend_pid = 0
        self.in_transaction = False

    def __enter__(self) -> Connection:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def query(self, sql: str, params: Sequence[Param] = ()) -> list[Row]:
        """Run one statement with `$1`-style parameters and return its rows."""
        return self._extended(sql, params)[0]

    def execute(self, sql: str, params: Sequence[Param] = ()) -> int:
        """Run one statement and return how many rows it touched (0 for commands)."""
        return self._extended(sql, params)[1]

    def script(self, sql: str) -> None:
        """Run several statements without parameters, as one implicit transaction."""
        self._send(_message(b"Q", sql.encode() + b"\0"))
        self._collect()

    def close(self) -> None:
        """Say goodbye; an open transaction is rolled back by the server."""
        if self._sock.fileno() < 0:
            return
        try:
            self._sock.sendall(_message(b"X", b""))
        except OSError:
            return  # the server is gone already, which is what was asked for
        finally:
            self._sock.close()

    def start(self, user: str, database: str, password: str) -> None:
        """Authenticate; raises PgError when the server refuses."""
        pairs = ("user", user, "database", database, "application_name", "stockroom")
        body = _int32(196608) + b"".join(item.encode() + b"\0" for item in pairs) + b"\0"
        self._send(_int32(len(body) + 4) + body)
        while True:
            kind, body = self._receive()
            if kind == b"R":
                self._authenticate(int.from_bytes(body[:4], "big"), password)
            elif kind == b"K":
                self.backend_pid = int.from_bytes(body[:4], "big")
            elif kind == b"E":
                raise self._error(body)
            elif kind == b"Z":
                return

    def _authenticate(self, method: int, password: str) -> None:
        if method == 3:
            self._send(_message(b"p", password.encode() + b"\0"))
        elif method != 0:
            raise PgError("28000", f"authentication method {method} is not supported")

    def _extended(self, sql: str, params: Sequence[Param]) -> tuple[list[Row], int]:
        bound = b""
        for param in params:
            value = encode(param)
            bound += _int32(-1) if value is None else _int32(len(value)) + value
        bind = b"\0\0" + _int16(0) + _int16(len(params)) + bound + _int16(0)
        self._send(
            _message(b"P", b"\0" + sql.encode() + b"\0" + _int16(0))
            + _message(b"B", bind)
            + _message(b"D", b"P\0")
            + _message(b"E", b"\0" + _int32(0))
            + _message(b"S", b"")
        )
        return self._collect()

    def _collect(self) -> tuple[list[Row], int]:
        rows: list[Row] = []
        types: list[int] = []
        touched = 0
        failure: PgError | None = None
        while True:
            kind, body = self._receive()
            if kind == b"D":
                rows.append(decode_row(body, types))
            elif kind == b"T":
                types = decode_types(body)
            elif kind == b"C":
                last = body[:-1].rpartition(b" ")[2]
                touched = int(last) if last.isdigit() else 0
            elif kind == b"E":
                failure = self._error(body)
            elif kind == b"Z":
                self.in_transaction = body != b"I"
                if failure is not None:
                    raise failure
                return rows, touched

    @staticmethod
    def _error(body: bytes) -> PgError:
        fields = _fields(body)
        return PgError(fields.get("C", ""), fields.get("M", ""), fields.get("n", ""))

    def _send(self, data: bytes) -> None:
        try:
            self._sock.sendall(data)
        except OSError as error:
            raise Unreachable(str(error)) from error

    def _receive(self) -> tuple[bytes, bytes]:
        head = self._read(5)
        return head[:1], self._read(int.from_bytes(head[1:], "big") - 4)

    def _read(self, size: int) -> bytes:
        while len(self._buffer) < size:
            try:
                chunk = self._sock.recv(65536)
            except OSError as error:
                raise Unreachable(str(error)) from error
            if not chunk:
                raise Unreachable("the server closed the connection")
            self._buffer += chunk
        taken, self._buffer = self._buffer[:size], self._buffer[size:]
        return taken


def connect(
    *, host: str, port: int, user: str, database: str, password: str = ""
) -> Connection:
    """Open and authenticate a connection; raises Unreachable or PgError."""
    sock = socket(AF_INET, SOCK_STREAM)
    try:
        sock.connect((host, port))
        sock.setsockopt(IPPROTO_TCP, TCP_NODELAY, 1)
    except OSError as error:
        sock.close()
        raise Unreachable(f"{host}:{port}") from error
    connection = Connection(sock)
    connection.start(user, database, password)
    return connection
