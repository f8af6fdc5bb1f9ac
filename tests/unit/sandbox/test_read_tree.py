"""What goes into a container is what the registry's hashes hold in place."""

from __future__ import annotations

from pathlib import Path

from runner.sandbox.transfer import read_tree


def test_what_python_compiled_beside_a_hidden_criterion_stays_outside(tmp_path: Path) -> None:
    """It would be run in the place of the frozen source, and freezing does not see it."""
    (tmp_path / "lib" / "__pycache__").mkdir(parents=True)
    (tmp_path / "lib" / "judge.py").write_text("x = 1\n")
    (tmp_path / "lib" / "__pycache__" / "judge.cpython-311.pyc").write_bytes(b"something else")
    assert list(read_tree(tmp_path)) == ["lib/judge.py"]
