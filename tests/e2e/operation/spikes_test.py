#!/usr/bin/env python3
"""Spikes of the loss: a poisoned batch is seen in its own step; leaving it out, or going back, ends below going on.

  spikes_test.py --binary ZIGGURAT --work FOLDER --mpiexec COMMAND [--long]

The text is a few sentences over and over; some batches in the middle are other bytes. The same decisions on every layout, and
on a run that is stopped and goes on.
"""

import json
import pathlib
import random
import shutil
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import trainings
from trainings import Place, expect, say

SEQ, BATCH, STEPS, WINDOW = 32, 4, 60, 16
POISONED = 31  # the step whose batch is other bytes
SENTENCE = "in the beginning was the word, and the word was with us. "


def poisoned_place(chosen, name):
    place = Place(chosen, name)
    sample = SEQ  # bytes that a sample begins behind the one before
    text = bytearray((SENTENCE * 10_000).encode()[:sample * BATCH * (STEPS + 40)])
    begin = sample * BATCH * (POISONED - 1)
    draw = random.Random(1)
    text[begin:begin + sample * BATCH] = bytes(draw.randrange(128, 256) for _ in range(sample * BATCH))
    (place.folder / "poisoned.txt").write_bytes(text)
    return place


def settings(action, *more):
    return ["data.train=[{format: text, path: poisoned.txt}]", "data.shuffle=false", f"data.seq={SEQ}",
            f"train.global_batch={BATCH}", "train.micro_batch=1", f"train.steps={STEPS}", "schedule.kind=constant",
            "optimizer.lr=6.0e-3", "optimizer.clip.policy=off", f"train.spikes={{action: {action}, window: {WINDOW}, z: 8}}",
            "checkpoint.every=8 steps", "precision.compute=fp32", *more]


def rows(run, event):
    return [row for row in trainings.events(run) if row["event"] == event]


def final_hash(run):
    return rows(run, "end")[-1]["weights_hash"]


def last_losses(run, count=8):
    losses = [float(row["loss"]) for row in rows(run, "step")]
    return sum(losses[-count:]) / count


def a_spike_is_seen_and_dealt_with(chosen):
    place = poisoned_place(chosen, "actions")
    ends = {}
    for action in ("off", "warn", "skip", "roll_back"):
        said = place.train(action, 1, *settings(action))
        run = place.folder / action
        spikes = rows(run, "spike")
        expect(trainings.step_numbers(run) == list(range(1, STEPS + 1)), f"{action}: each step once")
        ends[action] = last_losses(run)
        if action == "off":
            expect(not spikes and "SPIKE" not in said, f"nobody looks, and there is {spikes}")
            continue
        expect(f"step {POISONED} SPIKE" in said, said)
        if action == "roll_back":
            back = rows(run, "roll_back")
            expect(len(back) == 1 and back[0]["step"] == 24 and back[0]["from_step"] == POISONED
                   and back[0]["next_sample"] == POISONED * BATCH, f"{back}")
            expect([row["step"] for row in spikes] == [POISONED], f"the spike stays, as the run went back for it: {spikes}")
            cut = [json.loads(line) for line in (run / "metrics.cut-1.jsonl").read_text().splitlines()]
            expect([row["step"] for row in cut if row["event"] == "spike"] == [POISONED], "the spike is kept aside")
            continue
        expect(spikes[0]["step"] == POISONED and float(spikes[0]["loss_z"]) > 8, f"{action}: {spikes}")
        expect(spikes[0]["skipped"] == (action == "skip"), f"{action}: {spikes}")
    expect(final_hash(place.folder / "off") == final_hash(place.folder / "warn"), "a warning changes the weights")
    expect(max(ends["skip"], ends["roll_back"]) < ends["warn"], f"the last losses are {ends}")
    skipped = rows(place.folder / "skip", "step")[-1]["skipped"]
    expect(skipped == len(rows(place.folder / "skip", "spike")), f"{skipped} skipped")
    say(f"a poisoned batch: {', '.join(f'{action} {loss:.3f}' for action, loss in ends.items())}")


def all_layouts_decide_alike(chosen):
    place = poisoned_place(chosen, "layouts")
    for action in ("skip", "roll_back"):
        hashes = set()
        for name, ranks, *layout in (("two", 2, "sharding.zero=0"), ("sharded", 2, "sharding.zero=3")):
            run = f"{action}_{name}"
            place.train(run, ranks, *settings(action, "sharding.reduce=each_microbatch", *layout))
            hashes.add(final_hash(place.folder / run))
        expect(len(hashes) == 1, f"{action}: weights {hashes}")
    say("the same weights, sharded or not")


def a_stop_in_between_changes_nothing(chosen):
    place = poisoned_place(chosen, "stopped")
    for action in ("skip", "roll_back"):
        place.train(f"{action}_whole", 2, *settings(action))
        # Two jobs: the first ends before the spike, in a window that is full and another that is not; or behind it.
        ends = (9, 27, POISONED, POISONED + 3) if chosen.long else (27, POISONED + 3)
        for end in ends:
            run = f"{action}_{end}"
            place.train(run, 2, *settings(action), f"train.steps={end}")
            if action == "roll_back" and end == 27:
                # As a kill leaves it: what a job saves at its end is newer than what one without an end goes back to.
                shutil.rmtree(trainings.checkpoint(place.folder / run, end))
                (place.folder / run / "ckpt" / "LATEST").unlink()
            place.train(run, 2, *settings(action))
            expect(final_hash(place.folder / run) == final_hash(place.folder / f"{action}_whole"),
                   f"{action}, stopped after {end}: other weights")
    say("a run that was stopped goes on as one that was not")


def without_a_checkpoint_it_is_left_out(chosen):
    place = poisoned_place(chosen, "none")
    said = place.train("refused", 1, *settings("roll_back"), "checkpoint.every=none", code=2)
    expect("there is no checkpoint to return to" in said, said)
    said = place.train("late", 1, *settings("roll_back"), "checkpoint.every=50 steps")
    run = place.folder / "late"
    expect(rows(run, "spike")[0]["skipped"] is True and not rows(run, "roll_back"), "there is nothing to go back to yet")
    say("before the first checkpoint a spike is left out")


def an_endless_one_ends(chosen):
    place = poisoned_place(chosen, "endless")
    text = (place.folder / "poisoned.txt").read_bytes()
    begin = SEQ * BATCH * (POISONED - 1)
    draw = random.Random(2)
    noise = bytes(draw.randrange(128, 256) for _ in range(len(text) - begin))
    (place.folder / "poisoned.txt").write_bytes(text[:begin] + noise)
    said = place.train("run", 1, *settings("roll_back"), code=5)
    expect("rolled back 5 times to the checkpoint of step 24" in said, said)
    say("a run that meets a spike again and again ends with 5")


if __name__ == "__main__":
    trainings.run_script(__doc__, a_spike_is_seen_and_dealt_with, all_layouts_decide_alike,
                         a_stop_in_between_changes_nothing, without_a_checkpoint_it_is_left_out, an_endless_one_ends)
