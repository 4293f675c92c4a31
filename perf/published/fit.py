#!/usr/bin/env python3
"""Fits constants of a machine file to a third of the published runs on that machine.

  perf/published/fit.py MACHINE [--program build/release/bin/ziggurat] [--rows 60] [--rounds 8] [--groups A,B] [--dry]

Each constant that is fitted has bounds, which are facts of data sheets (knobs.py), and starts from its value in the file. The search
goes along one constant at a time, in logarithms, with steps that shrink by half when no constant improves the fit. It minimizes the mean of
|log(planned / measured)|, averaged over groups of rows, of which errors above CLIP count as CLIP: a run with a fault of its own does not
bend the rest. A small penalty keeps constants without evidence at their starting values.

The file is rewritten in place with the fitted values; its comments stay.
"""

import argparse
import collections
import math
import pathlib
import statistics
import sys

import compare
import conventions
import knobs
import machine_text
import planner
import published_rows

CLIP = math.log(1.5)
PENALTY = 0.001  # for a constant that is e times its starting value
FIRST_STEP = math.log(1.3)
LAST_STEP = math.log(1.02)


def spread(rows, count):
    """At most `count` rows, evenly over the list."""
    if len(rows) <= count:
        return rows
    return [rows[index * len(rows) // count] for index in range(count)]


class Fit:
    """Rows of a machine, and the cost of a set of constants."""

    def __init__(self, source, machine, rows, knob_list):
        self.source = source
        self.rows = rows
        self.knobs = knob_list
        self.text = planner.machine_path(machine).read_text()
        self.start = [math.log(knob.start(self.text)) for knob in knob_list]
        self.evaluations = 0

    def text_of(self, point):
        figures = {}
        for knob, value in zip(self.knobs, point):
            figures.update(knob.figures(math.exp(value)))
        return machine_text.with_figures(self.text, figures)

    def cost(self, point):
        self.evaluations += 1
        costs = collections.defaultdict(list)
        for row, answer in zip(self.rows, self.source.answers(self.rows, self.text_of(point))):
            if "error" in answer:
                sys.exit(f"{row.id}: {answer['error']}")
            costs[row.group].append(min(abs(math.log(answer["step_s"] / conventions.step_seconds(row))), CLIP))
        moved = sum((value - first) ** 2 for value, first in zip(point, self.start))
        return statistics.mean(map(statistics.mean, costs.values())) + PENALTY * moved


def search(fit, rounds):
    """The best point of a search along single constants."""
    best = [min(max(value, math.log(knob.low)), math.log(knob.high)) for value, knob in zip(fit.start, fit.knobs)]
    cost = fit.cost(best)
    step = FIRST_STEP
    direction = [1] * len(best)
    for number in range(rounds):
        before = cost
        for index, knob in enumerate(fit.knobs):
            for sign in (direction[index], -direction[index]):
                moved = list(best)
                moved[index] = min(max(best[index] + sign * step, math.log(knob.low)), math.log(knob.high))
                tried = fit.cost(moved) if moved != best else cost
                if tried < cost:
                    best, cost, direction[index] = moved, tried, sign
                    break
        print(f"round {number + 1}: cost {cost:.4f} after {fit.evaluations} plans of {len(fit.rows)} rows, step {100 * (math.exp(step) - 1):.0f} %", flush=True)
        if before - cost < 0.01 * before:
            step /= 2
            if step < LAST_STEP:
                break
    return best, cost


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("machine")
    parser.add_argument("--program", type=pathlib.Path, default=published_rows.ROOT / "build" / "release" / "bin" / "ziggurat")
    parser.add_argument("--rows", type=int, default=60, help="largest number of fitted rows of a group")
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--groups", type=lambda text: text.split(","), default=[])
    parser.add_argument("--dry", action="store_true", help="print the fitted file instead of writing it")
    options = parser.parse_args()

    by_group = collections.defaultdict(list)
    for row in compare.planned_rows(options.groups, "", 1):
        if row.machine == options.machine and row.is_fitted:
            by_group[row.group].append(row)
    if not by_group:
        sys.exit(f"no published run on {options.machine}")
    rows = [row for group in by_group.values() for row in spread(group, options.rows)]
    fit = Fit(planner.Planner(options.program), options.machine, rows, knobs.knobs_of(options.machine))
    best, cost = search(fit, options.rounds)
    text = fit.text_of(best)
    for knob, value in zip(fit.knobs, best):
        print(f"{knob.keys[0]}: {machine_text.write_figure(knob.keys[0], math.exp(value))}")
    print(f"cost {cost:.4f}")
    if options.dry:
        print(text)
    else:
        planner.machine_path(options.machine).write_text(text)


if __name__ == "__main__":
    main()
