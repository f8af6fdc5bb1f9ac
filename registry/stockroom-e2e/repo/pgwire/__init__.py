"""A small PostgreSQL client: protocol 3, text format, one round trip a statement.

Vendored and frozen: the program and the case runner share it. It knows TCP, trust and
clear-text passwords, and nothing else; `socket` is left alone because its import costs more
than a whole query. For the same reason `typing` and `collections.abc` are imported
for the type checker only.
"""

from pgwire.connection import Connection, connect
from pgwire.errors import PgError, Unreachable
from pgwire.values import Param, Row, Value

__all__ = ["Connection", "Param", "PgError", "Row", "Unreachable", "Value", "connect"]
