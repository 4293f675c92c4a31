#!/usr/bin/env python3
"""Times ZeRO 3 on two processes of one thread in Ziggurat and in a peer, in turn, and prints how they compare.

  perf/compare_sharded.py fsdp2        PyTorch FSDP2 over gloo, bf16, layers eager and compiled: the faster counts
  perf/compare_sharded.py deepspeed    DeepSpeed ZeRO-3 over gloo and its shared-memory operation, fp32

GPT-2 124M, two sequences of 1024 a process, optimizer and clipping included; random tokens, initial weights drawn
alike, so all must begin at a loss near ln(50257) = 10.8 and fall. A round runs each system once, in processes of
its own and alone; the ratio counts as the median over the rounds. Peers come from PyPI into build/venv
(perf/requirements.txt). Results go to build/perf/PEER.jsonl.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys

import training

PEERS = {"fsdp2": {"precision": "bf16", "modes": ("eager", "compiled")},
         "deepspeed": {"precision": "f32", "modes": ("eager",)}}
PYTHON = "scripts/torch_python.sh"


class PeerMissing(Exception):
    """The peer is not here and cannot be installed, or it does not run on this machine."""


def install_peers():
    """Installs what is missing of perf/requirements.txt into the environment that scripts/torch_python.sh keeps."""
    done = subprocess.run([PYTHON, "-m", "pip", "install", "-q", "-r", "perf/requirements.txt"], cwd=training.ROOT,
                          capture_output=True, text=True)
    if done.returncode != 0:
        raise PeerMissing(f"peers could not be installed (no network?)\n{done.stderr[-1500:]}")


def time_peer(peer, mode, chosen):
    command = [PYTHON, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "perf/sharded_step.py",
               "--system", peer, "--model", "gpt2-124m", "--precision", PEERS[peer]["precision"], "--mode", mode,
               "--sequences", "2", "--seq", str(chosen.seq), "--steps", str(chosen.peer_steps)]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "DS_ACCELERATOR": "cpu",
                                "TORCHINDUCTOR_CACHE_DIR": str(training.RESULTS / "inductor")}
    done = subprocess.run(command, cwd=training.ROOT, env=environment, capture_output=True, text=True)
    records = [json.loads(line) for line in done.stdout.splitlines() if line.startswith('{"measurement"')]
    if done.returncode != 0 or not records:
        raise PeerMissing(f"'{' '.join(command)}' ended with exit code {done.returncode}\n{done.stderr[-3000:]}")
    return records[-1]


def time_ours(peer, chosen):
    settings = {"sharding.zero": 3, "precision.compute": {"bf16": "bf16", "f32": "fp32"}[PEERS[peer]["precision"]],
                "data.seq": chosen.seq}
    return training.train(chosen.binary, 2, 1, settings, chosen.steps, f"beside-{peer}")


def compare(peer, chosen, log):
    """By system, one entry per round: tokens per second."""
    rates = {}
    for number in range(1, chosen.rounds + 1):
        for system in ("ours", *PEERS[peer]["modes"]):
            record = time_ours(peer, chosen) if system == "ours" else time_peer(peer, system, chosen)
            log.write(json.dumps(record | {"measurement": "sharded_step", "system": system, "round": number}) + "\n")
            log.flush()
            rates.setdefault(system, []).append(record["tokens_per_second"])
            print(f"  round {number} {system}: {record['tokens_per_second']:.1f} tokens/s, losses "
                  f"{' '.join(f'{loss:.3f}' for loss in record['losses'])}", file=sys.stderr, flush=True)
    return rates


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("peer", choices=PEERS)
    parser.add_argument("--binary", default=str(training.ROOT / "build/release/bin/ziggurat"))
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--steps", type=int, default=6, help="of our training; the first two are not counted")
    parser.add_argument("--peer-steps", type=int, default=3, help="counted steps of the peer's, after two others")
    parser.add_argument("--seq", type=int, default=1024)
    chosen = parser.parse_args()

    training.RESULTS.mkdir(parents=True, exist_ok=True)
    with open(training.RESULTS / f"{chosen.peer}.jsonl", "w") as log:
        try:
            install_peers()
            rates = compare(chosen.peer, chosen, log)
        except PeerMissing as problem:
            sys.exit(f"compare_sharded: {chosen.peer} was not measured: {problem}")
        ours = rates.pop("ours")
        ratios = [mine / max(theirs) for mine, *theirs in zip(ours, *rates.values())]
        record = {"measurement": "compare_sharded", "peer": chosen.peer, "precision": PEERS[chosen.peer]["precision"],
                  "ours": max(ours), **{system: max(values) for system, values in rates.items()},
                  "ratio": statistics.median(ratios), "ratios": ratios}
        log.write(json.dumps(record) + "\n")
    theirs = ", ".join(f"{chosen.peer} {system} {max(values):.1f}" for system, values in rates.items())
    print(f"tokens/s, best of {chosen.rounds} rounds: ours {max(ours):.1f}, {theirs}; "
          f"ours / the faster peer {record['ratio']:.2f}")


if __name__ == "__main__":
    try:
        main()
    except training.TrainingFailed as problem:
        sys.exit(f"compare_sharded: {problem}")
