#!/usr/bin/env python3
"""Times a training whose state lies away from the device in Ziggurat and in DeepSpeed ZeRO-3, in turn, beside its memory
and its disk traffic.

  perf/compare_deepspeed.py [--home nvme|cpu] [--folder FOLDER] [--rounds 2] [--seq 128 1024]
                            [--recompute full none]

A Llama of 348 million parameters on two processes of one thread, two sequences each, bf16 with fp32 master weights and
moments, clipping. By default at two lengths: at 128 the disk decides how long a step takes, at 1024 the matrix products do
where cores are slow. Each system recomputes whole layers, then nothing. Like is compared with like; ours without
recomputation also with the peer's with it, as memory that is not taken may go to activations.

Tokens are random, so all losses must begin near ln(32000) = 10.4 and fall (the peer's faster: PyTorch's own initial values
stay, 1 in embeddings, since the model's 0.02 has no effect on parameters that zero.Init has taken). Parameters, gradients and
optimizer are at home on NVMe (or, with cpu, in host memory) in both. Each run is alone in a memory cgroup, whose peak is what
it took: private and shared memory, page cache, launcher and all. Bytes of the disk are the kernel's, from /proc/PID/io.
DeepSpeed comes from PyPI into build/venv (perf/requirements.txt) and builds its own extensions at its first run. Results go
to build/perf/offload.jsonl.
"""

import argparse
import itertools
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys

import training
import watched
from compare_sharded import PYTHON, PeerMissing, install_peers
from watched import GIB, RANKS

MODELS = {"llama-350m": [], "tiny-llama": [  # the second shows that all of it runs
    "model.layers=2", "model.hidden=64", "model.heads=4", "model.kv_heads=2", "model.ffn_hidden=128", "model.vocab=512"]}
VOCABULARY = {"llama-350m": 32000, "tiny-llama": 512}
UNLIMITED = 1 << 50


def homes(home):
    tier = {"nvme": "nvme", "cpu": "host"}[home]
    return [f"tiers.home.{state}={tier}" for state in ("parameters", "gradients", "optimizer")]


def time_ours(chosen, seq, recompute):
    tokens = training.token_file(2 * RANKS * seq + 1, VOCABULARY[chosen.model])
    words = [f"data.train=[{{format: llmc, path: {tokens}}}]", f"data.seq={seq}", f"train.steps={chosen.steps}",
             "parallel.threads=1", f"recompute.kind={recompute}", *homes(chosen.home), *MODELS[chosen.model]]
    if chosen.home == "nvme":
        words.append(f"tiers.nvme.paths=[{chosen.folder}]")
    found = watched.train(chosen.binary, "perf/offload.yaml", f"beside-deepspeed-{chosen.home}", words, UNLIMITED)
    best = min(step["step_s"] for step in found["steps"][2:])
    return {"tokens_per_second": 2 * RANKS * seq / best, "step_seconds": best, "peak_bytes": found["peak"],
            "losses": [step["loss"] for step in found["steps"]], "read_bytes": found["per_step"][0],
            "written_bytes": found["per_step"][1]}


def time_peer(chosen, seq, recompute):
    command = [PYTHON, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(RANKS),
               "perf/offload_step.py", "--home", chosen.home, "--folder", chosen.folder, "--model", chosen.model,
               "--seq", str(seq), "--steps", str(chosen.peer_steps), "--recompute", recompute]
    scripts = training.ROOT / "build" / "venv" / "bin"  # has the ninja that DeepSpeed builds its extensions with
    environment = os.environ | {"OMP_NUM_THREADS": "1", "DS_ACCELERATOR": "cpu",
                                "PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}"}
    with watched.memory_group.MemoryGroup(UNLIMITED) as group:
        done = subprocess.run(group.joined(command), cwd=training.ROOT, env=environment, capture_output=True, text=True)
        peak = group.peak_bytes()
    shutil.rmtree(pathlib.Path(chosen.folder) / "zero_stage_3", ignore_errors=True)
    records = [json.loads(line) for line in done.stdout.splitlines() if line.startswith('{"measurement"')]
    if done.returncode != 0 or not records:
        raise PeerMissing(f"'{' '.join(command)}' ended with exit code {done.returncode}\n{done.stderr[-3000:]}")
    return records[-1] | {"peak_bytes": peak}


