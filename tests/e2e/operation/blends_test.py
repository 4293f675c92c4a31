#!/usr/bin/env python3
"""Sources whose weights change at given steps: counts, the same order on another layout, epochs.

  blends_test.py --binary ZIGGURAT --work FOLDER --mpiexec COMMAND
"""

import json
import math
import pathlib
import random
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import equivalence
import trainings
from trainings import Place, expect, run_script, say

STEPS = 16
SEQ = 32
BATCH = 30
# By source: weights from a step on. The third source begins later, and the first one ends.
WEIGHTS = {"verse": [[0, 0.7], [6, 0.2], [11, 0]], "prose": [[0, 0.3]], "digits": [[0, 0], [6, 1.1]]}
SETTINGS = ["data.train=[" + ", ".join(f"{{format: text, path: {name}.txt, weight: {json.dumps(weights)}}}"
                                       for name, weights in WEIGHTS.items()) + "]",
            "schedule={kind: constant, warmup: 0 steps}", "precision.compute=fp32", f"train.steps={STEPS}",
            "checkpoint={every: 100 steps, keep: 9}"]


def write_sources(place):
    """Three texts; verse has 40 windows, fewer than the run uses."""
    (place.folder / "verse.txt").write_text(("a rose is a rose is a rose. " * 400)[:SEQ * 41 + 1])
    equivalence.write_text(place.folder / "prose.txt")
    (place.folder / "digits.txt").write_text("".join(f"{n * n * 7919 % 100003} " for n in range(3000))[:SEQ * 400 + 1])


def rows_of(run, kind):
    return [row for row in trainings.events(run) if row["event"] == kind]


def shares_at(step):
    weights = {name: [weight for first, weight in pairs if first <= step][-1] for name, pairs in WEIGHTS.items()}
    return {name: weight / sum(weights.values()) for name, weight in weights.items()}


def expect_counts(what, rows):
    """After each step, each source has its due within one window."""
    due, totals = dict.fromkeys(WEIGHTS, 0.0), dict.fromkeys(WEIGHTS, 0)
    for row in rows:
        step, samples = row["step"], row["samples_by_source"]
        expect(sum(samples.values()) == BATCH, f"{what}: samples of step {step}: {samples}")
        for name, share in shares_at(step - 1).items():
            due[name] += BATCH * share
            totals[name] += samples[name]
            expect(abs(totals[name] - due[name]) < 1, f"{what}: {name} has {totals[name]} of {due[name]} after step {step}")
            expect(math.isclose(float(row["share_by_source"][name]), share, abs_tol=1e-12), f"{what}: shares of step {step}: {row}")
            expect(share > 0 or samples[name] == 0, f"{what}: {name} has weight 0 in step {step}: {samples}")
            expect(row["loss_tokens_by_source"][name] == samples[name] * SEQ, f"{what}: tokens of step {step}: {row}")
        expect(row["total_samples_by_source"] == totals, f"{what}: totals after step {step}: {row}")


def expect_same(what, rows, others):
    for mine, theirs in zip(rows, others, strict=True):
        for field in ("step", "samples_by_source", "total_samples_by_source", "share_by_source"):
            expect(mine[field] == theirs[field], f"{what}: {field} of step {mine['step']}: {mine[field]} and {theirs[field]}")
        # The losses of a source are those of its texts: with other samples they would differ.
        for name, loss in mine["loss_by_source"].items():
            other = theirs["loss_by_source"][name]
            expect((loss is None) == (other is None) and (loss is None or math.isclose(float(loss), float(other), rel_tol=1e-5)),
                   f"{what}: loss of {name} in step {mine['step']}: {loss} and {other}")


def begun(run):
    return [(row["step"], row["source"], row["epoch"]) for row in rows_of(run, "epoch")]


