#!/usr/bin/env python3
"""A rank whose device fails or hangs says so and names the operation; all ranks end, with its exit code.

  lost_device_test.py --binary PROGRAM --work FOLDER --mpiexec COMMAND

PROGRAM is `ziggurat` on a device that fails where the environment says (failing_device/rank_processors.cpp).
"""

import argparse
import os
import re

from failure_test import RANKS, Job, wait_until

VICTIM = 2
RESOURCE = 3
HANGS_S = 600  # until something is taken to hang; a run comes to its failure in seconds
GONE = r"'[^']+'.* failed: the device is gone"
STUCK = r"'[^']+' has not completed on this rank's own device|into '[^']+', and is busy but does not finish"


def fails(chosen, failure, call, said, settings=()):
    """Training ends with the victim's code on all ranks, and with what it says about its device."""
    os.environ["ZIGGURAT_TEST_FAILURE"] = f"{VICTIM} {failure} {call}"
    with Job(f"{failure}_{call}", chosen, settings=["parallel.threads=1", *settings]) as job:
        wait_until(lambda: None not in job.codes(), HANGS_S)
        job.expect_all_left()
        messages = job.messages(VICTIM)
        job.expect(f"all leave with {RESOURCE}, not {job.codes()}", job.codes() == [RESOURCE] * RANKS)
        job.expect(f"the launcher reports {RESOURCE}", job.launcher.returncode == RESOURCE)
        job.expect(f"rank {VICTIM} says '{said}'", re.search(rf"error: rank {VICTIM} .*({said})", messages))
        for rank in set(range(RANKS)) - {VICTIM}:
            job.expect(f"rank {rank} says who failed", f"rank {VICTIM} (pid" in job.messages(rank))
        print(f"ok: {failure} at call {call}: {messages.splitlines()[-1][:160]}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", required=True)
    parser.add_argument("--work", required=True)
    parser.add_argument("--mpiexec", required=True)
    chosen = parser.parse_args()
    saves = ["checkpoint.every=1 steps", "checkpoint.keep.last=1"]
    sharded = ["sharding.zero=3", "tiers.home.optimizer=host"]
    for call in (20, 1500, 3001):
        fails(chosen, "lost", call, GONE, [*saves, *sharded])
    fails(chosen, "lost_late", 4000, GONE, sharded)
    fails(chosen, "alone", 5000, GONE)
    # Its streams never end, as where their collectives wait for ranks that wait for this one: it says so all the same.
    fails(chosen, "stuck", 4000, GONE, sharded)
    # Of one that hangs, or does not even take what it is given, the rank itself says what it waits for, or the others do.
    for failure in ("hangs", "blocks"):
        fails(chosen, failure, 4000, STUCK, ["run.hang_timeout=3s"])


if __name__ == "__main__":
    main()
