"""A busy machine is slow, not wrong: no generated example has a deadline of its own."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("patient", deadline=None)
settings.load_profile("patient")
