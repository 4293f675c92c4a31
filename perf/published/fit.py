#!/usr/bin/env python3
"""Fits constants of a machine file to a third of the published runs on that machine.

  perf/published/fit.py MACHINE [--program build/release/bin/ziggurat] [--rows 60] [--rounds 4] [--groups A,B] [--dry]

Each constant that is fitted has bounds, which are facts of data sheets (knobs.py), and starts from its value in the file. The search works in
logarithms of constants and minimizes the mean of |log(planned / measured)|, averaged over groups of rows. Each round takes the derivatives
of all planned times by differences and solves a weighted linear problem, in which a row counts inversely to its error (iteratively
reweighted least squares). A row whose error is above CLIP counts less: a run with a fault of its own does not bend the rest. A penalty keeps
constants without evidence at their values of the round before.

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

CLIP = math.log(1.4)
SHARP = 0.02  # errors below this count equally
DIFFERENCE = math.log(1.15)
LONGEST = math.log(2)  # largest change of a constant in a round
PENALTY = 0.02
STEPS = (1, 0.5, 0.25)


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

    def errors(self, point):
        """log(planned / measured) of each row."""
        self.evaluations += 1
        found = []
        for row, answer in zip(self.rows, self.source.answers(self.rows, self.text_of(point))):
            if "error" in answer:
                sys.exit(f"{row.id}: {answer['error']}")
            found.append(math.log(answer["step_s"] / conventions.step_seconds(row)))
        return found

    def cost(self, errors):
        costs = collections.defaultdict(list)
        for row, error in zip(self.rows, errors):
            costs[row.group].append(min(abs(error), CLIP))
        return statistics.mean(map(statistics.mean, costs.values()))

    def weights(self, errors):
        """Weights with which squares of errors are their absolute values, with the same sum for each group."""
        sizes = collections.Counter(row.group for row in self.rows)
        return [1 / (sizes[row.group] * max(abs(error), SHARP)) * (CLIP / abs(error) if abs(error) > CLIP else 1)
                for row, error in zip(self.rows, errors)]

    def bounded(self, point):
        return [min(max(value, math.log(knob.low)), math.log(knob.high)) for value, knob in zip(point, self.knobs)]


def solve(matrix, vector):
    """Solves a small symmetric positive definite system by elimination."""
    size = len(vector)
    rows = [list(row) + [value] for row, value in zip(matrix, vector)]
    for at in range(size):
        pivot = max(range(at, size), key=lambda index: abs(rows[index][at]))
        rows[at], rows[pivot] = rows[pivot], rows[at]
        for below in range(at + 1, size):
            factor = rows[below][at] / rows[at][at]
            rows[below] = [value - factor * above for value, above in zip(rows[below], rows[at])]
    found = [0.0] * size
    for at in reversed(range(size)):
        found[at] = (rows[at][size] - sum(rows[at][right] * found[right] for right in range(at + 1, size))) / rows[at][at]
    return found


def derivatives(fit, point, errors):
    """For each constant, the derivative of each row's error."""
    columns = []
    for index, knob in enumerate(fit.knobs):
        moved = list(point)
        moved[index] += DIFFERENCE if point[index] + DIFFERENCE <= math.log(knob.high) else -DIFFERENCE
        columns.append([(after - before) / (moved[index] - point[index]) for after, before in zip(fit.errors(moved), errors)])
    return columns


def best_move(fit, point, errors, columns):
    """The bounded change of constants that the linear model favours; a constant that meets a bound is held there and the rest solved again."""
    weights = fit.weights(errors)
    free = list(range(len(point)))
    move = [0.0] * len(point)
    while free:
        shifted = [error + sum(columns[index][row] * move[index] for index in range(len(point)) if index not in free)
                   for row, error in enumerate(errors)]
        matrix = [[sum(weight * a * b for weight, a, b in zip(weights, columns[i], columns[j])) + (PENALTY if i == j else 0) for j in free] for i in free]
        vector = [-sum(weight * a * error for weight, a, error in zip(weights, columns[i], shifted)) for i in free]
        outside = []
        for index, change in zip(free, solve(matrix, vector)):
            knob = fit.knobs[index]
            lowest = max(math.log(knob.low) - point[index], -LONGEST)
            highest = min(math.log(knob.high) - point[index], LONGEST)
            move[index] = min(max(change, lowest), highest)
            if move[index] != change:
                outside.append(index)
        if not outside:
            break
        free = [index for index in free if index not in outside]
    return move


def search(fit, rounds):
    """The best point that is found, and its cost."""
    best = fit.bounded(fit.start)
    errors = fit.errors(best)
    cost = fit.cost(errors)
    print(f"start: cost {cost:.4f}", flush=True)
    for number in range(rounds):
        move = best_move(fit, best, errors, derivatives(fit, best, errors))
        for step in STEPS:
            point = [value + step * change for value, change in zip(best, move)]
            tried = fit.errors(point)
            if fit.cost(tried) < cost:
                break
        else:
            break
        gain = cost - fit.cost(tried)
        best, errors, cost = point, tried, fit.cost(tried)
        print(f"round {number + 1}: cost {cost:.4f} after {fit.evaluations} plans of {len(fit.rows)} rows", flush=True)
        if gain < 0.01 * cost:
            break
    return best, cost


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("machine")
    parser.add_argument("--program", type=pathlib.Path, default=published_rows.ROOT / "build" / "release" / "bin" / "ziggurat")
    parser.add_argument("--rows", type=int, default=60, help="largest number of fitted rows of a group")
    parser.add_argument("--rounds", type=int, default=4)
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
