#!/usr/bin/env python3
"""Times steps whose chunks stay on the device where memory is free, next to static splits of the same state.

  perf/chunks.py [--shares 0.3 0.5 0.7] [--rounds 2] [--steps 4]

One rank trains a small Llama (perf/throttled.yaml) without sharding. The device budget is what a step needs without any
state on the device, and a share of the model states. debug.throttle makes the link so slow that fetching all parameters one
time takes a quarter of a step that moves nothing. Of each budget, in turn, in rounds:

  static   homes auto, and each kind of state kept on the device with the others auto, if it fits, with the chosen chunk;
           the fastest counts
  chunks   tiers.movement: chunks, with each chunk that is a power of two, and with the one that tiers.chunk: auto chooses for
           a machine file with the measured rate

The figures are medians of steps but the first, each set against the others of its round:

  over_static  the step with chunks over that of the fastest static split
  over_best    the step at the chosen chunk over the fastest chunk of the sweep
  with_room    a step with chunks over one with static movement, with room for all state

Results go to build/perf/chunks.jsonl.
"""

import argparse
import json
import pathlib
import re
import statistics
import subprocess
import sys

import training
from activations import check, write_machine
from throttled import settings_of, train

KINDS = ("parameters", "gradients", "optimizer")
SHAPE = {"model.hidden": 256, "model.heads": 8, "model.kv_heads": 8, "model.ffn_hidden": 768, "sharding.zero": 0,
         "train.global_batch": 8, "train.micro_batch": 2, "recompute": "full", "overlap.prefetch": 1}
CHUNKS = (65536, 131072, 262144, 524288, 1048576)


def memory_of(chosen, settings):
    """Bytes that the device needs, and whether the budgets suffice."""
    memory = json.loads(check(chosen, settings, "--json"))["memory"]
    return memory["needed"]["device_B"], memory["fits"]


def program_of(chosen, settings):
    command = [chosen.binary, "plan", "perf/throttled.yaml", "--ranks", "1", "--program", "--json",
               *(f"{key}={value}" for key, value in settings.items())]
    return json.loads(subprocess.run(command, cwd=training.ROOT, capture_output=True, text=True, check=True).stdout)


def homes(**given):
    return {f"tiers.home.{kind}": given.get(kind, "auto") for kind in KINDS}


def static_splits(chosen, base):
    """The settings of static splits that fit the budget, by name."""
    splits = {"auto": homes()} | {kind: homes(**{kind: "device"}) for kind in KINDS}
    return {name: base | split for name, split in splits.items() if memory_of(chosen, base | split)[1]}


def chosen_chunk(chosen, settings, machine):
    printed = check(chosen, settings | {"tiers.chunk": "auto"}, "--print", "--machine", str(machine))
    return int(re.search(r"^  chunk: (\d+)", printed, re.MULTILINE).group(1))


def seconds_of(chosen, runs):
    """Of each run the median over the rounds."""
    times = {name: [] for name in runs}
    for _ in range(chosen.rounds):
        for name, settings in runs.items():
            times[name].append(statistics.median(train(chosen, settings, chosen.steps, f"chunks-{name}", 1)[1]))
    return {name: statistics.median(found) for name, found in times.items()}


def measure_share(chosen, share, base, budget, machine, log):
    throttled = base | {"tiers.device.budget": f"{budget}B"}
    with_chunks = throttled | {"tiers.movement": "chunks"}
    chunk = chosen_chunk(chosen, with_chunks, machine)
    runs = {f"static {name}": split for name, split in static_splits(chosen, throttled | {"tiers.chunk": chunk}).items()}
    runs |= {f"chunks {size}": with_chunks | {"tiers.chunk": size} for size in sorted({*CHUNKS, chunk})}
    seconds = seconds_of(chosen, runs)
    ours = seconds[f"chunks {chunk}"]
    static = min(value for name, value in seconds.items() if name.startswith("static"))
    sweep = min(value for name, value in seconds.items() if name.startswith("chunks"))
    record = {"measurement": "chunks", "share": share, "budget": budget, "chunk": chunk, "seconds": seconds,
              "over_static": ours / static, "over_best": ours / sweep}
    log.write(json.dumps(record) + "\n")
    log.flush()
    print(f"  {share:.0%} of the state: chunks of {chunk} take {ours:.3f} s, the fastest split {static:.3f} s, the fastest "
          f"chunk {sweep:.3f} s", file=sys.stderr, flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default=str(training.ROOT / "build/release/bin/ziggurat"))
    parser.add_argument("--shares", nargs="+", type=float, default=[0.3, 0.5, 0.7])
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--steps", type=int, default=4)
    parser.add_argument("--folder", type=pathlib.Path, default=training.RESULTS / "nvme")
    chosen = parser.parse_args()
    chosen.binary = str(pathlib.Path(chosen.binary).resolve())
    training.RESULTS.mkdir(parents=True, exist_ok=True)

    base = settings_of(chosen, {}, {}, SHAPE)
    alone = statistics.median(train(chosen, base, 6, "chunks-alone", 1)[1])
    program = program_of(chosen, base)
    flops = sum(op.get("flops", 0) for op in program["ops"])
    state = {kind: sum(buffer["bytes"] for buffer in program["buffers"]
                       if buffer["lifetime"] == "persistent" and buffer["state"] == kind)
             for kind in {buffer["state"] for buffer in program["buffers"]}}
    machine = write_machine(flops / alone)
    away = memory_of(chosen, base | {f"tiers.home.{kind}": "host" for kind in KINDS})[0]
    whole = memory_of(chosen, base)[0]
    rate = 4 * state["parameters"] / alone
    base |= {f"debug.throttle.{link}": f"{rate:.0f}B/s" for link in ("host_to_device", "device_to_host")}
    print(f"  alone a step takes {alone:.3f} s; the device needs {whole / 1e6:.0f} MB, without state {away / 1e6:.0f} MB",
          file=sys.stderr, flush=True)
    with open(training.RESULTS / "chunks.jsonl", "w") as log:
        for share in chosen.shares:
            measure_share(chosen, share, base, away + int(share * (whole - away)), machine, log)
        unlimited = {"static": base, "chunks": base | {"tiers.movement": "chunks"}}
        seconds = seconds_of(chosen, unlimited)
        log.write(json.dumps({"measurement": "chunks", "seconds": seconds,
                              "with_room": seconds["chunks"] / seconds["static"]}) + "\n")
    print((training.RESULTS / "chunks.jsonl").read_text(), end="")


if __name__ == "__main__":
    main()
