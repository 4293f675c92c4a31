#!/usr/bin/env python3
"""Times AdamW in Ziggurat and PyTorch's fused one, alternating, and prints how they compare: the bare update, and with
both casts of mixed precision (gradient in, parameter out).

  perf/compare_adamw.py [--binary build/release/bin/adamw_bench] [--threads 1 2] [--rounds 3]

Each process is alone; the ratio is the median over rounds. PyTorch comes from PyPI (scripts/torch_python.sh). Results
go to build/perf/torch_adamw.jsonl.
"""

import argparse
import json
import statistics
import sys

import training
from training import RESULTS

KINDS = ("f32", "both casts")


def seconds_by_type(command, threads):
    seconds = {record["type"]: record["seconds"] for record in training.records_of(command, threads, "seconds")}
    return {kind: seconds[kind] for kind in KINDS}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default="build/release/bin/adamw_bench")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--rounds", type=int, default=3)
    chosen = parser.parse_args()
    RESULTS.mkdir(parents=True, exist_ok=True)
    with open(RESULTS / "torch_adamw.jsonl", "w") as log:
        for threads in chosen.threads:
            ratios = {kind: [] for kind in KINDS}
            for _ in range(chosen.rounds):
                ours = seconds_by_type([chosen.binary, str(threads)], threads)
                torch = seconds_by_type(["scripts/torch_python.sh", "perf/torch_adamw.py", "--threads", str(threads)],
                                        threads)
                for kind in KINDS:
                    ratios[kind].append(torch[kind] / ours[kind])
                    print(f"  {threads} thread(s), {kind}: ours {1e3 * ours[kind]:.1f} ms, PyTorch "
                          f"{1e3 * torch[kind]:.1f} ms", file=sys.stderr, flush=True)
            for kind in KINDS:
                record = {"measurement": "compare_adamw", "type": kind, "threads": threads,
                          "ratio": statistics.median(ratios[kind]), "rounds": ratios[kind]}
                print(json.dumps(record), flush=True)
                log.write(json.dumps(record) + "\n")


if __name__ == "__main__":
    try:
        main()
    except training.TrainingFailed as problem:
        sys.exit(f"compare_adamw: {problem}")
