#!/usr/bin/env python3
"""Layouts left to the planner: the rules of the deck decide before anything is planned, and their errors have a place.

  attack_layouts_test.py --binary ZIGGURAT --work FOLDER --mpiexec COMMAND
"""

import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import trainings
from effective_decks import values_of
from trainings import expect

ACCEPTED, DECK = 0, 2  # exit codes
DECK_TEXT = """deck_version: 1
model: {family: llama, layers: 4, hidden: 64, heads: 4, kv_heads: 2, ffn_hidden: 128, vocab: 256}
data: {seq: 32, train: [{format: text, path: text.txt}]}
train: {steps: 2, global_batch: 16, micro_batch: 1}
"""
# Ranks, overrides, and the error; None: the deck is valid.
CASES = [
    (8, ["parallel.tensor=auto", "parallel.pipeline.stages=2", "recompute=auto"], None),
    (8, ["sharding.zero=auto", "parallel.pipeline.stages=2", "recompute=auto", "tiers.home.optimizer=auto"], None),
    (4, ["train.micro_batch=auto", "parallel.pipeline={stages: 2, each: [{layers: 2, recompute: auto}, {layers: 2}]}"], None),
    (6, ["train.micro_batch=auto", "parallel.tensor=3"], "parallel.tensor = 3 does not divide model.heads = 4"),
    (6, ["sharding.zero=auto", "parallel.tensor=4"], "6 ranks cannot be laid out"),
    (8, ["parallel={pipeline: {stages: auto}, tensor: {degree: 4, mode: 2d}}", "model.kv_heads=1"],
     "parallel.tensor = 4: the side 2 of its grid does not divide model.kv_heads = 1"),
    (8, ["sharding={zero: 1, secondary: 2}", "train.micro_batch=auto"], "sharding.secondary = 2 does not divide"),
    (4, ["parallel.pipeline.stages=auto", "model.tie_embeddings=true", "tiers.tile=[{match: '*', out: 2}]", "parallel.data=2"],
     "tiers.tile: '*' splits the tied table of a pipeline"),
    (8, ["parallel.pipeline.stages=8", "train.micro_batch=auto"], "4 layers do not fill stages 8"),
    (4, ["sharding.zero=auto", "train.micro_batch=1", "data.sec=3"], "unknown key 'data.sec'"),
]


class Place(trainings.ProgramFolder):
    def __init__(self, options):
        super().__init__(options, "layouts")
        (self.folder / "text.txt").write_text("A line of the text.\n" * 400)
        (self.folder / "deck.yaml").write_text(DECK_TEXT)

    def start(self, *words):
        return subprocess.run([self.binary, *map(str, words)], cwd=self.folder, text=True, capture_output=True,
                              timeout=trainings.PATIENCE_S, env=os.environ | {"XDG_CONFIG_HOME": str(self.folder)})


def rules_come_before_the_search(place):
    def start(case):
        command, (ranks, overrides, problem) = case
        size = ["--ranks", ranks] if command[0] != "slurm" else ["--ntasks-per-node", ranks]
        return place.start(command[0], "deck.yaml", *command[1:], *size, "--machine", "dgx-h100", *overrides)

    cases = [(command, case) for case in CASES for command in (["check"], ["plan", "--search"], ["slurm"])]
    with concurrent.futures.ThreadPoolExecutor(2) as threads:
        answers = list(threads.map(start, cases))
    for (command, (ranks, overrides, problem)), answer in zip(cases, answers):
        name = f"{command} on {ranks} ranks with {overrides}: {answer.returncode}: {answer.stderr}"
        if problem is None:
            expect(answer.returncode == ACCEPTED, name)
        elif command[0] == "plan" and answer.returncode == ACCEPTED:
            expect("command line:1:1: 6 ranks cannot" not in answer.stderr, name)  # a search replaces these settings
        else:
            expect(answer.returncode == DECK, name)
            expect(re.search(rf"error: (command line|deck\.yaml):\d+:\d+: {re.escape(problem)}", answer.stderr), name)


def a_chosen_layout_is_that_of_the_effective_deck(place):
    for ranks, overrides, problem in CASES:
        if problem is None:
            words = ["--ranks", ranks, "--machine", "dgx-h100", "--print"]
            first = place.start("check", "deck.yaml", *words, *overrides)
            (place.folder / "effective.yaml").write_text(first.stdout)
            again = place.start("check", "effective.yaml", *words)
            expect(again.returncode == ACCEPTED, f"{overrides}: {again.stderr}")
            expect(values_of(again.stdout) == values_of(first.stdout), f"{overrides}: {first.stdout}{again.stdout}")


def layouts(options):
    place = Place(options)
    rules_come_before_the_search(place)
    a_chosen_layout_is_that_of_the_effective_deck(place)


if __name__ == "__main__":
    trainings.run_script(__doc__, layouts)
