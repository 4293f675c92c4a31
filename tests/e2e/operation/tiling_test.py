#!/usr/bin/env python3
"""Tiles let a device train what its memory cannot hold a layer of.

  tiling_test.py --binary ZIGGURAT --work FOLDER --mpiexec COMMAND

With the device budget at which h is the largest hidden size with whole weights, 4 h trains in tiles; and a vocabulary of
131,072 trains with a device budget of an eighth of the head's weights. Tiles are chosen by the planner: `auto`.
"""

import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import budgets_test
import trainings
from budgets_test import DEVICE, RANKS, lack
from trainings import expect, say

DECK = """deck_version: 1
model: {family: llama, layers: 1, heads: 4}
data: {seq: 32, train: [{format: text, path: text.txt}]}
train: {steps: 2, global_batch: 4, micro_batch: 1}
precision: {compute: bf16}
sharding: {zero: 3}
recompute: full
tiers:
  nvme: {paths: [disk]}
  host: {budget: 3GiB}
  home: {parameters: host, gradients: host, optimizer: host, activations: host}
checkpoint: {every: none}
logging: {every: 1 steps}
"""
SMALLEST, GRAIN, AT_MOST = 192, 32, 384  # hidden sizes that are looked at with whole weights


class Place(budgets_test.Place):
    def __init__(self, options):
        super().__init__(options)
        (self.folder / "deck.yaml").write_text(DECK)

    def peak(self, settings):
        """Bytes that the plan takes of a device."""
        return 1 + lack(self.check([*settings, f"{DEVICE}=1B"]), "device")

    def fits(self, settings, budget):
        return self.check([*settings, f"{DEVICE}={budget}B"]).returncode == 0

    def trains(self, name, settings, budget):
        """Trains within the budget; the tiles that the planner has chosen."""
        done = self.train(name, [*settings, f"{DEVICE}={budget}B"])
        expect(done.returncode == 0, f"{name}: {done.stdout}{done.stderr}")
        steps = self.steps(name)
        expect(len(steps) == 2 and all(step["device_peak_B"] <= budget for step in steps), f"{name}: {steps}")
        deck = pathlib.Path(self.folder / name / "deck.effective.yaml").read_text()
        return re.search(r"^ *tile: *(.*?) *#", deck, re.M)[1]


def hidden(size):
    return [f"model.hidden={size}", f"model.ffn_hidden={3 * size}"]


def four_times_as_wide(place):
    budget = place.peak(hidden(SMALLEST))
    sizes = range(SMALLEST, AT_MOST + 1, GRAIN)
    fit = [size for size in sizes if place.fits(hidden(size), budget)]
    expect(fit == [SMALLEST], f"{fit} fit the budget of {SMALLEST}")
    wide = hidden(4 * SMALLEST)
    expect(not place.fits(wide, budget), f"{4 * SMALLEST} fits as it is")
    tiles = place.trains("wide", [*wide, "tiers.tile=auto"], budget)
    say(f"{budget:,} bytes of a device: hidden size {SMALLEST} with whole weights, {4 * SMALLEST} with {tiles}")


def vocabulary_of_131072(place):
    vocabulary = ["model.vocab=131072", *hidden(128)]
    head = 131072 * 128 * 2
    budget = head // 8
    expect(not place.fits(vocabulary, budget), "it fits as it is")
    tiles = place.trains("vocabulary", [*vocabulary, "tiers.tile=auto"], budget)
    say(f"{budget:,} bytes of a device for a head of {head:,}: {tiles}, on {RANKS} ranks")


def tiling(options):
    place = Place(options)
    four_times_as_wide(place)
    vocabulary_of_131072(place)


if __name__ == "__main__":
    trainings.run_script(__doc__, tiling)
