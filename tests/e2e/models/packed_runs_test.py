#!/usr/bin/env python3
"""Trainings on samples of conversations: the loss of packed samples is that of each sample alone, whatever the layout.

  packed_runs_test.py --binary ZIGGURAT --work FOLDER --mpiexec COMMAND
"""

import json
import pathlib
import random
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from trainings import DECKS, ProgramFolder, expect, run_script, say

SEQ, VOCAB = 32, 300
CONSTANT = "schedule={kind: constant, warmup: 0 steps}"
LAYOUTS = {"1": (1, ()), "2": (2, ()), "4": (4, ()), "pipeline": (2, ("parallel.pipeline=2",)),
           "sequence": (2, ("parallel.tensor=2", "parallel.sequence=true")),
           "grid": (4, ("parallel.tensor=2", "parallel.pipeline=2")),
           "zero3": (2, ("sharding.zero=3", "tiers.home.optimizer=host"))}


def write_samples(path, samples):
    """A file as decks/DATA.md describes it."""
    begins = [0]
    for ids, _ in samples:
        begins.append(begins[-1] + len(ids))
    words = [token | counts << 31 for ids, mask in samples for token, counts in zip(ids, mask)]
    counted = sum(word >> 31 for word in words)
    header = struct.pack("<8siiqqqQQQ", b"ZGSAMPLE", 1, 0, len(samples), begins[-1], counted, 0, 0, 0)
    path.write_bytes(header + struct.pack(f"<{len(words)}I", *words) + struct.pack(f"<{len(begins)}q", *begins))


def random_samples(count):
    """Samples of 2 to 31 tokens, of which between none and nearly all count."""
    random.seed(20)
    samples = []
    for _ in range(count):
        length, share = random.randrange(2, SEQ), random.random()
        samples.append(([random.randrange(VOCAB) for _ in range(length)],
                        [0] + [int(random.random() < share) for _ in range(length - 1)]))
    return samples


class Place(ProgramFolder):
    def __init__(self, chosen):
        super().__init__(chosen)
        deck = (DECKS / "llama_tiny.yaml").read_text().replace("checkpoint:", "# checkpoint:")
        (self.folder / "deck.yaml").write_text(deck.replace("warmup: 5 steps", "warmup: 1 steps"))
        self.samples = random_samples(20)
        write_samples(self.folder / "all.samples", self.samples)

    def settings(self, *more):
        return ("data.tokenizer=none", f"model.vocab={VOCAB}", "data.train=[{format: chat, path: all.samples}]",
                "data.shuffle=false", "precision.compute=fp32", *more)

    def train(self, run, *settings, ranks=1, code=0):
        said = "".join(self.call("train", "deck.yaml", f"run.dir={run}", *self.settings(*settings), ranks=ranks,
                                 code=code))
        return said if code else self.losses(run)

    def losses(self, run):
        rows = map(json.loads, (self.folder / run / "metrics.jsonl").read_text().splitlines())
        return [row["loss"] for row in rows if row["event"] == "step"]

    def evaluate(self, run, path, ranks=1):
        return json.loads(self.call("eval", run, "--data", path, "--format", "chat", "--json", ranks=ranks)[0])


def close(a, b, bound):
    return abs(a - b) <= bound * abs(b)


def is_the_loss_of_each_sample(chosen):
    """With a learning rate of nearly 0, the first loss is that of the weights, which eval measures sample by sample."""
    place = Place(chosen)
    place.train("base", "train.steps=2", "train.global_batch=4", "train.micro_batch=2", "checkpoint.every=2 steps")
    total, targets = 0, 0
    for number, sample in enumerate(place.samples):
        if sum(sample[1]) == 0:
            continue
        write_samples(place.folder / "one.samples", [sample])
        alone = place.evaluate("base", "one.samples")
        expect(alone["tokens"] == sum(sample[1]), f"targets of sample {number}: {alone} {sample[1]}")
        total += alone["loss"] * alone["tokens"]
        targets += alone["tokens"]
    packed = place.evaluate("base", "all.samples", ranks=2)
    expect(packed["tokens"] == targets and close(packed["loss"], total / targets, 1e-6),
           f"packed {packed}, one by one {total / targets} of {targets}")
    said = "".join(place.call("check", "deck.yaml", *place.settings("train.steps=2", "train.global_batch=4",
                                                                    "train.micro_batch=2")))
    line = next(line for line in said.splitlines() if line.startswith("packing"))
    sequences = int(line.split(" samples in ")[1].split()[0])
    expect(f"{sum(len(ids) for ids, _ in place.samples) / sequences / SEQ:.1%}".rstrip("%") in line, line)

    # One step over all sequences at once, from the same weights: the same loss for every layout and division.
    at_once = ("model.init={from: checkpoint, path: base}", "train.steps=1", f"train.global_batch={sequences}",
               CONSTANT)
    expect(sequences % 4 == 0, f"{sequences} sequences; change the samples")
    for name, (ranks, settings) in LAYOUTS.items():
        loss, = place.train(f"at_once_{name}", *at_once, "train.micro_batch=1", *settings, ranks=ranks)
        expect(close(loss, total / targets, 1e-6), f"{name}: {loss}, one by one {total / targets}")
    loss, = place.train("unpacked", *at_once[:2], "train.global_batch=20", at_once[3], "train.micro_batch=4",
                        "data.packing=none")
    expect(close(loss, total / targets, 1e-6), f"without packing: {loss}, one by one {total / targets}")
    say(f"the loss of {targets} targets in {sequences} sequences is that of {len(place.samples)} samples alone")


def trains_alike_on_all_layouts(chosen):
    """Six steps with uneven masks: losses within 1e-5, and again after a resume on another layout."""
    place = Place(chosen)
    batch = ("train.global_batch=8", "train.micro_batch=2", "checkpoint.every=3 steps", CONSTANT)
    alone = place.train("alone", "train.steps=6", *batch)
    for name, (ranks, settings) in LAYOUTS.items():
        losses = place.train(f"run_{name}", "train.steps=6", *batch, *settings, ranks=ranks)
        expect(all(close(a, b, 1e-5) for a, b in zip(losses, alone)) and len(losses) == 6, f"{name}: {losses} {alone}")
    place.train("resumed", "train.steps=3", *batch, "parallel.tensor=2", ranks=2)
    losses = place.train("resumed", "train.steps=6", *batch, "run.resume=auto", ranks=2)
    expect(all(close(a, b, 1e-5) for a, b in zip(losses, alone)) and len(losses) == 6, f"resumed: {losses} {alone}")
    shorter = "".join(place.call("train", "deck.yaml", "run.dir=resumed", *place.settings(
        "train.steps=8", *batch, "run.resume=auto", "data.packing=none")))
    expect("samples are packed differently" in shorter and "continues at" in shorter, shorter)
    say("packed samples train alike on every layout, and after a resume")


if __name__ == "__main__":
    run_script(__doc__, is_the_loss_of_each_sample, trains_alike_on_all_layouts)
