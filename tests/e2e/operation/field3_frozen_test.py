#!/usr/bin/env python3
"""Frozen parts under every pipeline schedule: checked or refused with a reason, and trained as on one rank.

  field3_frozen_test.py --binary ZIGGURAT --work FOLDER --mpiexec COMMAND [--long]

The gate checks each schedule with half of the parts; --long all pairs, also with the settings of other sections.
"""

import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import trainings
from trainings import Place, expect, expect_same_curve, say

STEPS = 8
SCHEDULES = ("gpipe", "1f1b", "interleaved, chunks_per_stage: 2", "zero_bubble", "zero_bubble_v", "zero_bubble_v_half", "pipedream")
PARTS = ("head.weight", "embedding.*", "layers.1.*", "layers.3.mlp.down.weight", "final_norm.gain", "*norm*")
OTHERS = (["sharding.zero=3", "recompute.kind=full"], ["tiers.home.optimizer=host", "tiers.home.activations=host"],
          ["overlap.optimizer_with_backward=true"], ["parallel.tensor=2", "recompute.kind=selective"])
REFUSED = 2
MACHINE = "dgx-h100"  # has all rates: only then does check plan the time of a step
# Stages of pipedream update before the norm that clips is known.
COMMON = ["model.layers=4", "optimizer.clip.policy=off", "train.global_batch=6", "train.micro_batch=1"]


def pipeline(schedule):
    return f"parallel.pipeline={{stages: 2, schedule: {schedule}}}"


def checked(place, *settings, ranks=2):
    """The exit code of check; other codes than 0 and 2 are failures, and so is a refusal without a reason."""
    done = subprocess.run([place.binary, "check", place.deck, "--machine", MACHINE, "--ranks", str(ranks), *settings], cwd=place.folder,
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=trainings.PATIENCE_S)
    expect(done.returncode in (0, REFUSED), f"check {settings} ends with {done.returncode}:\n{done.stdout}{done.stderr}")
    expect(done.returncode == REFUSED or "a step takes" in done.stdout, f"check {settings} plans no time:\n{done.stdout}")
    expect(done.returncode == 0 or "error" in done.stderr, f"check {settings} gives no reason:\n{done.stderr}")
    return done.returncode


def every_schedule_is_checked_with_every_part(chosen):
    place = Place(chosen, "checked", "llama")
    count = 0
    for s, schedule in enumerate(SCHEDULES):
        for p, part in enumerate(PARTS):
            if (s + p) % 2 and not chosen.long and part != PARTS[0]:
                continue
            for others in OTHERS if chosen.long else [[]]:
                ranks = 4 if others and "tensor" in others[0] else 2
                code = checked(place, *COMMON, pipeline(schedule), f'train.only=["{part}"]', *others, ranks=ranks)
                refused = schedule == "pipedream" and "optimizer_with_backward" in " ".join(others)
                expect(code == (REFUSED if refused else 0), f"{schedule} with {part} {others}: exit code {code}")
                count += 1
        code = checked(place, *COMMON, pipeline(schedule), "train.lora={rank: 2, targets: [attention.q]}")
        expect(code == 0, f"{schedule} with adapters: exit code {code}")
    expect(checked(place, *COMMON, pipeline("pipedream"), "model.tie_embeddings=true", "train.only=[embedding.token]") == REFUSED,
           "pipedream shares a table")
    say(f"check accepts all {len(SCHEDULES)} schedules with parts that are trained alone, in {count} decks")


def layouts_are_chosen_for_parts(chosen):
    place = Place(chosen, "layouts", "llama")
    auto = ["parallel.tensor.degree=auto", "parallel.pipeline.stages=auto", "train.micro_batch=auto", "sharding.zero=auto"]
    for part in PARTS if chosen.long else ("layers.1.*", "layers.3.mlp.down.weight"):
        code = checked(place, *COMMON[:-1], *auto, f'train.only=["{part}"]', ranks=4)
        expect(code == 0, f"layouts with {part}: exit code {code}")
    say("layouts are chosen for runs that train one layer or one tensor")


def pipelines_train_parts_as_one_rank_does(chosen):
    place = Place(chosen, "trained", "llama")
    common = [*COMMON, f"train.steps={STEPS}", "schedule={kind: constant, warmup: 0 steps}"]
    # Only the last stage of pipedream has no older weights, so only its tensors train as on one rank.
    for part, schedules in (("head.weight", ("zero_bubble", "pipedream")), ("layers.1.*", ("zero_bubble_v",))):
        only = f'train.only=["{part}"]'
        place.train(f"one_{part[:4]}", 1, *common, only)
        expected = trainings.losses(place.folder / f"one_{part[:4]}", 1, STEPS)
        for schedule in schedules:
            run = f"{schedule}_{part[:4]}"
            place.train(run, 2, *common, only, pipeline(schedule))
            expect_same_curve(run, trainings.losses(place.folder / run, 1, STEPS), expected)
        expect(expected[-1] < expected[0], f"{part} alone is not trained: losses {expected}")
    say("zero_bubble, zero_bubble_v and pipedream train a part of the model as one rank does")


if __name__ == "__main__":
    trainings.run_script(__doc__, every_schedule_is_checked_with_every_part, layouts_are_chosen_for_parts,
                         pipelines_train_parts_as_one_rank_does)
