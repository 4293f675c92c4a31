#!/usr/bin/env python3
"""A run ends as it was asked to by signals, and goes on where it stopped: no step is lost, none is done twice.

  stop_test.py --binary ZIGGURAT --work FOLDER --mpiexec COMMAND
"""

import fcntl
import os
import pathlib
import pty
import select
import signal
import subprocess
import sys
import termios
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from trainings import (GRID, GRID_RANKS, PATIENCE_S, Place, complete_steps, environment_of, events, expect, processes_of, run_script, say,
                       step_numbers)

SAVES = ["checkpoint.every=100000 steps"]
CONSTANT = ["schedule.kind=constant", "schedule.warmup=0 steps"]
LONG_STEPS = ["train.global_batch=3000", "train.micro_batch=5"]  # of 0.2 s and more, in hundreds of pieces
FOR_EVER = "train.steps=1000000"


def ended(training, code, *texts):
    found = training.wait()
    expect(found == code, f"{training.name} ended with {found} instead of {code}\n{training.tail()}")
    for text in texts:
        expect(text in training.output(), f"{training.name} does not say '{text}'\n{training.tail()}")


def last(run, event):
    return [e for e in events(run) if e["event"] == event][-1]


def rank_process(training, rank):
    """The process of one rank behind a launcher; a lone rank is its own."""
    found = [pid for pid in processes_of(training.tag)
             if b"OMPI_COMM_WORLD_RANK=%d\0" % rank in environment_of(pid)]
    return found[0] if found else training.process.pid


def wait_for_steps(training, run, number):
    expect(training.wait_until(lambda: len(step_numbers(run)) >= number, f"{number} steps"),
           f"{training.name} ended before it was asked to\n{training.tail()}")


def once(chosen):
    """USR1 to mpirun; then the same command until it has finished, and once more."""
    place = Place(chosen, "once")
    run = place.folder / "run"
    with place.start("run", 2, FOR_EVER, *SAVES, *CONSTANT) as training:
        wait_for_steps(training, run, 3)
        training.process.send_signal(signal.SIGUSR1)
        ended(training, 75, "received SIGUSR1: stops after step", "saves, then exits 75", "R U N   T I M E",
              "Run the same command again")
    step = last(run, "end")["step"]
    expect([e["event"] for e in events(run)][-2:] == ["stop", "end"], "metrics end with stop and end")
    expect(last(run, "stop")["reason"] == "SIGUSR1", f"the reason is {last(run, 'stop')['reason']}")
    expect(complete_steps(run) == [step], f"saved steps are {complete_steps(run)} instead of {step}")
    expect(not (run / "DONE").exists(), "a run that was stopped is not done")
    say(f"USR1 to mpirun: stops and saves at step {step}, 75")

    place.train("run", 2, f"train.steps={step + 3}", *SAVES, *CONSTANT)
    expect(step_numbers(run) == list(range(1, step + 4)), "every step is there once")
    expect(last(run, "resume")["step"] == step, "metrics tell where it went on")
    expect((run / "DONE").read_text() == f"step {step + 3}\n", "DONE names the last step")
    log, environment = (run / "run.log").read_text(), (run / "env.txt").read_text()
    expect("Run the same command again" in log and f"resumed after step {step}" in log, "run.log goes on")
    expect(f"--- resumed after step {step}" in environment and environment.count("host: ") == 2, "env.txt goes on")

    before = {path.name: path.read_bytes() for path in run.iterdir() if path.is_file() and path.name != "run.log"}
    (run / "ckpt" / "step-000000001.old.tmp").mkdir()  # as a job leaves that dies in its last save
    (run / "ckpt" / "LATEST").rename(run / "ckpt" / "LATEST.tmp")
    said = place.train("run", 1, f"train.steps={step + 3}", *SAVES, *CONSTANT)
    after = {path.name: path.read_bytes() for path in run.iterdir() if path.is_file() and path.name != "run.log"}
    expect(f"finished before: run is at step {step + 3}" in said, f"does not say that it has finished\n{said}")
    expect(before == after, "a finished run changes nothing")
    expect(not list((run / "ckpt").glob("*.tmp")), f"left behind: {list((run / 'ckpt').glob('*.tmp'))}")
    place.expect_whole(run)
    place.train("run", 1, f"train.steps={step + 5}", *SAVES, *CONSTANT)
    expect(step_numbers(run) == list(range(1, step + 6)), "with more steps it goes on")
    expect((run / "DONE").read_text() == f"step {step + 5}\n", "DONE names the new last step")
    say("run again it goes on, finishes, and once more says that it has")


def send_together(pid, *numbers):
    """All of them before the process can do anything about the first; different ones, for equal ones count once."""
    os.kill(pid, signal.SIGSTOP)
    for number in numbers:
        os.kill(pid, number)
    os.kill(pid, signal.SIGCONT)


def expect_given_up(place, name, ranks, output, settings=LONG_STEPS, every=None):
    """What is left is the step before, in every way; `every`: so many steps were between saves that nobody asked for."""
    run = place.folder / "run"
    step = last(run, "end")["step"]
    expect(f"aborts step {step + 1} now" in output, f"the step given up is not {step + 1}\n{output}")
    expect(step_numbers(run) == list(range(1, step + 1)), "the step that was given up has no row")
    saved = sorted({step, *(range(every, step + 1, every) if every else ())})
    expect(complete_steps(run) == saved, f"saved steps are {complete_steps(run)} instead of {saved}")
    place.expect_whole(run)
    place.train("whole", ranks, f"train.steps={step}", *SAVES, *CONSTANT, *settings)
    expect(last(run, "end")["weights_hash"] == last(place.folder / "whole", "end")["weights_hash"],
           "the state is not that of the last complete step")
    say(f"{name}: gives up step {step + 1}, keeps and saves step {step}")


