# courier-api-canary-5b0d1f0e-7c55-4e0a-9a4e-2d6b7c1f93a8
"""Headless Chromium over its debugging pipe: no port, no library."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Any

from client import Broken
from server import RigError, as_user

START_S = 40.0
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    # /dev/shm of a container is small.
    "--disable-dev-shm-usage",
    "--window-size=1100,2200",
    "--remote-debugging-pipe",
)


class Browser:
    """One page in a fresh profile. The process runs as `uid` when given.

    Once a page of the branch is open, a browser that ends or no longer answers is that page's doing, unless another
    one cannot open an empty page either.
    """

    def __init__(self, uid: int | None) -> None:
        self._uid = uid
        self._opened = False
        self._profile = Path(tempfile.mkdtemp(prefix="chromium-"))
        if uid is not None:
            os.chown(self._profile, uid, uid)
        to_read, self._to = os.pipe()
        self._from, from_write = os.pipe()
        binary = shutil.which("chromium-headless-shell")
        if binary is None:
            raise RigError("there is no headless Chromium in this image")
        # Chromium reads commands from descriptor 3 and answers on 4.
        shell = f'exec 3<&{to_read} 4>&{from_write}; exec "$@"'
        env = {"PATH": os.environ["PATH"], "HOME": str(self._profile), "TZ": "UTC", "LC_ALL": "C.UTF-8"}
        self._process = subprocess.Popen(
            ["bash", "-c", shell, "bash", binary, *FLAGS, f"--user-data-dir={self._profile}", "about:blank"],
            pass_fds=(to_read, from_write),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=env,
            start_new_session=True,
            **as_user(uid),  # type: ignore[call-overload]  # Popen's overloads take no mapping
        )
        os.close(to_read)
        os.close(from_write)
        self._pending = b""
        self._number = 0
        self._session: str | None = None

    def __enter__(self) -> Browser:
        target = self._send("Target.createTarget", {"url": "about:blank"}, START_S)["targetId"]
        attached = self._send("Target.attachToTarget", {"targetId": target, "flatten": True}, START_S)
        self._session = attached["sessionId"]
        self._send("Page.enable", {}, START_S)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            os.killpg(self._process.pid, 9)
        except ProcessLookupError:
            pass
        self._process.wait()
        os.close(self._to)
        os.close(self._from)
        shutil.rmtree(self._profile, ignore_errors=True)

    def open(self, url: str) -> None:
        self._opened = True
        if self._send("Page.navigate", {"url": url}, 30.0).get("errorText"):
            raise Broken("the page cannot be opened")

    def evaluate(self, expression: str) -> Any:
        answer = self._send("Runtime.evaluate", {"expression": expression, "returnByValue": True}, 15.0)
        if "exceptionDetails" in answer:
            raise Broken("the page no longer has the board's table")
        return answer["result"].get("value")

    def wait_for(self, expression: str, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if self.evaluate(expression) is True:
                return
            time.sleep(0.1)
        raise Broken("the page does not fill its table")

    def screenshot(self, path: Path) -> None:
        image = self._send("Page.captureScreenshot", {"format": "png"}, 30.0)["data"]
        path.write_bytes(base64.b64decode(image))

    def _send(self, method: str, params: dict[str, Any], seconds: float) -> dict[str, Any]:
        try:
            return self._ask(method, params, seconds)
        except RigError as error:
            if not self._opened:
                raise
            with Browser(self._uid) as sound:
                sound.evaluate("1 + 1")
            raise Broken(f"with the page open, {error}") from error

    def _ask(self, method: str, params: dict[str, Any], seconds: float) -> dict[str, Any]:
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        try:
            os.write(self._to, json.dumps(message).encode() + b"\0")
        except OSError as error:
            raise RigError("the browser ended") from error
        deadline = time.monotonic() + seconds
        while True:
            answer = self._receive(deadline, method)
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise RigError(f"the browser refused {method}: {answer['error'].get('message')}")
                result: dict[str, Any] = answer["result"]
                return result

    def _receive(self, deadline: float, method: str) -> dict[str, Any]:
        while b"\0" not in self._pending:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self._from], [], [], left)[0]:
                raise RigError(f"the browser did not answer {method}")
            chunk = os.read(self._from, 1 << 20)
            if not chunk:
                raise RigError("the browser ended")
            self._pending += chunk
        line, self._pending = self._pending.split(b"\0", 1)
        value: dict[str, Any] = json.loads(line)
        return value
