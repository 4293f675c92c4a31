#!/usr/bin/env python3
"""Times layers of several families beside those of Llama with the same products, and prints their FLOP rates as a share of
Llama's: norms of heads (Qwen3), GEGLU (Gemma), soft caps and post norms (Gemma 2), windows of 256 of 1024 tokens (Mistral).

  perf/families.py --binary build/release/bin/perf_step [--rounds 3]

The models run in turn, each in a process of its own with two threads; each counts with its best round.
"""

import argparse
import json
import pathlib
import subprocess

MODELS = ["llama-1024", "qwen3-1024", "gemma-1024", "gemma2-1024", "mistral-1024"]


def rate_of(binary, model, precision):
    command = [binary, "--model", model, "--precision", precision, "--no-floor", "--steps", "4"]
    printed = subprocess.run(command, text=True, stdout=subprocess.PIPE, check=True).stdout
    return json.loads(printed.splitlines()[-1])["flops_per_second"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", type=pathlib.Path, required=True)
    parser.add_argument("--rounds", type=int, default=3)
    chosen = parser.parse_args()
    for precision in ("f32", "bf16"):
        rates = {model: 0.0 for model in MODELS}
        for _ in range(chosen.rounds):
            for model in MODELS:
                rates[model] = max(rates[model], rate_of(chosen.binary, model, precision))
        for model in MODELS[1:]:
            print(json.dumps({"measurement": "families", "model": model, "precision": precision,
                              "flops_per_second": rates[model], "ratio": rates[model] / rates[MODELS[0]]}), flush=True)


if __name__ == "__main__":
    main()
