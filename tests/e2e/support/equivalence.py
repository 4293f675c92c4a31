#!/usr/bin/env python3
"""Trains one deck in several ways and compares: the same bits, or losses within a bound.

  equivalence.py --binary ZIGGURAT --work FOLDER [--mpiexec COMMAND]
      DECK file STEPS n [SET key=value ...]
      [SAME_BITS        name RANKS n [SET key=value ...]  name RANKS n ...]
      [WITHIN bound     name RANKS n [SET key=value ...]  ...]
      [LOSS_GAP bound   name RANKS n [SET key=value ...]  ...]

SAME_BITS holds among its own cases: loss and gradient norm of every step and every validation loss as written in
metrics.jsonl, and the hash of the final weights. WITHIN (relative, every step's loss, the first step's gradient norm and every validation loss) and
LOSS_GAP (absolute, the last loss) are measured against the deck on one rank. SET before the first case is for all.
The deck finds a text of 64 KiB beside it as `text.txt`.
"""

import argparse
import dataclasses
import json
import os
import pathlib
import shlex
import shutil
import subprocess
import sys

CLASSES = ("SAME_BITS", "WITHIN", "LOSS_GAP")
KEYWORDS = CLASSES + ("DECK", "STEPS", "RANKS", "SET")


@dataclasses.dataclass
class Case:
    name: str
    ranks: int = 1
    overrides: list = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Family:
    deck: pathlib.Path = None
    steps: int = 0
    overrides: list = dataclasses.field(default_factory=list)
    groups: list = dataclasses.field(default_factory=list)  # (class, bound, [Case])


def parse(words):
    """The family that the words of the usage above describe; ValueError when they do not."""
    family = Family()
    words = list(words)
    while words:
        word = words.pop(0)
        if word == "DECK":
            family.deck = pathlib.Path(words.pop(0))
        elif word == "STEPS":
            family.steps = int(words.pop(0))
        elif word in CLASSES:
            family.groups.append((word, 0.0 if word == "SAME_BITS" else float(words.pop(0)), []))
        elif word == "RANKS":
            family.groups[-1][2][-1].ranks = int(words.pop(0))
        elif word == "SET":
            where = family.groups[-1][2][-1].overrides if family.groups else family.overrides
            while words and words[0] not in KEYWORDS and "=" in words[0]:
                where.append(words.pop(0))
        elif family.groups:
            family.groups[-1][2].append(Case(word))
        else:
            raise ValueError(f"'{word}' before SAME_BITS, WITHIN or LOSS_GAP")
    if family.deck is None or family.steps < 1 or not family.groups:
        raise ValueError("a family needs DECK, STEPS and at least one of " + ", ".join(CLASSES))
    return family


def write_text(path):
    """Words drawn by a fixed rule: something to learn, the same everywhere, with nothing to download."""
    words = ("the tower has seven tiers and every tier holds what the one above it cannot keep near "
             "so bricks move up when they are needed and down when they are not").split()
    state, text = 12345, []
    for _ in range(13000):
        state = (1103515245 * state + 12345) % 2**31
        text.append(words[(state >> 16) % len(words)])
    path.write_text(" ".join(text))


class Failure(Exception):
    """A run or a comparison that did not hold; the text says which and how."""


@dataclasses.dataclass
class Curve:
    losses: list  # texts of numbers
    norms: list
    weights_hash: str
    validations: list


