"""stockroom adjust: the shelf and the books disagree."""

from stockroom.args import Args, Spec
from stockroom.database import connect
from stockroom.errors import NOT_FOUND, REFUSED, USAGE, StockError
from stockroom.quantity import parse_code, parse_whole

SPECS = {"adjust": Spec(("SKU", "LOCATION", "DELTA"), ("--reason",))}
REASONS = ("damage", "found", "loss", "correction")


def adjust(args: Args) -> None:
    sku = parse_code(args["SKU"], "SKU")
    code = parse_code(args["LOCATION"], "location")
    delta = parse_whole(args["DELTA"], "delta")
    if delta == 0:
        raise StockError(USAGE, "the delta must not be zero")
    reason = args.get("--reason")
    if reason is None:
        raise StockError(USAGE, "a reason is needed: --reason " + "|".join(REASONS))
    if reason not in REASONS:
        raise StockError(USAGE, f"unknown reason {reason!r}: use " + "|".join(REASONS))
    if reason in ("damage", "loss") and delta > 0:
        raise StockError(USAGE, f"{reason} takes away: the delta must be negative")
    if reason == "found" and delta < 0:
        raise StockError(USAGE, "found adds: the delta must be positive")
    with connect() as db:
        db.execute("BEGIN")
        if not db.query("SELECT 1 FROM item WHERE sku = $1 FOR UPDATE", (sku,)):
            db.execute("ROLLBACK")
            raise StockError(NOT_FOUND, f"no item {sku}")
        if not db.query("SELECT 1 FROM location WHERE code = $1", (code,)):
            db.execute("ROLLBACK")
            raise StockError(NOT_FOUND, f"no location {code}")
        rows = db.query(
            "SELECT quantity FROM stock WHERE sku = $1 AND location = $2 FOR UPDATE", (sku, code)
        )
        before = int(rows[0][0] or 0) if rows else 0
        after = before + delta
        if after < 0:
            db.execute("ROLLBACK")
            raise StockError(REFUSED, f"only {before} of {sku} at {code}, cannot take {-delta}")
        total = db.query(
            "SELECT coalesce(sum(quantity), 0)::int FROM stock WHERE sku = $1", (sku,)
        )[0][0]
        reserved = db.query(
            "SELECT coalesce(sum(quantity), 0)::int FROM reservation WHERE sku = $1", (sku,)
        )[0][0]
        if delta < 0 and int(total or 0) + delta < int(reserved or 0):
            db.execute("ROLLBACK")
            raise StockError(REFUSED, f"{reserved} of {sku} are reserved")
        db.execute(
            "INSERT INTO stock (sku, location, quantity) VALUES ($1, $2, $3)"
            " ON CONFLICT (sku, location) DO UPDATE SET quantity = excluded.quantity",
            (sku, code, after),
        )
        db.execute(
            "INSERT INTO movement (kind, sku, location, delta, note)"
            " VALUES ('adjust', $1, $2, $3, $4)",
            (sku, code, delta, reason),
        )
        db.execute("COMMIT")
    print(f"adjusted {sku} at {code}: {before} -> {after} ({reason})")
