#!/usr/bin/env python3
"""Updates in backward: the same bits as after it, with state in any tier, over a resume, and ends that lose nothing.

  updates_in_backward_test.py --binary ZIGGURAT --work FOLDER --mpiexec COMMAND

The norm of the step is not known then: clipping is by the norm of the last step, which a checkpoint keeps.
"""

import json
import pathlib
import signal
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import trainings
from trainings import Place, expect, say

STEPS = 8
# The norm is above 0.3 in each of these steps, so each step but the first is clipped.
COMMON = [f"train.steps={STEPS}", "optimizer.clip={norm: 0.3, policy: previous_norm}", "precision.compute=bf16",
          "tiers.chunk=3072", "checkpoint.every=3 steps"]
# The decay multiplies weights by -999 in each step, so the last steps are not finite.
UNSTABLE = ["train.steps=12", "optimizer.lr=10.0", "optimizer.weight_decay=100.0", "schedule={kind: constant, warmup: 0 steps}"]
IN_BACKWARD = "overlap.optimizer_with_backward=true"
NVME = ["tiers.nvme.paths=[.]", "tiers.home.optimizer=nvme", "tiers.home.gradients=nvme"]


def final_hash(run):
    return [row for row in trainings.events(run) if row["event"] == "end"][-1]["weights_hash"]


def redone_bytes(run):
    """Bytes read from NVMe for updates that were repeated, by rank; none if the run did not end well."""
    rows = run / "ranks.jsonl"
    return [json.loads(line).get("redone_nvme_read_B", 0) for line in rows.read_text().splitlines()] if rows.exists() else []


def same_bits_in_every_tier(chosen):
    place = Place(chosen, "tiers")
    hashes = {}
    for name, *settings in (("after", "tiers.home.optimizer=host"), ("unclipped", "optimizer.clip.policy=off"),
                            ("host", IN_BACKWARD, "tiers.home.optimizer=host"), ("nvme", IN_BACKWARD, *NVME),
                            ("sharded", IN_BACKWARD, *NVME, "sharding.zero=3", "train.micro_batch=5")):
        place.train(name, 2, *COMMON, "sharding.zero=2", *settings)
        hashes[name] = final_hash(place.folder / name)
    expect(hashes["unclipped"] != hashes["after"], "no step is clipped")
    same = {name: value for name, value in hashes.items() if name != "unclipped"}
    expect(len(set(same.values())) == 1, f"weights {same}")
    say("updates in backward give the same bits on the host and on NVMe")


def a_speculation_has_the_bits_of_global_clipping(chosen):
    place = Place(chosen, "speculation")
    # Weights grow until steps are not finite, whose updates are undone; before, updates are repeated.
    unstable = UNSTABLE
    for name, code, more in (("clipped", 0, []), ("not_finite", 5, unstable)):
        skipped = set()
        for kind, *settings in (("global", "optimizer.clip={norm: 0.3}"),
                                ("speculative", IN_BACKWARD, "optimizer.clip={norm: 0.3, policy: speculate}",
                                 "tiers.home.gradients=host"),
                                ("shares", IN_BACKWARD, "optimizer.clip={norm: 0.3, policy: speculate}",
                                 "tiers.home.optimizer={device: 40%, host: rest}", "sharding.zero=3")):
            run = f"{name}_{kind}"
            place.train(run, 2, *COMMON, "tiers.home.optimizer=host", "sharding.zero=2", *settings, *more,
                        "sharding.reduce=each_microbatch", code=code)
            steps = [row for row in trainings.events(place.folder / run) if row["event"] == "step"]
            skipped.add(tuple(row["skipped"] for row in steps))
            place.inspect(run, "--diff", f"{name}_global")
        expect(len(skipped) == 1, f"{name}: skipped {skipped}")
        counts = skipped.pop()
        expect((counts[-1] > 0) == (name == "not_finite") and counts[1] == 0, f"{name}: skipped {counts}")
    say("updates that are undone or repeated give the bits of global clipping")


