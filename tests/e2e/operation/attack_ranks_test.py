#!/usr/bin/env python3
"""Memory of every rank: `check` needs what the fullest rank of the run reserves, and a run with that budget starts.

  attack_ranks_test.py --binary ZIGGURAT --work FOLDER --mpiexec COMMAND
"""

import json
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import trainings
from trainings import expect, say

TRAINED, DOES_NOT_FIT = 0, 3  # exit codes
DECK = """deck_version: 1
model: {family: llama, layers: 2, hidden: 32, heads: 4, kv_heads: 4, ffn_hidden: 64, vocab: 300}
data: {seq: 32, train: [{format: text, path: text.txt}]}
train: {steps: 1, global_batch: 8, micro_batch: 2}
"""
# Ranks and overrides.
LAYOUTS = [
    (4, ["parallel.tensor={degree: 4, mode: 2d}"]),
    (2, ["parallel.tensor=2", "optimizer.clip.policy=speculate", "tiers.home.gradients=host", "model.family=gpt2"]),
    (4, ["parallel={tensor: 2, pipeline: 2}", "sharding.zero=0", "train.micro_batch=1"]),
]


class Place(trainings.ProgramFolder):
    def __init__(self, options):
        super().__init__(options, "ranks")
        (self.folder / "text.txt").write_text("A line of the text.\n" * 400)
        (self.folder / "deck.yaml").write_text(DECK)

    def start(self, *words, ranks=1):
        launcher = [*self.mpiexec, "-n", str(ranks)] if ranks > 1 else []
        environment = os.environ | {"OMP_NUM_THREADS": "1", "OMPI_ALLOW_RUN_AS_ROOT": "1",
                                    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        return subprocess.run([*launcher, self.binary, *words], cwd=self.folder, env=environment, text=True,
                              capture_output=True, timeout=trainings.PATIENCE_S)


def the_fullest_rank_is_planned(place, ranks, overrides):
    name = f"{overrides} on {ranks} ranks"
    size = ["--ranks", str(ranks)]
    answer = place.start("check", "deck.yaml", *size, "--json", *overrides)
    expect(answer.returncode == 0, f"{name}: {answer.stdout}")
    needed = json.loads(answer.stdout)["memory"]["needed"]
    less = [f"tiers.device.budget={needed['device_B'] - 1}B", *overrides]
    for command in (["check", "deck.yaml", *less, *size], ["train", "deck.yaml", *less]):
        answer = place.start(*command, ranks=ranks if command[0] == "train" else 1)
        expect(answer.returncode == DOES_NOT_FIT, f"{name} with a byte less: {command[0]} ended with {answer.returncode}")
    answer = place.start("train", "deck.yaml", f"tiers.device.budget={needed['device_B']}B", *overrides,
                         f"run.dir=of-{LAYOUTS.index((ranks, overrides))}", ranks=ranks)
    expect(answer.returncode == TRAINED, f"{name} with the planned budget: {answer.stderr}")
    run = place.folder / f"of-{LAYOUTS.index((ranks, overrides))}"
    rows = [json.loads(line) for line in (run / "ranks.jsonl").read_text().splitlines()]
    reserved = [row["device_B"] for row in rows]
    say(f"{name}: ranks reserve {reserved} bytes of the device tier")
    expect(max(reserved) == needed["device_B"], f"{name}: {needed['device_B']} planned")
    host = sum(row["host_B"] for row in rows)
    expect(host <= needed["host_B"], f"{name}: {host} bytes of the host tier are reserved, {needed['host_B']} planned")
    return reserved[0] < max(reserved)


def layouts(options):
    place = Place(options)
    differing = [the_fullest_rank_is_planned(place, *layout) for layout in LAYOUTS]
    expect(any(differing), "rank 0 is the fullest in all layouts, so they test nothing")


if __name__ == "__main__":
    trainings.run_script(__doc__, layouts)
