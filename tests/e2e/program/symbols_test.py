#!/usr/bin/env python3
"""The program holds nothing of what only tests link.

  symbols_test.py --binary ZIGGURAT --tests-only LIBRARY ... --links-them PROGRAM

Of the functions that the libraries define, PROGRAM, a test, holds some: so they would be found.
"""

import argparse
import subprocess
import sys


def functions(path):
    """Names of the functions of ours that a program or a library defines for others."""
    listed = subprocess.run(["nm", "--defined-only", path], check=True, capture_output=True, text=True).stdout
    lines = [line.split() for line in listed.splitlines()]
    return {line[2] for line in lines if len(line) == 3 and line[1] == "T" and "ziggurat" in line[2]}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--binary", required=True)
    parser.add_argument("--tests-only", nargs="+", required=True)
    parser.add_argument("--links-them", required=True)
    chosen = parser.parse_args()
    of_tests = {name: functions(name) for name in chosen.tests_only}
    everything = set().union(*of_tests.values())
    problems = [f"{name} defines no function" for name, found in of_tests.items() if not found]
    if not everything & functions(chosen.links_them):
        problems.append(f"{chosen.links_them} holds none of them either: this test finds nothing")
    problems += [f"{chosen.binary} holds {name}" for name in sorted(everything & functions(chosen.binary))]
    print("\n".join(problems) or f"none of {len(everything)} functions of tests is in the program")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