def a_speculation_on_nvme_has_the_bits_of_global_clipping(chosen):
    place = Place(chosen, "slots")
    each = "sharding.reduce=each_microbatch"  # one order of sums
    # With norm 0.3 all steps are clipped, with 1e9 none: updates are repeated in each step, or in none. The gate has each
    # layout with repeated updates, and with either kept or undone ones.
    left_out = {} if chosen.long else {"kept": ("zero2", "fp32"), "not_finite": ("zero3", "shares")}
    for name, code, *more in (("clipped", 0, "optimizer.clip.norm=0.3"), ("kept", 0, "optimizer.clip.norm=1.0e9"),
                              ("not_finite", 5, "optimizer.clip.norm=0.3", *UNSTABLE)):
        place.train(f"{name}_global", 2, *COMMON, *more, "optimizer.clip.policy=global", each, code=code)
        for kind, *settings in (("zero2", "sharding.zero=2"), ("zero3", "sharding.zero=3", "train.micro_batch=5"),
                                ("fp32", "sharding.zero=3", "precision.compute=fp32", "tiers.home.parameters=nvme"),
                                ("shares", "sharding.zero=1", "tiers.home.optimizer={device: 20%, host: 30%, nvme: rest}")):
            if kind in left_out.get(name, ()):
                continue
            run = f"{name}_{kind}"
            if kind == "fp32":
                place.train(f"{run}_global", 2, *COMMON, *more, "optimizer.clip.policy=global", "precision.compute=fp32", each, code=code)
            place.train(run, 2, *COMMON, *more, IN_BACKWARD, *NVME, "optimizer.clip.policy=speculate", each, *settings, code=code)
            place.inspect(run, "--diff", f"{run}_global" if kind == "fp32" else f"{name}_global")
            redone = redone_bytes(place.folder / run)
            expect(code or (len(redone) == 2 and all((value > 0) == (name == "clipped") for value in redone)), f"{run}: redone {redone}")
    # The checkpoint of step 3 is read after an odd number of steps, so from the second slot.
    settings = [*COMMON, IN_BACKWARD, *NVME, "optimizer.clip={norm: 0.3, policy: speculate}", "sharding.zero=2"]
    place.train("resumed", 2, *settings, "train.steps=3", "schedule={kind: constant, warmup: 0 steps}")
    place.train("resumed", 2, *settings, "schedule={kind: constant, warmup: 0 steps}")
    place.train("whole", 2, *settings, "schedule={kind: constant, warmup: 0 steps}")
    expect(final_hash(place.folder / "resumed") == final_hash(place.folder / "whole"), "the resume changes the weights")
    say("updates into second slots that are kept, repeated or undone give the bits of global clipping, with a resume")


def a_resume_clips_by_the_norm_before_it(chosen):
    place = Place(chosen, "resumed")
    settings = [*COMMON, IN_BACKWARD, *NVME, "schedule={kind: constant, warmup: 0 steps}"]
    place.train("whole", 1, *settings)
    place.train("resumed", 1, *settings, "train.steps=4")
    kept = trainings.manifest(trainings.checkpoint(place.folder / "resumed", 4))["progress"]["grad_norm"]
    norms = [float(row["grad_norm"]) for row in trainings.events(place.folder / "resumed") if row["event"] == "step"]
    expect(kept == norms[-1] > 0.3, f"the checkpoint has norm {kept}, the steps {norms}")
    place.train("resumed", 1, *settings)
    expect(final_hash(place.folder / "resumed") == final_hash(place.folder / "whole"), "the resume changes the weights")
    say("a resume clips by the norm of the step before it")


def a_step_that_is_not_finite_ends_the_run(chosen):
    place = Place(chosen, "not_finite")
    settings = [*UNSTABLE,
                "optimizer.clip.policy=off", "checkpoint.every=1 steps"]
    said = place.train("run", 2, *settings, IN_BACKWARD, *NVME, code=5)
    expect("is not finite" in said and "overlap.optimizer_with_backward=false" in said, said)
    run = place.folder / "run"
    last = trainings.complete_steps(run)[-1]
    expect(f"checkpoint of step {last}" in said, said)
    expect(last == trainings.step_numbers(run)[-1], f"saved up to {last}, trained {trainings.step_numbers(run)}")
    place.expect_whole(run)
    say("a step that is not finite ends with 5, and the checkpoint before it is whole")


def a_second_signal_waits_for_the_end_of_the_step(chosen):
    place = Place(chosen, "stopped")
    settings = [*COMMON, IN_BACKWARD, *NVME, "train.steps=400", "schedule={kind: constant, warmup: 0 steps}"]
    with place.start("run", 1, *settings, "debug.throttle={compute: 2ms}") as training:
        expect(training.says("step   2/400"), training.tail())
        for _ in range(2):
            training.process.send_signal(signal.SIGINT)
        expect(training.wait() == 75, training.tail())
    run = place.folder / "run"
    last = trainings.complete_steps(run)[-1]
    expect(last == trainings.step_numbers(run)[-1], f"saved {last} of {trainings.step_numbers(run)}")
    place.train("run", 1, *settings, f"train.steps={last + 2}")
    place.train("whole", 1, *settings, f"train.steps={last + 2}")
    ours, whole = (trainings.losses(place.folder / name, 1, last + 2) for name in ("run", "whole"))
    expect(ours == whole, f"losses {ours} and {whole}")
    say(f"stopped by two signals after step {last}, and resumed with the same losses")


if __name__ == "__main__":
    trainings.run_script(__doc__, same_bits_in_every_tier, a_speculation_has_the_bits_of_global_clipping,
                         a_speculation_on_nvme_has_the_bits_of_global_clipping, a_resume_clips_by_the_norm_before_it,
                         a_step_that_is_not_finite_ends_the_run, a_second_signal_waits_for_the_end_of_the_step)
