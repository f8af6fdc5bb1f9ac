"""Stock-keeping for a small store room, over PostgreSQL."""

VERSION = "1.4.0"
