#!/usr/bin/env python3
"""Ctrl-Z is no hang; after Ctrl-C the last line has the exit code of mpirun, and nothing that looks like a fault is left.

  third_day_signals_test.py --binary ZIGGURAT --work FOLDER --mpiexec COMMAND
"""

import os
import pathlib
import re
import signal
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import trainings
from trainings import Place, complete_steps, events, expect, run_script, say, step_numbers

RANKS = 2
FOR_EVER = ["train.steps=1000000", "schedule={kind: constant, warmup: 0 steps}"]
HANG_S = 5  # a busy machine may leave ranks without a core for a second or two
PATIENT = {"OMPI_MCA_odls_base_sigkill_timeout": "3"}  # of mpirun, seconds: a save may take longer than its usual one
SMALL = ["train.global_batch=2", "train.micro_batch=1", "model.layers=1", "data.seq=8"]  # steps that fill a pipe in a second


def state_of(pid):
    with open(f"/proc/{pid}/stat") as stat:
        return stat.read().rsplit(")", 1)[1].split()[0]


def wait_for_more(training, run, what):
    before = len(step_numbers(run))
    expect(training.wait_until(lambda: len(step_numbers(run)) > before + 3, what), f"{what}: it ended\n{training.tail()}")


def interrupt(training, run):
    """Ctrl-C: clean, and the last line says why the code is not that of the ranks."""
    training.process.send_signal(signal.SIGINT)
    code = training.wait()
    last = training.output().strip().splitlines()[-1]
    expect(code == 1 and re.search(rf"exit code 75 of the ranks, {code} of mpi(run|exec), which was interrupted", last),
           f"{training.name} ended with {code}\n{training.tail()}")
    expect([event["event"] for event in events(run)][-1] == "end", "metrics end with it")
    expect(not (run / "errors").exists(), f"left: {list(run.glob('errors/*'))}")
    expect(not list(run.glob("ckpt/*.tmp")), f"left: {list(run.glob('ckpt/*.tmp'))}")


def stopped_together(chosen):
    """Ctrl-Z, as mpirun passes it on, and fg; then Ctrl-C with a save."""
    place = Place(chosen, "together")
    run = place.folder / "run"
    # mpirun reads no output while it waits between its signals, and lines of such short steps would fill the pipe.
    settings = [*FOR_EVER, f"run.hang_timeout={HANG_S}s", "checkpoint.every=100000 steps", "logging.every=100000 steps"]
    with place.start("run", RANKS, *settings, environment=PATIENT) as training:
        wait_for_more(training, run, "steps")
        ranks = training.ranks()
        training.process.send_signal(signal.SIGTSTP)
        trainings.wait_until(lambda: all(state_of(pid) == "T" for pid in ranks), "ranks to be stopped")
        time.sleep(1.5 * HANG_S)
        training.process.send_signal(signal.SIGCONT)
        wait_for_more(training, run, "steps after fg")
        expect("raise run.hang_timeout" not in training.output(), training.tail())
        interrupt(training, run)
    expect(complete_steps(run) == [step_numbers(run)[-1]], "it is saved")
    say("ranks that are stopped together")


def stopped_launcher(chosen):
    """Only mpirun is stopped: a rank that prints waits for it, and no other blames it."""
    place = Place(chosen, "launcher")
    run = place.folder / "run"
    with place.start("run", RANKS, *FOR_EVER, *SMALL, f"run.hang_timeout={HANG_S}s") as training:
        wait_for_more(training, run, "steps")
        os.kill(training.process.pid, signal.SIGSTOP)
        steps = []

        def stand_still():
            steps.append(len(step_numbers(run)))
            time.sleep(0.3)
            return steps[-2:] == [steps[-1]] * 2

        trainings.wait_until(stand_still, "a line that nobody reads")
        time.sleep(1.5 * HANG_S)
        os.kill(training.process.pid, signal.SIGCONT)
        wait_for_more(training, run, "steps after mpirun continues")
        training.process.send_signal(signal.SIGUSR1)
        expect(training.wait() == 4 and "raise run.hang_timeout" not in training.output(), training.tail())
    expect(not (run / "errors").exists(), f"left: {list(run.glob('errors/*'))}")
    say("a launcher that is stopped")


def killed_by_its_launcher(chosen):
    """A step that takes longer than mpirun waits: the loss is announced, and no rank blames another."""
    place = Place(chosen, "killed")
    run = place.folder / "run"
    with place.start("run", RANKS, *FOR_EVER, "train.global_batch=20000", "checkpoint.every=100000 steps") as training:
        training.says("step       1/")
        training.process.send_signal(signal.SIGINT)
        expect(training.wait() == 1 and "kills the ranks after 1.00 s" in training.output(), training.tail())
        said = training.output().strip().splitlines()
        notes = [line for line in said if "which was asked to end the job, has killed" in line]
        last = [line for line in said if line not in notes][-1]
        expect(re.search(r"^received SIGTERM from mpi(run|exec), .*mpi(run|exec) exits 1\.$", last), training.tail())
    expect(not (run / "errors").exists(), f"left: {list(run.glob('errors/*'))}")
    said = place.train("run", 1, "train.steps=2", *FOR_EVER[1:], *SMALL)
    expect("has died" not in said, said)
    say("ranks that mpirun kills")


if __name__ == "__main__":
    run_script(__doc__, stopped_together, stopped_launcher, killed_by_its_launcher)