class Runner:
    def __init__(self, binary, mpiexec, work, family):
        self.binary, self.mpiexec, self.work, self.family = binary, mpiexec, work, family
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir(parents=True)
        shutil.copy(family.deck, work)
        write_text(work / "text.txt")

    def train(self, case):
        """The curve of one case."""
        folder = self.work / case.name
        command = [*shlex.split(self.mpiexec), "-n", str(case.ranks), self.binary, "train", self.family.deck.name,
                   f"run.dir={folder}", f"train.steps={self.family.steps}", *self.family.overrides, *case.overrides]
        environment = dict(os.environ)
        if os.geteuid() == 0:
            environment |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        done = subprocess.run(command, cwd=self.work, env=environment, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
        if done.returncode != 0:
            raise Failure(f"{case.name}: exit code {done.returncode} of {shlex.join(command)}\n{done.stdout[-4000:]}")
        return self.curve(case, folder / "metrics.jsonl")

    def curve(self, case, path):
        if not path.exists():
            raise Failure(f"{case.name}: no {path}")
        # Numbers stay texts: they are written so that they read back to the same bits.
        events = [json.loads(line, parse_float=str, parse_int=str) for line in path.read_text().splitlines()]
        steps = [event for event in events if event["event"] == "step"]
        if [event["step"] for event in steps] != [str(i) for i in range(1, self.family.steps + 1)]:
            raise Failure(f"{case.name}: metrics.jsonl has not one line for each of {self.family.steps} steps")
        broken = [event["step"] for event in steps if event["loss"] is None or event["grad_norm"] is None]
        if broken:
            raise Failure(f"{case.name}: not finite in step {broken[0]}")
        ends = [event for event in events if event["event"] == "end"]
        if not ends or not ends[-1].get("weights_hash"):
            raise Failure(f"{case.name}: metrics.jsonl has no `end` with a weights_hash")
        losses = [event["loss"] for event in steps]
        if float(losses[-1]) >= float(losses[0]):
            raise Failure(f"{case.name}: the loss did not fall: {losses[0]} to {losses[-1]}")
        return Curve(losses, [event["grad_norm"] for event in steps], ends[-1]["weights_hash"],
                     [event["loss"] for event in events if event["event"] == "validate"])


def same_bits(name, ours, other_name, other):
    for what, a, b in (("loss", ours.losses, other.losses), ("gradient norm", ours.norms, other.norms)):
        for step, (x, y) in enumerate(zip(a, b), start=1):
            if x != y:
                raise Failure(f"{name}: {what} of step {step} is {x}, but {y} in {other_name}")
    if ours.validations != other.validations:
        raise Failure(f"{name}: validation losses are {ours.validations}, but {other.validations} in {other_name}")
    if ours.weights_hash != other.weights_hash:
        raise Failure(f"{name}: final weights differ from {other_name}'s though losses and norms are the same")


def largest_difference(ours, other):
    """The largest relative difference of the losses, of those of validations, or of the first gradient norm."""
    pairs = [*zip(ours.losses, other.losses), *zip(ours.validations, other.validations), (ours.norms[0], other.norms[0])]
    return max(abs(float(a) - float(b)) / abs(float(b)) for a, b in pairs)


def compare(family, runner, say=print):
    """Runs every case; raises Failure at the first that does not hold."""
    one_rank = None
    for kind, bound, cases in family.groups:
        first = None
        for case in cases:
            if kind != "SAME_BITS" and one_rank is None:
                one_rank = runner.train(Case("one_rank"))
            curve = runner.train(case)
            if kind == "SAME_BITS":
                if first is None:
                    first = (case.name, curve)
                same_bits(case.name, curve, *first)
                say(f"{case.name}: same bits as {first[0]}, loss {curve.losses[0]} to {curve.losses[-1]}")
            else:
                if kind == "WITHIN":
                    if len(curve.validations) != len(one_rank.validations):
                        raise Failure(f"{case.name}: {len(curve.validations)} validations, but "
                                      f"{len(one_rank.validations)} on one rank")
                    gap = largest_difference(curve, one_rank)
                else:
                    gap = abs(float(curve.losses[-1]) - float(one_rank.losses[-1]))
                say(f"{case.name}: {gap:.2e} from one rank, bound {bound:.0e}, loss {curve.losses[-1]}")
                if not gap <= bound:
                    raise Failure(f"{case.name}: {gap:.2e} from one rank, which is more than {bound:.0e}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", required=True)
    parser.add_argument("--work", type=pathlib.Path, required=True, help="emptied, then one folder per case")
    parser.add_argument("--mpiexec", default="mpiexec", help="launcher with its flags, without -n")
    parser.add_argument("family", nargs="+")
    chosen = parser.parse_args()
    try:
        family = parse(chosen.family)
    except (ValueError, IndexError) as error:
        parser.error(str(error))
    try:
        compare(family, Runner(chosen.binary, chosen.mpiexec, chosen.work.resolve(), family))
    except Failure as failure:
        sys.exit(f"FAILED {failure}")


if __name__ == "__main__":
    main()
