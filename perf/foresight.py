#!/usr/bin/env python3
"""Compares measured steps of trainings on this machine with `ziggurat plan --time`.

  OMP_NUM_THREADS=1 mpirun -n R ziggurat bench all FOLDER --machine-file BENCH/R.yaml    first, for R = 1, 2, 4
  perf/foresight.py --bench BENCH [--binary build/release/bin/ziggurat] [--rounds 3] [--seed 1] [--case NAME ...]

The cases are fixed trainings of all families (CASES) and drawn ones (--seed). Rates come from the machine file for the
case's number of ranks, because ranks share cores and memory. Machine files come from `ziggurat bench`, which knows none of the cases.
The cases run in turn, in several rounds. Each counts with the lower quartile of its steps in its best round, as `ziggurat bench`
counts, because other processes only make steps slower.

Prints a row for each case: measured step, its spread (upper quartile of all its steps over the measured step), planned step and
the difference; then the median and the worst difference, and the pairs of cases that the plan orders wrongly although their steps
differ by more than 10 %. A spread far above 1 means that the machine changed its speed during the measurement. Results are in
build/perf/foresight.jsonl. With --reuse, the measured steps in it are compared with another binary or other machine files.
"""

import argparse
import itertools
import json
import pathlib
import random
import shutil
import statistics
import subprocess
import sys

import training

STEPS = 12
PAIR_DIFFERENCE = 0.10
WORK = training.RESULTS / "foresight"
DECK = training.ROOT / "perf" / "sharding.yaml"
RESULTS = training.RESULTS / "foresight.jsonl"
VOCABULARY = 4096

# Widths of the models: every family, from 1 to 30 million parameters.
SMALL = "layers: 4, hidden: 256, heads: 4, vocab: 4096"
MEDIUM = "layers: 6, hidden: 384, heads: 6, vocab: 4096"
WIDE = "layers: 4, hidden: 768, heads: 12, vocab: 4096"


def model(family, widths, more=""):
    return f"model={{family: {family}, {widths}{more}}}"


def batch(sequences, micro_batch, seq):
    return [f"train.global_batch={sequences}", f"train.micro_batch={micro_batch}", f"data.seq={seq}"]


FP32 = "precision.compute=fp32"
HOST_OPTIMIZER = ["tiers.home.optimizer=host"]


def nvme(homes):
    return [f"tiers.nvme.paths=[{WORK / 'nvme'}]", f"tiers.home={{{homes}}}"]


