#!/usr/bin/env python3
"""Times steps of two ranks that share sequences (context) with two ranks that have their own (data).

  perf/context.py --binary build/release/bin/ziggurat [--rounds 3] [--sequence 8192]

A small Llama (perf/throttled.yaml) on two ranks of one thread, two sequences a step in micro-batches of one. A run's time is
the median of its steps but the first three; the two layouts run in turn, in rounds, and the median is taken over the ratios
of the rounds. Prints JSON lines: `ratio` is the speed with context ranks over that with data ranks, and `activations_B`
the activations that a rank saves, by context degree (from `check --json`).
"""

import argparse
import json
import statistics
import subprocess
import sys

import training

DECK = "perf/throttled.yaml"
VOCABULARY = 512
LAYOUTS = {"context": 2, "data": 1}


def settings_of(chosen, context):
    tokens = training.token_file(2 * chosen.sequence + 1, VOCABULARY)
    return {"data.train": f"[{{format: llmc, path: {tokens}}}]", "data.seq": chosen.sequence, "model.max_seq": chosen.sequence,
            "model.layers": 3, "recompute.kind": "none", "parallel.threads": 1, "parallel.context": context,
            "train.global_batch": 2, "train.micro_batch": 1}


def overrides(settings):
    return [f"{key}={value}" for key, value in settings.items()]


def seconds_of(chosen, layout):
    settings = settings_of(chosen, LAYOUTS[layout]) | {"train.steps": training.FIRST_STEPS + 4}
    steps = training.step_seconds(chosen.binary, "mpirun --oversubscribe --bind-to none",
                                  training.RESULTS / "runs" / f"context_{layout}", 2, DECK, overrides(settings))
    return statistics.median(steps)


def saved_bytes(chosen, context):
    """The activations that a rank saves, as the memory table has them."""
    done = subprocess.run([chosen.binary, "check", DECK, "--ranks", str(context), "--machine", "cpu-64", "--json",
                           *overrides(settings_of(chosen, context))],
                          cwd=training.ROOT, capture_output=True, text=True, check=False)
    memory = json.loads(done.stdout)["memory"]
    return next(row["device_B"] for row in memory["consumers"] if row["consumer"] == "activations")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", required=True)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--sequence", type=int, default=8192)
    chosen = parser.parse_args()
    rounds = [{layout: seconds_of(chosen, layout) for layout in LAYOUTS} for _ in range(chosen.rounds)]
    print(json.dumps({"measurement": "context", "figure": "speed", "sequence": chosen.sequence,
                      "ratio": statistics.median(of["data"] / of["context"] for of in rounds),
                      "seconds": {layout: statistics.median(of[layout] for of in rounds) for layout in LAYOUTS}}), flush=True)
    print(json.dumps({"measurement": "context", "figure": "memory", "sequence": chosen.sequence,
                      "activations_B": {str(context): saved_bytes(chosen, context) for context in (1, 2, 4)}}), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
