#!/usr/bin/env python3
"""TensorBoard's own reader finds in a run's event files what metrics.jsonl says, to the bit of a float.

  tensorboard_test.py --binary ZIGGURAT --work FOLDER --mpiexec COMMAND

Also after a kill and a resume, where each step is to be found once, with what was trained last.
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import peers

peers.need("numpy", "tensorboard")

import numpy
from tensorboard.backend.event_processing import event_accumulator

import trainings
from pair_folder import PairFolder
from trainings import Place, expect, say

GIB = 2**30
SETTINGS = ["logging.tensorboard=true", "checkpoint.every=4 steps", "checkpoint.async=false",
            "data.validation=[{format: text, path: text.txt}]", "validate.every=3 steps", "logging.norms=5", "train.steps=24"]


def curves(folder):
    """{tag: [(step, value)]} as TensorBoard would show them."""
    reader = event_accumulator.EventAccumulator(str(folder), size_guidance={event_accumulator.SCALARS: 0})
    reader.Reload()
    return {tag: [(point.step, numpy.float32(point.value)) for point in reader.Scalars(tag)]
            for tag in reader.Tags()["scalars"]}


def parts_of_loss(row, data, prefix):
    """Losses by source and rewards of a row."""
    losses = row.get("loss_by_source", {})
    return ({f"loss/{data}/{name}": float(loss) for name, loss in losses.items() if loss is not None}
            | {f"reward/{prefix}{key[7:]}": float(value) for key, value in row.items() if key.startswith("reward_")})


def as_told(run):
    """The same of metrics.jsonl."""
    found = {}
    for row in trainings.events(run):
        told = {}
        if row["event"] == "norms":
            told = {f"norms/{kind}/{unit}": float(norm) for kind in ("gradient", "weights", "update")
                    for unit, norm in row[kind].items()}
        elif row["event"] == "validate":
            told = {"loss/validation": float(row["loss"])} | parts_of_loss(row, "validation", "validation_")
        elif row["event"] == "step":
            numbers = {key: float(value) for key, value in row.items()
                       if key not in ("event", "loss") and not key.endswith(("_cause", "_by_source"))}
            told = {"optim/lr": numbers["lr"], "optim/grad_norm": numbers["grad_norm"],
                    "optim/skipped": numbers["skipped"], "perf/tokens_per_s": numbers["tok_s"],
                    "perf/step_s": numbers["step_s"], "data/tokens": numbers["tokens"],
                    "memory/device_gib": numbers["device_peak_B"] / GIB}
            if row["loss"] is not None:
                told["loss/train"] = float(row["loss"])
            told |= {name: numbers[key] / part for name, key, part in (
                ("perf/mfu", "mfu", 1), ("memory/host_gib", "host_peak_B", GIB), ("memory/nvme_gib", "nvme_B", GIB))
                if key in numbers}
            told |= {f"stall/{key[6:-2]}_pct": 100 * value / numbers["step_s"] for key, value in numbers.items()
                     if key.startswith("stall_") and key.endswith("_s")}
            told |= parts_of_loss(row, "train", "")
        for tag, value in told.items():
            found.setdefault(tag, []).append((row["step"], numpy.float32(value)))
    return found


def expect_same(what, run, left_out=0):
    """`left_out`: of how many of the latest rows the events may lack."""
    theirs = curves(run / "tensorboard")  # read first: a row is in metrics.jsonl before it is an event
    ours = as_told(run)
    expect(set(ours) == set(theirs), f"{what}: curves {sorted(set(ours) ^ set(theirs))} are in one of them alone")
    for tag, points in ours.items():
        known = len(theirs[tag])
        expect(len(points) - left_out <= known <= len(points) and points[:known] == theirs[tag],
               f"{what}: {tag} is\n{theirs[tag]} instead of\n{points}")
    return len(ours), len(ours["loss/train"])


def every_value_is_read_back(chosen):
    place = Place(chosen, "whole", "llama")
    for ranks, *settings in ((1,), (3, "sharding.zero=3", "tiers.home.optimizer=nvme", "tiers.nvme.paths=[nvme]")):
        (place.folder / "nvme").mkdir(exist_ok=True)
        place.train(f"run{ranks}", ranks, *SETTINGS, *settings)
        say("{} curves of {} steps on {} ranks".format(*expect_same("whole", place.folder / f"run{ranks}"), ranks))


def pairs_and_blends_have_their_curves(chosen):
    place = PairFolder(chosen, "pairs")
    place.train("run", place.oracle["objectives"]["dpo"], "logging.tensorboard=true", "train.steps=4", "train.micro_batch=1",
                "data.validation=[{format: chat, path: pairs.samples}]", "validate={every: 2 steps, batches: 2}")
    counts = expect_same("pairs", place.folder / "run")
    rewards = [tag for tag in curves(place.folder / "run" / "tensorboard") if tag.startswith("reward/")]
    expect(len(rewards) == 8, f"not four rewards each of training and validation: {rewards}")
    place = Place(chosen, "blend", "llama")
    (place.folder / "other.txt").write_text("a rose is a rose is a rose. " * 300)
    place.train("run", 1, *SETTINGS, "train.steps=6", "data.train=[{format: text, path: text.txt}, {format: text, path: other.txt}]")
    expect_same("blend", place.folder / "run")
    expect("loss/train/other" in curves(place.folder / "run" / "tensorboard"), "a curve of each source")
    say("{} curves of {} steps on pairs of answers".format(*counts))


def killed_and_resumed(chosen):
    place = Place(chosen, "killed")
    run = place.folder / "run"
    with place.start("run", 2, *SETTINGS, "train.steps=100000") as training:
        training.wait_until(lambda: len(trainings.step_numbers(run)) > 10, "ten steps")
        training.kill_all()
    say("killed: {} curves of {} steps".format(*expect_same("killed", run, left_out=1)))
    reached = trainings.latest(run)
    place.train("run", 2, *SETTINGS, f"train.steps={reached + 7}")
    numbers = trainings.step_numbers(run)
    expect(numbers == list(range(1, reached + 8)), f"metrics.jsonl has the steps {numbers}")
    say("resumed: {} curves of {} steps".format(*expect_same("resumed", run)))
    expect(len(list((run / "tensorboard").iterdir())) == 2, "a resume begins a file of its own")
    place.train("run", 1, *SETTINGS, "run.resume=never", "checkpoint.every=none", code=2)
    expect_same("refused", run)


def a_run_that_begins_afresh_has_a_folder_of_its_own(chosen):
    place = Place(chosen, "afresh")
    run = place.folder / "run"
    for steps in (5, 6):
        place.train("run", 1, "logging.tensorboard=true", "checkpoint.every=none", f"train.steps={steps}")
        expect_same("afresh", run)
    expect(len(curves(run / "#tensorboard.1#")["loss/train"]) == 5, "the earlier run's events are kept aside")
    place.train("plain", 1, "train.steps=5")
    expect(not (place.folder / "plain" / "tensorboard").exists(), "nobody has asked for events")
    say("a run that begins afresh")


if __name__ == "__main__":
    trainings.run_script(__doc__, every_value_is_read_back, pairs_and_blends_have_their_curves,
                         killed_and_resumed, a_run_that_begins_afresh_has_a_folder_of_its_own)
