#!/usr/bin/env python3
"""Layouts that are `auto` are chosen by the planner's search, recorded, and chosen again on other ranks.

  auto_layout_test.py --binary ZIGGURAT --work FOLDER --mpiexec COMMAND
"""

import json
import os
import pathlib
import re
import socket
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import trainings
from trainings import expect, say

DECK = """deck_version: 1
model: {family: llama, layers: 4, hidden: 64, heads: 4, kv_heads: 2, ffn_hidden: 128}
data: {seq: 64, train: [{format: text, path: text.txt}]}
train: {steps: 4, global_batch: 8, micro_batch: auto}
precision: {compute: fp32}
parallel: {tensor: auto, sequence: auto, pipeline: auto}
sharding: auto
schedule: constant
recompute: auto
checkpoint: {every: 2 steps}
"""
MACHINE = """machine_version: 1
name: this machine
has_device: false
ranks_per_node: 4
cores_per_node: 4
host_memory: 8GiB
products: {fp32: {flops: 20G}}
node_link: {bandwidth: 2GB/s, latency: 5us}
"""
KEYS = {"parallel.tensor.degree": "degree", "parallel.pipeline.stages": "stages", "sharding.zero": "zero",
        "train.micro_batch": "micro_batch", "parallel.sequence": "sequence"}


class Place(trainings.ProgramFolder):
    """A folder with a deck, its text, and the figures of the machine."""

    def __init__(self, options):
        super().__init__(options)
        (self.folder / "text.txt").write_text("in the beginning was a text. " * 2000)
        (self.folder / "deck.yaml").write_text(DECK)
        figures = self.folder / "config" / "ziggurat" / f"machine-{socket.gethostname()}.yaml"
        figures.parent.mkdir(parents=True)
        figures.write_text(MACHINE)

    def train(self, ranks, *words, config="config"):
        return subprocess.run([*self.mpiexec, "-n", str(ranks), self.binary, "train", *words], cwd=self.folder,
                              capture_output=True, text=True, timeout=trainings.PATIENCE_S,
                              env={**os.environ, "OMP_NUM_THREADS": "1",
                                   "XDG_CONFIG_HOME": str(self.folder / config)})

    def losses(self, name):
        lines = (self.folder / name / "metrics.jsonl").read_text().splitlines()
        return {step["step"]: step["loss"] for step in map(json.loads, lines) if step["event"] == "step"}

    def chosen(self, name):
        """Returns the values of the open keys in the effective deck, with the comment of the first."""
        text = (self.folder / name / "deck.effective.yaml").read_text()
        values = {key: re.search(rf"^ +{word}: +(\S+) +# auto: (.*)$", text, re.M) for key, word in KEYS.items()}
        expect(all(values.values()), f"not all of {list(KEYS)} are chosen: {text}")
        return {key: found[1] for key, found in values.items()}, values["sharding.zero"][2]


def chosen_layouts_train_as_if_written(place):
    answer = place.train(2, "deck.yaml", "run.dir=open")
    expect(answer.returncode == 0, answer.stdout + answer.stderr)
    values, reason = place.chosen("open")
    say(f"{values}: {reason}")
    expect(re.match(r"the fastest of \d+ layouts on 2 ranks", reason), reason)
    written = place.train(2, "deck.yaml", "run.dir=written", "recompute=none",
                          *(f"{key}={value}" for key, value in values.items()))
    expect(written.returncode == 0, written.stdout + written.stderr)
    expect(place.losses("open") == place.losses("written"), "the written layout trains with other bits")


def other_ranks_choose_again(place):
    before = place.losses("open")
    answer = place.train(4, "open", "train.steps=6")
    expect(answer.returncode == 0, answer.stdout + answer.stderr)
    values, reason = place.chosen("open")
    expect("on 4 ranks" in reason, f"the layout of 2 ranks is kept: {values} {reason}")
    after = place.losses("open")
    expect(sorted(after) == [1, 2, 3, 4, 5, 6], f"steps: {after}")
    expect(all(after[step] == before[step] for step in before), "recorded steps have changed")
    alone = place.train(1, "deck.yaml", "run.dir=alone", "train.steps=6", "parallel={tensor: 1}", "sharding=0",
                        "train.micro_batch=8", "recompute=none")
    expect(alone.returncode == 0, alone.stdout + alone.stderr)
    for step, loss in place.losses("alone").items():
        expect(abs(loss - after[step]) <= 1e-5 * abs(loss), f"step {step}: {after[step]}, on one rank {loss}")


