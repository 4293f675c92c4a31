#!/usr/bin/env python3
"""Pipelines without a flush: drained, they are 1F1B; a resume has the bits of a run that saves at the same steps.

  pipedream_test.py --binary ZIGGURAT --work FOLDER --mpiexec COMMAND

It prints the difference in loss from 1F1B.
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import trainings
from trainings import Place, expect, say

STEPS = 12
COMMON = [f"train.steps={STEPS}", "train.global_batch=6", "train.micro_batch=1", "model.layers=4", "optimizer.clip.policy=off",
          "schedule={kind: constant, warmup: 0 steps}"]
STOPPED = 75


def pipeline(stages, schedule="pipedream"):
    return f"parallel.pipeline={{stages: {stages}, schedule: {schedule}}}"


def micro_batches(count):
    return f"train.micro_batch={6 // count}"


def end_of(run):
    return [row for row in trainings.events(run) if row["event"] == "end"][-1]


def losses(place, run, steps=STEPS):
    return trainings.losses(place.folder / run, 1, steps)


def expect_same(place, run, other):
    expect(losses(place, run) == losses(place, other), f"{run} and {other} have other losses: {losses(place, run)} and "
                                                       f"{losses(place, other)}")
    ours, theirs = (end_of(place.folder / name)["weights_hash"] for name in (run, other))
    expect(ours == theirs, f"{run} and {other} have other weights")


def drained_in_each_step_it_is_1f1b(chosen):
    place = Place(chosen, "drained", "llama")
    for stages, count in ((2, 1), (2, 3), (3, 2), (4, 1)):
        settings = [*COMMON, micro_batches(count), "checkpoint.every=1 steps", "checkpoint.keep={last: 1}"]
        name = f"{stages}_{count}"
        place.train(f"pipedream_{name}", stages, *settings, pipeline(stages))
        place.train(f"flush_{name}", stages, *settings, pipeline(stages, "1f1b"))
        expect_same(place, f"pipedream_{name}", f"flush_{name}")
    say("drained in each step, the losses and weights have the bits of 1F1B")


def its_loss_is_near_that_of_1f1b(chosen):
    place = Place(chosen, "gap", "llama")
    for schedule in ("pipedream", "1f1b"):
        place.train(schedule, 3, *COMMON, micro_batches(2), pipeline(3, schedule))
    ours, other = losses(place, "pipedream"), losses(place, "1f1b")
    expect(ours[0] == other[0] and ours[1:] != other[1:], f"losses {ours} and {other}")
    expect(abs(ours[-1] / other[-1] - 1) < 0.1, f"losses {ours} and {other}")
    say(f"after {STEPS} steps the loss differs by {ours[-1] - other[-1]:+.4f} of {other[-1]:.4f}")


def a_resume_has_the_bits_of_a_run_that_saves(chosen):
    place = Place(chosen, "resumed", "llama")
    for stages, count in ((2, 2), (3, 1)):
        settings = [*COMMON, micro_batches(count), pipeline(stages), "checkpoint.every=4 steps"]
        name = f"{stages}_{count}"
        place.train(f"whole_{name}", stages, *settings)
        place.train(f"resumed_{name}", stages, *settings, "train.steps=8")
        place.train(f"resumed_{name}", stages, *settings)
        expect_same(place, f"resumed_{name}", f"whole_{name}")
        place.expect_whole(place.folder / f"resumed_{name}")
    say("a resume has the losses and weights of a run that saves at the same steps")


def a_stopped_run_drains_and_saves(chosen):
    place = Place(chosen, "stopped", "llama")
    settings = [*COMMON, micro_batches(2), pipeline(3), "train.steps=400", "checkpoint.every=1000 steps"]
    with place.start("run", 3, *settings, "debug.throttle={compute: 1ms}") as training:
        expect(training.says("step   6/400"), training.tail())
        (place.folder / "run" / "STOP").touch()
        expect(training.wait() == STOPPED, training.tail())
    saved = trainings.complete_steps(place.folder / "run")
    expect(len(saved) == 1 and 6 <= saved[0] < 400, f"saved steps {saved}")
    expect(trainings.step_numbers(place.folder / "run") == list(range(1, saved[0] + 1)), "steps are missing")
    place.train("run", 3, *settings, f"train.steps={saved[0] + 3}")
    losses(place, "run", saved[0] + 3)
    place.expect_whole(place.folder / "run")
    say(f"a run that is stopped drains its pipeline, saves step {saved[0]} and ends with {STOPPED}")


def validations_and_requests_drain_it(chosen):
    place = Place(chosen, "requests", "llama")
    settings = [*COMMON, micro_batches(2), pipeline(2), "train.steps=4000", "checkpoint.every=10000 steps", "data.held_out=5%",
                "validate={every: 20 steps, batches: 2}"]
    run = place.folder / "run"
    with place.start("run", 2, *settings, "debug.throttle={compute: 1ms}") as training:
        expect(training.says("step    4/4000"), training.tail())
        (run / "CHECKPOINT").touch()
        expect(training.wait_until(lambda: trainings.complete_steps(run), "the requested checkpoint"), training.tail())
        (run / "STOP").touch()
        expect(training.wait() == STOPPED, training.tail())
    saved = trainings.complete_steps(run)
    expect(saved[-1] < 4000, f"saved steps {saved}")
    validated = [row["step"] for row in trainings.events(run) if row["event"] == "validate"]
    # A stop that is known before a validation ends abandons it.
    expect(validated in (list(range(20, saved[-1] + 1, 20)), list(range(20, saved[-1], 20))),
           f"validated after {validated}, stopped after {saved[-1]}")
    losses(place, "run", saved[-1])
    say(f"a request saved step {saved[0]}, and validations were after each 20th of {saved[-1]} steps")


if __name__ == "__main__":
    trainings.run_script(__doc__, drained_in_each_step_it_is_1f1b, its_loss_is_near_that_of_1f1b,
                         a_resume_has_the_bits_of_a_run_that_saves, a_stopped_run_drains_and_saves,
                         validations_and_requests_drain_it)
