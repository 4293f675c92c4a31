#!/usr/bin/env python3
"""Checks the rows of published runs against themselves; no planner is needed.

  perf/published/check_rows.py

A row must hold its own arithmetic: the layout multiplies to its GPUs, the batch to whole micro-batches, tokens/s agree with
the step time, and the utilisation that its source prints follows from the model's sizes by the source's convention within
1 %. The last check finds wrong sizes of models. Exit code 1 if a row fails.
"""

import sys

import conventions
import published_rows

LIMIT = 0.01


def faults_of(row):
    """Sentences about the row, each a disagreement."""
    if row.model is None:
        return [] if row.reason else ["it has no model but is planned"]
    faults = []
    if row.gpus != row.data * row.tensor * row.pipeline * row.context:
        faults.append(f"{row.gpus} GPUs are not a multiple of {row.tensor} x {row.pipeline} x {row.context}")
    if row.microbatches != int(row.microbatches):
        faults.append(f"a batch of {row.batch} is {row.microbatches:.2f} micro-batches")
    if row.model.heads % row.tensor:
        faults.append(f"{row.model.heads} heads are not a multiple of {row.tensor} tensor ranks")
    measured = conventions.step_seconds(row)
    derived = []
    if row.rate:
        derived.append((f"{row.rate:g} tokens/s", conventions.seconds_of_rate(row)))
    if row.claim and row.convention:
        derived.append((f"a claim of {row.claim:g} ({row.convention})", conventions.seconds_of_claim(row)))
    for name, seconds in derived:
        if abs(seconds / measured - 1) > LIMIT:
            faults.append(f"{name} means {seconds:.4g} s per step, not {measured:.4g} s ({100 * (seconds / measured - 1):+.1f} %)")
    return faults


def main():
    rows = published_rows.read_rows()
    failed = 0
    for row in rows:
        for fault in faults_of(row):
            print(f"{row.id}: {fault}")
            failed += 1
    checked = sum(bool(row.claim and row.convention and row.model) for row in rows)
    print(f"{len(rows)} rows, {sum(not row.reason for row in rows)} planned, {checked} utilisations recomputed, {failed} faults")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
