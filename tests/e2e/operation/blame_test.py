#!/usr/bin/env python3
"""A lane that is slowed down until the step takes T longer has at least nine tenths of T in the account, also where
ranks wait for each other's lanes in collectives, and the account says that it limits; named parts explain the run.

  blame_test.py --binary ZIGGURAT --work FOLDER --mpiexec COMMAND [--ranks N ...]

Other programs on the machine make steps longer, too, by times that are no lane's. These do not grow with what a lane
lasts: where they are too much, the lane is made slower, until they are little beside it.
"""

import argparse
import atexit
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

STEPS = 4
GROWTHS = (0.5, 1, 2, 4, 8, 16)  # seconds that a slowed lane works in each step
PATIENCE_S = 600  # only for what hangs
BOOKED = 0.9
EXPLAINED = 0.98
LANES = {
    "nvme_read": ("Wait for NVMe reads", "NVMe reads", "plan_nvme_read_B"),
    "nvme_write": ("Wait for NVMe writes", "NVMe writes", "plan_nvme_written_B"),
    "host_to_device": ("Wait for host to device", "copies from host to device", "plan_host_to_device_B"),
    "device_to_host": ("Wait for device to host", "copies from device to host", "plan_device_to_host_B"),
}
TIERS = ["tiers.home.optimizer=nvme", "tiers.home.parameters=nvme", "tiers.home.gradients=nvme",
         "tiers.chunk=4096"]


def expect(what, holds, found):
    if not holds:
        sys.exit(f"FAILED: {what}\n{found}")
    print(f"ok: {what}")


def memory_or(folder):
    """Where files do not wait for a disk that others use as well, if there is such a place."""
    shared = pathlib.Path("/dev/shm")
    if not os.access(shared, os.W_OK):
        return folder
    made = tempfile.mkdtemp(prefix="blame_test.", dir=shared)
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return pathlib.Path(made)


def train(name, ranks, overrides, chosen):
    """The events and the account of one run."""
    folder = pathlib.Path(chosen.work) / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "text.txt").write_text("a text that is long enough for a few windows of tokens\n" * 200)
    shutil.copy(pathlib.Path(__file__).resolve().parents[1] / "decks" / "llama_tiny.yaml", folder / "deck.yaml")
    command = [*shlex.split(chosen.mpiexec), "-n", str(ranks), chosen.binary, "train", "deck.yaml",
               f"run.dir={folder}/run", f"train.steps={STEPS}", "train.global_batch=12", "train.micro_batch=2",
               "sharding.zero=3", "schedule.warmup=0 steps", *overrides]
    environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    done = subprocess.run(command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, timeout=PATIENCE_S)
    expect(f"{name}: runs", done.returncode == 0, done.stdout)
    events = [json.loads(line) for line in (folder / "run" / "metrics.jsonl").read_text().splitlines()]
    return events, (folder / "run" / "perf.txt").read_text()


def seconds_of(account):
    """Mean seconds over ranks by activity, of one step."""
    first, last = map(int, re.search(r"steps (\d+) to (\d+)", account).groups())
    seconds = {}
    for line in account.splitlines():
        row = re.match(r" (\S.{33})[ \d]{10}[ .\d]{11}([ .\d-]{11})", line)
        if row:
            seconds[row.group(1).strip()] = float(row.group(2)) / (last - first + 1)
        if line.startswith(" Total"):
            break
    return seconds


def check_lane(lane, ranks, base, chosen):
    """`base`: events and seconds of the run without a throttle."""
    activity, sentence, planned = LANES[lane]
    name = f"{lane}_on_{ranks}"
    events, seconds = base
    step = next(event for event in events if event["event"] == "step")
    for slowed in GROWTHS:
        _, account = train(name, ranks, [*TIERS, f"debug.throttle={{{lane}: {step[planned] / ranks / slowed:.0f}B/s}}"], chosen)
        slow = seconds_of(account)
        growth = slow["Total"] - seconds["Total"]
        booked = slow.get(activity, 0) - seconds.get(activity, 0)
        explained = 1 - slow["Rest"] / slow["Total"]
        print(f"{name}: slowed by {slowed} s, a step takes {growth:.3f} s longer, {booked:.3f} s of it booked on that lane; "
              f"named parts explain {100 * explained:.1f}% of the run")
        is_named = f"Bound by {sentence}: " in account
        if growth > 0.5 * slowed and booked >= BOOKED * growth and explained >= EXPLAINED and is_named:
            break
    expect(f"{name}: it is slowed down", growth > 0.5 * slowed, account)
    expect(f"{name}: what it takes longer is booked on that lane", booked >= BOOKED * growth, account)
    expect(f"{name}: named parts explain the run", explained >= EXPLAINED, account)
    expect(f"{name}: the account names the lane", is_named, account)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for option in ("--binary", "--work", "--mpiexec"):
        parser.add_argument(option, required=True)
    parser.add_argument("--ranks", type=int, nargs="+", default=[2])
    chosen = parser.parse_args()
    TIERS.append(f"tiers.nvme.paths=[{memory_or(pathlib.Path(chosen.work))}]")
    for ranks in chosen.ranks:
        events, account = train(f"base_on_{ranks}", ranks, TIERS, chosen)
        for lane in LANES:
            check_lane(lane, ranks, (events, seconds_of(account)), chosen)


if __name__ == "__main__":
    main()
