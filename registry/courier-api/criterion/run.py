# courier-api-canary-5b0d1f0e-7c55-4e0a-9a4e-2d6b7c1f93a8
"""Does a delivery change reach every board exactly once? Black-box, on a fresh server and database.

    python3 -B run.py [--repo /work/repo] [--out /out] [--only CASE]

Writes criterion.json (case -> verdict: no times, no paths), criterion.xml (JUnit) and board.png.
Exit 0: every case passed; 1: at least one failed; 3: the check itself could not be carried out.
Whatever the branch answers fails its case at most: it cannot make the check end early.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path
from xml.etree import ElementTree

from cases import CASES
from client import Broken
from server import RigError, Server
from stage import Stage

SERVER_UID = 1000
BROWSER_UID = 1001
# What answers of another shape than the acceptance criteria ask for end in, wherever they are read.
ODD_ANSWERS = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--repo", type=Path, default=Path("/work/repo"))
    parser.add_argument("--out", type=Path, default=Path("/out"))
    parser.add_argument("--only", action="append", choices=sorted(CASES))
    options = parser.parse_args()
    root = os.geteuid() == 0
    server = Server(options.repo, SERVER_UID if root else None)
    stage = Stage(server, options.out, server.uid, BROWSER_UID if root else None)
    chosen = {name: case for name, case in CASES.items() if not options.only or name in options.only}
    results: list[tuple[str, str, float]] = []
    try:
        for name, case in chosen.items():
            began = time.monotonic()
            message = ""
            try:
                if not server.alive() and not server.start():
                    raise Broken("the server does not start")
                case(stage)
            except Broken as error:
                message = str(error) or "failed"
            except ODD_ANSWERS as error:
                message = f"an answer cannot be used: {type(error).__name__}"
            seconds = time.monotonic() - began
            print(f"{'FAIL' if message else 'ok  '} {name} {seconds:.1f}s {message}", flush=True)
            results.append((name, message, seconds))
    except RigError as error:
        print(f"rig: {error}", file=sys.stderr)
        return 3
    finally:
        server.stop()
        sys.stderr.buffer.write(bytes(server.log))
    report(options.out, results)
    return 1 if any(message for _, message, _ in results) else 0


def report(out: Path, results: list[tuple[str, str, float]]) -> None:
    verdicts = {name: "failed" if message else "passed" for name, message, _ in results}
    failed = sum(verdict == "failed" for verdict in verdicts.values())
    summary = {
        "schema": "courier-criterion/v1",
        "success": failed == 0,
        "passed": len(results) - failed,
        "total": len(results),
        "cases": verdicts,
    }
    (out / "criterion.json").write_text(json.dumps(summary, indent=2, sort_keys=True) + "\n")
    suite = ElementTree.Element("testsuite", name="criterion", tests=str(len(results)), failures=str(failed))
    for name, message, seconds in results:
        case = ElementTree.SubElement(
            suite, "testcase", classname="criterion", name=name, time=f"{seconds:.3f}"
        )
        if message:
            ElementTree.SubElement(case, "failure", message=message)
    ElementTree.ElementTree(suite).write(out / "criterion.xml", encoding="utf-8", xml_declaration=True)


if __name__ == "__main__":
    sys.exit(main())
