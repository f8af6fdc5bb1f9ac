"""Bakeoff Runner: one real develop sprint as the benchmark.

The rooms, from the outside in (arrows go down only):
cli -> fleet -> stages -> sprint, scoring, report -> lab, harness -> sandbox, gateway
    -> store, registry, repo -> schema, errors.
"""

__version__ = "0.1.0"
