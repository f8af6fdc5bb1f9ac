"""stockroom location ...: where goods lie."""

from pgwire import PgError
from stockroom.args import Args, Spec
from stockroom.database import connect
from stockroom.errors import CONFLICT, NOT_FOUND, REFUSED, USAGE, StockError
from stockroom.quantity import parse_code, parse_whole
from stockroom.tables import render

SPECS = {
    "add": Spec(("CODE",), ("--zone", "--capacity")),
    "list_locations": Spec((), ("--zone",), ("--all",)),
    "close": Spec(("CODE",)),
}


def add(args: Args) -> None:
    code = parse_code(args["CODE"], "location")
    zone = (args.get("--zone") or "main").lower()
    word = args.get("--capacity")
    capacity = parse_whole(word, "capacity") if word is not None else None
    if capacity is not None and capacity < 1:
        raise StockError(USAGE, "the capacity must be at least 1")
    with connect() as db:
        db.execute("BEGIN")
        try:
            db.execute(
                "INSERT INTO location (code, zone, capacity) VALUES ($1, $2, $3)",
                (code, zone, capacity),
            )
        except PgError as error:
            db.execute("ROLLBACK")
            if error.sqlstate == "23505":
                raise StockError(CONFLICT, f"location {code} exists already") from error
            raise
        db.execute("COMMIT")
    print(f"added location {code} in zone {zone}")


def list_locations(args: Args) -> None:
    sql = (
        "SELECT code, zone, coalesce(sum(quantity), 0)::int, capacity, active"
        " FROM location LEFT JOIN stock ON location = code WHERE true"
    )
    params: list[str] = []
    if not args.has("--all"):
        sql += " AND active"
    zone = args.get("--zone")
    if zone is not None:
        params.append(zone.lower())
        sql += " AND zone = $1"
    with connect() as db:
        rows = db.query(sql + " GROUP BY code ORDER BY zone, code", params)
    if not rows:
        print("no locations")
        return
    table = [
        (code, zone, load, "unlimited" if capacity is None else str(capacity),
         "open" if active else "closed")
        for code, zone, load, capacity, active in rows
    ]
    print(render(("CODE", "ZONE", "LOAD", "CAPACITY", "STATE"), table), end="")


def close(args: Args) -> None:
    code = parse_code(args["CODE"], "location")
    with connect() as db:
        db.execute("BEGIN")
        rows = db.query("SELECT active FROM location WHERE code = $1 FOR UPDATE", (code,))
        if not rows:
            db.execute("ROLLBACK")
            raise StockError(NOT_FOUND, f"no location {code}")
        if not rows[0][0]:
            db.execute("ROLLBACK")
            raise StockError(CONFLICT, f"location {code} is closed already")
        load = db.query(
            "SELECT coalesce(sum(quantity), 0)::int FROM stock WHERE location = $1", (code,)
        )[0][0]
        if load:
            db.execute("ROLLBACK")
            raise StockError(REFUSED, f"location {code} still holds {load}")
        if db.query(
            "SELECT 1 FROM stock_count WHERE location = $1 AND status = 'open'", (code,)
        ):
            db.execute("ROLLBACK")
            raise StockError(REFUSED, f"location {code} is being counted")
        db.execute("UPDATE location SET active = false WHERE code = $1", (code,))
        db.execute("COMMIT")
    print(f"closed location {code}")
