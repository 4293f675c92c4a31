#!/usr/bin/env python3
"""Runs four stages whose layers all take as long, and prints what stages wait for each other as a share of what one
computes, as traced, beside the theory.

  perf/bubble.py [--schedules gpipe,1f1b,zero_bubble,zero_bubble_v,zero_bubble_v_half,interleaved,pipedream]

Source: Narayanan et al., "Efficient Large-Scale Language Model Training on GPU Clusters Using Megatron-LM", 2021,
section 2.2: (p - 1) / m with p stages and m micro-batches, (p - 1) / (v m) with v chunks a stage. Qi et al., "Zero Bubble
Pipeline Parallelism", 2023, table 2: (p - 1)(F + B - W), a third of 1F1B's if forward and the halves of backward take as long;
zero_bubble_v waits only for the first forward of half of the layers.

Layers sleep for most of their time (debug.throttle, perf/bubble.yaml), so that four ranks need hardly a core. A step lasts
from the begin of its first layer to the end of its last one, on whichever stages; the first step is not counted. Steps of
pipedream overlap: each stage is compared with itself, between the start and the end, and no stage should wait.
Results go to build/perf/bubble.jsonl. Exit code 1: a bubble is off by more than 5 % of itself, or
a stage of pipedream waits for more than 5 % of its time.
"""

import argparse
import json
import re
import shutil
import statistics
import subprocess
import sys

import training

STAGES = 4
MICROBATCHES = 8
SCHEDULES = {  # the divisor of the bubble, and the deck's keys
    "gpipe": (1, {"parallel.pipeline.schedule": "gpipe"}),
    "1f1b": (1, {"parallel.pipeline.schedule": "1f1b"}),
    "zero_bubble": (3, {"parallel.pipeline.schedule": "zero_bubble"}),
    "zero_bubble_v": (6, {"parallel.pipeline.schedule": "zero_bubble_v",
                          "parallel.pipeline.each": "[" + ", ".join(["{layers: [1, 1]}"] * STAGES) + "]"}),
    # Of 7 slots of a chunk, where 1F1B waits for 18 (unit/schedule/pipeline_order).
    "zero_bubble_v_half": (18 / 7, {"parallel.pipeline.schedule": "zero_bubble_v_half",
                                    "parallel.pipeline.each": "[" + ", ".join(["{layers: [1, 1]}"] * STAGES) + "]"}),
    "interleaved": (2, {"parallel.pipeline.schedule": "interleaved", "parallel.pipeline.chunks_per_stage": 2,
                        "parallel.pipeline.each": "[" + ", ".join(["{layers: [1, 1]}"] * STAGES) + "]"}),
    "pipedream": (None, {"parallel.pipeline.schedule": "pipedream", "optimizer.clip.policy": "off", "train.steps": 8}),
}
FULL_STEPS = range(2, 7)  # from 0: between the start of a pipeline without a flush and its end
MOST_OFF = 0.05
OP_OF_LAYER = re.compile(r"layers\.\d+\.")


def passes_of(path):
    """The begin, end and step of each op of a layer that a rank has computed, in microseconds."""
    events = json.loads(path.read_text())["traceEvents"]
    lanes = {event["tid"] for event in events if event["ph"] == "M"
             and event["args"]["name"] in ("compute", "compute (concurrent)")}  # what overlaps a note of a wait has a row of its own
    return [(event["ts"], event["ts"] + event["dur"], event["args"]["step"]) for event in events
            if event["ph"] == "X" and event["cat"] == "work" and event["tid"] in lanes
            and OP_OF_LAYER.match(event["name"])]


def bubble_of(directory):
    """The median over steps."""
    ranks = [passes_of(directory / f"trace.rank{rank:04}.json") for rank in range(STAGES)]
    found = []
    for step in sorted({step for rank in ranks for _, _, step in rank})[1:]:
        ops = [[(begin, end) for begin, end, of in rank if of == step] for rank in ranks]
        seconds = max(end for rank in ops for _, end in rank) - min(begin for rank in ops for begin, _ in rank)
        computed = statistics.mean(sum(end - begin for begin, end in rank) for rank in ops)
        found.append((seconds - computed) / computed)
    return statistics.median(found)


def idle_share(directory):
    """What the stage that waits longest waits without a flush, as a share of what it computes."""
    shares = []
    for rank in range(STAGES):
        ops = [(begin, end) for begin, end, step in passes_of(directory / f"trace.rank{rank:04}.json")
               if step in FULL_STEPS]
        computed = sum(end - begin for begin, end in ops)
        shares.append((max(end for _, end in ops) - min(begin for begin, _ in ops) - computed) / computed)
    return max(shares)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default=str(training.ROOT / "build/release/bin/ziggurat"))
    parser.add_argument("--schedules", default=",".join(SCHEDULES))
    chosen = parser.parse_args()
    schedules = chosen.schedules.split(",")
    if unknown := set(schedules) - set(SCHEDULES):
        parser.error(f"no schedule is called {', '.join(sorted(unknown))} ({', '.join(SCHEDULES)} are).")

    training.RESULTS.mkdir(parents=True, exist_ok=True)
    worst = 0
    with open(training.RESULTS / "bubble.jsonl", "w") as log:
        for schedule in schedules:
            parts, settings = SCHEDULES[schedule]
            directory = training.RESULTS / "runs" / f"bubble-{schedule}"
            shutil.rmtree(directory, ignore_errors=True)
            settings = settings | {"run.dir": directory,
                                   "data.train": f"[{{format: text, path: {training.ROOT / 'README.md'}}}]"}
            command = ["mpirun", "-n", str(STAGES), "--oversubscribe", "--bind-to", "none", chosen.binary, "train",
                       str(training.ROOT / "perf" / "bubble.yaml"),
                       *(f"{key}={value}" for key, value in settings.items())]
            done = subprocess.run(command, cwd=training.ROOT, env=training.environment(1), capture_output=True, text=True)
            if done.returncode != 0:
                raise training.TrainingFailed(f"'{' '.join(command)}' ended with exit code {done.returncode}:\n"
                                              f"{done.stdout[-2000:]}{done.stderr[-2000:]}")
            measured = bubble_of(directory) if parts else idle_share(directory)
            theory = (STAGES - 1) / (parts * MICROBATCHES) if parts else 0
            off = measured / theory - 1 if parts else measured
            worst = max(worst, abs(off))
            log.write(json.dumps({"measurement": "bubble", "schedule": schedule, "bubble": measured, "theory": theory,
                                  "off": abs(off)}) + "\n")
            print(f"{schedule}: {measured:.4f}, theory {theory:.4f} ({100 * off:+.1f} %)", flush=True)
    return 1 if worst > MOST_OFF else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except training.TrainingFailed as problem:
        sys.exit(f"bubble: {problem}")
