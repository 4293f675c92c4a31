#!/usr/bin/env python3
"""Times steps whose updates run in backward or after it, with optimizer state on the device, on the host and on NVMe.

  perf/updates.py --binary build/release/bin/ziggurat [--rounds 2] [--folder build/perf/nvme] [--tokens 32768]

A small Llama on one rank of one thread. debug.throttle makes its layers and the transfers between tiers as slow, relative to each other, as
those of a GPU that trains TOKENS tokens a step: the link is PCIe 4.0 (25 GB/s beside 156 TFLOP/s, half of an A100's peak), the disks
reach 6 GB/s beside 100 TFLOP/s. In a third case, the disks take as long for the optimizer's state as backward does.

  practicality   step with all state on the device over the step with tiers, by the fastest of the three orders
  over_floor     step over max(F, IOp) + max(B + U, IOo): forward and backward on the device alone, reads and writes of optimizer state
                 at the disk's rate, and the update's own time there; parameters stay on the device, so IOp is 0
  in_over_after  step with updates in backward over the step with updates after it

No gradient is clipped, so speculation never repeats an update. Runs alternate in rounds; a run's time is the median of its steps but the first three, and each figure is the median over rounds. Prints
JSON lines. Bars: practicality 0.85 on the host and 0.70 on NVMe; over_floor 1.10; in_over_after 0.85 where disks take as long as backward.
"""

import argparse
import json
import statistics
import sys

import training

DECK = "perf/throttled.yaml"
LAYERS, HIDDEN, FFN, VOCABULARY = 8, 512, 1408, 512
LAYER_SECONDS = 0.02  # forward of a layer
PARAMETERS = LAYERS * (4 * HIDDEN * HIDDEN + 3 * HIDDEN * FFN) + 2 * VOCABULARY * HIDDEN
STATE_BYTES = 12 * PARAMETERS
STEP_SECONDS = 3 * LAYERS * LAYER_SECONDS
BACKWARD_SECONDS = 2 * LAYERS * LAYER_SECONDS

ORDERS = {"after": {"overlap.optimizer_with_backward": "false"},
          "in": {"overlap.optimizer_with_backward": "true", "optimizer.clip.policy": "previous_norm"},
          "speculate": {"overlap.optimizer_with_backward": "true", "optimizer.clip.policy": "speculate"}}


def slowness(tokens, flops):
    """How much longer a step takes here than on a GPU that computes `flops` a second."""
    return STEP_SECONDS / (6 * PARAMETERS * tokens / flops)


def cases(tokens):
    """Home of the optimizer, and rates of links and disks in bytes/s."""
    link = 25e9 / slowness(tokens, 156e12)
    disk = 6e9 / slowness(tokens, 100e12)
    return {"host": ("host", link, None), "nvme": ("nvme", link, disk),
            "nvme as long as backward": ("nvme", link, STATE_BYTES / BACKWARD_SECONDS)}


def overrides(chosen, home, link, disk, order):
    settings = {"data.train": f"[{{format: llmc, path: {training.token_file(64 * 256 + 1, VOCABULARY)}}}]", "data.seq": 64,
                "model.layers": LAYERS, "model.hidden": HIDDEN, "model.heads": 8, "model.kv_heads": 8, "model.ffn_hidden": FFN,
                "train.global_batch": 2, "train.micro_batch": 2, "train.steps": training.FIRST_STEPS + 9, "parallel.threads": 1,
                "sharding.zero": 0, "recompute.kind": "none", "tiers.chunk": 524288, "tiers.home.parameters": "device",
                "tiers.home.activations": "device", "tiers.home.gradients": "device" if home == "device" else "host",
                "tiers.home.optimizer": home, "optimizer.clip_norm": 100, "debug.throttle.compute": f"{LAYER_SECONDS * 1000:.0f}ms"} | order
    if home != "device":
        settings |= {f"debug.throttle.{lane}": f"{link:.0f}B/s" for lane in ("host_to_device", "device_to_host")}
    if home == "nvme":
        settings |= {"tiers.nvme.paths": f"[{chosen.folder}]"}
        settings |= {f"debug.throttle.{lane}": f"{disk:.0f}B/s" for lane in ("nvme_read", "nvme_write")}
    return [f"{key}={value}" for key, value in settings.items()]


def seconds_of(chosen, name, home, link, disk, order):
    steps = training.step_seconds(chosen.binary, "mpirun --oversubscribe --bind-to none",
                                  training.RESULTS / "runs" / f"updates_{name}", 1, DECK,
                                  overrides(chosen, home, link, disk, order))
    return statistics.median(steps)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", required=True)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--folder", default=str(training.RESULTS / "nvme"))
    parser.add_argument("--tokens", type=int, default=32768)
    chosen = parser.parse_args()
    training.pathlib.Path(chosen.folder).mkdir(parents=True, exist_ok=True)
    rounds = []
    for _ in range(chosen.rounds):
        seconds = {"device": seconds_of(chosen, "device", "device", None, None, ORDERS["after"])}
        for name, (home, link, disk) in cases(chosen.tokens).items():
            for order, settings in ORDERS.items():
                seconds[name, order] = seconds_of(chosen, f"{name.replace(' ', '_')}_{order}", home, link, disk, settings)
        rounds.append(seconds)

    def over_rounds(figure):
        return round(statistics.median(figure(of) for of in rounds), 3)

    for name, (home, _, disk) in cases(chosen.tokens).items():
        io = STATE_BYTES / disk if disk else 0
        record = {"measurement": "updates", "case": name, "tokens": chosen.tokens,
                  "device_s": over_rounds(lambda of: of["device"]),
                  "seconds": {order: over_rounds(lambda of: of[name, order]) for order in ORDERS},
                  "practicality": over_rounds(lambda of: of["device"] / min(of[name, order] for order in ORDERS)),
                  "in_over_after": over_rounds(lambda of: of[name, "in"] / of[name, "after"])}
        if home == "nvme":
            record["over_floor"] = over_rounds(
                lambda of: of[name, "in"] / (of["device"] / 3 + max(of["device"] * 2 / 3, io)))
        print(json.dumps(record), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
