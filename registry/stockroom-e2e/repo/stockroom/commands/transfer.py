"""stockroom transfer: from one location to another, all or nothing."""

from stockroom.args import Args, Spec
from stockroom.database import connect
from stockroom.errors import NOT_FOUND, REFUSED, USAGE, StockError
from stockroom.quantity import parse_code, parse_quantity

SPECS = {"transfer": Spec(("SKU", "FROM", "TO", "QUANTITY"))}


def transfer(args: Args) -> None:
    sku = parse_code(args["SKU"], "SKU")
    source = parse_code(args["FROM"], "location")
    target = parse_code(args["TO"], "location")
    quantity = parse_quantity(args["QUANTITY"])
    if source == target:
        raise StockError(USAGE, "source and target are the same location")
    db = connect()
    db.execute("BEGIN")
    try:
        if not db.query("SELECT 1 FROM item WHERE sku = $1", (sku,)):
            raise StockError(NOT_FOUND, f"no item {sku}")
        # Two transfers in opposite directions must take the locks in one order.
        found = {
            str(code): (capacity, active)
            for code, capacity, active in db.query(
                "SELECT code, capacity, active FROM location WHERE code IN ($1, $2)"
                " ORDER BY code FOR UPDATE",
                (source, target),
            )
        }
        for code in (source, target):
            if code not in found:
                raise StockError(NOT_FOUND, f"no location {code}")
            if db.query(
                "SELECT 1 FROM stock_count WHERE location = $1 AND status = 'open'", (code,)
            ):
                raise StockError(REFUSED, f"location {code} is being counted")
        capacity, active = found[target]
        if not active:
            raise StockError(REFUSED, f"location {target} is closed")
        rows = db.query(
            "SELECT quantity FROM stock WHERE sku = $1 AND location = $2 FOR UPDATE",
            (sku, source),
        )
        there = int(rows[0][0] or 0) if rows else 0
        if quantity > there:
            raise StockError(REFUSED, f"only {there} of {sku} at {source}, not {quantity}")
        db.execute(
            "UPDATE stock SET quantity = quantity - $3 WHERE sku = $1 AND location = $2",
            (sku, source, quantity),
        )
        db.execute(
            "INSERT INTO movement (kind, sku, location, delta, note)"
            " VALUES ('transfer', $1, $2, $3, $4)",
            (sku, source, -quantity, f"to {target}"),
        )
        if capacity is not None:
            load = db.query(
                "SELECT coalesce(sum(quantity), 0)::int FROM stock WHERE location = $1",
                (target,),
            )[0][0]
            room = int(capacity) - int(load or 0)
            if quantity > room:
                raise StockError(REFUSED, f"location {target} has room for {room}, not {quantity}")
        db.execute(
            "INSERT INTO stock (sku, location, quantity) VALUES ($1, $2, $3)"
            " ON CONFLICT (sku, location) DO UPDATE"
            " SET quantity = stock.quantity + excluded.quantity",
            (sku, target, quantity),
        )
        db.execute(
            "INSERT INTO movement (kind, sku, location, delta, note)"
            " VALUES ('transfer', $1, $2, $3, $4)",
            (sku, target, quantity, f"from {source}"),
        )
    except StockError:
        db.execute("ROLLBACK")
        db.close()
        raise
    db.execute("COMMIT")
    db.close()
    print(f"transferred {quantity} of {sku} from {source} to {target}")
