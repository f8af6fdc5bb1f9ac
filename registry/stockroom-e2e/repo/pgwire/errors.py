"""What the server, or the way to it, can answer instead of rows."""


class PgError(Exception):
    """The server refused a statement; `sqlstate` is its five-character code."""

    def __init__(self, sqlstate: str, message: str, constraint: str = "") -> None:
        super().__init__(message)
        self.sqlstate = sqlstate
        self.message = message
        self.constraint = constraint


class Unreachable(Exception):
    """No server answered, or it hung up."""
