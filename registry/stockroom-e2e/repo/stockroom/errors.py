"""Every refusal is a StockError; its exit code is part of the command's contract."""

USAGE = 2
NOT_FOUND = 3
CONFLICT = 4
REFUSED = 5
BAD_FILE = 6
DATABASE = 7


class StockError(Exception):
    """One sentence for stderr and the exit code that goes with it."""

    def __init__(self, exit_code: int, message: str) -> None:
        super().__init__(message)
        self.exit_code = exit_code
        self.message = message
