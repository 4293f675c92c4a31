#!/usr/bin/env python3
"""Times the same training step in Ziggurat and in PyTorch, alternating, and prints how they compare.

  perf/compare_torch.py --ours 'build/release/bin/perf_step --model {model} --precision {precision} --no-floor'

`--ours` is a command line that prints JSON lines, of which the last with `tokens_per_second` counts; {model},
{precision} and {threads} in it are replaced. Each round runs ours, PyTorch eager and PyTorch compiled, each in
a process of its own and alone; the best round of each counts. PyTorch comes from PyPI (scripts/torch_python.sh).
Results go to build/perf/torch.jsonl.
"""

import argparse
import json
import shlex
import sys

import training
from training import RESULTS

SYSTEMS = ("ours", "eager", "compiled")


def run(command, threads):
    """The last measurement of a step."""
    return training.records_of(command, threads, "tokens_per_second",
                               TORCHINDUCTOR_CACHE_DIR=str(RESULTS / "inductor"))[-1]


def command_of(system, model, precision, chosen):
    if system == "ours":
        return shlex.split(chosen.ours.format(model=model, precision=precision, threads=chosen.threads))
    return ["scripts/torch_python.sh", "perf/torch_step.py", "--model", model, "--precision", precision,
            "--mode", system, "--threads", str(chosen.threads), "--sequences", str(chosen.sequences),
            "--seq", str(chosen.seq), "--steps", str(chosen.steps)]


def compare(model, precision, chosen, log):
    """The best tokens/s of each system over the rounds."""
    best = {}
    for number in range(1, chosen.rounds + 1):
        for system in SYSTEMS:
            if system == "ours" and not chosen.ours:
                continue
            record = run(command_of(system, model, precision, chosen), chosen.threads)
            record |= {"system": system, "round": number}
            log.write(json.dumps(record) + "\n")
            log.flush()
            best[system] = max(best.get(system, 0), record["tokens_per_second"])
            print(f"  {model} {precision} round {number} {system}: {record['tokens_per_second']:.1f} tokens/s",
                  file=sys.stderr, flush=True)
    return best


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ours", default="", help="command line of our step; without it only PyTorch is timed")
    parser.add_argument("--models", default="gpt2-124m,llama-124m")
    parser.add_argument("--precisions", default="f32,bf16")
    parser.add_argument("--sequences", type=int, default=4)
    parser.add_argument("--seq", type=int, default=1024)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--steps", type=int, default=2, help="timed steps of each PyTorch run")
    parser.add_argument("--rounds", type=int, default=2)
    chosen = parser.parse_args()

    RESULTS.mkdir(parents=True, exist_ok=True)
    rows = []
    with open(RESULTS / "torch.jsonl", "w") as log:
        for model in chosen.models.split(","):
            for precision in chosen.precisions.split(","):
                best = compare(model, precision, chosen, log)
                peer = max(best["eager"], best["compiled"])
                summary = {"measurement": "compare_torch", "model": model, "precision": precision, **best}
                if "ours" in best:
                    summary["ratio"] = best["ours"] / peer
                log.write(json.dumps(summary) + "\n")
                rows.append(summary)

    print(f"{'model':<12} {'type':<5} {'ours':>9} {'eager':>9} {'compiled':>9}   ours / faster of the two")
    for row in rows:
        figures = " ".join(f"{row[s]:9.1f}" if s in row else f"{'-':>9}" for s in SYSTEMS)
        ratio = f"{row['ratio']:.2f}" if "ratio" in row else "-"
        print(f"{row['model']:<12} {row['precision']:<5} {figures}   {ratio}")
    print(f"tokens/s of whole steps, {chosen.sequences} x {chosen.seq} tokens, {chosen.threads} threads, "
          f"best of {chosen.rounds} alternating rounds")


if __name__ == "__main__":
    try:
        main()
    except training.TrainingFailed as problem:
        sys.exit(f"compare_torch: {problem}")
