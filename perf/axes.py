#!/usr/bin/env python3
"""Times two ranks that share a model in different ways, in turn, and prints tokens per second over those of two data
ranks.

  perf/axes.py [--rounds 3] [--only tensor,pipeline]

  tensor     tensor 2 with sequence parallelism
  pipeline   two stages, 1F1B, eight micro-batches: of which one in nine passes finds the other stage without work

GPT-2 124M, sequence 1024, eight sequences of one each a step, bf16, one thread a rank (perf/sharding.yaml). A round
runs each way once, each alone, and its least step counts; a ratio is the median of those of the rounds. Results go to
build/perf/axes.jsonl.
"""

import argparse
import json
import statistics
import sys

import training

WAYS = {
    "data": {},
    "tensor": {"parallel.tensor": 2, "parallel.sequence": "true"},
    "pipeline": {"parallel.pipeline": "{stages: 2, schedule: 1f1b}"},
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default=str(training.ROOT / "build/release/bin/ziggurat"))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=5, help="of each training; the first two are not counted")
    parser.add_argument("--only", default="tensor,pipeline")
    chosen = parser.parse_args()
    figures = chosen.only.split(",")
    if unknown := set(figures) - {"tensor", "pipeline"}:
        parser.error(f"no figure is called {', '.join(sorted(unknown))} (tensor and pipeline are).")

    training.RESULTS.mkdir(parents=True, exist_ok=True)
    with open(training.RESULTS / "axes.jsonl", "w") as log:
        ratios = {figure: [] for figure in figures}
        for number in range(1, chosen.rounds + 1):
            seconds = {}
            for way in ["data", *figures]:
                settings = WAYS[way] | {"train.global_batch": 8, "train.micro_batch": 1}
                record = training.train(chosen.binary, 2, 1, settings, chosen.steps, f"axes-{way}")
                seconds[way] = record["step_seconds"]
                log.write(json.dumps({"measurement": "axes_round", "way": way, "round": number} | record) + "\n")
                log.flush()
                print(f"  round {number} {way}: {record['step_seconds']:.3f} s a step, "
                      f"{record['tokens_per_second']:.1f} tokens/s, last loss {record['losses'][-1]:.4f}",
                      file=sys.stderr, flush=True)
            for figure in figures:
                ratios[figure].append(seconds["data"] / seconds[figure])
        for figure, values in ratios.items():
            record = {"measurement": "axes", "figure": figure, "ratio": statistics.median(values), "ratios": values}
            log.write(json.dumps(record) + "\n")
            print(f"{figure}: {record['ratio']:.3f} (rounds {' '.join(f'{value:.3f}' for value in values)})")


if __name__ == "__main__":
    try:
        main()
    except training.TrainingFailed as problem:
        sys.exit(f"axes: {problem}")