def chosen_spans_train_as_if_written(place):
    words = ["deck.yaml", "parallel={tensor: 1}", "train.micro_batch=1", "recompute=none", "debug.nodes=2"]
    spans = "sharding={{parameters: 1, gradients: {}, optimizer: node}}"
    answer = place.train(4, *words, "run.dir=spans", spans.format("auto"))
    expect(answer.returncode == 0, answer.stdout + answer.stderr)
    deck = place.folder / "spans" / "deck.effective.yaml"
    found = re.search(r"^ +gradients: +(\d+) +# auto: (.*)$", deck.read_text(), re.M)
    expect(found and found[1] in "12" and found[2].startswith("the fastest of 2 layouts on 4 ranks"), deck.read_text())
    expect(re.search(r"^ +optimizer: +2 +# command line: node: data ranks of a node", deck.read_text(), re.M), deck.read_text())
    written = place.train(4, *words, "run.dir=spans_written", spans.format(found[1]))
    expect(written.returncode == 0, written.stdout + written.stderr)
    expect(place.losses("spans") == place.losses("spans_written"), "the written spans train with other bits")
    again = place.train(4, "spans/deck.effective.yaml", "run.dir=spans_again")
    expect(again.returncode == 0, again.stdout + again.stderr)
    expect(place.losses("spans") == place.losses("spans_again"), "the effective deck trains with other bits")


def accumulation_of(place, name):
    text = (place.folder / name / "deck.effective.yaml").read_text()
    found = re.search(r"^ +accumulate: +(\S+) +# (.*)$", text, re.M)
    expect(found, text)
    return found[1], found[2]


def order_of_micro_batches_is_that_of_the_shorter_step(place):
    words = ["deck.yaml", "parallel={tensor: 1}", "train.micro_batch=1", "recompute=full", "train.accumulate=auto"]
    slow = ["sharding={zero: 3}", "tiers.nvme.paths=[nvme]", "tiers.home.parameters=nvme",
            "debug.throttle.nvme_read=2MB/s"]
    (place.folder / "nvme").mkdir()
    answer = place.train(2, *words, *slow, "run.dir=order")
    expect(answer.returncode == 0, answer.stdout + answer.stderr)
    order, reason = accumulation_of(place, "order")
    say(f"{order}: {reason}")
    expect(order == "by_layer" and re.match(r"auto: a step takes \S+ \S+ by layer and ", reason), f"{order}: {reason}")
    answer = place.train(2, *words, "sharding={zero: 1}", "run.dir=order_at_rest")
    expect(answer.returncode == 0, answer.stdout + answer.stderr)
    order, reason = accumulation_of(place, "order_at_rest")
    expect(order == "by_micro_batch" and reason == "auto: passes read and gather nothing", f"{order}: {reason}")
    # A run may resume with the other order.
    answer = place.train(2, "order", "train.steps=6", "train.accumulate=by_micro_batch")
    expect(answer.returncode == 0, answer.stdout + answer.stderr)
    expect(accumulation_of(place, "order")[0] == "by_micro_batch", "the run resumed by layer")
    answer = place.train(2, *words, *slow, "run.dir=order_written", "train.steps=6", "train.accumulate=by_micro_batch")
    expect(answer.returncode == 0, answer.stdout + answer.stderr)
    ours, expected = place.losses("order"), place.losses("order_written")
    expect(sorted(ours) == [1, 2, 3, 4, 5, 6] and ours == expected, f"{ours} instead of {expected}")


def unknown_rates_are_refused(place):
    answer = place.train(2, "deck.yaml", "run.dir=refused", config="nothing")
    expect(answer.returncode == 2 and "bench all" in answer.stderr, f"{answer.returncode}: {answer.stderr}")
    expect("parallel.tensor.degree is auto" in answer.stderr, answer.stderr)
    expect(not (place.folder / "refused").exists(), "a run that was refused has left files")


def layouts(options):
    place = Place(options)
    chosen_layouts_train_as_if_written(place)
    other_ranks_choose_again(place)
    chosen_spans_train_as_if_written(place)
    order_of_micro_batches_is_that_of_the_shorter_step(place)
    unknown_rates_are_refused(place)


if __name__ == "__main__":
    trainings.run_script(__doc__, layouts)
