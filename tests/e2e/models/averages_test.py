#!/usr/bin/env python3
"""The average of the weights (train.average) is that of the saved weights of all steps, on any layout and tier.

  averages_test.py --binary ZIGGURAT --work FOLDER --mpiexec COMMAND
"""

import array
import json
import pathlib
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from trainings import DECKS, ProgramFolder, expect, run_script, say

DECAY, FROM, STEPS = 0.8, 2, 6
LAYOUTS = {"alone": (1, ()), "zero3": (2, ("sharding.zero=3", "tiers.home.optimizer=host")),
           "nvme": (2, ("sharding.zero=1", "tiers.home.optimizer=nvme", "tiers.nvme.paths=[disk]")),
           "tensor": (2, ("parallel.tensor=2",)), "pipeline": (2, ("parallel.pipeline=2",)),
           "bf16": (2, ("precision.compute=bf16", "sharding.zero=2"))}


def tensors_of(folder):
    """Tensors of a model in single precision."""
    tensors = {}
    for path in folder.glob("*.safetensors"):
        data = path.read_bytes()
        size, = struct.unpack("<Q", data[:8])
        for name, row in json.loads(data[8:8 + size]).items():
            if name != "__metadata__":
                begin, end = row["data_offsets"]
                tensors[name] = array.array("f", data[8 + size + begin:8 + size + end])
    return tensors


class Place(ProgramFolder):
    def __init__(self, chosen):
        super().__init__(chosen)
        deck = (DECKS / "llama_tiny.yaml").read_text().replace("checkpoint:", "# checkpoint:")
        (self.folder / "deck.yaml").write_text(deck.replace("kind: cosine, warmup: 5 steps", "kind: constant"))
        (self.folder / "text.txt").write_text("an average of weights moves slowly, and weights move fast\n" * 200)
        (self.folder / "disk").mkdir()

    def train(self, run, *settings, ranks=1, steps=STEPS, code=0):
        return "".join(self.call("train", "deck.yaml", f"run.dir={run}", f"train.steps={steps}", "train.global_batch=8",
                                 "train.micro_batch=2", "checkpoint={every: 1 steps, keep: {last: 10}}",
                                 "precision.compute=fp32", *settings, ranks=ranks, code=code))

    def export(self, run, step, *options):
        target = f"{run}-{step}-{len(options)}"
        if not (self.folder / target).exists():
            self.call("export", f"{run}/ckpt/step-{step:09}", target, "--dtype", "f32", *options)
        return tensors_of(self.folder / target)


def largest_gap(ours, other):
    expect(ours.keys() == other.keys(), f"tensors {ours.keys()} {other.keys()}")
    return max(abs(a - b) for name in ours for a, b in zip(ours[name], other[name], strict=True))


def mix(first, share, second):
    """share * first + (1 - share) * second, in double precision."""
    return {name: [share * a + (1 - share) * b for a, b in zip(first[name], second[name], strict=True)] for name in first}


def averages(place, run, steps):
    """The average that torch.optim.swa_utils.AveragedModel and its get_ema_multi_avg_fn compute, in float64."""
    average = None
    for step in range(1, steps + 1):
        weights = place.export(run, step)
        average = weights if step <= FROM else mix(average, DECAY, weights)
    return average


