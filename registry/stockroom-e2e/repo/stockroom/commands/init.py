"""stockroom init."""

from pathlib import Path

from stockroom.args import Args, Spec
from stockroom.database import connect
from stockroom.errors import CONFLICT, StockError

SPECS = {"init": Spec()}
SCHEMA = Path(__file__).parents[2] / "db" / "schema.sql"


def init(args: Args) -> None:
    with connect() as db:
        if db.query("SELECT to_regclass('item')::text")[0][0] is not None:
            raise StockError(CONFLICT, "the tables exist already")
        db.execute("BEGIN")
        for statement in SCHEMA.read_text().split(";\n"):
            if statement.strip():
                db.execute(statement)
        db.execute("COMMIT")
    print("created the tables")
