"""courier-api's criterion: whatever the service answers fails its case; it never leaves the criterion unmeasured."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

# As the user that runs the test, whoever that is: other users may not see its folder.
AS_IS = "import os, runpy, sys; os.geteuid = lambda: 1; sys.path.insert(0, sys.argv[1]); sys.argv[:2] = ['run.py'];" \
    " runpy.run_path(sys.path[0] + '/run.py', run_name='__main__')"
CRITERION = Path(__file__).parents[3] / "registry" / "courier-api" / "criterion"

# A service that answers everything alike.
NODE = """#!{python}
import http.server, os
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = {body!r} if self.path != "/healthz" else b"true"
        self.send_response(201 if self.command == "POST" else 200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    do_POST = do_GET
    def log_message(self, *words): pass
http.server.ThreadingHTTPServer(("127.0.0.1", int(os.environ["PORT"])), Handler).serve_forever()
"""


@pytest.mark.parametrize(
    "body",
    [b"{}", b"[]", b"null", b"7", b"\xff", b"", b"[" * 200_000, b'{"changes": 1, "cursor": 2, "more": {}}',
     b'{"deliveries": null, "cursor": [1e999]}'],
    ids=["object", "list", "null", "number", "bytes", "empty", "deep", "shape", "half"],
)  # fmt: skip
def test_an_odd_answer_fails_the_case(tmp_path: Path, body: bytes) -> None:
    node = tmp_path / "node"
    node.write_text(NODE.format(python=sys.executable, body=body))
    node.chmod(0o755)
    done = subprocess.run(
        [sys.executable, "-B", "-c", AS_IS, str(CRITERION), "--repo", str(tmp_path), "--out", str(tmp_path),
         "--only", "changes.restart"],
        capture_output=True, text=True, timeout=120, env={"PATH": f"{tmp_path}:{os.environ['PATH']}"},
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    report = (tmp_path / "criterion.xml").read_text()
    assert "<failure" in report
    assert "does not start" not in report
