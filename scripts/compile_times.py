#!/usr/bin/env python3
"""Prints the sources that took longest to compile, and fails if one took longer than a limit.

  scripts/compile_times.py [BUILD] [--limit SECONDS]     BUILD: a build folder (default: build/release)

Ninja's log has the last time of each object. Objects that came from ccache took no time, and a loaded machine takes longer: use
a folder that was built once, without ccache, on an idle machine.
"""

import argparse
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
SHOWN = 20


def times(log):
    """Object -> seconds of its last compilation."""
    found = {}
    for line in log.read_text().splitlines()[1:]:
        begin, end, _, output, _ = line.split("\t")
        if output.endswith(".o"):
            found[output] = (int(end) - int(begin)) / 1000
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", nargs="?", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--limit", type=float, default=float("inf"), help="seconds that one source may take")
    chosen = parser.parse_args()
    found = sorted(times(chosen.build / ".ninja_log").items(), key=lambda entry: -entry[1])
    for output, seconds in found[:SHOWN]:
        print(f"{seconds:6.1f} s  {output}")
    print(f"{sum(seconds for _, seconds in found):6.0f} s  of {len(found)} sources")
    slow = [output for output, seconds in found if seconds > chosen.limit]
    if slow:
        print(f"FAILED: {len(slow)} sources take longer than {chosen.limit:g} s")
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main())
