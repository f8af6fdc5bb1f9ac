"""The same question to several models, each alone."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from runner.errors import ProviderError
from runner.gateway.client import Gateway
from runner.gateway.providers import load_providers, providers_file
from runner.scoring.ask import Said, ask

_Read = TypeVar("_Read")


@contextmanager
def answers(
    gateway: Gateway, home: Path, names: Sequence[str], run_id: str, text: str,
    read: Callable[[str, Said | ProviderError], _Read],
) -> Iterator[tuple[list[_Read], list[Path]]]:  # fmt: skip
    """What ``read`` makes of each model's name and answer (or why it gave none), in the order of ``names``; and the
    journals of the requests, which are gone afterwards. ``home``: the registry's folder. Raises UsageError for a name
    that no provider has, ConfigError for a provider that cannot be asked.
    """
    known = load_providers(providers_file(home))
    resolved = [known.resolve(name) for name in names]
    with tempfile.TemporaryDirectory(prefix="bench-panel-") as folder:
        journals = [Path(folder, f"{number}.jsonl") for number in range(1, len(names) + 1)]

        def one(number: int) -> _Read:
            provider, model = resolved[number]
            try:
                said: Said | ProviderError = ask(
                    gateway, f"{run_id}-{number + 1}", provider, model, text, journals[number]
                )
            except ProviderError as error:
                said = error
            return read(names[number], said)

        with ThreadPoolExecutor(len(names)) as pool:
            yield list(pool.map(one, range(len(names)))), [journal for journal in journals if journal.exists()]
