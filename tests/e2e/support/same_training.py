#!/usr/bin/env python3
"""Trains ten decks with two builds of the program and compares losses, gradient norms and final weights bit by bit.

  same_training.py --before ZIGGURAT --after ZIGGURAT --work FOLDER [--mpiexec COMMAND] [CASE...]

For whoever changes the structure of the program and not what it computes: build twice, run this once. Both builds
must be for the same processor. Ends with 1 when anything differs.
"""

import argparse
import pathlib
import sys

import equivalence

DECKS = pathlib.Path(__file__).resolve().parents[1] / "decks"
STEPS = 20
ALL_ON_NVME = "tiers.home={parameters: nvme, gradients: nvme, optimizer: nvme, activations: host}"

# name: deck, ranks, overrides. llama_resumed is trained in two halves.
CASES = {
    "gpt2_one_rank": ("gpt2_tiny", 1, []),
    "gpt2_zero1": ("gpt2_tiny", 2, ["sharding.zero=1"]),
    "gpt2_zero2_three_ranks": ("gpt2_tiny", 3, ["sharding.zero=2", "recompute.kind=selective"]),
    "gpt2_frozen": ("gpt2_tiny", 2, ["train.only=['*.mlp.*']", "sharding.zero=3"]),
    "llama_zero0": ("llama_tiny", 2, ["sharding.zero=0"]),
    "llama_zero3_secondary": ("llama_tiny", 4, ["sharding.zero=3", "sharding.secondary=2", "train.global_batch=40"]),
    "llama_bf16": ("llama_tiny", 2, ["precision.compute=bf16", "sharding.zero=3", "recompute.kind=full"]),
    "llama_nvme": ("llama_tiny", 2, ["sharding.zero=3", "precision.compute=bf16", ALL_ON_NVME,
                             "tiers.nvme.paths=[nvme]", "tiers.chunk=4096"]),
    "llama_tiles": ("llama_tiny", 2, ["sharding.zero=3", "tiers.tile=[{match: '*', out: 2}]"]),
    "llama_resumed": ("llama_tiny", 2, ["sharding.zero=2", "checkpoint.every=auto", "schedule.kind=constant",
                                           "run.resume=auto"]),
}


def curve_of(name, binary, mpiexec, work):
    deck, ranks, overrides = CASES[name]
    runner = equivalence.Runner(binary, mpiexec, work, equivalence.Family(DECKS / f"{deck}.yaml", STEPS))
    (work / "nvme").mkdir()
    if name == "llama_resumed":
        half = equivalence.Runner(binary, mpiexec, work, equivalence.Family(DECKS / f"{deck}.yaml", STEPS // 2))
        half.train(equivalence.Case(name, ranks, overrides))
    return runner.train(equivalence.Case(name, ranks, overrides))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", type=pathlib.Path, required=True)
    parser.add_argument("--after", type=pathlib.Path, required=True)
    parser.add_argument("--work", type=pathlib.Path, required=True, help="emptied, then one folder per case")
    parser.add_argument("--mpiexec", default="mpiexec --oversubscribe --bind-to none")
    parser.add_argument("cases", nargs="*", metavar="CASE")
    chosen = parser.parse_args()
    failed = 0
    for name in chosen.cases or CASES:
        try:
            before, after = (curve_of(name, str(binary.resolve()), chosen.mpiexec, chosen.work.resolve() / side / name)
                             for side, binary in (("before", chosen.before), ("after", chosen.after)))
            equivalence.same_bits("after", after, "before", before)
            print(f"{name}: same bits, weights {after.weights_hash}", flush=True)
        except equivalence.Failure as failure:
            failed += 1
            print(f"{name}: {failure}", flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
