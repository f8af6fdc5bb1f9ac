"""A check whose every input is the same is made once in a proof, whoever asks for it."""

from __future__ import annotations

import hashlib
import threading
from concurrent.futures import Future
from dataclasses import replace

from runner.lab.check import Check, CheckResult, Place
from runner.repo import Mirror, blob_id

Key = tuple[str, str]


class Memo:
    """A place for checks that answers from what it has seen. For several threads.

    Two checks are the same when all that they ask is, ``repeat`` included, and the content of the tree, file by file,
    after all overlays. What timed out or ran out of memory is never taken for an answer to the next question.
    """

    def __init__(self, mirror: Mirror, place: Place) -> None:
        self._mirror, self._place = mirror, place
        self._guard = threading.Lock()
        self._known: dict[Key, Future[CheckResult]] = {}

    def run(self, check: Check) -> CheckResult:
        """As the place behind it. Raises what that raises; an error is not remembered."""
        key = self._key(check)
        with self._guard:
            future = self._known.get(key)
            mine = future is None
            if future is None:
                future = self._known[key] = Future()
        if not mine:
            return future.result()
        try:
            result = self._place(check)
        except BaseException as error:
            self._forget(key)
            future.set_exception(error)
            raise
        if result.timed_out or result.oom:
            self._forget(key)
        future.set_result(result)
        return result

    def _forget(self, key: Key) -> None:
        with self._guard:
            del self._known[key]

    def _key(self, check: Check) -> Key:
        return repr(replace(check, commit="", overlay=None, output=None)), self._content(check)

    def _content(self, check: Check) -> str:
        files = {f.path: (f.mode, f.blob) for f in self._mirror.tree(check.commit)}
        for path, laid in (check.overlay or {}).items():
            if laid is None:
                files.pop(path, None)
            else:
                files[path] = (laid[0], blob_id(laid[1]))
        digest = hashlib.sha256()
        for path, (mode, blob) in sorted(files.items()):
            digest.update(b"%s %s %s\0" % (mode.encode(), blob.encode(), path))
        return digest.hexdigest()
