#!/usr/bin/env python3
"""Plans the published runs and prints measured and planned step times, and the errors of each group.

  perf/published/compare.py [--program build/release/bin/ziggurat] [--groups dgx-h100,...] [--ids TEXT] [--every N]
                            [--show all|worst|summary] [--table docs/published.md]

A group is split: a third of its rows served to fit the constants of its machine file (fit.py), the rest are predicted. Both are
reported. Exit code 1 if a row that is to be planned cannot be planned, or if a group misses its limit.
"""

import argparse
import collections
import math
import pathlib
import statistics
import sys

import conventions
import planner
import published_rows

# Largest median error of predicted rows, in percent; a group without an entry has that of dense rows.
LIMITS = {"vtrain-single": 8, "vtrain-multi": 14}
LIMIT = 10
WITHOUT_LIMIT = {"nanotron-h100"}  # its rows are the best of many layouts of a program with overheads of its own
WORST = 15  # rows to print with --show worst


class Result:
    """A row with its measured and its planned step time."""

    def __init__(self, row, answer):
        self.row = row
        self.answer = answer
        self.measured = conventions.step_seconds(row)
        self.fault = answer.get("error", "")
        self.planned = math.nan if self.fault else answer["step_s"]
        self.error = 100 * (self.planned / self.measured - 1)


def planned_rows(groups, ids, every):
    rows = [row for row in published_rows.read_rows() if not row.reason]
    if groups:
        rows = [row for row in rows if row.group in groups]
    if ids:
        rows = [row for row in rows if ids in row.id]
    return rows[::every]


def results_of(rows, source):
    """Results in the order of the rows; a machine's rows are planned together."""
    by_machine = collections.defaultdict(list)
    for row in rows:
        by_machine[row.machine].append(row)
    found = {}
    for machine, of_machine in by_machine.items():
        text = planner.machine_path(machine).read_text()
        found.update((row.id, Result(row, answer)) for row, answer in zip(of_machine, source.answers(of_machine, text)))
    return [found[row.id] for row in rows]


def layout_of(row):
    parts = [f"{letter}{degree}" for letter, degree in (("t", row.tensor), ("p", row.pipeline), ("c", row.context), ("d", row.data)) if degree > 1]
    if row.chunks > 1:
        parts.append(f"v{row.chunks}")
    if row.zero:
        parts.append(f"zero {row.zero}")
    return " ".join(parts) or "one GPU"


def line_of(result):
    row = result.row
    cells = [row.id, row.model.name, row.gpus, layout_of(row), f"{row.micro} / {row.batch}", row.seq, row.recompute, f"{result.measured:.4g}"]
    cells += ["-", result.fault.splitlines()[0]] if result.fault else [f"{result.planned:.4g}", f"{result.error:+.1f} %"]
    return "| " + " | ".join(map(str, [*cells, "fitted" if row.is_fitted else ""])) + " |"


HEAD = ["| run | model | GPUs | layout | micro-batch / batch | sequence | recomputation | measured, s | planned, s | error | |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |"]


def summary(results):
    """A line for each group and split, and the groups whose predicted rows miss their limit."""
    lines = ["| rows | fitted: number, median error | predicted: number, median error | largest error of a predicted row | bias of predicted rows | limit |",
             "| --- | --- | --- | --- | --- | --- |"]
    missed = []
    for group in dict.fromkeys(result.row.group for result in results):
        cells = []
        for is_fitted in (True, False):
            errors = [result.error for result in results if result.row.group == group and result.row.is_fitted == is_fitted and not result.fault]
            cells.append(f"{len(errors)}, {statistics.median(map(abs, errors)):.1f} %" if errors else "0")
        limit = LIMITS.get(group, LIMIT)
        worst = max(errors, key=abs, default=math.nan)
        bias = statistics.median(errors) if errors else math.nan
        limited = "" if group in WITHOUT_LIMIT else f"{limit} %"
        lines.append(f"| {group} | {cells[0]} | {cells[1]} | {worst:+.1f} % | {bias:+.1f} % | {limited} |")
        if limited and errors and statistics.median(map(abs, errors)) > limit:
            missed.append(group)
    return lines, missed


def table_text(results):
    """docs/published.md."""
    lines, _ = summary(results)
    text = ["# Published runs and their plans", "",
            "Step times that others have published, and those that `ziggurat plan --time` predicts for their layouts from the machine files",
            "of `decks/machines` and `perf/published/machines`. `perf/published/compare.py --table docs/published.md` makes this file;",
            "`perf/published/README.md` has the sources and conventions. A machine file has constants that were fitted to a third of the rows",
            "of its machine (`perf/published/fit.py`); the other rows are predicted. Errors are those of planned step times, and medians are of",
            "their absolute values. In a layout, t, p, c and d are tensor, pipeline, context and data ranks, and v is the number of chunks per",
            "stage.", "", *lines, ""]
    for group in dict.fromkeys(result.row.group for result in results):
        if group.startswith("vtrain-single"):
            continue
        text += [f"## {group}", "", *HEAD, *(line_of(result) for result in results if result.row.group == group), ""]
    return "\n".join(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=pathlib.Path, default=published_rows.ROOT / "build" / "release" / "bin" / "ziggurat")
    parser.add_argument("--groups", type=lambda text: text.split(","), default=[])
    parser.add_argument("--ids", default="", help="part of the id of rows")
    parser.add_argument("--every", type=int, default=1, help="plan only every Nth row")
    parser.add_argument("--show", choices=["all", "worst", "summary"], default="worst")
    parser.add_argument("--table", type=pathlib.Path, help="file to write with all rows")
    options = parser.parse_args()

    results = results_of(planned_rows(options.groups, options.ids, options.every), planner.Planner(options.program))
    faults = [result for result in results if result.fault]
    lines, missed = summary(results)
    shown = results if options.show == "all" else sorted((r for r in results if not r.fault), key=lambda r: -abs(r.error))[:WORST]
    if options.show != "summary":
        print("\n".join([*HEAD, *map(line_of, shown), ""]))
    print("\n".join(lines))
    for result in faults:
        print(f"{result.row.id}: {result.fault}", file=sys.stderr)
    if options.table:
        options.table.write_text(table_text(results) + published_rows.sections_of_scripts(options.table))
    for group in missed:
        print(f"MISSED: the median error of {group} is above {LIMITS.get(group, LIMIT)} %")
    return bool(faults or missed)


if __name__ == "__main__":
    sys.exit(main())
