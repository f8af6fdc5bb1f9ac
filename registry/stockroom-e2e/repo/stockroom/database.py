"""Where the database is: the usual PG* variables."""

import os

from pgwire import Connection, PgError, Unreachable
from pgwire import connect as pg_connect
from stockroom.errors import DATABASE, USAGE, StockError


def connect() -> Connection:
    """Open a connection; raises StockError when the database does not let us in."""
    host = os.environ.get("PGHOST", "127.0.0.1")
    port = os.environ.get("PGPORT", "5432")
    if not port.isdigit():
        raise StockError(USAGE, f"PGPORT must be a number, not {port!r}")
    try:
        return pg_connect(
            host=host,
            port=int(port),
            user=os.environ.get("PGUSER", "stockroom"),
            database=os.environ.get("PGDATABASE", "stockroom"),
            password=os.environ.get("PGPASSWORD", ""),
        )
    except Unreachable as error:
        raise StockError(DATABASE, f"no database at {host}:{port}") from error
    except PgError as error:
        raise StockError(DATABASE, error.message) from error
