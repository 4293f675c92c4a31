#!/usr/bin/env python3
"""Times `ziggurat check` of the shipped decks with two programs, in turns, and prints the ratio for each deck.

  perf/check_speed.py BASE PROGRAM [--rounds 5] [--decks TEXT]

The commands are those in the first lines of decks/*.yaml and decks/systems/*.yaml ("# check: ..."). A round runs each command
with both programs, one after the other; times are the minimum of the rounds, with the start of the program. Each program reads
the decks of its own checkout if it lies in one (PROGRAM/../../../../decks), so decks may differ; a deck that one of them lacks is left
out. Totals: sum, median and worst ratio.
"""

import argparse
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
HEADER = re.compile(r"^# check: ziggurat (check (\S+) --ranks \d+ --machine \S+)$", re.MULTILINE)


def commands():
    """Names and arguments of the decks."""
    found = {}
    for deck in [*sorted(ROOT.glob("decks/*.yaml")), *sorted(ROOT.glob("decks/systems/*.yaml"))]:
        match = HEADER.search(deck.read_text())
        if match:
            found[match[2].removeprefix("decks/").removesuffix(".yaml")] = match[1].split()
    return found


def checkout_of(program):
    for folder in program.parents:
        if (folder / "decks" / "systems").is_dir():
            return folder
    return ROOT


def seconds(program, arguments, home):
    environment = {**os.environ, "HOME": home}  # without a machine file or measured peaks
    begin = time.perf_counter()
    done = subprocess.run([program, *arguments], cwd=checkout_of(program), env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    elapsed = time.perf_counter() - begin
    if done.returncode != 0:
        sys.exit(f"check_speed.py: {program} {' '.join(arguments)}: exit code {done.returncode}: {done.stderr.decode()}")
    return elapsed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("base", type=pathlib.Path)
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--decks", default="", help="only decks whose names contain this text")
    chosen = parser.parse_args()
    programs = [chosen.base.resolve(), chosen.program.resolve()]
    wanted = {name: arguments for name, arguments in commands().items() if chosen.decks in name}
    missing = [name for name, arguments in wanted.items() if not all((checkout_of(program) / arguments[1]).exists() for program in programs)]
    for name in missing:
        print(f"left out, not in both checkouts: {name}")
        del wanted[name]
    if not wanted:
        sys.exit(f"check_speed.py: no deck's name contains '{chosen.decks}'")
    times = {name: [float("inf"), float("inf")] for name in wanted}
    with tempfile.TemporaryDirectory() as home:
        for _ in range(chosen.rounds):
            for name, arguments in wanted.items():
                for i, program in enumerate(programs):
                    times[name][i] = min(times[name][i], seconds(program, arguments, home))
    print("| deck | base, s | now, s | ratio |\n| --- | --- | --- | --- |")
    for name, (base, now) in sorted(times.items(), key=lambda entry: -entry[1][0]):
        print(f"| {name} | {base:.3f} | {now:.3f} | {now / base:.2f} |")
    ratios = [now / base for base, now in times.values()]
    sums = [sum(pair[i] for pair in times.values()) for i in range(2)]
    print(f"| all | {sums[0]:.3f} | {sums[1]:.3f} | {sums[1] / sums[0]:.2f} |")
    print(f"\nmedian ratio {statistics.median(ratios):.2f}, worst {max(ratios):.2f}, minimum of {chosen.rounds} rounds")


if __name__ == "__main__":
    main()
