#!/usr/bin/env python3
"""Trains a few steps of the largest model that this machine has disk for, in a memory cgroup far smaller than its state.

  perf/largest.py [--nvme FOLDER] [--memory 12] [--steps 3] [KEY=VALUE...]
  perf/largest.py --twin         a small model by the same deck: the bits of parameters on NVMe and in host memory

decks/llama-3b-nvme.yaml on two ranks of one thread: 3.0 billion parameters, random tokens. Prints what the kernel has
counted: the bytes that the ranks read and wrote in a step (/proc/PID/io) beside the closed forms, and the most memory of
all processes, page cache and shared memory included, beside the plan. KEY=VALUE changes the deck, for a smaller trial:
model.layers=4. Results go to build/perf/largest.jsonl.
"""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys

import training
import watched
from watched import GIB, RANKS

DECK = "decks/llama-3b-nvme.yaml"
TWIN = ["model.layers=3", "model.hidden=384", "model.heads=6", "model.kv_heads=2", "model.ffn_hidden=1024"]


def settings_of(chosen):
    """The deck's keys that this script sets."""
    seq = 256 if chosen.twin else 1024
    tokens = training.token_file(8 * seq + 1, 32000)
    return [f"data.train=[{{format: llmc, path: {tokens}}}]", "data.validation=[]", "validate.every=none",
            f"tiers.nvme.paths=[{chosen.nvme}]", f"data.seq={seq}", f"train.tokens={chosen.steps * RANKS * seq}",
            "data.reset_at_document=false", "schedule.warmup=1 steps", "parallel.threads=1", "run.resume=never",
            "checkpoint.every=none"]


class Shape:
    """What the closed forms need of the model, as the effective deck has it."""

    def __init__(self, deck):
        def number(key):
            return int(re.search(rf"^ *{key}: *(\d+)", deck, re.M)[1])

        hidden, heads, kv_heads = number("hidden"), number("heads"), number("kv_heads")
        head_dim = hidden // heads
        layer = (hidden * head_dim * (2 * heads + 2 * kv_heads) + 3 * hidden * number("ffn_hidden") + 2 * hidden)
        table = number("vocab") * hidden
        self.layers, self.ends = number("layers") * layer, 2 * table + hidden
        self.parameters = self.layers + self.ends
        self.seq, self.micro_batches = number("seq"), number("global_batch") // number("micro_batch") // RANKS

    def closed_forms(self):
        """Bytes that all ranks read from NVMe and write there in a step: bf16 parameters, fp32 gradients, master weights
        and two moments; two leases of a layer, one of the embedding and of the head."""
        m = self.micro_batches
        read = 2 * m * (2 * self.layers + self.ends) + (4 * m + 12) * self.parameters
        written = (2 + 4 * m + 12) * self.parameters
        return read, written


def effective_deck(chosen, words):
    done = subprocess.run([chosen.binary, "check", DECK, "--ranks", str(RANKS), "--print", *words], cwd=training.ROOT,
                          capture_output=True, text=True)
    if done.returncode != 0:
        raise training.TrainingFailed(f"check ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def report(chosen, deck, found):
    shape = Shape(deck)
    steps = found["steps"]
    counted = found["per_step"]
    seconds = [step["step_s"] for step in steps]
    plan = sum(steps[-1].get(key, 0) for key in ("device_peak_B", "host_peak_B", "process_peak_B")) * RANKS
    record = {"measurement": "largest", "parameters": shape.parameters, "step_s": seconds,
              "losses": [step["loss"] for step in steps], "compute_s": [step["compute_s"] for step in steps],
              "read_bytes": counted[0], "written_bytes": counted[1],
              "read_closed_form": shape.closed_forms()[0], "written_closed_form": shape.closed_forms()[1],
              "peak_bytes": found["peak"], "limit_bytes": int(chosen.memory * GIB),
              "share_of_limit": found["peak"] / (chosen.memory * GIB), "plan_bytes": plan,
              "start_s": found["end"]["wall_s"] - sum(seconds), "state_bytes": steps[-1]["nvme_B"]}
    with open(training.RESULTS / "largest.jsonl", "a") as log:
        log.write(json.dumps(record) + "\n")
    own = [steps[-1][key] for key in ("nvme_read_B", "nvme_written_B")]
    rate = (counted[0] + counted[1]) / 1e9 / min(seconds)
    print(f"{shape.parameters:,} parameters, {steps[-1]['nvme_B'] / GIB:.1f} GiB on NVMe for each of {RANKS} ranks\n"
          f"step time             {' '.join(f'{s:.2f}' for s in seconds)} s, and {record['start_s']:.1f} s before and between\n"
          f"computing             {' '.join(f'{s:.2f}' for s in record['compute_s'])} s of them on rank 0\n"
          f"losses                {' '.join(f'{loss:.4f}' for loss in record['losses'])}\n"
          f"read in a step        {counted[0] / 1e9:8.3f} GB, closed form {record['read_closed_form'] / 1e9:8.3f} GB\n"
          f"written in a step     {counted[1] / 1e9:8.3f} GB, closed form {record['written_closed_form'] / 1e9:8.3f} GB\n"
          f"counted by the program{own[0] / 1e9:7.3f} GB read, {own[1] / 1e9:.3f} GB written\n"
          f"both, in its seconds  {rate:8.3f} GB/s\n"
          f"the kernel's peak     {found['peak'] / GIB:8.3f} GiB of {chosen.memory:g} GiB, plan {plan / GIB:.3f} GiB")


def compare_twins(chosen, words):
    """The same deck, small, with parameters on NVMe and in host memory."""
    ends = []
    for home in ("nvme", "host"):
        found = watched.train(chosen.binary, DECK, f"twin-{home}", [*words, f"tiers.home.parameters={home}"],
                              int(chosen.memory * GIB))
        ends.append(([step["loss"] for step in found["steps"]], found["end"]["weights_hash"]))
        print(f"parameters on {home}: losses {' '.join(f'{loss:.6f}' for loss in ends[-1][0])}, weights {ends[-1][1]}")
    if ends[0] != ends[1]:
        sys.exit("largest: the twins differ")
    print("the same bits")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("settings", nargs="*", metavar="KEY=VALUE")
    parser.add_argument("--binary", default=str(training.ROOT / "build/release/bin/ziggurat"))
    parser.add_argument("--nvme", default=str(training.RESULTS / "nvme"), help="a folder on the disk to be used")
    parser.add_argument("--memory", type=float, default=12, help="GiB for all processes")
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--twin", action="store_true")
    chosen = parser.parse_args()
    chosen.binary = str(pathlib.Path(chosen.binary).resolve())

    os.makedirs(chosen.nvme, exist_ok=True)
    given = [*(TWIN if chosen.twin else []), *chosen.settings]
    words = [*settings_of(chosen), *given]
    deck = effective_deck(chosen, words)
    if chosen.twin:
        compare_twins(chosen, words)
    else:
        report(chosen, deck, watched.train(chosen.binary, DECK, "largest", words, int(chosen.memory * GIB)))


if __name__ == "__main__":
    try:
        main()
    except watched.PROBLEMS as problem:
        sys.exit(f"largest: {problem}")
