#!/usr/bin/env python3
"""Times steps with tensor collectives in pieces (overlap.tensor: ring) and whole, over a slow and a fast tensor axis.

  perf/pieces.py --binary build/release/bin/ziggurat [--rounds 3] [--ranks 2]

A small Llama (perf/throttled.yaml) with sequence parallelism on tensor ranks of one thread. debug.throttle.tensor is set so
that the bytes of a step take a third of the time of an unthrottled step, which products fill. A run's time is the median of
its steps but the first three; the settings run in turn, in rounds. Prints a JSON line: `hidden` and `hidden_whole` are the
shares of the collectives' time that do not lengthen the step, in pieces and whole; `cost` is the unthrottled step in pieces
over that with whole collectives. All are medians over the rounds.
"""

import argparse
import json
import statistics
import subprocess
import sys

import training

DECK = "perf/throttled.yaml"
VOCABULARY = 512
SEQUENCE = 512


def settings_of(chosen):
    tokens = training.token_file(4 * SEQUENCE + 1, VOCABULARY)
    return {"data.train": f"[{{format: llmc, path: {tokens}}}]", "data.seq": SEQUENCE, "model.max_seq": SEQUENCE,
            "model.layers": 4, "model.hidden": 512, "model.heads": 8, "model.kv_heads": 8, "model.ffn_hidden": 1536,
            "recompute.kind": "none", "precision.compute": "fp32", "parallel.threads": 1, "parallel.tensor": chosen.ranks,
            "parallel.sequence": "true", "train.global_batch": 4, "train.micro_batch": 4,
            "train.steps": training.FIRST_STEPS + 6}


def overrides(settings):
    return [f"{key}={value}" for key, value in settings.items()]


def seconds_of(chosen, name, **settings):
    keys = {key.replace("_", "."): value for key, value in settings.items()}
    steps = training.step_seconds(chosen.binary, "mpirun --oversubscribe --bind-to none",
                                  training.RESULTS / "runs" / f"pieces_{name}", chosen.ranks, DECK,
                                  overrides(settings_of(chosen) | keys))
    return statistics.median(steps)


def tensor_bytes(chosen):
    """The bytes that a rank sends, and receives, over the tensor axis in a step."""
    done = subprocess.run([chosen.binary, "plan", DECK, "--ranks", str(chosen.ranks), "--json", "--rank", "0",
                           *overrides(settings_of(chosen))], cwd=training.ROOT, capture_output=True, text=True, check=False)
    return sum(row["bytes"] for row in json.loads(done.stdout)["program"]["collectives"] if row["purpose"] == "tensor")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", required=True)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--ranks", type=int, default=2)
    chosen = parser.parse_args()
    moved = tensor_bytes(chosen)
    rounds = []
    for _ in range(chosen.rounds):
        fast = seconds_of(chosen, "whole", overlap_tensor="off")
        fast_pieces = seconds_of(chosen, "ring", overlap_tensor="ring")
        collectives = fast / 3
        slow_axis = {"debug_throttle_tensor": f"{int(moved / collectives)}B/s"}
        slow = seconds_of(chosen, "whole_slow", overlap_tensor="off", **slow_axis)
        slow_pieces = seconds_of(chosen, "ring_slow", overlap_tensor="ring", **slow_axis)
        rounds.append({"hidden": 1 - (slow_pieces - fast) / collectives, "hidden_whole": 1 - (slow - fast) / collectives,
                       "cost": fast_pieces / fast, "seconds": fast})
    print(json.dumps({"measurement": "pieces", "ranks": chosen.ranks, "tensor_B": moved,
                      **{key: statistics.median(of[key] for of in rounds) for key in rounds[0]}}), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