MEASURES = {"ours": time_ours, "deepspeed": time_peer}


def append(log, record):
    log.write(json.dumps(record) + "\n")
    log.flush()


def compare(chosen, seq, log):
    """Logs rounds of sequences of `seq` tokens, and what they come to by (ours, theirs) recomputation, which it returns."""
    found = {(system, recompute): [] for recompute in chosen.recompute for system in MEASURES}
    for number in range(1, chosen.rounds + 1):
        for (system, recompute), records in found.items():
            record = MEASURES[system](chosen, seq, recompute) | {
                "measurement": "offload_step", "system": system, "seq": seq, "recompute": recompute, "round": number}
            append(log, record)
            records.append(record)
            print(f"  {seq} tokens, recompute {recompute}, round {number}, {system}: {record['tokens_per_second']:.1f} "
                  f"tokens/s, peak {record['peak_bytes'] / GIB:.2f} GiB, in a step {record['read_bytes'] / 1e9:.2f} GB read "
                  f"and {record['written_bytes'] / 1e9:.2f} GB written, losses "
                  f"{' '.join(f'{loss:.3f}' for loss in record['losses'])}", file=sys.stderr, flush=True)
    compared = []
    for ours, theirs in itertools.product(chosen.recompute, chosen.recompute):
        if (ours, theirs) == ("full", "none"):
            continue
        pairs = list(zip(found["ours", ours], found["deepspeed", theirs]))
        rates = [one["tokens_per_second"] / other["tokens_per_second"] for one, other in pairs]
        peaks = [one["peak_bytes"] / other["peak_bytes"] for one, other in pairs]
        compared.append({"measurement": "compare_deepspeed", "home": chosen.home, "seq": seq, "ours": ours, "theirs": theirs,
                         "rate": statistics.median(rates), "rates": rates, "peak": statistics.median(peaks), "peaks": peaks})
        append(log, compared[-1])
    return compared


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default=str(training.ROOT / "build/release/bin/ziggurat"))
    parser.add_argument("--home", choices=["nvme", "cpu"], default="nvme")
    parser.add_argument("--folder", default=str(training.RESULTS / "nvme"), help="on the disk to be used")
    parser.add_argument("--model", choices=MODELS, default="llama-350m")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--steps", type=int, default=5, help="of our training; the first two are not counted")
    parser.add_argument("--peer-steps", type=int, default=3, help="counted steps of the peer's, after two others")
    parser.add_argument("--seq", type=int, nargs="+", default=[128, 1024], help="tokens in a sequence; each is measured")
    parser.add_argument("--recompute", choices=["full", "none"], nargs="+", default=["full", "none"])
    chosen = parser.parse_args()
    chosen.binary = str(pathlib.Path(chosen.binary).resolve())

    os.makedirs(chosen.folder, exist_ok=True)
    with open(training.RESULTS / "offload.jsonl", "w") as log:
        try:
            install_peers()
            for seq in chosen.seq:
                for record in compare(chosen, seq, log):
                    print(f"ours / DeepSpeed ZeRO-3, {chosen.home}, sequences of {seq}, recompute {record['ours']} / "
                          f"{record['theirs']}: tokens/s {record['rate']:.2f} (bar: 2), peak memory {record['peak']:.2f} "
                          "(bar: 0.5)", flush=True)
        except PeerMissing as problem:
            sys.exit(f"compare_deepspeed: {chosen.home} was not measured: {problem}")


if __name__ == "__main__":
    try:
        main()
    except watched.PROBLEMS as problem:
        sys.exit(f"compare_deepspeed: {problem}")