def twice(chosen):
    """Ctrl-C, and again while the step is still under way."""
    place = Place(chosen, "twice")
    run = place.folder / "run"
    with place.start("run", 1, FOR_EVER, *SAVES, *CONSTANT, *LONG_STEPS) as training:
        wait_for_steps(training, run, 1)
        training.process.send_signal(signal.SIGINT)
        training.says("received SIGINT: stops after")
        training.process.send_signal(signal.SIGINT)
        ended(training, 75, "received SIGINT again: aborts step")
        expect_given_up(place, "INT twice", 1, training.output())


def twice_to_one_rank(chosen):
    """The others learn of it with the end of the step, and give it up as well."""
    place = Place(chosen, "twice_to_one_rank")
    run = place.folder / "run"
    with place.start("run", 2, FOR_EVER, *SAVES, *CONSTANT, *LONG_STEPS) as training:
        wait_for_steps(training, run, 1)
        send_together(rank_process(training, 1), signal.SIGUSR1, signal.SIGTERM)
        ended(training, 75, "another rank was asked to stop: aborts step")
        expect_given_up(place, "twice to rank 1 of 2", 2, training.output())


def twice_to_one_rank_of_a_grid(chosen):
    """Stages learn of it by each other's waits: all give the step up, and what was saved before stays."""
    place = Place(chosen, "twice_in_a_grid")
    run = place.folder / "run"
    settings = [*GRID, "train.global_batch=400", "train.micro_batch=5"]
    saves = ["checkpoint.every=1 steps", "checkpoint.keep.last=1000"]
    with place.start("run", GRID_RANKS, FOR_EVER, *CONSTANT, *settings, *saves) as training:
        expect(training.wait_until(lambda: len(complete_steps(run)) >= 2, "two checkpoints"), training.tail())
        send_together(rank_process(training, GRID_RANKS - 1), signal.SIGUSR1, signal.SIGTERM)
        ended(training, 75, "another rank was asked to stop: aborts step")
        expect_given_up(place, f"twice to one of {' '.join(GRID)}", GRID_RANKS, training.output(), settings, every=1)


def at_once(chosen):
    """The third request ends the process where it is."""
    place = Place(chosen, "at_once")
    run = place.folder / "run"
    with place.start("run", 1, FOR_EVER, *SAVES, *LONG_STEPS) as training:
        wait_for_steps(training, run, 1)
        send_together(training.process.pid, signal.SIGUSR1, signal.SIGTERM, signal.SIGINT)
        found = training.wait()
        expect("third stop request" in training.output(), training.tail())
    # Which of the three counts last is the system's choice.
    expect(found in [128 + number for number in (signal.SIGUSR1, signal.SIGTERM, signal.SIGINT)], f"ended with {found}")
    expect(complete_steps(run) == [], "saves nothing")
    say(f"three times: {found}")


def without_checkpoints(chosen):
    place = Place(chosen, "without")
    run = place.folder / "run"
    with place.start("run", 1, FOR_EVER) as training:
        wait_for_steps(training, run, 3)
        training.process.send_signal(signal.SIGTERM)
        ended(training, 4, "received SIGTERM: stops after step", "saves nothing (checkpoint.every: none), exits 4",
              "R U N   T I M E", "no checkpoint is saved (checkpoint.every: none); exit code 4")
        expect("Run the same command again" not in training.output(), f"asks to be run again\n{training.tail()}")
    expect(not (run / "ckpt").exists(), "saves nothing")
    say("TERM to a lone rank without checkpoints: 4, and no word of running it again")


def hang_up(chosen):
    """The terminal goes, of a run whose deck says nothing of saving."""
    place = Place(chosen, "hang_up")
    run = place.folder / "run"
    deck = place.folder / place.deck
    deck.write_text("".join(line for line in deck.read_text().splitlines(True) if not line.startswith("checkpoint:")))
    terminal, screen = pty.openpty()
    process = subprocess.Popen(
        [place.binary, "train", place.deck, "run.dir=run", "run.resume=auto", FOR_EVER, *CONSTANT], cwd=place.folder,
        env=dict(os.environ, OMP_NUM_THREADS="1"), stdin=screen, stdout=screen, stderr=screen, start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
    os.close(screen)
    try:
        end = time.monotonic() + PATIENCE_S
        while len(step_numbers(run)) < 3 and process.poll() is None and time.monotonic() < end:
            if select.select([terminal], [], [], 0.01)[0]:
                os.read(terminal, 1 << 16)
        os.close(terminal)
        found = process.wait(timeout=PATIENCE_S)
    finally:
        process.kill()
    log = (run / "run.log").read_text()
    expect(found == 75 and "received SIGHUP: stops after step" in log, f"ended with {found}\n{log[-3000:]}")
    expect(complete_steps(run) == [last(run, "end")["step"]], f"saved steps are {complete_steps(run)}")
    place.train("run", 1, f"train.steps={last(run, 'end')['step'] + 2}", *CONSTANT)
    expect(complete_steps(run)[-1] == last(run, "end")["step"], "the end of a run whose deck says nothing is saved")
    say("a terminal that goes: saves and ends with 75")


if __name__ == "__main__":
    run_script(__doc__, once, twice, twice_to_one_rank, twice_to_one_rank_of_a_grid, at_once, without_checkpoints, hang_up)
