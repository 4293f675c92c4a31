#!/usr/bin/env python3
"""A budget is the plan's peak to the byte: with it a run trains and holds as much, with one byte less it is refused.

  budgets_test.py --binary ZIGGURAT --work FOLDER --mpiexec COMMAND

And homes that are `auto` are chosen once, shown, and give the bits of any other homes.
"""

import json
import os
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import trainings
from trainings import expect, say

RANKS = 2
REFUSED = 3  # exit code
DEVICE, HOST, NVME = "tiers.device.budget", "tiers.host.budget", "tiers.nvme.budget"
DECK = """deck_version: 1
model: {family: llama, layers: 3, hidden: 64, heads: 4, kv_heads: 2}
data: {seq: 64, train: [{format: text, path: text.txt}]}
train: {steps: 2, global_batch: 8, micro_batch: 2}
precision: {compute: bf16}
sharding: {zero: 3}
recompute: full
tiers: {nvme: {paths: [disk]}, chunk: 16384}
checkpoint: {every: none}
"""
AWAY = ["tiers.home.parameters=host", "tiers.home.gradients=host",
        "tiers.home.optimizer={device: 10%, host: 40%, nvme: rest}", "tiers.home.activations=host",
        "overlap.prefetch=1", "overlap.optimizer_prefetch=2"]  # auto would plan anew for each budget
OPEN = [f"tiers.home.{kind}=auto" for kind in ("parameters", "gradients", "optimizer", "activations")]


class Place(trainings.ProgramFolder):
    """A folder with a deck, its text and its disk."""

    def __init__(self, options):
        super().__init__(options)
        (self.folder / "disk").mkdir()
        (self.folder / "text.txt").write_text("in the beginning was a text. " * 2000)
        (self.folder / "short.txt").write_text("in the beginning was a text. " * 20)
        (self.folder / "deck.yaml").write_text(DECK)

    def run(self, command):
        return subprocess.run(command, cwd=self.folder, capture_output=True, text=True, timeout=trainings.PATIENCE_S,
                              env={**os.environ, "OMP_NUM_THREADS": "1"})

    def check(self, settings):
        return self.run([self.binary, "check", "deck.yaml", "--ranks", str(RANKS), *settings])

    def train(self, name, settings):
        return self.run([*self.mpiexec, "-n", str(RANKS), self.binary, "train", "deck.yaml",
                         f"run.dir={name}", *settings])

    def steps(self, name):
        lines = (self.folder / name / "metrics.jsonl").read_text().splitlines()
        return [line for line in map(json.loads, lines) if line["event"] == "step"]


def lack(answer, what):
    """Bytes that a refusal says are missing of `what`."""
    expect(answer.returncode == REFUSED, f"{answer.returncode} in place of a refusal: {answer.stdout}{answer.stderr}")
    found = re.search(rf"DOES NOT FIT: {what} is short by [^(]*\(([0-9,]+) bytes\)", answer.stdout + answer.stderr)
    expect(found, f"no lack of {what} in: {answer.stdout}{answer.stderr}")
    return int(found[1].replace(",", ""))


def budgets_are_exact(place):
    asked = {DEVICE: "device", HOST: "host", NVME: "nvme"}
    plan = {key: 1 + lack(place.check([*AWAY, f"{key}=1B"]), what) for key, what in asked.items()}
    say(f"plan: {plan}")
    tight = [f"{key}={size}B" for key, size in plan.items()]
    expect(place.check([*AWAY, *tight]).returncode == 0, "the plan does not fit itself")
    for key, what in asked.items():
        short = [f"{other}={size - (other == key)}B" for other, size in plan.items()]
        expect(lack(place.check([*AWAY, *short]), what) == 1, f"one byte of {what} is not one byte")
        refused = place.train("refused", [*AWAY, *short])
        expect(lack(refused, what) == 1 and "Nothing was started" in refused.stderr, f"train takes {what} too small")
        expect("fits with" in refused.stderr, f"no remedy: {refused.stderr}")
    expect(not (place.folder / "refused").exists(), "a run that was refused has left files")
    trained = place.train("tight", [*AWAY, *tight])
    expect(trained.returncode == 0, f"does not train within its plan: {trained.stdout}{trained.stderr}")
    for step in place.steps("tight"):
        expect(step["device_peak_B"] == plan[DEVICE], f"{step['device_peak_B']} bytes on the device, not the plan's")


