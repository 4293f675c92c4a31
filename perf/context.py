#!/usr/bin/env python3
"""Times steps of two ranks that share sequences (context) with two ranks that have their own (data).

  perf/context.py --binary build/release/bin/ziggurat [--rounds 3] [--sequence 8192]
  perf/context.py --binary build/release/bin/ziggurat --long

A small Llama (perf/throttled.yaml) on two ranks of one thread, two sequences a step in micro-batches of one. A run's time is
the median of its steps but the first three; the two layouts run in turn, in rounds, and the median is taken over the ratios
of the rounds. Prints JSON lines: `ratio` is the speed with context ranks over that with data ranks, and `activations_B`
the activations that a rank saves, by context degree (from `check --json`).

`zig_zag` is the attention that each of two ranks of a ring computes, in seconds as traced: blocks r and 2c - 1 - r of a sequence on
rank r (lib/layout/context/context_rows.hpp) give all the same work under a causal mask. Each round is taken at its fastest step.
Bar: at most 3 % between the ranks. More ranks than cores differ by as much as the cores' sharing does.

With --long, trains two steps of one sequence of 131,072 tokens, with a budget of device memory (tiers.device) that one rank does
not keep to (`one rank`, which must end with exit code 3). It must be enough for four ranks that share the sequence (`four
ranks`), and for one rank with MLPs in tiles and the inputs of layers on the host (`tiles and tiers`). Takes about 10 minutes.
"""

import argparse
import json
import re
import shutil
import statistics
import subprocess
import sys
import time

import training

DECK = "perf/throttled.yaml"
VOCABULARY = 512
LAYOUTS = {"context": 2, "data": 1}
ROUND = re.compile(r"layers\.\d+\.attention .*round \d+$")


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


def attention_seconds(chosen):
    """Seconds of the rounds of attention of a step, by rank of two."""
    directory = training.RESULTS / "runs" / "context_zig_zag"
    settings = settings_of(chosen, 2) | {"parallel.context": "{degree: 2, kind: ring}", "run.trace": "true",
                                         "train.steps": training.FIRST_STEPS + 12}
    training.step_seconds(chosen.binary, "mpirun --oversubscribe --bind-to none", directory, 2, DECK, overrides(settings))
    seconds = []
    for rank in range(2):
        fastest = {}
        for event in json.loads((directory / f"trace.rank{rank:04}.json").read_text())["traceEvents"]:
            if event["ph"] == "X" and event["cat"] == "work" and ROUND.match(event["name"]):
                fastest[event["name"]] = min(event["dur"], fastest.get(event["name"], event["dur"]))
        seconds.append(sum(fastest.values()) / 1e6)
    return seconds


LONG = 131072
LONG_RUNS = {"one rank": (1, {}), "four ranks": (4, {"parallel.context": 4}),
             "tiles and tiers": (1, {"tiers.sequence_tiles": 32, "tiers.home.activations": "host"})}


def long_command(chosen, name, action, more):
    """The command line for one of LONG_RUNS; `action` is check or train."""
    ranks, settings = LONG_RUNS[name]
    tokens = training.token_file(2 * LONG + 1, VOCABULARY)
    settings = {"data.train": f"[{{format: llmc, path: {tokens}}}]", "data.seq": LONG, "model.max_seq": LONG, "model.layers": 2,
                "model.hidden": 32, "model.ffn_hidden": 1024, "train.global_batch": 1, "train.micro_batch": 1,
                "train.steps": 2, "parallel.threads": 1} | settings | more
    if action == "check":
        return [chosen.binary, "check", DECK, "--json", "--ranks", str(ranks), "--machine", "cpu-64", *overrides(settings)]
    folder = training.RESULTS / "runs" / f"long_{name.replace(' ', '_')}"
    shutil.rmtree(folder, ignore_errors=True)
    return ["mpirun", "--oversubscribe", "--bind-to", "none", "-q", "-n", str(ranks), chosen.binary, "train", DECK,
            f"run.dir={folder}", *overrides(settings)]


def device_bytes(chosen, name):
    done = subprocess.run(long_command(chosen, name, "check", {}), cwd=training.ROOT, capture_output=True, text=True, check=False)
    return json.loads(done.stdout)["memory"]["needed"]["device_B"]


def train_long(chosen):
    """Prints the planned device memory of each run, and how it ended within the budget."""
    planned = {name: device_bytes(chosen, name) for name in LONG_RUNS}
    budget = int(1.02 * max(planned["four ranks"], planned["tiles and tiers"]))
    ended = {}
    for name in LONG_RUNS:
        begin = time.monotonic()
        done = subprocess.run(long_command(chosen, name, "train", {"tiers.device": f"{budget}B"}), cwd=training.ROOT,
                              env=training.environment(1) | {"OMP_WAIT_POLICY": "passive"}, capture_output=True, text=True,
                              stdin=subprocess.DEVNULL)
        ended[name] = {"exit_code": done.returncode, "seconds": round(time.monotonic() - begin, 1)}
    holds = [run["exit_code"] for run in ended.values()] == [3, 0, 0]
    print(json.dumps({"measurement": "context", "figure": "long", "sequence": LONG, "budget_B": budget, "planned_B": planned,
                      "ended": ended, "holds": holds}), flush=True)
    return 0 if holds else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", required=True)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--sequence", type=int, default=8192)
    parser.add_argument("--long", action="store_true")
    chosen = parser.parse_args()
    if chosen.long:
        return train_long(chosen)
    rounds = [{layout: seconds_of(chosen, layout) for layout in LAYOUTS} for _ in range(chosen.rounds)]
    print(json.dumps({"measurement": "context", "figure": "speed", "sequence": chosen.sequence,
                      "ratio": statistics.median(of["data"] / of["context"] for of in rounds),
                      "seconds": {layout: statistics.median(of[layout] for of in rounds) for layout in LAYOUTS}}), flush=True)
    print(json.dumps({"measurement": "context", "figure": "memory", "sequence": chosen.sequence,
                      "activations_B": {str(context): saved_bytes(chosen, context) for context in (1, 2, 4)}}), flush=True)
    seconds = attention_seconds(chosen)
    print(json.dumps({"measurement": "context", "figure": "zig_zag", "sequence": chosen.sequence, "seconds": seconds,
                      "spread": max(seconds) / min(seconds) - 1}), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
