#!/bin/sh
# Rewrites the lock files from pyproject.toml (needs `uv` on PATH). Every entry is pinned by hash for
# Python 3.11 and newer on any platform; no file holds an address.
set -eu
cd "$(dirname "$0")/.."
lock() {
    output=requirements/$1.lock
    shift
    UV_NO_CONFIG=1 uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
        --no-header --no-annotate --no-emit-index-url --no-emit-find-links --output-file "$output" "$@"
    if grep -nE '://' "$output"; then
        echo "$output holds an address" >&2
        exit 1
    fi
}
lock runtime pyproject.toml
lock dev pyproject.toml --extra dev --constraints requirements/runtime.lock
lock embedded requirements/embedded.in --no-deps
lock build requirements/build.in --constraints requirements/dev.lock