def looking_at_it_is_refused_alike(place):
    """On as many ranks the trained model is evaluated and sampled within its budgets; one rank alone cannot hold it."""
    shape = ["model.layers=64", "checkpoint.every=2 steps", "train.micro_batch=1", "tiers.home.parameters=device",
             "tiers.home.gradients=host", "tiers.home.optimizer=nvme", "tiers.home.activations=host"]
    plan = 1 + lack(place.check([*shape, f"{DEVICE}=1B"]), "device")
    trained = place.train("held", [*shape, f"{DEVICE}={plan}B"])
    expect(trained.returncode == 0, trained.stdout + trained.stderr)
    for words in (["eval", "held", "--data", "short.txt"], ["sample", "held", "--prompt", "in the", "--tokens", "2"]):
        answers = [place.run([*place.mpiexec, "-n", str(ranks), place.binary, *words]) for ranks in (RANKS, 1)]
        expect(answers[0].returncode == 0, f"{words[0]}: {answers[0].stdout}{answers[0].stderr}")
        bytes_short = lack(answers[1], "device")
        expect("Nothing was started" in answers[1].stderr, f"{words[0]}: {answers[1].stderr}")
        say(f"{words[0]} on one rank lacks {bytes_short} bytes of a device that holds its half of the training")


def open_homes_are_chosen(place):
    whole = place.train("whole", ["tiers.nvme.paths=[]"])
    expect(whole.returncode == 0, whole.stdout + whole.stderr)
    needed = 1 + lack(place.check([f"{DEVICE}=1B"]), "device")
    budgets = [f"{DEVICE}={needed * 3 // 4}B", f"{HOST}={needed // 3}B"]
    chosen = place.train("open", [*OPEN, *budgets])
    expect(chosen.returncode == 0, chosen.stdout + chosen.stderr)
    homes = re.search(r"at home: (.*)", chosen.stdout)
    expect(homes and "nvme: rest" in homes[1], f"homes: {chosen.stdout}")
    deck = (place.folder / "open" / "deck.effective.yaml").read_text()
    expect(re.search(r"optimizer: .*nvme.* # auto: device, then host, then nvme", deck), f"effective deck: {deck}")
    numbers = [[(step["loss"], step["grad_norm"]) for step in place.steps(name)] for name in ("whole", "open")]
    expect(numbers[0] == numbers[1], f"other bits with homes that were chosen: {numbers}")
    say(homes[0])


def bytes_of(text):
    """Of an amount as tables print it; '-' is none."""
    number, _, unit = text.partition(" ")
    return 0 if text == "-" else float(number) * {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}[unit]


def device_and_host_are_used_up(place):
    """Without a disk, the largest model that trains has states that fill nine tenths of what the working set leaves of
    the budgets; with one layer more it is refused, and told what lacks."""
    device, host = 4 << 20, 24 << 20

    def settings(layers):
        return [*OPEN, "tiers.nvme.paths=[]", "train.micro_batch=1", "tiers.chunk=65536",
                f"model.layers={layers}", f"{DEVICE}={device}B", f"{HOST}={host}B"]

    fits, too_many = 1, 64
    expect(place.check(settings(fits)).returncode == 0, "not even one layer fits")
    expect(place.check(settings(too_many)).returncode == REFUSED, "the budgets bound nothing")
    while too_many - fits > 1:
        middle = (fits + too_many) // 2
        if place.check(settings(middle)).returncode == 0:
            fits = middle
        else:
            too_many = middle
    plan = place.check(settings(fits)).stdout
    states = RANKS * bytes_of(re.search(r"model state ([\d.]+ \w+) per rank", plan)[1])
    total = re.search(r"^ +total +per rank +(-|[\d.]+ \w*B) +(-|[\d.]+ \w*B)", plan, re.M)
    working_set = RANKS * (bytes_of(total[1]) + bytes_of(total[2])) - states
    left = RANKS * device + host - working_set
    expect(states >= 0.9 * left, f"{fits} layers: states of {states:.0f} bytes where {left:.0f} were left for them\n{plan}")

    trained = place.train("largest", settings(fits))
    expect(trained.returncode == 0, f"{fits} layers do not train: {trained.stdout}{trained.stderr}")
    refused = place.train("larger", settings(fits + 1))
    text = refused.stdout + refused.stderr
    expect(refused.returncode == REFUSED and re.search(r"DOES NOT FIT: .* is short by .* \([0-9,]+ bytes\)", text),
           f"{fits + 1} layers: {refused.returncode}: {text}")
    say(f"{fits} layers, one more is refused: states {states / 2**20:.1f} MiB of {left / 2**20:.1f} MiB, "
        f"working set {working_set / 2**20:.1f} MiB")


def exact(options):
    place = Place(options)
    budgets_are_exact(place)
    looking_at_it_is_refused_alike(place)
    open_homes_are_chosen(place)


def full(options):
    if options.long:
        device_and_host_are_used_up(Place(options))


if __name__ == "__main__":
    trainings.run_script(__doc__, exact, full)