# Name: ranks, settings.
CASES = {
    "gpt2-fp32": (1, [model("gpt2", MEDIUM), FP32, *batch(4, 2, 256)]),
    "gpt2": (1, [model("gpt2", MEDIUM), *batch(4, 2, 256)]),
    "gpt2-wide": (1, [model("gpt2", WIDE), *batch(4, 4, 256)]),
    "gpt_neox": (1, [model("gpt_neox", MEDIUM), *batch(4, 4, 256)]),
    "llama": (1, [model("llama", MEDIUM, ", kv_heads: 2"), *batch(4, 2, 512)]),
    "llama-full": (1, [model("llama", MEDIUM, ", kv_heads: 2"), *batch(4, 2, 512), "recompute.kind=full"]),
    "llama-selective": (1, [model("llama", MEDIUM, ", kv_heads: 2"), FP32, *batch(4, 2, 512), "recompute.kind=selective"]),
    "mistral": (1, [model("mistral", MEDIUM, ", kv_heads: 2, window: 256"), *batch(2, 1, 1024)]),
    "qwen2": (1, [model("qwen2", MEDIUM, ", kv_heads: 2"), *batch(8, 2, 256)]),
    "qwen3": (1, [model("qwen3", MEDIUM, ", kv_heads: 2"), FP32, *batch(4, 2, 256)]),
    "gemma": (1, [model("gemma", MEDIUM, ", kv_heads: 1"), *batch(4, 2, 256)]),
    "gemma2": (1, [model("gemma2", MEDIUM, ", kv_heads: 2, window: 128"), *batch(4, 2, 512)]),
    "gemma3": (1, [model("gemma3", MEDIUM, ", kv_heads: 2, window: 128"), *batch(4, 2, 256)]),
    "phi3": (1, [model("phi3", MEDIUM), FP32, *batch(4, 4, 256)]),
    "smollm3": (1, [model("smollm3", MEDIUM, ", kv_heads: 2"), *batch(4, 2, 256)]),
    "granite": (1, [model("granite", MEDIUM, ", kv_heads: 2"), *batch(4, 2, 256)]),
    "olmo2": (1, [model("olmo2", MEDIUM), *batch(4, 2, 256)]),
    "gpt2-host": (1, [model("gpt2", WIDE), *batch(4, 2, 256), *HOST_OPTIMIZER]),
    "llama-nvme": (1, [model("llama", WIDE, ", kv_heads: 4"), *batch(4, 2, 256), *nvme("optimizer: nvme")]),
    "gpt2-data": (2, [model("gpt2", MEDIUM), *batch(8, 2, 256)]),
    "llama-zero1": (2, [model("llama", MEDIUM, ", kv_heads: 2"), *batch(8, 2, 256), "sharding.zero=1"]),
    "gpt2-zero2": (2, [model("gpt2", MEDIUM), FP32, *batch(8, 4, 256), "sharding.zero=2"]),
    "llama-zero3": (2, [model("llama", WIDE, ", kv_heads: 4"), *batch(8, 2, 256), "sharding.zero=3"]),
    "zero-infinity": (2, [model("gpt2", WIDE), *batch(4, 2, 256), "sharding.zero=3", "recompute.kind=full",
                          *nvme("parameters: nvme, gradients: nvme, optimizer: nvme, activations: host")]),
    "qwen3-tensor": (2, [model("qwen3", MEDIUM, ", kv_heads: 2"), *batch(4, 2, 256), "parallel.tensor=2"]),
    "llama-sequence": (2, [model("llama", MEDIUM, ", kv_heads: 2"), FP32, *batch(4, 2, 256), "parallel.tensor=2",
                           "parallel.sequence=true"]),
    "gpt2-1f1b": (2, [model("gpt2", MEDIUM), *batch(8, 1, 256), "parallel.pipeline={stages: 2}"]),
    "llama-gpipe": (2, [model("llama", MEDIUM, ", kv_heads: 2"), *batch(8, 2, 256),
                        "parallel.pipeline={stages: 2, schedule: gpipe}"]),
    "gpt_neox-interleaved": (2, [model("gpt_neox", SMALL), *batch(8, 1, 256),
                                 "parallel.pipeline={stages: 2, schedule: interleaved, chunks_per_stage: 2}"]),
    "gpt2-4-zero3": (4, [model("gpt2", MEDIUM), *batch(8, 1, 256), "sharding.zero=3"]),
    "llama-data-tensor": (4, [model("llama", MEDIUM, ", kv_heads: 2"), *batch(8, 2, 256), "parallel.tensor=2"]),
    "gpt2-tensor-pipeline": (4, [model("gpt2", MEDIUM), FP32, *batch(8, 2, 256), "parallel.tensor=2",
                                 "parallel.pipeline={stages: 2}"]),
    "llama-4-stages": (4, [model("llama", SMALL, ", kv_heads: 2"), *batch(8, 1, 256), "parallel.pipeline={stages: 4}"]),
}
NUM_DRAWN = 6


def drawn_cases(seed):
    """Layouts that no one has chosen: family, widths, precision, batch, recomputation and layout by chance."""
    draw = random.Random(seed)
    cases = {}
    for number in range(NUM_DRAWN):
        ranks = draw.choice([1, 2, 2, 4])
        family = draw.choice(["gpt2", "gpt_neox", "llama", "qwen2", "qwen3", "olmo2", "gemma"])
        hidden, heads = draw.choice([(256, 4), (320, 4), (512, 8), (640, 8)])
        widths = f"layers: {draw.choice([4, 8])}, hidden: {hidden}, heads: {heads}, vocab: {VOCABULARY}"
        layout, data_ranks = draw.choice({
            1: [([], 1), (HOST_OPTIMIZER, 1)],
            2: [([], 2), (["sharding.zero=2"], 2), (["sharding.zero=3"], 2), (["parallel.tensor=2"], 1),
                (["parallel.pipeline={stages: 2}"], 1)],
            4: [(["sharding.zero=1"], 4), (["parallel.tensor=2", "sharding.zero=3"], 2),
                (["parallel.pipeline={stages: 2}"], 2)]}[ranks])
        micro_batch = draw.choice([1, 2])
        settings = [model(family, widths), *batch(data_ranks * micro_batch * draw.choice([2, 4]), micro_batch,
                                                  draw.choice([128, 256, 384])),
                    f"recompute.kind={draw.choice(['none', 'selective', 'full'])}",
                    f"precision.compute={draw.choice(['fp32', 'bf16'])}", *layout]
        cases[f"drawn-{seed}-{number}"] = (ranks, settings)
    return cases


