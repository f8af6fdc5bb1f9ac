"""courier-api's criterion: a page that takes the browser down fails its case; a browser that never worked is the rig."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

CRITERION = Path(__file__).parents[3] / "registry" / "courier-api" / "criterion"

# Speaks the debugging pipe of a browser; what it does with a page of the branch is told by that page's address.
CHROMIUM = """#!{python}
import json, os, sys, time
if os.path.exists("broken-machine") and os.path.exists("opened"):
    sys.exit(1)
pending, page = b"", ""
while True:
    chunk = os.read(3, 65536)
    if not chunk:
        break
    pending += chunk
    while b"\\0" in pending:
        line, pending = pending.split(b"\\0", 1)
        asked = json.loads(line)
        result = {{"targetId": "t", "sessionId": "s", "result": {{"value": 2}}}}
        if asked["method"] == "Page.navigate":
            page = asked["params"]["url"]
            open("opened", "w").close()
        if page.endswith("/crash"):
            sys.exit(1)
        if page.endswith("/hang") and asked["method"] == "Runtime.evaluate":
            time.sleep(60)
        answer = {{"id": asked["id"], "result": result}}
        if page.endswith("/refuse") and asked["method"] == "Runtime.evaluate":
            answer = {{"id": asked["id"], "error": {{"message": "gone"}}}}
        os.write(4, json.dumps(answer).encode() + b"\\0")
"""
DRIVE = """
import sys
sys.path.insert(0, sys.argv[1])
import browser
from client import Broken
from server import RigError
send = browser.Browser._ask
browser.Browser._ask = lambda self, method, params, seconds: send(self, method, params, min(seconds, 3.0))
try:
    with browser.Browser(None) as page:
        page.open(sys.argv[2])
        print("evaluated", page.evaluate("1 + 1"))
except Broken as error:
    print("broken:", error)
except RigError as error:
    print("rig:", error)
"""


@pytest.mark.parametrize(
    ("page", "machine", "said"),
    [
        ("/fine", "sound", "evaluated 2"),
        ("/crash", "sound", "broken: with the page open, the browser ended"),
        ("/hang", "sound", "broken: with the page open, the browser did not answer Runtime.evaluate"),
        ("/refuse", "sound", "broken: with the page open, the browser refused Runtime.evaluate: gone"),
        ("/crash", "broken", "rig: the browser ended"),
    ],
)
def test_whose_doing_it_is(tmp_path: Path, page: str, machine: str, said: str) -> None:
    browser = tmp_path / "chromium-headless-shell"
    browser.write_text(CHROMIUM.format(python=sys.executable))
    browser.chmod(0o755)
    if machine == "broken":
        (tmp_path / "broken-machine").touch()
    done = subprocess.run(
        [sys.executable, "-c", DRIVE, str(CRITERION), f"http://127.0.0.1:1{page}"],
        capture_output=True, text=True, timeout=60, cwd=tmp_path,
        env={"PATH": f"{tmp_path}:{os.environ['PATH']}", "PYTHONDONTWRITEBYTECODE": "1"},
    )  # fmt: skip
    assert done.stdout.strip() == said, done.stderr
