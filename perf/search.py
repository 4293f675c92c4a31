#!/usr/bin/env python3
"""Measures every layout of small cases that fits, and compares the fastest with the one that `ziggurat plan --search` finds.

  mpirun -n R ziggurat bench all FOLDER --machine-file BENCH/R.yaml    first, for R = 2, 3, 4
  perf/search.py --bench BENCH [--binary build/release/bin/ziggurat] [--case NAME ...]

A case is a model, a budget of the device tier and a number of ranks (CASES). Its layouts are all tensor degrees, stages with their
schedules, ZeRO stages, micro-batches and kinds of recomputation; those that `ziggurat check` refuses or that do not fit are left out.
Each layout trains a few steps and counts with its fastest one. Then the fastest of them and the found one train in turn (FINAL_ROUNDS), and each
counts with its fastest step again, because other processes only make steps slower.

Prints for each case the number of layouts, the fastest, the found one, and how much slower it is. Results are in build/perf/search.jsonl.
"""

import argparse
import itertools
import json
import pathlib
import subprocess
import sys

import training

STEPS = 7
FINALISTS = 6
FINAL_ROUNDS = 4
WORK = training.RESULTS / "search"
DECK = training.ROOT / "perf" / "sharding.yaml"

GPT2 = "model={family: gpt2, layers: 6, hidden: 256, heads: 4, vocab: 4096}"
LLAMA = "model={family: llama, layers: 6, hidden: 192, heads: 6, kv_heads: 6, vocab: 2048}"
# Name: ranks, settings of the model, of the batch, and budget of a rank's device tier.
CASES = {
    "gpt2-2": (2, [GPT2, "data.seq=128", "train.global_batch=8"], "2GiB"),
    "gpt2-2-tight": (2, [GPT2, "data.seq=128", "train.global_batch=8"], "100MiB"),
    "llama-2": (2, [LLAMA, "data.seq=192", "train.global_batch=8", "precision.compute=fp32"], "2GiB"),
    "llama-3-tight": (3, [LLAMA, "data.seq=192", "train.global_batch=12", "precision.compute=fp32"], "48MiB"),
    "gpt2-4-tight": (4, [GPT2, "data.seq=128", "train.global_batch=8"], "64MiB"),
    "llama-4": (4, [LLAMA, "data.seq=192", "train.global_batch=8", "precision.compute=fp32"], "2GiB"),
}


def divisors(number):
    return [factor for factor in range(1, number + 1) if number % factor == 0]


def layouts_of(ranks, global_batch):
    """All combinations of settings, as overrides of the deck."""
    for tensor, stages in itertools.product(divisors(ranks), divisors(ranks)):
        if ranks % (tensor * stages) != 0:
            continue
        data = ranks // (tensor * stages)
        schedules = ["schedule: 1f1b", "schedule: gpipe"] if stages > 1 else ["schedule: 1f1b"]
        schedules += [f"schedule: interleaved, chunks_per_stage: {chunks}" for chunks in (2, 3) if stages > 1]
        stages_of_zero = (0, 1, 2, 3) if data > 1 else (0,)
        micro_batches = [size for size in (1, 2, 4, 8) if global_batch % (data * size) == 0]
        for schedule, zero, micro_batch, recompute in itertools.product(schedules, stages_of_zero, micro_batches,
                                                                         ("none", "selective", "full")):
            yield [f"parallel.tensor={tensor}", f"parallel.sequence={'true' if tensor > 1 else 'false'}",
                   f"parallel.pipeline={{stages: {stages}, {schedule}}}", f"sharding.zero={zero}",
                   f"train.micro_batch={micro_batch}", f"recompute.kind={recompute}"]


def base_settings(name):
    _, settings, budget = CASES[name]
    tokens = training.token_file(100_000, 2048)  # tokens of the smaller vocabulary
    return ["parallel.threads=1", f"train.steps={STEPS}", f"tiers.device.budget={budget}",
            f"data.train=[{{format: llmc, path: {tokens}}}]", *settings]


