"""Questions about the data: does the registry hold, which providers have their key?"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from runner.doctor.check import Check
from runner.errors import BenchError

PROVIDERS = "providers.yaml"
RUNS = "runs"


def registry(index: Path) -> tuple[Check, list[Path]]:
    """The registry can be read; and the folders in which its benchmarks keep their runs."""
    from runner.registry.load import read_entries

    home = index.resolve().parent
    try:
        entries = read_entries(index)
    except BenchError as error:
        fix = error.fix or f"correct {index}, or name another with --registry"
        return Check("registry", False, error.what, fix), [home / RUNS]
    folders = {(home / entry.runs_dir).resolve() for entry in entries.values()}
    return Check("registry", True, f"{index}: {', '.join(sorted(entries))}"), sorted(folders)


def keys(home: Path, env: Mapping[str, str]) -> Check:
    """Which of the providers' key variables are set: names only, never a value."""
    from runner.gateway.providers import load_providers

    try:
        providers = load_providers(home / PROVIDERS).providers
    except BenchError as error:
        return Check("provider keys", False, error.what, error.fix or f"correct {home / PROVIDERS}")
    asked = {provider.name: provider.key_env for provider in providers if provider.key_env}
    there = sorted({f"{variable} ({name})" for name, variable in asked.items() if env.get(variable)})
    absent = sorted({f"{variable} ({name})" for name, variable in asked.items() if not env.get(variable)})
    # The controls and the embedded model ask for no key, so a missing one stops nothing by itself.
    return Check("provider keys", True, f"set: {', '.join(there) or 'none'}; not set: {', '.join(absent) or 'none'}")
