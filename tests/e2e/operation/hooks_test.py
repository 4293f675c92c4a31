#!/usr/bin/env python3
"""run.on_event: its command gets the events of a run in their order, also that of a failure, and changes nothing of it.

  hooks_test.py --binary ZIGGURAT --work FOLDER --mpiexec COMMAND
"""

import json
import os
import pathlib
import signal
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import trainings
from trainings import Place, complete_steps, environment_of, expect, run_script, say

RUN_AGAIN = 75  # exit code of a run that was asked to stop
SETTINGS = ["checkpoint.every=5 steps", "validate={every: 5 steps, batches: 1}", "schedule={kind: constant, warmup: 0 steps}",
            "data.held_out=20%"]
RECORD = "run.on_event=cat >> {name}.events; echo $ZIGGURAT_EVENT $ZIGGURAT_RUN_DIR >> {name}.names"


def record(name):
    return RECORD.format(name=name)


def events_of(place, name):
    path = place.folder / f"{name}.events"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def names_of(place, name):
    return [event["event"] for event in events_of(place, name)]


def the_command_gets_each_event(chosen):
    place = Place(chosen, "each")
    place.train("run", 2, *SETTINGS, "train.steps=11", record("run"))
    rare = [row for row in trainings.events(place.folder / "run") if row["event"] not in ("step", "peak", "checkpoint_begin")]
    events = events_of(place, "run")
    expect([event["event"] for event in events] == [row["event"] for row in rare], f"{events} instead of {rare}")
    expect({"start", "validate", "best", "checkpoint_end", "end"} <= {event["event"] for event in events}, str(events))
    for event, row in zip(events, rare):
        expect(event.pop("run_dir") == str(place.folder / "run"), str(event))
        expect(list(event) == list(row) and event.get("step") == row.get("step"), f"{event} instead of {row}")
    expect((place.folder / "run.names").read_text().splitlines() ==
           [f"{row['event']} {place.folder / 'run'}" for row in rare], "names in the environment")
    place.train("run", 1, *SETTINGS, "train.steps=12")  # the command is not that of the checkpoint
    expect(names_of(place, "run")[-1] == "end" and len(names_of(place, "run")) == len(rare), "no command, no event")
    place.train("run", 1, *SETTINGS, "train.steps=13", record("run"))
    expect(names_of(place, "run")[len(rare):len(rare) + 2] == ["resume", "start"], f"{names_of(place, 'run')[len(rare):]}")
    say(f"{len(events)} events in order")


def a_bad_command_changes_nothing(chosen):
    place = Place(chosen, "bad")
    place.train("without", 1, *SETTINGS, "train.steps=6")
    bits = trainings.losses(place.folder / "without", 1, 6)
    for name, command, reason in (("missing", "no-such-command", "exit code 127"), ("killed", "kill -9 $$", "exit code 137"),
                                  ("closed", "exec <&-; exit 1", "exit code 1")):
        said = place.train(name, 1, *SETTINGS, "train.steps=6", f"run.on_event={command}")
        expect(f"note: the command of run.on_event failed ({reason}, event 'start')" in said, said)
        events = len([row for row in trainings.events(place.folder / name)
                      if row["event"] not in ("step", "peak", "checkpoint_begin")])
        expect(f"failed for {events} of {events} events" in said, said)
        expect(trainings.losses(place.folder / name, 1, 6) == bits, f"{name}: other losses")
    log = (place.folder / "missing" / "on_event.log").read_text()
    expect("no-such-command" in log, f"on_event.log: {log}")
    said, errors = place.call("check", place.deck, "run.on_event=cat", "--print")
    expect("on_event: \"cat\"" in said, said[:3000])
    say("failures are notes")


def a_waiting_command_blocks_nothing(chosen):
    """Its first run waits for a file that the test makes after the last step."""
    place = Place(chosen, "waiting")
    wait = "cat >> run.events; while test ! -e go; do sleep 0.05; done"
    with place.start("run", 1, *SETTINGS, "train.steps=10", f"run.on_event={wait}") as training:
        training.wait_until(lambda: (place.folder / "run" / "DONE").exists(), "the end of the training")
        expect(names_of(place, "run") == ["start"], f"{names_of(place, 'run')}: the command still has its first event")
        (place.folder / "go").touch()
        expect(training.wait() == 0, training.tail())
    expect(names_of(place, "run")[-1] == "end" and len(names_of(place, "run")) > 4, str(names_of(place, "run")))
    say("training did not wait")


def failures_and_stops_are_told(chosen):
    place = Place(chosen, "failures")
    long = ["train.steps=1000000", *SETTINGS]
    mine = {number: f"OMPI_COMM_WORLD_RANK={number}\0".encode() for number in range(2)}
    for number in mine:
        name = f"rank{number}"
        with place.start(name, 2, *long, record(name)) as training:
            training.wait_until(lambda: complete_steps(place.folder / name), "a checkpoint")
            os.kill(next(pid for pid in training.ranks() if mine[number] in environment_of(pid)), signal.SIGKILL)
            expect(training.wait() != 0, f"{name}: it ended well")
        trainings.wait_until(lambda: "failure" in names_of(place, name), f"{name}: the event of its failure")
        failures = [event for event in events_of(place, name) if event["event"] == "failure"]
        expect(len(failures) == 1 and f"rank {number}" in failures[0]["reason"], f"{name}: {failures}")
    with place.start("stopped", 2, *long, record("stopped")) as training:
        training.wait_until(lambda: complete_steps(place.folder / "stopped"), "a checkpoint")
        os.kill(training.ranks()[0], signal.SIGUSR1)
        expect(training.wait() == RUN_AGAIN, training.tail())
    names = names_of(place, "stopped")
    expect(names[-2:] == ["stop", "end"] and "signal" in names, f"stopped: {names}")
    expect(events_of(place, "stopped")[-1]["exit_code"] == RUN_AGAIN, str(events_of(place, "stopped")[-1]))
    place.train("numbers", 1, "train.steps=60", "optimizer.lr=1000", "precision.compute=fp32", "optimizer.clip={policy: off}",
                "model.init_std=10", "optimizer.weight_decay=0.9", record("numbers"), "schedule={kind: constant, warmup: 0 steps}",
                code=5)
    trainings.wait_until(lambda: "failure" in names_of(place, "numbers"), "the event of a loss that is not finite")
    say("failures and stops are told")


if __name__ == "__main__":
    run_script(__doc__, the_command_gets_each_event, a_bad_command_changes_nothing, a_waiting_command_blocks_nothing,
               failures_and_stops_are_told)
