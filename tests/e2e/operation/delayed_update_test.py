#!/usr/bin/env python3
"""Delayed updates: a staleness of exactly one step, the same bits in any tier, and a pending update that survives kills.

  delayed_update_test.py --binary ZIGGURAT --work FOLDER --mpiexec COMMAND

It prints the difference in loss from ordinary training.
"""

import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import trainings
from trainings import Place, expect, say

STEPS, AFTER = 8, 2
# The norm is above 0.3 in each of these steps, so each step is clipped.
COMMON = [f"train.steps={STEPS}", "optimizer.clip_norm=0.3", "tiers.chunk=3072", "checkpoint.every=3 steps",
          "schedule={kind: constant, warmup: 0 steps}", "sharding.reduce=each_microbatch"]
DELAYED = f"overlap.delayed_update={{enabled: true, after: {AFTER} steps}}"
NVME = ["tiers.nvme.paths=[.]", "tiers.home.optimizer=nvme", "tiers.home.gradients=nvme", "tiers.home.parameters=nvme"]


def final_hash(run):
    return [row for row in trainings.events(run) if row["event"] == "end"][-1]["weights_hash"]


def losses(place, run, steps=STEPS):
    return trainings.losses(place.folder / run, 1, steps)


def has_delayed_weights(place, run, step):
    return "delayed_weights" in json.dumps(trainings.manifest(trainings.checkpoint(place.folder / run, step)))


def steps_are_ordinary_up_to_the_delay(chosen):
    place = Place(chosen, "ordinary")
    for run, *settings in (("ordinary",), ("delayed", DELAYED)):
        place.train(run, 2, *COMMON, *settings)
    ordinary, delayed = losses(place, "ordinary"), losses(place, "delayed")
    # Step after + 1 has all updates, its own is the first one that the next step lacks.
    expect(ordinary[:AFTER + 1] == delayed[:AFTER + 1], f"losses {ordinary} and {delayed}")
    expect(all(a != b for a, b in zip(ordinary[AFTER + 1:], delayed[AFTER + 1:])), f"losses {ordinary} and {delayed}")
    say(f"the first {AFTER + 1} losses are those of ordinary training; after {STEPS} steps the delayed loss is "
        f"{delayed[-1] - ordinary[-1]:+.4f} of {ordinary[-1]:.4f}")


def same_bits_in_every_tier(chosen):
    place = Place(chosen, "tiers")
    for compute in ("fp32", "bf16"):
        hashes = {}
        for name, *settings in (("device", "sharding.zero=0"), ("host", "tiers.home.optimizer=host", "sharding.zero=1"),
                                ("split", "tiers.home.optimizer={device: 40%, host: rest}", "tiers.home.gradients=host",
                                 "sharding.zero=2"),
                                ("nvme", *NVME, "sharding.zero=3")):
            place.train(f"{compute}_{name}", 2, *COMMON, DELAYED, f"precision.compute={compute}", *settings)
            hashes[name] = final_hash(place.folder / f"{compute}_{name}"), losses(place, f"{compute}_{name}")[-1]
            place.expect_whole(place.folder / f"{compute}_{name}")
        expect(len(set(hashes.values())) == 1, f"{compute}: weights and losses {hashes}")
    say("delayed updates give the same bits on the device, on the host and on NVMe")


def a_resume_has_the_pending_update(chosen):
    place = Place(chosen, "resumed")
    settings = [*COMMON, DELAYED, "precision.compute=fp32"]
    place.train("whole", 2, *settings)
    whole = losses(place, "whole")
    for first in (AFTER + 1, AFTER + 2, AFTER + 3):
        run = f"resumed_{first}"
        place.train(run, 2, *settings, f"train.steps={first}")
        place.train(run, 2, *settings)
        expect(final_hash(place.folder / run) == final_hash(place.folder / "whole"), f"{run} has other weights")
        expect(losses(place, run) == whole, f"{run} has other losses")
    for run, ranks, *layout in (("one", 1, "train.micro_batch=3"), ("tensor", 2, "parallel.tensor=2", *NVME),
                                ("stages", 2, "parallel.pipeline=2")):
        place.train(run, 2, *settings, f"train.steps={AFTER + 2}")
        place.train(run, ranks, *settings, *layout)
        trainings.expect_same_curve(run, losses(place, run), whole)
    say("a resume has the bits of the pending update, and its losses on other layouts")


def a_kill_loses_no_pending_update(chosen):
    place = Place(chosen, "killed")
    settings = [*COMMON, DELAYED, *NVME, "train.steps=40", "checkpoint.every=1 steps"]
    with place.start("run", 2, *settings, "debug.throttle={compute: 1ms}") as training:
        expect(training.says("step  7/40"), training.tail())
        training.kill_all()
    saved = trainings.complete_steps(place.folder / "run")
    expect(saved and saved[-1] > AFTER, f"saved steps {saved}")
    place.train("run", 2, *settings)
    place.train("whole", 2, *settings)
    expect(losses(place, "run", 40) == losses(place, "whole", 40), "the losses differ")
    expect(final_hash(place.folder / "run") == final_hash(place.folder / "whole"), "the weights differ")
    place.expect_whole(place.folder / "run")
    say(f"killed after a save of {saved[-1]} steps, the run ends with the same bits")


def a_resume_may_switch_it(chosen):
    place = Place(chosen, "switched")
    place.train("off", 2, *COMMON, DELAYED, "train.steps=5", "checkpoint.every=5 steps")
    expect(has_delayed_weights(place, "off", 5), "no delayed weights")
    said = place.train("off", 2, *COMMON)
    expect("overlap.delayed_update" in said, said)
    expect(not has_delayed_weights(place, "off", STEPS), "delayed weights of ordinary training")
    place.train("on", 2, *COMMON, "train.steps=5", "checkpoint.every=5 steps")
    place.train("on", 2, *COMMON, DELAYED)
    place.train("ordinary", 2, *COMMON)
    on, ordinary = losses(place, "on"), losses(place, "ordinary")
    expect(on[:6] == ordinary[:6] and on[6] != ordinary[6], f"losses {on} and {ordinary}")
    say("a resume may switch delayed updates off and on")


if __name__ == "__main__":
    trainings.run_script(__doc__, steps_are_ordinary_up_to_the_delay, same_bits_in_every_tier, a_resume_has_the_pending_update,
                         a_kill_loses_no_pending_update, a_resume_may_switch_it)
