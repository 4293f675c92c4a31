#!/usr/bin/env python3
"""Norms by unit: the same on twelve layouts, and their squares add up to that of the gradient norm.

  unit_norms_test.py --binary ZIGGURAT --work FOLDER --mpiexec COMMAND

Weights that several ranks hold are the ones that a sum over ranks counts twice: norms and biases under tensor parallelism,
a tied embedding on two stages, all weights without sharding. Norms also must not change the training, must come with
steps of their interval alone, and must be of this run after a resume.
"""

import csv
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import trainings
from trainings import Place, expect, say

COMMON = ["logging.norms=1", "train.steps=2", "precision.compute=fp32", "checkpoint.every=none", "optimizer.clip_norm=0.5",
          "schedule={kind: constant, warmup: 0 steps}"]
NVME = ["tiers.nvme.paths=[.]", "tiers.home.optimizer=nvme", "tiers.home.gradients=host"]
HOST = ["tiers.home.optimizer=host", "tiers.home.gradients=host"]
LAYOUTS = {
    "alone": (1, []),
    "data": (2, ["sharding.zero=0"]),
    "zero1": (2, ["sharding.zero=1"]),
    "zero3": (2, ["sharding.zero=3"]),
    "tensor": (2, ["parallel.tensor=2"]),
    "sequence": (2, ["parallel.tensor=2", "parallel.sequence=true"]),
    "context": (2, ["parallel.context={degree: 2, kind: ulysses}"]),
    "stages": (2, ["parallel.pipeline=2"]),
    "host": (1, HOST),
    "nvme": (2, ["sharding.zero=2", *NVME]),
    "speculation": (1, [*HOST, "overlap.optimizer_with_backward=true", "optimizer.clip.policy=speculate"]),
    "grid": (4, trainings.GRID),
    "chunks": (1, ["tiers.movement=chunks"]),
}
STEPS, BOUND = (1, 2), 1e-6
KINDS = ("gradient", "weights", "update")


def norms_of(run):
    """{step: {(kind, unit): norm}}"""
    return {row["step"]: {(kind, unit): float(norm) for kind in KINDS for unit, norm in row[kind].items()}
            for row in trainings.events(run) if row["event"] == "norms"}


def the_same_on_every_layout(chosen):
    for family in ("gpt2", "llama"):
        place = Place(chosen, f"layouts_{family}", family)
        expected, worst = None, dict.fromkeys(STEPS, 0.0)
        layouts = {name: layout for name, layout in LAYOUTS.items() if family == "gpt2" or name in ("alone", "tensor", "grid")}
        for name, (ranks, settings) in layouts.items():
            place.train(name, ranks, *COMMON, *settings)
            ours = norms_of(place.folder / name)
            expected = expected or ours
            expect(sorted(ours) == list(STEPS), f"{name}: norms of the steps {sorted(ours)}")
            for step in STEPS:
                expect(ours[step].keys() == expected[step].keys() and len(ours[step]) >= 3 * 4, f"{name}: units {list(ours[step])}")
                for key, norm in ours[step].items():
                    gap = abs(norm / expected[step][key] - 1)
                    expect(gap <= BOUND, f"{family}, {name}: {' of '.join(key)} in step {step} is {norm}, alone {expected[step][key]}")
                    worst[step] = max(worst[step], gap)
            for row in trainings.events(place.folder / name):
                if row["event"] == "step":
                    squares = sum(norm ** 2 for (kind, _), norm in ours[row["step"]].items() if kind == "gradient")
                    expect(abs(squares / float(row["grad_norm"]) ** 2 - 1) < 1e-12, f"{name}: {squares} is not the square of {row['grad_norm']}")
        say(f"norms of {family} on {len(layouts)} layouts differ by {worst[1]:.1e} in step 1 and {worst[2]:.1e} in step 2")


def weights_hash(run):
    return [row for row in trainings.events(run) if row["event"] == "end"][-1]["weights_hash"]


def steps_of_the_interval_alone(chosen):
    place = Place(chosen, "interval")
    settings = ["precision.compute=bf16", "train.steps=7", "checkpoint.every=4 steps"]
    place.train("without", 2, *settings)
    place.train("with", 2, *settings, "logging.norms=3", "logging.tensorboard=true")
    expect(not norms_of(place.folder / "without"), "norms that nobody asked for")
    expect(sorted(norms_of(place.folder / "with")) == [3, 6], f"norms of the steps {sorted(norms_of(place.folder / 'with'))}")
    expect(weights_hash(place.folder / "with") == weights_hash(place.folder / "without"), "norms change the training")
    place.train("with", 2, *settings, "logging.norms=2", "train.steps=9")
    found = sorted(norms_of(place.folder / "with"))
    expect(found == [3, 6, 8], f"norms of the steps {found} after a resume")
    place.call("plot", "with", "--csv", "norms.csv")
    with open(place.folder / "norms.csv") as file:
        rows = list(csv.DictReader(file))
    expect([row["step"] for row in rows if row["update_norm head"]] == ["3", "6", "8"], "norms.csv lacks norms")
    expect(float(rows[2]["gradient_norm layer.00"]) == norms_of(place.folder / "with")[3]["gradient", "layer.00"], "norms.csv has others")
    place.call("report", "with", "--out", "report.html")
    expect("Norms by unit after step 8" in (place.folder / "report.html").read_text(), "the report lacks norms")
    say("norms of steps 3, 6 and 8 leave the training as it is")


def a_skipped_step_has_no_update(chosen):
    place = Place(chosen, "skipped")
    # The decay multiplies weights by -999 in each step, so the last steps are not finite.
    place.train("run", 1, "logging.norms=1", "train.steps=12", "optimizer.lr=10.0", "optimizer.weight_decay=100.0",
                "schedule={kind: constant, warmup: 0 steps}", "checkpoint.every=none", code=5)
    rows = {row["step"]: row for row in trainings.events(place.folder / "run") if row["event"] == "norms"}
    skipped = [row["step"] for row in trainings.events(place.folder / "run") if row["event"] == "step" and row["grad_norm"] is None]
    expect(skipped, "no step is skipped")
    for step in skipped:
        expect(all(float(norm) == 0 for norm in rows[step]["update"].values()), f"step {step}: {rows[step]['update']}")
        expect(None in rows[step]["gradient"].values(), f"step {step}: {rows[step]['gradient']}")
    say(f"the skipped steps {skipped} have no update")


if __name__ == "__main__":
    trainings.run_script(__doc__, the_same_on_every_layout, steps_of_the_interval_alone, a_skipped_step_has_no_update)
