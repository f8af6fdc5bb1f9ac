-- A small shop: three items (one retired), four locations (one closed), some stock.
INSERT INTO item (sku, name, unit, price_cents, reorder_point, active) VALUES
    ('BOLT-8', 'Hex bolt M8', 'pcs', 25, 50, true),
    ('CABLE', 'Copper cable', 'm', 199, 10, true),
    ('LAMP-1', 'Desk lamp', 'pcs', 2450, 0, true),
    ('OLD-1', 'Retired fuse', 'pcs', 10, 0, false);
INSERT INTO location (code, zone, capacity, active) VALUES
    ('A1', 'main', 100, true),
    ('A2', 'main', NULL, true),
    ('B1', 'yard', 20, true),
    ('Z9', 'main', NULL, false);
INSERT INTO stock (sku, location, quantity) VALUES
    ('BOLT-8', 'A1', 40),
    ('BOLT-8', 'A2', 5),
    ('CABLE', 'B1', 12);
