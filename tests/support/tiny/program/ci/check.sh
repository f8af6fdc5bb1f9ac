#!/bin/sh
# The tiny program's CI: it compiles, and every test script in tests/ passes; no tests is no pass.
set -eu
python3 -m py_compile src/*.py
found=0
for test in tests/test_*.py; do
    test -e "$test" || break
    PYTHONPATH=src python3 "$test"
    found=$((found + 1))
done
test "$found" -gt 0 || { echo "no tests" >&2; exit 5; }
echo "$found passed"
