"""python3 tools/verify.py Mnn [--step N]: is this milestone (or this step of it) done?

Exit code 0: yes; 1: no, with one line per thing that is missing; 2: wrong usage.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path


def main(argv: Sequence[str]) -> int:
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
    from tools.milestones import MILESTONES

    parser = argparse.ArgumentParser(prog="tools/verify.py")
    parser.add_argument("milestone", choices=sorted(MILESTONES))
    parser.add_argument("--step", type=int)
    options = parser.parse_args(argv)
    steps = MILESTONES[options.milestone]
    if options.step is not None and not 1 <= options.step <= len(steps):
        parser.error(f"{options.milestone} has the steps 1 to {len(steps)}")
    missing = 0
    for number, (title, check) in enumerate(steps, 1):
        if options.step not in (None, number):
            continue
        problems = check()
        print(f"{options.milestone} step {number}, {title}: {'missing' if problems else 'done'}")
        for problem in problems:
            print(f"  - {problem}")
        missing += bool(problems)
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
