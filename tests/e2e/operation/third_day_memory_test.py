#!/usr/bin/env python3
"""FITS means that it runs: in memory cgroups, the largest models that fit by `check` train and save, and nobody is killed.

  third_day_memory_test.py --binary ZIGGURAT --work FOLDER --mpiexec COMMAND [--part NAME]

ZIGGURAT_GROUPS in the environment: how many of the groups (default: 2). Skipped where no cgroup can be made.
"""

import os
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import trainings
from memory_group import MemoryGroup, NoGroups
from trainings import PATIENCE_S, Place, expect, run_script, say

SKIPPED = 77
MIB = 1 << 20
DOES_NOT_FIT = 3
# Ranks, MiB of the group, and settings. Homes are auto.
GROUPS = [(2, 300, []), (8, 1024, []), (1, 200, []), (1, 300, ["recompute.kind=full"]), (2, 200, []),
          (2, 512, ["sharding.zero=3"]), (4, 400, []), (4, 512, ["sharding.zero=2"]), (3, 512, ["train.global_batch=24"]),
          (2, 768, ["parallel.tensor=2"]), (4, 1024, ["parallel.pipeline=2"]), (8, 768, ["sharding.zero=3"])]
SETTINGS = ["train.steps=4", "train.global_batch=16", "train.micro_batch=1", "checkpoint.every=2 steps", "checkpoint.keep=2",
            "schedule={kind: constant, warmup: 0 steps}", "model={family: llama, hidden: 256, heads: 4, max_seq: 64}", "data.seq=64",
            *(f"tiers.home.{kind}=auto" for kind in ("parameters", "gradients", "optimizer", "activations"))]
FFN_HIDDEN, FFN_STEP = 512, 4  # where the search for the widest feed-forward starts, and what it is a multiple of


def environment():
    made = dict(os.environ, OMP_NUM_THREADS="1")
    if os.geteuid() == 0:
        made |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    return made


def run_in(group, place, *command):
    return subprocess.run(group.joined(command), cwd=place.folder, env=environment(), stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=PATIENCE_S)


def fits(place, limit, ranks, settings):
    with MemoryGroup(limit) as group:
        done = run_in(group, place, place.binary, "check", place.deck, "--ranks", ranks, "--json", "run.dir=new", *settings)
    expect(done.returncode in (0, DOES_NOT_FIT), f"check ended with {done.returncode}\n{done.stdout}")
    return done.returncode == 0


def largest(holds, low):
    """The largest number from `low` on for which `holds` is true, by doubling and by halves."""
    expect(holds(low), f"not even {low} fits")
    step = max(1, low)
    while holds(low + step):
        low, step = low + step, 2 * step
    high = low + step
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def largest_model(place, limit, ranks, settings):
    """Settings of the model that fills the group by check: as many layers as fit, then the widest feed-forward."""
    def shape(layers, ffn):
        return [f"model.layers={layers}", f"model.ffn_hidden={ffn * FFN_STEP}"]

    narrow = FFN_HIDDEN // FFN_STEP
    layers = largest(lambda count: fits(place, limit, ranks, [*settings, *shape(count, narrow)]), 2)
    ffn = largest(lambda width: fits(place, limit, ranks, [*settings, *shape(layers, width)]), narrow)
    return shape(layers, ffn)


def what_fits_runs(chosen):
    place = Place(chosen, "groups", "llama")
    count = int(os.environ.get("ZIGGURAT_GROUPS", "2"))
    for number, (ranks, mib, more) in enumerate(GROUPS[:count]):
        settings = [*SETTINGS, *more]
        model = largest_model(place, mib * MIB, ranks, settings)
        name = f"run{number}"
        launcher = [*place.mpiexec, "-n", str(ranks)] if ranks > 1 else []
        with MemoryGroup(mib * MIB) as group:
            done = run_in(group, place, *launcher, place.binary, "train", place.deck, f"run.dir={name}", *settings,
                          *model)
            kills, peak = group.kills(), group.peak_bytes()
        expect(done.returncode == 0 and kills == 0,
               f"{ranks} ranks, {mib} MiB, {model}, {more}: exit code {done.returncode}, {kills} kills\n"
               f"{done.stdout[-3000:]}")
        expect(trainings.complete_steps(place.folder / name) == [2, 4], "saves are complete")
        say(f"{ranks} ranks in {mib} MiB, {' '.join(more) or 'as it is'}: {' '.join(model)}, at most {peak // MIB} MiB")


HOG = """import sys, time
taken = b'x' * int(sys.argv[1])
time.sleep(60)"""


def what_was_killed_says_so(chosen):
    """A rank that the kernel kills for want of memory: the others, and metrics, name the limit."""
    place = Place(chosen, "killed", "llama")
    settings = [*SETTINGS, "model.layers=8", "train.steps=1000000", "checkpoint.every=5 steps"]
    run = place.folder / "limited"
    with MemoryGroup(1024 * MIB) as group:
        command = [*place.mpiexec, "-n", "2", place.binary, "train", place.deck, "run.dir=limited", *settings]
        with trainings.Training(group.joined(command), place.folder, "limited") as training:
            training.wait_until(lambda: trainings.complete_steps(run), "a checkpoint")
            victim = next(pid for pid in training.ranks() if b"OMPI_COMM_WORLD_RANK=1\0" in trainings.environment_of(pid))
            pathlib.Path(f"/proc/{victim}/oom_score_adj").write_text("1000")
            left = group.limit_bytes - (group.usage_bytes() - group.file_bytes())
            hog = subprocess.Popen(group.joined([sys.executable, "-c", HOG, left + 40 * MIB]))
            training.wait(60)
            hog.kill()
            hog.wait()
            said = training.output()
        kills = group.kills()
    expect(kills > 0, f"nobody was killed: {said[-2000:]}")
    ends = [row for row in trainings.events(run) if row["event"] in ("end", "crash")]
    reason = r"rank 1 .*killed by the system: the memory limit of its control group '.*', .*iB, was reached"
    expect(ends and re.search(reason, ends[-1]["reason"]), f"{ends}\n{said[-2000:]}")
    expect(re.search(reason, (run / "run.log").read_text()), "run.log")
    say(f"a kill names the limit ({kills} killed)")


def what_others_hold_is_warned_of(chosen):
    place = Place(chosen, "others", "llama")
    command = [place.binary, "check", place.deck, "--ranks", 2, "run.dir=new", *SETTINGS, "model.layers=4"]
    warning = "of this node's memory, but"
    with MemoryGroup(400 * MIB) as group:
        expect(warning not in run_in(group, place, *command).stdout, "a warning where nobody holds memory")
        hog = subprocess.Popen(group.joined([sys.executable, "-c", HOG, 280 * MIB]))
        trainings.wait_until(lambda: group.usage_bytes() > 270 * MIB, "memory to be taken")
        done = run_in(group, place, *command)
        hog.kill()
        hog.wait()
    expect(done.returncode == 0 and warning in done.stdout and "other processes use the rest" in done.stdout, done.stdout)
    say("check warns of memory that other processes hold")


if __name__ == "__main__":
    try:
        with MemoryGroup(64 * MIB):
            pass
    except NoGroups as none:
        print(f"skipped: no memory cgroup can be made here ({none})")
        sys.exit(SKIPPED)
    run_script(__doc__, what_fits_runs, what_was_killed_says_so, what_others_hold_is_warned_of)
