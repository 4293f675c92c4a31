#!/usr/bin/env python3
"""A run of an earlier version is read and resumed: its deck, checkpoint and metrics.jsonl.

earlier/ has the run as the program of commit 97b9ce73 left it on two ranks: the checkpoint of step 4, and metrics.jsonl of
all eight steps. The version of the formats is one since then, so nothing of it may be refused. Losses and gradient norms
are compared within 1e-5, as another processor rounds otherwise.

  earlier_test.py --binary ZIGGURAT --work FOLDER --mpiexec COMMAND
"""

import pathlib
import shutil
import sys

HERE = pathlib.Path(__file__).resolve()
sys.path.insert(0, str(HERE.parents[1] / "support"))
from trainings import ProgramFolder, events, expect, expect_same_curve, run_script, say

SAVED, LAST = 4, 8


def steps_of(run):
    return [event for event in events(run) if event["event"] == "step"]


def values_of(steps, field):
    return [float(step[field]) for step in steps]


def place_of(chosen, name):
    """A folder with the earlier deck, text and run, and the steps that this run had."""
    place = ProgramFolder(chosen, name)
    shutil.copytree(HERE.parents[1] / "earlier", place.folder, dirs_exist_ok=True)
    run = place.folder / "runs" / "earlier"
    return place, run, steps_of(run)


def read(chosen):
    """Its deck is valid, its checkpoint whole; report, plot and export read it."""
    place, run, _ = place_of(chosen, "read")
    place.call("check", "deck.yaml", "--ranks", 2)
    output, _ = place.call("inspect", "--verify", "runs/earlier")
    expect("1 checkpoint" in output and "all bytes verified" in output, f"inspect --verify prints\n{output}")
    output, _ = place.call("report", "runs/earlier")
    expect("earlier" in output, f"report does not name the run\n{output}")
    place.call("plot", "runs/earlier", "--out", "curves.svg")
    expect((place.folder / "curves.svg").stat().st_size > 1000, "plot drew nothing")
    place.call("export", "runs/earlier", "exported")
    expect((place.folder / "exported" / "model.safetensors").is_file(), "export wrote no weights")
    say("check, inspect --verify, report, plot and export read the earlier run")


def resumed(chosen):
    """It goes on with the same losses: on its own layout, on one rank, and over the tensor axis."""
    for name, ranks, settings in (("same_layout", 2, []), ("one_rank", 1, ["parallel.data=1"]),
                                  ("tensor", 2, ["parallel.data=1", "parallel.tensor=2", "sharding.zero=0"])):
        place, run, before = place_of(chosen, name)
        expect([step["step"] for step in before] == list(range(1, LAST + 1)), "the kept metrics.jsonl has other steps")
        place.call("train", "deck.yaml", *settings, ranks=ranks)
        after = steps_of(run)
        expect([step["step"] for step in after[-(LAST - SAVED):]] == list(range(SAVED + 1, LAST + 1)),
               f"{name}: did not go on after step {SAVED}: {[step['step'] for step in after]}")
        for field in ("loss", "grad_norm"):
            worst = expect_same_curve(f"{name}, {field}", values_of(after[-(LAST - SAVED):], field),
                                      values_of(before[SAVED:], field))
            say(f"{name}: {field} of steps {SAVED + 1} to {LAST} within {worst:.1e}")


if __name__ == "__main__":
    run_script(__doc__, read, resumed)
