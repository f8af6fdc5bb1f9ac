#!/bin/sh
# M01: at least three cases, and all of them pass.
set -eu
test "$(ls cases/*.txtar | wc -l)" -ge 3
python3 tools/run_cases.py
