"""Where the reader of JUnit reports was before the lab needed it too."""

from runner.lab.junit import Report, read_junit

__all__ = ["Report", "read_junit"]
