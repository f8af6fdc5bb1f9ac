#!/bin/sh
# CI: the tests, in the same process as the program; no tests is no pass.
set -eu
export PATH="$PWD/bin:$PATH" PYTHONPATH=src
python3 -m pytest -q -p no:cacheprovider --junitxml /out/ci.xml tests
