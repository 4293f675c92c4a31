#!/usr/bin/env python3
"""Times the same training spread in different ways over one machine, in turn, and prints ratios.

  perf/spread.py [--rounds 3] [--only zero3,ranks,tiers,processor_time]

  zero3            two ranks of one thread: a step with ZeRO 3 over one with ZeRO 0
  tiers            the same with ZeRO 3: homes left to the planner, where all tiers have room, over no tiers
  ranks            two ranks of one thread with ZeRO 0 over one rank of two threads, the same four sequences
  processor_time   eight ranks over two ranks of one thread, user and system time of all ranks for the same steps

GPT-2 124M, sequence 1024, two sequences a rank, bf16 (perf/sharding.yaml); processor_time: ZeRO 3, eight sequences
of 256, one at a time. A round runs each way once, each alone, and its least step counts; a ratio is the median of
those of the rounds. Results go to build/perf/spread.jsonl.
"""

import argparse
import json
import statistics
import sys

import training

TWO_RANKS = {"ranks": 2, "threads": 1}
WAYS = {
    "zero0": TWO_RANKS | {"settings": {"sharding.zero": 0}},
    "zero3": TWO_RANKS | {"settings": {"sharding.zero": 3}},
    "tiers": TWO_RANKS | {"settings": {"sharding.zero": 3, "tiers.home.parameters": "auto",
                                       "tiers.home.gradients": "auto", "tiers.home.optimizer": "auto",
                                       "tiers.home.activations": "auto",
                                       "tiers.nvme.paths": f"[{training.RESULTS / 'nvme'}]"}},
    "one_rank": {"ranks": 1, "threads": 2, "settings": {"train.micro_batch": 4}},
}
# figure, the way above and the way below the line
RATIOS = {"zero3": ("zero3", "zero0"), "ranks": ("zero0", "one_rank"), "tiers": ("tiers", "zero3")}


def time_in_rounds(ways, chosen, log):
    """The least seconds of a step, by way, one list entry per round."""
    seconds = {way: [] for way in ways}
    for number in range(1, chosen.rounds + 1):
        for way in ways:
            record = training.train(chosen.binary, steps=chosen.steps, name=f"spread-{way}", **WAYS[way])
            seconds[way].append(record["step_seconds"])
            log.write(json.dumps({"measurement": "spread_round", "way": way, "round": number} | record) + "\n")
            log.flush()
            print(f"  round {number} {way}: {record['step_seconds']:.3f} s a step, "
                  f"{record['tokens_per_second']:.1f} tokens/s", file=sys.stderr, flush=True)
    return seconds


def processor_seconds(ranks, chosen):
    """User and system time of one step: that of a longer training less that of a short one, over ten steps, for the
    start costs as much as several."""
    settings = {"sharding.zero": 3, "data.seq": 256, "train.global_batch": 8, "train.micro_batch": 1}
    short, long = (training.train(chosen.binary, ranks, 1, settings, steps, f"spread-cpu-{ranks}")["cpu_seconds"]
                   for steps in (3, 13))
    return (long - short) / 10


def compare_processor_time(chosen, log):
    ratios = []
    for number in range(1, chosen.rounds + 1):
        few, many = processor_seconds(2, chosen), processor_seconds(8, chosen)
        ratios.append(many / few)
        print(f"  round {number}: {few:.2f} s of processor time a step on 2 ranks, {many:.2f} s on 8", file=sys.stderr,
              flush=True)
        log.write(json.dumps({"measurement": "processor_round", "round": number, "two_ranks_seconds": few,
                              "eight_ranks_seconds": many}) + "\n")
    return ratios


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default=str(training.ROOT / "build/release/bin/ziggurat"))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=6, help="of each training; the first two are not counted")
    parser.add_argument("--only", default="zero3,ranks,tiers,processor_time")
    chosen = parser.parse_args()
    figures = chosen.only.split(",")
    if unknown := set(figures) - {*RATIOS, "processor_time"}:
        parser.error(f"no figure is called {', '.join(sorted(unknown))} (zero3, ranks, tiers and processor_time are).")

    training.RESULTS.joinpath("nvme").mkdir(parents=True, exist_ok=True)
    with open(training.RESULTS / "spread.jsonl", "w") as log:
        wanted = [figure for figure in figures if figure in RATIOS]
        ways = [way for way in WAYS if any(way in RATIOS[figure] for figure in wanted)]
        seconds = time_in_rounds(ways, chosen, log)
        ratios = {figure: [a / b for a, b in zip(*(seconds[way] for way in RATIOS[figure]))] for figure in wanted}
        if "processor_time" in figures:
            ratios["processor_time"] = compare_processor_time(chosen, log)
        for figure, values in ratios.items():
            record = {"measurement": "spread", "figure": figure, "ratio": statistics.median(values), "ratios": values}
            log.write(json.dumps(record) + "\n")
            print(f"{figure}: {record['ratio']:.3f} (rounds {' '.join(f'{value:.3f}' for value in values)})")


if __name__ == "__main__":
    try:
        main()
    except training.TrainingFailed as problem:
        sys.exit(f"spread: {problem}")
