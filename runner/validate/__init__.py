"""Proving a benchmark: every claim it makes about itself, in containers, one sentence where one is broken."""
