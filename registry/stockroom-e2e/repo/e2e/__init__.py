"""The case runner: declarative cases, the real program as a subprocess, a real database.

Frozen. `docs/cases.md` explains the format; `python3 -m e2e --help` the options.
"""
