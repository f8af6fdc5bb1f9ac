"""Command-line words, without argparse: its import costs more than most commands."""

from __future__ import annotations

from stockroom.errors import USAGE, StockError

# `typing` and `collections` cost a third of a short command: only the type checker loads them.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


class Spec:
    """What one command accepts: positional names (a trailing `?` makes one optional)."""

    def __init__(
        self,
        positionals: Sequence[str] = (),
        options: Sequence[str] = (),
        flags: Sequence[str] = (),
    ) -> None:
        self.positionals = positionals
        self.options = options
        self.flags = flags

    def usage(self) -> str:
        words = [f"[{name[:-1]}]" if name.endswith("?") else name for name in self.positionals]
        words += [f"[{name} {name[2:].upper()}]" for name in self.options]
        words += [f"[{name}]" for name in self.flags]
        return " ".join(words)


class Args:
    """The parsed words of one command."""

    def __init__(self, words: dict[str, str], flags: set[str]) -> None:
        self._words = words
        self._flags = flags

    def __getitem__(self, name: str) -> str:
        return self._words[name]

    def get(self, name: str) -> str | None:
        return self._words.get(name)

    def has(self, flag: str) -> bool:
        return flag in self._flags


def parse(spec: Spec, argv: Sequence[str]) -> Args:
    """Match words to the spec; raises a usage StockError for anything left over."""
    words: dict[str, str] = {}
    flags: set[str] = set()
    plain: list[str] = []
    rest = list(argv)
    while rest:
        word = rest.pop(0)
        if word in spec.flags:
            flags.add(word)
        elif word in spec.options:
            if not rest:
                raise StockError(USAGE, f"option {word} needs a value")
            words[word] = rest.pop(0)
        elif word.startswith("--"):
            raise StockError(USAGE, f"unknown option {word}")
        else:
            plain.append(word)
    for name in spec.positionals:
        if plain:
            words[name.rstrip("?")] = plain.pop(0)
        elif not name.endswith("?"):
            raise StockError(USAGE, f"missing {name}")
    if plain:
        raise StockError(USAGE, f"unexpected argument {plain[0]}")
    return Args(words, flags)