def is_that_of_the_weights(chosen):
    place = Place(chosen)
    settings = (f"train.average={{kind: ema, decay: {DECAY}, from: {FROM} steps}}",)
    reference = None
    for name, (ranks, layout) in LAYOUTS.items():
        place.train(name, *settings, *layout, ranks=ranks)
        ours = place.export(name, STEPS, "--average")
        gap = largest_gap(ours, averages(place, name, STEPS))
        expect(gap < 1e-6, f"{name}: {gap} from the average of its weights")
        expect(largest_gap(ours, place.export(name, STEPS)) > 1e-4, f"{name}: the average is not the weights")
        reference = reference or ours
        if name != "bf16":
            expect(largest_gap(ours, reference) < 1e-5, f"{name}: {largest_gap(ours, reference)} from one rank")

    # Resumed on other layouts and with averages switched on later, which begin as a copy of the weights.
    place.train("resumed", *settings, *LAYOUTS["zero3"][1], ranks=2, steps=3)
    place.train("resumed", *settings, *LAYOUTS["tensor"][1], "run.resume=auto", ranks=2)
    gap = largest_gap(place.export("resumed", STEPS, "--average"), reference)
    expect(gap < 1e-5, f"resumed: {gap}")
    place.train("later", steps=3)
    said = "".join(place.call("export", "later", "none", "--average", code=2))
    expect("has no average of the weights (train.average was not set)" in said, said)
    said = place.train("later", "train.average={kind: ema, decay: 0.5}", "run.resume=auto", steps=4)
    expect("begins as a copy of the weights" in said, said)
    before, after = place.export("later", 3), place.export("later", 4)
    gap = largest_gap(place.export("later", 4, "--average"), mix(before, 0.5, after))
    expect(gap < 1e-6, f"switched on later: {gap}")

    # eval takes the average, as a run that begins with the exported one does.
    arguments = ("--data", "text.txt", "--json")
    loss = json.loads(place.call("eval", "alone", "--average", *arguments)[0])["loss"]
    place.call("import", f"alone-{STEPS}-1", "imported")
    expect(abs(json.loads(place.call("eval", "imported", *arguments, "--tokenizer", "bytes", "--format", "text", "--compute", "fp32")[0])["loss"] - loss) < 1e-6, "eval of the average")
    expect(json.loads(place.call("eval", "alone", *arguments)[0])["loss"] != loss, "eval of the weights")
    say(f"averages on {len(LAYOUTS)} layouts are those of the weights")


def rows_of(place, run, kind):
    rows = map(json.loads, (place.folder / run / "metrics.jsonl").read_text().splitlines())
    return [row for row in rows if row["event"] == kind]


def is_validated(chosen):
    """validate.weights: the loss is that of eval --average, the best checkpoint follows it, and training has the same bits."""
    place = Place(chosen)
    settings = (f"train.average={{kind: ema, decay: {DECAY}}}", "validate={every: 2 steps, batches: 2}", "data.held_out=20%",
                "train.average.from=0 steps")
    for name, (ranks, layout) in LAYOUTS.items():
        found = {}
        for weights in ("raw", "both", "average"):
            run = f"{name}_{weights}"
            place.train(run, *settings, *layout, f"validate.weights={weights}", "checkpoint.keep.best=1", ranks=ranks)
            found[weights] = rows_of(place, run, "validate")
            hashes = [rows_of(place, of, "end")[-1]["weights_hash"] for of in (run, f"{name}_raw")]
            expect(hashes[0] == hashes[1], f"{run}: the validation has changed the weights")
        for raw, both, average in zip(found["raw"], found["both"], found["average"], strict=True):
            expect(raw["loss"] == both["loss"] and both["average_loss"] == average["loss"] != raw["loss"] and
                   average["weights"] == "average", f"{name}: {raw} {both} {average}")
        expect([row["step"] for row in found["raw"]] == [2, 4, 6], f"{name}: {found['raw']}")
        for row in found["average"][:2] if name in ("alone", "bf16") else found["average"][-1:]:
            measured = json.loads(place.call("eval", f"{name}_both/ckpt/step-{row['step']:09}", "--average", "--json")[0])
            expect(abs(measured["loss"] - row["loss"]) < (1e-6 if name != "bf16" else 1e-4) * row["loss"], f"{name}: {row} and {measured}")
        bests = rows_of(place, f"{name}_both", "best")
        lows = [row for i, row in enumerate(found["average"]) if all(row["loss"] < other["loss"] for other in found["average"][:i])]
        expect([(row["step"], row["loss"]) for row in bests] == [(row["step"], row["loss"]) for row in lows], f"{name}: {bests}")
    say(f"averages are validated on {len(LAYOUTS)} layouts")


if __name__ == "__main__":
    run_script(__doc__, is_that_of_the_weights, is_validated)
