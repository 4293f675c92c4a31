#!/usr/bin/env python3
"""Where the rates of disks come from that `overlap.prefetch: auto` is chosen by: the machine file that
`ziggurat bench io` writes, or a short look at the start of a run.

  disks_test.py --binary ZIGGURAT --work FOLDER --mpiexec COMMAND
"""

import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import trainings
from trainings import Place, expect, say

RANKS = 2
ON_NVME = [f"tiers.home.{state}=nvme" for state in ("parameters", "gradients", "optimizer")]
MEASURED = re.compile(r"a node's disks gave [\d.]+[kMG]?B/s just now")
TAKEN = "B/s for a node's disks"
NO_DISK = "ziggurat: warning: tiers.nvme.paths:"  # folders in memory and the like are not measured


def banner(place, name, nvme, *settings, environment):
    with place.start(name, RANKS, "sharding.zero=3", "sharding.reduce=each_microbatch", *ON_NVME,
                     f"tiers.nvme.paths=['{nvme}']", "train.steps=1", "schedule.warmup=1 steps",
                     "checkpoint.every=none", *settings, environment=environment) as job:
        code = job.wait()
        expect(code == 0, f"{name}: exit code {code}\n{job.tail()}")
        return job.output()


def disks(chosen):
    place = Place(chosen, "gpt2")
    nvme, config = place.folder / "nvme", place.folder / "config"
    nvme.mkdir()
    environment = {"XDG_CONFIG_HOME": str(config)}

    first = banner(place, "unknown", nvme, environment=environment)
    is_disk = NO_DISK not in first
    expect(bool(MEASURED.search(first)) == is_disk and (TAKEN in first) != is_disk, f"unknown disks:\n{first[:3000]}")
    given = banner(place, "given", nvme, "overlap={prefetch: 2, optimizer_prefetch: 4}", environment=environment)
    expect(not MEASURED.search(given) and TAKEN not in given, f"nothing depends on them:\n{given[:3000]}")
    throttled = banner(place, "throttled", nvme, "debug.throttle.nvme_read=1GB/s", environment=environment)
    expect(not MEASURED.search(throttled) and TAKEN not in throttled, f"throttled disks:\n{throttled[:3000]}")
    say(f"without a machine file a run {'measures its disks' if is_disk else 'says what it takes them for'}, when it "
        "has to know")

    done = subprocess.run([place.binary, "bench", "io", nvme, "--size", "1MiB"], env=environment,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=trainings.PATIENCE_S)
    best = re.search(r"^best: tiers.nvme.block = (\S+), tiers.nvme.queue_depth = (\d+):", done.stdout, re.M)
    files = list((config / "ziggurat").glob("machine-*.yaml"))
    expect(done.returncode == 0 and best and len(files) == 1 and not list(nvme.iterdir()), f"{files}\n{done.stdout}")
    known = banner(place, "known", nvme, environment=environment)
    expect(not MEASURED.search(known) and TAKEN not in known, f"known disks:\n{known[:3000]}")
    effective = (place.folder / "known" / "deck.effective.yaml").read_text()
    expect(re.search(rf"block: {best[1]} ", effective) and re.search(rf"queue_depth: {best[2]} ", effective),
           f"not {best[0]} but\n{effective}")
    say(f"by the machine file it takes blocks of {best[1]}, {best[2]} at a time, and measures nothing")


if __name__ == "__main__":
    trainings.run_script(__doc__, disks)
