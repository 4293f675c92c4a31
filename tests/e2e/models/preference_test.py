#!/usr/bin/env python3
"""Training on pairs of answers (DPO, IPO): losses, rewards and gradient norms of each step are those of PyTorch, on every
layout, after a resume, and for every reference.

  preference_test.py --binary ZIGGURAT --work FOLDER --mpiexec COMMAND

scripts/oracle/preference.py has made the values, which are in tests/oracle/preference_tiny.*.
"""

import json
import math
import pathlib
import re
import shutil
import sys
from functools import partial

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from pair_folder import PairFolder, concurrently
from trainings import expect, run_script, say

ON_NVME = "tiers.home={parameters: nvme, gradients: host, optimizer: nvme}"
# The stored values that a layout is compared with, ranks, settings.
LAYOUTS = {
    "micro_batches": ("ipo", 1, ("train.micro_batch=1", "recompute.kind=full")),
    "zero3": ("other_reference", 2, ("sharding.zero=3",)),
    "tensor": ("ipo", 2, ("parallel.tensor=2", "parallel.sequence=true")),
    "grid": ("ipo", 4, ("parallel.tensor={degree: 4, mode: 2d}", "train.micro_batch=1")),
    "cube": ("other_reference", 8, ("parallel.tensor={degree: 8, mode: 3d}", "train.micro_batch=1")),
    "ring": ("ipo", 2, ("parallel.context={degree: 2, kind: ring}", "sharding.zero=3", "train.micro_batch=2")),
    "ulysses": ("smoothed", 2, ("parallel.context=2", "train.micro_batch=1")),
    "ring_pipeline": ("other_reference", 4, ("parallel.context={degree: 2, kind: ring}", "parallel.pipeline=2",
                                             "train.micro_batch=1")),
    "pipeline": ("smoothed", 2, ("parallel.pipeline=2", "train.micro_batch=1")),
    "nvme": ("other_reference", 1, (ON_NVME, "tiers.nvme.paths=[nvme]", "tiers.chunk=4096")),
    "host": ("smoothed", 2, ("sharding.zero=3", "train.micro_batch=1",
                             "tiers.home={parameters: host, optimizer: host}")),
}
LORA = "train.lora={rank: 4, alpha: 8}"
ADAPTED_STEPS = 3
SAME = 1e-6  # of two computations of the same reference
VALIDATED = 1e-4  # of trainings on different layouts


def objectives_are_those_of_pytorch(chosen):
    place = PairFolder(chosen, "objectives")
    objectives = place.oracle["objectives"]
    runs = concurrently(*(partial(place.train, name, objective) for name, objective in objectives.items()))
    for name, steps in zip(objectives, runs):
        place.expect_oracle(name, steps, name)
    say(f"{len(objectives)} objectives are those of PyTorch")


def layouts_agree(chosen):
    place = PairFolder(chosen, "layouts")
    objectives = place.oracle["objectives"]
    runs = concurrently(*(partial(place.train, run, objectives[name], *settings, ranks=ranks)
                          for run, (name, ranks, settings) in LAYOUTS.items()))
    for (run, (name, _, _)), steps in zip(LAYOUTS.items(), runs):
        place.expect_oracle(f"{name} on layout {run}", steps, name)
    say(f"{len(LAYOUTS)} layouts compute the same")


def validations_agree(chosen):
    """The loss and the rewards of validation pairs are the same on context ranks, which share each answer."""
    place = PairFolder(chosen, "validated")
    settings = ("train.steps=2", "train.micro_batch=1", "data.validation=[{format: chat, path: pairs.samples}]",
                "validate={every: 1 steps, batches: 3}")
    layouts = {"one": ((), 1), "ring": (("parallel.context={degree: 2, kind: ring}",), 2),
               "ulysses": (("parallel.context=2", "parallel.tensor=2"), 4)}
    objective = place.oracle["objectives"]["ipo"]
    concurrently(*(partial(place.train, run, objective, *settings, *more, ranks=ranks)
                   for run, (more, ranks) in layouts.items()))
    found = {run: [row for row in map(json.loads, (place.folder / run / "metrics.jsonl").read_text().splitlines())
                   if row["event"] == "validate"] for run in layouts}
    expect(len(found["one"]) >= 2, f"validations: {found}")
    for run, rows in found.items():
        for ours, theirs in zip(rows, found["one"], strict=True):
            for key in ("loss", "reward_chosen", "reward_rejected"):
                expect(abs(ours[key] - theirs[key]) <= VALIDATED * max(1, abs(theirs[key])),
                       f"{key} of the validation at step {ours['step']} is {ours[key]} on layout {run} and {theirs[key]} "
                       "on one rank")
    say("validations on context ranks are those of one rank")


