#!/usr/bin/env python3
"""Searches layouts for the rows of nanotron, each the best layout of many that were tried, and compares.

  perf/published/search.py [--program build/release/bin/ziggurat] [--ids TEXT] [--table docs/published.md]

For each row: the planned step time of the published layout, and the layout that `ziggurat plan DECK --search` names, with its
planned time. Exit code 1 if a published layout fits and the search names a slower one.
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys

import compare
import planner
import published_rows

GROUP = "nanotron-h100"
TIMEOUT = 600  # seconds
ROUNDING = 1.001  # the time of a layout may differ by this factor between its own deck and that of the search
HEAD = ["| run | GPUs | published layout | micro-batch | planned, s | layout of the search | planned, s | ratio | |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |"]
FIRST = re.compile(r"^ +1 .*?(tensor \d+, .*)$", re.MULTILINE)


def run(program, *arguments):
    return subprocess.run([program, "plan", *map(str, arguments)], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=TIMEOUT)


def seconds_of(program, deck, row, machine):
    done = run(program, deck, "--ranks", row.gpus, "--machine", machine, "--time", "--json", *row.keys)
    if done.returncode:
        raise RuntimeError(done.stderr.strip())
    return json.loads(done.stdout)["step_s"]


class Found:
    """What the search names for a row."""

    def __init__(self, row, program, source):
        self.row = row
        machine = planner.machine_path(row.machine)
        deck = source.deck_path(row)
        named = deck.with_suffix(".named.yaml")
        self.published = seconds_of(program, deck, row, machine)
        self.fits = run(program, deck, "--ranks", row.gpus, "--machine", machine, *row.keys).returncode == 0
        done = run(program, deck, "--ranks", row.gpus, "--machine", machine, "--search", "--write", named, *row.keys)
        first = FIRST.search(done.stdout)
        if done.returncode or not first:
            raise RuntimeError(f"{row.id}: {done.stderr.strip()}")
        self.layout = first.group(1)
        self.seconds = seconds_of(program, named, row, machine)

    @property
    def ratio(self):
        return self.seconds / self.published

    @property
    def is_missed(self):
        return self.fits and self.ratio > ROUNDING

    def line(self):
        row = self.row
        note = "slower" if self.is_missed else "" if self.fits else "the published one does not fit, as planned"
        cells = [row.id, row.gpus, compare.layout_of(row), row.micro, f"{self.published:.4g}", self.layout, f"{self.seconds:.4g}", f"{self.ratio:.3f}", note]
        return "| " + " | ".join(map(str, cells)) + " |"


def section_text(found):
    return "\n".join([published_rows.SEARCH_SECTION, "",
                      "Each row of nanotron is the best of the layouts that its authors tried on that number of GPUs. `perf/published/search.py` makes",
                      "this table: the planned time of the published layout, and the fastest layout that `ziggurat plan DECK --search` finds to fit. A ratio",
                      "below 1 is a layout that is planned as faster.", "", *HEAD, *(each.line() for each in found), ""])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=pathlib.Path, default=published_rows.ROOT / "build" / "release" / "bin" / "ziggurat")
    parser.add_argument("--ids", default="", help="part of the id of rows")
    parser.add_argument("--table", type=pathlib.Path, help="file whose section is replaced")
    options = parser.parse_args()

    source = planner.Planner(options.program)
    found = []
    print("\n".join(HEAD))
    for row in published_rows.read_rows():
        if row.group == GROUP and options.ids in row.id and not row.reason:
            found.append(Found(row, options.program, source))
            print(found[-1].line(), flush=True)
    if options.table:
        published_rows.replace_section(options.table, published_rows.SEARCH_SECTION, section_text(found))
    return any(each.is_missed for each in found)


if __name__ == "__main__":
    sys.exit(main())
