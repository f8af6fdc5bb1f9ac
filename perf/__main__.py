"""``python -m perf``: every floor, one line each; exit code 1 where one is broken."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict

from perf import gateway, mutations
from perf.machine import Load


def main() -> int:
    """Measure, print, judge."""
    options = argparse.ArgumentParser(prog="perf", description=__doc__)
    options.add_argument("--only", choices=["gateway", "mutations"], help="one part instead of all")
    options.add_argument("--json", action="store_true", help="one JSON document on stdout")
    given = options.parse_args()
    wanted = [given.only] if given.only else ["gateway", "mutations"]
    with Load() as load:
        floors = gateway.measure() if "gateway" in wanted else []
    # Containers are not this process's children: what they use would count as somebody else's.
    floors += mutations.measure() if "mutations" in wanted else []
    if given.json:
        found = {"foreign_load": round(load.foreign, 3), "floors": [{**asdict(f), "ok": f.ok} for f in floors]}
        sys.stdout.write(json.dumps(found, indent=2) + "\n")
    else:
        for floor in floors:
            sys.stdout.write(floor.words() + "\n")
        sys.stdout.write(f"other programs used {load.foreign:.0%} of this machine meanwhile\n")
    if load.foreign > load.TOLERATED and not all(floor.ok for floor in floors):
        sys.stderr.write("this machine was busy with other things: measure again when it is quiet\n")
    return 0 if all(floor.ok for floor in floors) else 1


if __name__ == "__main__":
    sys.exit(main())
