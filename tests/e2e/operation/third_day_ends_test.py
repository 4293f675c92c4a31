#!/usr/bin/env python3
"""What ended a run stands in run.log, metrics.jsonl and the report, whoever was left to tell; a resume keeps it.

  third_day_ends_test.py --binary ZIGGURAT --work FOLDER --mpiexec COMMAND
"""

import os
import pathlib
import re
import signal
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import trainings
from trainings import PATIENCE_S, Place, complete_steps, environment_of, expect, run_script, say

RANKS = 3
RESOURCE, NUMERICS = 3, 5  # exit codes
SETTINGS = ["checkpoint.every=5 steps", "checkpoint.keep=2", "schedule={kind: constant, warmup: 0 steps}"]
LONG = ["train.steps=1000000"]


def rank_of(training, number):
    mine = f"OMPI_COMM_WORLD_RANK={number}\0".encode()
    return next(pid for pid in training.ranks() if mine in environment_of(pid))


def kill_rank(number, with_signal=signal.SIGKILL):
    return lambda training: os.kill(rank_of(training, number), with_signal)


def kill_launcher(training):
    training.kill(training.process.pid)
    trainings.wait_until(lambda: not training.ranks(), "ranks without their launcher to leave")


def kill_all(training):
    training.kill_all()


# What is done to a training, and what then says why it ended.
ENDS = {
    "one": (kill_rank(1), r"rank 1 .*killed by signal 9, SIGKILL"),
    "first": (kill_rank(0), r"rank 0 .*killed by signal 9, SIGKILL"),
    "fault": (kill_rank(2, signal.SIGBUS), r"rank 2 .*killed by signal 7, SIGBUS"),
    "launcher": (kill_launcher, r"the launcher .* has ended"),
    "all": (kill_all, r"all its processes were killed at once|the launcher .* has ended"),  # one may see it before it dies
}


def ends_of(run):
    return [row for row in trainings.events(run) if row["event"] in ("end", "crash")]


def report_of(place, run):
    done = subprocess.run([place.binary, "report", run], cwd=place.folder, stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=PATIENCE_S)
    expect(done.returncode == 0, f"report {run}: {done.stdout}{done.stderr}")
    return (place.folder / run / "report.html").read_text()


def is_told_everywhere(chosen):
    place = Place(chosen, "told")
    for name, (end, reason) in ENDS.items():
        run = place.folder / name
        with place.start(name, RANKS, *LONG, *SETTINGS) as training:
            training.wait_until(lambda: complete_steps(run), "a checkpoint")
            end(training)
            expect(training.wait() != 0, f"{name}: it ended well")
        # A killed process holds the folder until the kernel has taken it down.
        trainings.wait_until(lambda: re.search(reason, report_of(place, name)), f"a report of {name} that says {reason}", 20)
        expect(re.search(r"  (died|failed with 6): ", top_of(place, name)), f"{name}: {top_of(place, name)}")
        if name != "all":  # nobody was left
            ends = ends_of(run)
            expect(len(ends) == 1 and re.search(reason, ends[0]["reason"]), f"{name}: {ends}")
            log = (run / "run.log").read_text()
            expect(len(re.findall(reason, log)) == 1, f"{name}: {log[-1500:]}")
        last = complete_steps(run)[-1]
        said = place.train(name, RANKS, f"train.steps={last + 2}", *SETTINGS)
        ends = ends_of(run)
        expect(len(ends) == 2 and re.search(reason, ends[0]["reason"]) and ends[1]["reason"] == "finished",
               f"{name}: after a resume {ends}")
        expect(trainings.step_numbers(run) == list(range(1, last + 3)), f"{name}: each step once")
        expect("ended after step" not in said or name == "all", f"{name}: {said}")
        expect(re.search(reason, (run / "run.log").read_text()), f"{name}: run.log after a resume")
        page = report_of(place, name)
        expect(re.search(reason, page) and page.count("<td>complete</td>") <= 2, f"{name}: the report after a resume")
        expect(page.count("no job runs in this folder") == 0, f"{name}: it has told its end")
    say(f"ends: {', '.join(ENDS)}")


def top_of(place, run):
    return subprocess.run([place.binary, "top", run, "--once"], cwd=place.folder, stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=PATIENCE_S).stdout


def numbers_and_disks_end_a_run(chosen):
    """The reason is in run.log, metrics.jsonl, the report and `top`."""
    place = Place(chosen, "reasons")
    broken = ["train.steps=60", "optimizer.lr=1000", "precision.compute=fp32", "optimizer.clip={policy: off}", "model.init_std=10",
              "optimizer.weight_decay=0.9"]
    full = ["train.steps=6", "checkpoint.every=4 steps"]
    small_disk = ("unshare", "-m", "sh", "-c", 'mount -t tmpfs -o size=300k none full/ckpt && exec "$@"', "sh")
    (place.folder / "full" / "ckpt").mkdir(parents=True)
    ends = {"broken": (NUMERICS, r"loss or gradient is not finite", broken, ())}
    if may_mount():
        ends["full"] = (RESOURCE, r"not enough space in .*ckpt", full, small_disk)
    for name, (code, reason, settings, wrapper) in ends.items():
        with place.start(name, 1, *settings, "schedule={kind: constant, warmup: 0 steps}", wrapper=wrapper) as training:
            found = training.wait()
            expect(found == code, f"{name}: ended with {found}\n{training.tail()}")
        last = ends_of(place.folder / name)[-1]
        expect(last["exit_code"] == code and re.search(reason, last["reason"]), f"{name}: {last}")
        expect(re.search(reason, (place.folder / name / "run.log").read_text().splitlines()[-1]), f"{name}: run.log")
        expect(re.search(reason, report_of(place, name)), f"{name}: report")
        expect(f"failed with {code}" in top_of(place, name), f"{name}: {top_of(place, name)}")
    say(f"reasons: {', '.join(ends)}")


def may_mount():
    """In a name space of its own."""
    return subprocess.run(["unshare", "-m", "mount", "-t", "tmpfs", "none", "/mnt"], stdin=subprocess.DEVNULL,
                          capture_output=True, timeout=PATIENCE_S).returncode == 0


def removed_checkpoints_are_folded(chosen):
    place = Place(chosen, "removed")
    run = place.folder / "run"
    place.train("run", 1, "train.steps=22", *SETTINGS)
    page = report_of(place, "run")
    expect("<details><summary>3 removed since</summary>" in page and page.count("removed since</td>") == 3, page[-3000:])
    expect(complete_steps(run) == [20, 22], complete_steps(run))
    say("removed checkpoints are folded")


if __name__ == "__main__":
    run_script(__doc__, is_told_everywhere, numbers_and_disks_end_a_run, removed_checkpoints_are_folded)
