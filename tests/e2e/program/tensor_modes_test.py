#!/usr/bin/env python3
"""`ziggurat plan` orders the tensor modes on 64 GPUs as the table of Colossal-AI does: 3D sends the least, 2D the most.

  tensor_modes_test.py --binary ZIGGURAT

It prints the planned seconds of each mode.
"""

import argparse
import json
import pathlib
import subprocess
import sys

DECKS = pathlib.Path(__file__).resolve().parents[3] / "decks"
# A step has the same 512 sequences in each mode: micro_batch is that of a row of the grid.
MODES = {"1d": ("{degree: 64}", 16), "2d": ("{degree: 64, mode: 2d}", 1), "2.5d": ("{degree: 64, mode: 2.5d, depth: 4}", 1),
         "3d": ("{degree: 64, mode: 3d}", 1)}


def planned(binary, mode):
    tensor, micro_batch = MODES[mode]
    done = subprocess.run([binary, "plan", DECKS / "systems" / "colossal-2d-33b.yaml", "--ranks", "64", "--machine", "dgx-h100",
                           f"parallel.tensor={tensor}", f"train.micro_batch={micro_batch}", "recompute.kind=none", "--time",
                           "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(f"FAILED: plan of {mode} ends with {done.returncode}\n{done.stderr}")
    time = json.loads(done.stdout)
    sent = next(work["work_s"] for work in time["works"] if work["work"] == "tensor-parallel communication")
    return time["step_s"], sent


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", type=pathlib.Path, required=True)
    chosen = parser.parse_args()
    plans = {mode: planned(chosen.binary.resolve(), mode) for mode in MODES}
    for mode, (step, sent) in plans.items():
        print(f"{mode:>4}: {sent:5.1f} s of tensor-parallel communication, a step of {step:.1f} s")
    by_sent = sorted(plans, key=lambda mode: plans[mode][1])
    if by_sent[0] != "3d" or by_sent[-1] != "2d":
        sys.exit(f"FAILED: the order is {', '.join(by_sent)}")
    if min(plans["2.5d"][0], plans["3d"][0]) >= min(plans["1d"][0], plans["2d"][0]):
        sys.exit("FAILED: neither 2.5d nor 3d is faster than 1d and 2d")
    print(f"ok: by seconds of communication, the order is {', '.join(by_sent)}")


main()