def ziggurat(binary, *arguments):
    return subprocess.run([binary, *map(str, arguments)], cwd=training.ROOT, env=training.environment(1), capture_output=True,
                          text=True, timeout=600)


def fits(binary, ranks, settings):
    return ziggurat(binary, "check", DECK, "--ranks", ranks, *settings).returncode == 0


def fastest_step(binary, mpiexec, name, deck, settings):
    return min(training.step_seconds(binary, mpiexec, WORK / name, CASES[name][0], deck, settings))


def found_deck(binary, bench, name):
    """The deck of the layout that the search finds, and its overrides as text."""
    ranks = CASES[name][0]
    deck = WORK / f"{name}.found.yaml"
    done = ziggurat(binary, "plan", DECK, "--ranks", ranks, "--machine", bench / f"{ranks}.yaml", "--search", "--write", deck,
                    "train.micro_batch=1", *base_settings(name))
    if done.returncode != 0:
        raise training.TrainingFailed(f"{name}: no layout was found:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    first = next(line for line in done.stdout.splitlines() if line.startswith("the first one:"))
    return deck, first.removeprefix("the first one: ")


def compare(binary, mpiexec, bench, name):
    ranks, settings, _ = CASES[name]
    base = base_settings(name)
    deck, found = found_deck(binary, bench, name)
    global_batch = next(int(value.split("=")[1]) for value in settings if value.startswith("train.global_batch="))
    seconds = {}
    for layout in layouts_of(ranks, global_batch):
        if fits(binary, ranks, base + layout):
            seconds[tuple(layout)] = fastest_step(binary, mpiexec, name, DECK, base + layout)
            print(f"{name}: {seconds[tuple(layout)] * 1e3:.1f} ms {' '.join(layout)}", file=sys.stderr, flush=True)
    finalists = {layout: [] for layout in sorted(seconds, key=seconds.get)[:FINALISTS]}
    found_s = []
    for _ in range(FINAL_ROUNDS):
        for layout, times in finalists.items():
            times.append(fastest_step(binary, mpiexec, name, DECK, [*base, *layout]))
        found_s.append(fastest_step(binary, mpiexec, name, deck, []))
    fastest = min(finalists, key=lambda layout: min(finalists[layout]))
    fastest_s = min(finalists[fastest])
    return {"case": name, "ranks": ranks, "layouts": len(seconds), "fastest": " ".join(fastest), "fastest_s": fastest_s,
            "found": found, "found_s": min(found_s), "slower": min(found_s) / fastest_s - 1}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", type=pathlib.Path, default=training.ROOT / "build/release/bin/ziggurat")
    parser.add_argument("--mpiexec", default="mpirun -q --oversubscribe --bind-to none")
    parser.add_argument("--bench", type=pathlib.Path, required=True, help="folder with 2.yaml, 3.yaml and 4.yaml")
    parser.add_argument("--case", action="append", choices=list(CASES), help="only this case; may be given several times")
    chosen = parser.parse_args()
    WORK.mkdir(parents=True, exist_ok=True)
    with open(training.RESULTS / "search.jsonl", "w") as results:
        for name in chosen.case or CASES:
            found = compare(chosen.binary.resolve(), chosen.mpiexec, chosen.bench.resolve(), name)
            results.write(json.dumps(found) + "\n")
            print(f"{name:<14} {found['ranks']} ranks, {found['layouts']} layouts: the found one takes {found['found_s'] * 1e3:.1f} ms, the "
                  f"fastest {found['fastest_s'] * 1e3:.1f} ms, {found['slower']:+.1%}\n  found    {found['found']}\n"
                  f"  fastest  {found['fastest']}", flush=True)


if __name__ == "__main__":
    try:
        main()
    except training.TrainingFailed as failure:
        sys.exit(f"FAILED: {failure}")
