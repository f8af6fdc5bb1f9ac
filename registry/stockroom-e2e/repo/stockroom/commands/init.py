"""stockroom init."""

import os

from stockroom.args import Args, Spec
from stockroom.database import connect
from stockroom.errors import CONFLICT, StockError

SPECS = {"init": Spec()}
SCHEMA = os.path.join(os.path.dirname(__file__), "..", "..", "db", "schema.sql")


def init(args: Args) -> None:
    with connect() as db:
        if db.query("SELECT to_regclass('item')::text")[0][0] is not None:
            raise StockError(CONFLICT, "the tables exist already")
        with open(SCHEMA) as schema:
            statements = schema.read().split(";\n")
        db.execute("BEGIN")
        for statement in statements:
            if statement.strip():
                db.execute(statement)
        db.execute("COMMIT")
    print("created the tables")
