"""stockroom receive: goods come in."""

from stockroom.args import Args, Spec
from stockroom.database import connect
from stockroom.errors import NOT_FOUND, REFUSED, StockError
from stockroom.quantity import parse_code, parse_quantity

SPECS = {"receive": Spec(("SKU", "LOCATION", "QUANTITY"), ("--ref",))}


def receive(args: Args) -> None:
    sku = parse_code(args["SKU"], "SKU")
    code = parse_code(args["LOCATION"], "location")
    quantity = parse_quantity(args["QUANTITY"])
    with connect() as db:
        db.execute("BEGIN")
        items = db.query("SELECT unit, active FROM item WHERE sku = $1", (sku,))
        if not items:
            db.execute("ROLLBACK")
            raise StockError(NOT_FOUND, f"no item {sku}")
        unit, active = items[0]
        if not active:
            db.execute("ROLLBACK")
            raise StockError(REFUSED, f"item {sku} is retired")
        locations = db.query(
            "SELECT capacity, active FROM location WHERE code = $1 FOR UPDATE", (code,)
        )
        if not locations:
            db.execute("ROLLBACK")
            raise StockError(NOT_FOUND, f"no location {code}")
        capacity, open_ = locations[0]
        if not open_:
            db.execute("ROLLBACK")
            raise StockError(REFUSED, f"location {code} is closed")
        if db.query(
            "SELECT 1 FROM stock_count WHERE location = $1 AND status = 'open'", (code,)
        ):
            db.execute("ROLLBACK")
            raise StockError(REFUSED, f"location {code} is being counted")
        if capacity is not None:
            load = db.query(
                "SELECT coalesce(sum(quantity), 0)::int FROM stock WHERE location = $1", (code,)
            )[0][0]
            room = int(capacity) - int(load or 0)
            if quantity > room:
                db.execute("ROLLBACK")
                raise StockError(REFUSED, f"location {code} has room for {room}, not {quantity}")
        now = db.query(
            "INSERT INTO stock (sku, location, quantity) VALUES ($1, $2, $3)"
            " ON CONFLICT (sku, location) DO UPDATE"
            " SET quantity = stock.quantity + excluded.quantity RETURNING quantity",
            (sku, code, quantity),
        )[0][0]
        db.execute(
            "INSERT INTO movement (kind, sku, location, delta, note)"
            " VALUES ('receipt', $1, $2, $3, $4)",
            (sku, code, quantity, args.get("--ref") or ""),
        )
        db.execute("COMMIT")
    print(f"received {quantity} {unit} of {sku} at {code} (now {now})")
