"""Row, detail and table: what people read. Everything here is derived from stored records."""
