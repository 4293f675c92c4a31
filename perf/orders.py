#!/usr/bin/env python3
"""Times steps of four micro-batches by layer beside the same steps by micro-batch (train.accumulate).

  perf/orders.py --binary build/release/bin/ziggurat [--rounds 3] [--folder build/perf/nvme]

A small Llama on one rank of one thread (perf/throttled.yaml), whose reads from NVMe debug.throttle slows down, so that they
limit the step. `parameters`: those are on NVMe, all other state is on the host. `all`: all model state is on NVMe. A
run's time is the median of its steps but the first three; the two orders run in turn, in rounds, and the median is taken
over the ratios of the rounds. Prints JSON lines.
"""

import argparse
import json
import statistics
import sys

import training

DECK = "perf/throttled.yaml"
SEQUENCE = 64
TOKENS = 16 * SEQUENCE + 1
VOCABULARY = 512
STATES = ("parameters", "gradients", "optimizer")
HOMES = {"parameters": {"parameters": "nvme", "gradients": "host", "optimizer": "host"},
         "all": dict.fromkeys(STATES, "nvme")}
ORDERS = ("by_micro_batch", "by_layer")


def seconds_of(chosen, homes, order):
    settings = {"data.train": f"[{{format: llmc, path: {training.token_file(TOKENS, VOCABULARY)}}}]",
                "data.seq": SEQUENCE, "parallel.threads": 1, "train.global_batch": 16, "train.micro_batch": 4, "train.accumulate": order,
                "train.steps": training.FIRST_STEPS + 5, "tiers.home.activations": "host",
                "tiers.nvme.paths": f"[{chosen.folder}]", "overlap.prefetch": 1,
                "debug.throttle.nvme_read": chosen.rate}
    settings |= {f"tiers.home.{state}": home for state, home in homes.items()}
    name = training.RESULTS / "runs" / f"orders_{order}"
    steps = training.step_seconds(chosen.binary, "mpirun --oversubscribe --bind-to none", name, 1, DECK,
                                  [f"{key}={value}" for key, value in settings.items()])
    return statistics.median(steps)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", required=True)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--rate", default="20MB/s", help="of reads from NVMe")
    parser.add_argument("--folder", default=str(training.RESULTS / "nvme"))
    chosen = parser.parse_args()
    for figure, homes in HOMES.items():
        rounds = [{order: seconds_of(chosen, homes, order) for order in ORDERS} for _ in range(chosen.rounds)]
        seconds = {order: statistics.median(of[order] for of in rounds) for order in ORDERS}
        speed = statistics.median(of["by_micro_batch"] / of["by_layer"] for of in rounds)
        print(json.dumps({"measurement": "orders", "figure": figure, "microbatches": 4, "ratio": speed,
                          "seconds": seconds}), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
