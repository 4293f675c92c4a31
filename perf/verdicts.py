#!/usr/bin/env python3
"""Reads measurements (JSON lines) and prints a table: figure | measured | bar | verdict.

  perf/verdicts.py FILE...         exit code 1 when a bar is missed, or has no measurement
"""

import json
import sys

MODELS = ("gpt2-124m", "llama-124m")
# measurement, its key, a name for people, and the least value by precision
BARS = [
    ("step", "share_of_floor", "share of the floor's rate", {"f32": 0.95, "bf16": 0.90}),
    ("compare_torch", "ratio", "tokens/s over the faster PyTorch", {"f32": 1.4, "bf16": 1.4}),
]


def rows(records):
    """(figure, best measured value or None, bar) for every bar."""
    for measurement, key, title, bars in BARS:
        for model in MODELS:
            for precision, bar in bars.items():
                values = [r[key] for r in records if r.get("measurement") == measurement and key in r
                          and r["model"] == model and r["precision"] == precision]
                yield f"{model} {precision}: {title}", max(values, default=None), bar


def main(paths):
    records = []
    for path in paths:
        with open(path) as file:
            records += [json.loads(line) for line in file if line.startswith("{")]
    missed = False
    print(f"{'figure':<56} {'measured':>9} {'bar':>8}  verdict")
    for figure, value, bar in rows(records):
        holds = value is not None and value >= bar
        missed |= not holds
        verdict = "holds" if holds else "MISSED" if value is not None else "not measured"
        print(f"{figure:<56} {'-' if value is None else format(value, '9.3f'):>9} {'>= ' + format(bar, '.2f'):>8}  {verdict}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