def packed_pairs_agree(chosen):
    """With all pairs in each step, the order of the pairs has no effect: packed sequences compute the same."""
    place = PairFolder(chosen, "packed")
    part = place.oracle["all_pairs"]
    steps, pairs = f"train.steps={part['steps']}", part["pairs"]
    text = "".join(place.call("check", "deck.yaml", f"train.objective={{kind: {part['objective']['kind']}}}",
                              "data.packing=best_fit"))
    found = re.search(r"(\d+) sequences? of", next(line for line in text.splitlines() if line.startswith("packing")))
    expect(found and 1 < int(found[1]) < pairs, f"sequences with several pairs: {text}")
    packed = ("data.packing=best_fit", f"train.global_batch={found[1]}", "train.micro_batch=1")
    runs = {"one pair per sequence": ((f"train.global_batch={pairs}",), 1), "packed": (packed, 1),
            "packed, two stages": ((*packed, "parallel.pipeline=2"), 2)}
    results = concurrently(*(partial(place.train, run.replace(" ", "_"), part["objective"], steps, *settings, ranks=ranks)
                             for run, (settings, ranks) in runs.items()))
    for run, result in zip(runs, results):
        place.expect_oracle(run, result, "all_pairs")
    say(f"{pairs} pairs in {found[1]} sequences compute the same")


def resumes_on_another_layout(chosen):
    """The reference is that of the start, also if its stored log-probabilities have been removed."""
    place = PairFolder(chosen, "resumed")
    name = "smoothed"
    objective = place.oracle["objectives"][name]
    place.train("stored", objective, "train.steps=8", "checkpoint.every=8 steps")
    shutil.copytree(place.folder / "stored", place.folder / "removed")
    (place.folder / "removed" / "reference.scores").unlink()
    resume = ("run.resume=auto", "checkpoint.every=8 steps")
    runs = {"stored": ("sharding.zero=3",), "removed": ("parallel.context={degree: 2, kind: ring}",)}
    results = concurrently(*(partial(place.train, run, objective, *resume, *settings, ranks=2)
                             for run, settings in runs.items()))
    for run, steps in zip(runs, results):
        place.expect_oracle(f"resumed, reference {run}", steps, name)
    say("resumed runs go on with the reference of the start")


def adapters_have_their_references(chosen):
    """Trained adapters: adapters_off is the base model, start is the model with these adapters."""
    place = PairFolder(chosen, "adapters")
    objective = place.oracle["objectives"]["dpo"]
    place.train("adapted", objective, LORA, "optimizer.lr=0.02", f"train.steps={ADAPTED_STEPS}",
                f"checkpoint.every={ADAPTED_STEPS} steps")
    init = "model.init={from: checkpoint, path: adapted}"
    references = {"off": "adapters_off", "base": "models/policy", "start": "start", "checkpoint": "adapted"}
    steps = f"train.steps={ADAPTED_STEPS}"
    runs = dict(zip(references, concurrently(*(
        partial(place.train, run, objective | {"reference": reference}, LORA, init, steps)
        for run, reference in references.items()))))
    for one, other in (("off", "base"), ("start", "checkpoint")):
        for ours, theirs in zip(runs[one], runs[other], strict=True):
            for key in ("loss", "reward_chosen", "reward_rejected", "grad_norm"):
                expect(abs(ours[key] - theirs[key]) <= SAME * max(1, abs(theirs[key])),
                       f"{key} of step {ours['step']} is {ours[key]} with reference {references[one]} and {theirs[key]} "
                       f"with {references[other]}")
    first = {run: steps[0] for run, steps in runs.items()}
    expect(abs(first["start"]["loss"] - math.log(2)) <= SAME and abs(first["off"]["loss"] - math.log(2)) > 1000 * SAME and
           abs(first["off"]["reward_chosen"]) > 1000 * SAME, f"the adapters have no effect: {first}")
    say("adapters_off is the base, start is the model with its adapters")


if __name__ == "__main__":
    run_script(__doc__, objectives_are_those_of_pytorch, layouts_agree, validations_agree, packed_pairs_agree,
               resumes_on_another_layout, adapters_have_their_references)