def blends(chosen):
    place = Place(chosen, "blends", "llama")
    write_sources(place)
    printed = place.train("one", 1, *SETTINGS)
    one = place.folder / "one"
    rows = rows_of(one, "step")
    expect_counts("one rank", rows)
    # The first and the second epoch of verse, by its counts of samples.
    totals = [row["total_samples_by_source"]["verse"] for row in rows]
    second = next(row["step"] for row, total in zip(rows, totals, strict=True) if total > 40)
    epochs = [epoch for epoch in begun(one) if epoch[1] == "verse"]
    expect(epochs[0] == (second, "verse", 2), f"epochs {epochs}, and verse has 40 windows: {totals}")
    expect(f"epoch 2 of 'verse' begins in step {second}" in printed, f"the epoch is not printed:\n{printed}")

    # Stopped before, between and after changes; each part on another layout.
    place.train("parts", 1, *SETTINGS, "train.steps=4")
    place.train("parts", 2, *SETTINGS, "train.steps=8")
    place.train("parts", trainings.GRID_RANKS, *SETTINGS, "train.steps=13", *trainings.GRID)
    place.train("parts", 1, *SETTINGS)
    parts = place.folder / "parts"
    expect([row["step"] for row in rows_of(parts, "resume")] == [4, 8, 13], f"resumed at {rows_of(parts, 'resume')}")
    expect_counts("several layouts", rows_of(parts, "step"))
    expect_same("several layouts", rows, rows_of(parts, "step"))
    expect(begun(parts) == begun(one), f"epochs {begun(parts)} instead of {begun(one)}")
    say(f"counts, order and epochs of {STEPS} steps on one rank and on four layouts; epochs {begun(one)}")


def other_batch(chosen):
    """With another batch size, weights still change at the steps of the deck."""
    place = Place(chosen, "other_batch", "llama")
    write_sources(place)
    place.train("run", 1, *SETTINGS, "train.steps=3")
    place.train("run", 1, *SETTINGS, "train.steps=12", "train.global_batch=15")
    for row in rows_of(place.folder / "run", "step"):
        shares = shares_at(row["step"] - 1)
        expect(all(math.isclose(float(row["share_by_source"][name]), share, abs_tol=1e-12) for name, share in shares.items()),
               f"shares of step {row['step']}: {row['share_by_source']} instead of {shares}")
    say("weights change at the steps of the deck with another batch size")


def roll_back(chosen):
    """A rollback leaves samples out, and weights change at the steps of the deck."""
    place = Place(chosen, "roll_back")
    draw = random.Random(1)
    text = bytearray(("in the beginning was the word, and the word was with us. " * 400).encode())
    text[SEQ * 4 * 30:SEQ * 4 * 31] = bytes(draw.randrange(128, 256) for _ in range(SEQ * 4))  # the batch of step 31
    (place.folder / "poisoned.txt").write_bytes(text)
    equivalence.write_text(place.folder / "prose.txt")
    settings = ["data.train=[{format: text, path: poisoned.txt, weight: [[0, 1], [36, 0.5]]}, "
                "{format: text, path: prose.txt, weight: [[0, 0], [36, 1.5]]}]", "data.shuffle=false", f"data.seq={SEQ}",
                "train.global_batch=4", "train.micro_batch=1", "schedule.kind=constant", "optimizer.lr=3.0e-3",
                "optimizer.clip.policy=off", "train.spikes={action: roll_back, window: 16, z: 20}", "checkpoint.every=8 steps",
                "precision.compute=fp32"]
    printed = "".join(place.train("run", 1, *settings, f"train.steps={steps}") for steps in (34, 38, 44))
    run = place.folder / "run"
    expect([row["from_step"] for row in rows_of(run, "roll_back")] == [31], f"rollbacks {rows_of(run, 'roll_back')}")
    for row in rows_of(run, "step"):
        samples = {"poisoned": 4, "prose": 0} if row["step"] <= 36 else {"poisoned": 1, "prose": 3}
        expect(row["samples_by_source"] == samples, f"samples of step {row['step']}: {row['samples_by_source']}")
    expect("weights change at other samples" not in printed, f"the order is the same after a resume:\n{printed}")
    say("after a rollback, weights change at the steps of the deck")


run_script(__doc__, blends, other_batch, roll_back)