def deck_settings(settings):
    tokens = training.token_file(100_000, VOCABULARY)
    return ["parallel.threads=1", f"train.steps={STEPS}",
            f"data.train=[{{format: llmc, path: {tokens}}}]", *settings]


def planned(binary, ranks, settings, machine):
    command = [binary, "plan", DECK, "--ranks", str(ranks), "--machine", machine, "--time",
               "--json", *deck_settings(settings)]
    done = subprocess.run(command, cwd=training.ROOT, env=training.environment(1), capture_output=True, text=True, timeout=600)
    if done.returncode != 0:
        raise training.TrainingFailed(f"'{' '.join(map(str, command))}' ended with exit code {done.returncode}:\n"
                                      f"{done.stdout[-3000:]}{done.stderr[-3000:]}")
    return json.loads(done.stdout)["step_s"]


def quartile(values, which):
    return statistics.quantiles(values, n=4, method="inclusive")[which - 1]


def measured_seconds(binary, mpiexec, cases, rounds):
    """The seconds of the steps of each case, by round. The cases run in turn."""
    seconds = {name: [] for name in cases}
    for turn in range(rounds):
        for name, (ranks, settings) in cases.items():
            seconds[name].append(training.step_seconds(binary, mpiexec, WORK / name, ranks, DECK, deck_settings(settings)))
            print(f"round {turn + 1}: {name} {quartile(seconds[name][-1], 1) * 1e3:.1f} ms", file=sys.stderr, flush=True)
    return seconds


def misordered(rows):
    """Pairs whose measured steps differ by more than 10 %, of which the plan names the slower one as faster."""
    pairs = wrong = 0
    for one, other in itertools.combinations(rows, 2):
        fast, slow = sorted((one, other), key=lambda row: row["measured_s"])
        if slow["measured_s"] > (1 + PAIR_DIFFERENCE) * fast["measured_s"]:
            pairs += 1
            if fast["planned_s"] >= slow["planned_s"]:
                wrong += 1
                print(f"ordered wrongly: {fast['case']} and {slow['case']}")
    return pairs, wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", type=pathlib.Path, default=training.ROOT / "build/release/bin/ziggurat")
    parser.add_argument("--mpiexec", default="mpirun -q --oversubscribe --bind-to none")
    parser.add_argument("--bench", type=pathlib.Path, required=True, help="folder with 1.yaml, 2.yaml and 4.yaml")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--reuse", action="store_true", help="plan the cases of the last results again, without runs")
    parser.add_argument("--case", action="append", help="only this case; may be given several times")
    chosen = parser.parse_args()
    binary, bench = chosen.binary.resolve(), chosen.bench.resolve()
    cases = CASES | drawn_cases(chosen.seed)
    cases = {name: cases[name] for name in chosen.case or cases}
    (WORK / "nvme").mkdir(parents=True, exist_ok=True)
    if chosen.reuse:
        seconds = {row["case"]: row["step_s"] for row in map(json.loads, RESULTS.read_text().splitlines())}
        cases = {name: cases[name] for name in cases if name in seconds}
    else:
        seconds = measured_seconds(binary, chosen.mpiexec, cases, chosen.rounds)
    rows = []
    for name, (ranks, settings) in cases.items():
        measured = min(quartile(steps, 1) for steps in seconds[name])
        spread = quartile(sum(seconds[name], []), 3) / measured
        step = planned(binary, ranks, settings, bench / f"{ranks}.yaml")
        rows.append({"case": name, "ranks": ranks, "measured_s": measured, "planned_s": step, "difference": step / measured - 1,
                     "spread": spread, "step_s": seconds[name], "settings": settings})
        print(f"{name:<24} {ranks} ranks: measured {measured * 1e3:8.1f} ms (spread {spread:4.2f}), planned {step * 1e3:8.1f} ms, "
              f"{rows[-1]['difference']:+7.1%}", flush=True)
    RESULTS.write_text("".join(json.dumps(row) + "\n" for row in rows))
    differences = sorted(abs(row["difference"]) for row in rows)
    pairs, wrong = misordered(rows)
    print(f"{len(rows)} cases: difference {statistics.median(differences):.1%} (median), {differences[-1]:.1%} (worst); spread "
          f"{statistics.median(row['spread'] for row in rows):.2f} (median), {max(row['spread'] for row in rows):.2f} (worst); "
          f"{wrong} of {pairs} pairs that differ by more than {PAIR_DIFFERENCE:.0%} are ordered wrongly")
    shutil.rmtree(WORK / "nvme", ignore_errors=True)


if __name__ == "__main__":
    try:
        main()
    except training.TrainingFailed as failure:
        sys.exit(f"FAILED: {failure}")
