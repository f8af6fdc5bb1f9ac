-- The stockroom schema, frozen: the program, the case runner and the seeded database share it.

CREATE TABLE item (
    sku text PRIMARY KEY,
    name text NOT NULL CHECK (name <> ''),
    unit text NOT NULL DEFAULT 'pcs',
    price_cents bigint NOT NULL DEFAULT 0 CHECK (price_cents >= 0),
    reorder_point integer NOT NULL DEFAULT 0 CHECK (reorder_point >= 0),
    active boolean NOT NULL DEFAULT true
);

CREATE TABLE location (
    code text PRIMARY KEY,
    zone text NOT NULL DEFAULT 'main',
    capacity integer CHECK (capacity > 0),
    active boolean NOT NULL DEFAULT true
);

CREATE TABLE stock (
    sku text NOT NULL REFERENCES item,
    location text NOT NULL REFERENCES location,
    quantity integer NOT NULL CHECK (quantity >= 0),
    PRIMARY KEY (sku, location)
);

CREATE TABLE movement (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    kind text NOT NULL CHECK (kind IN ('receipt', 'pick', 'transfer', 'adjust', 'count')),
    sku text NOT NULL REFERENCES item,
    location text NOT NULL REFERENCES location,
    delta integer NOT NULL CHECK (delta <> 0),
    note text NOT NULL DEFAULT ''
);

CREATE TABLE reservation (
    order_ref text NOT NULL,
    sku text NOT NULL REFERENCES item,
    quantity integer NOT NULL CHECK (quantity > 0),
    PRIMARY KEY (order_ref, sku)
);

CREATE TABLE stock_count (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    location text NOT NULL REFERENCES location,
    status text NOT NULL DEFAULT 'open' CHECK (status IN ('open', 'closed', 'cancelled'))
);

CREATE UNIQUE INDEX one_open_count ON stock_count (location) WHERE status = 'open';

CREATE TABLE count_line (
    count_id bigint NOT NULL REFERENCES stock_count,
    sku text NOT NULL REFERENCES item,
    counted integer NOT NULL CHECK (counted >= 0),
    PRIMARY KEY (count_id, sku)
);

CREATE TABLE import_batch (
    digest text PRIMARY KEY,
    kind text NOT NULL,
    rows integer NOT NULL
);
