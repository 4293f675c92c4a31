#!/usr/bin/env python3
"""Random decks with keys that are auto, and with conversations: `check` accepts a deck, or names the place of each error; an
effective deck is a deck with the same values; and accepted decks train, resume, and can be read.

  attack_random_test.py --binary ZIGGURAT --generator PRINT_RANDOM_DECKS --work FOLDER --mpiexec COMMAND
                        [--decks N] [--chats N] [--runs N] [--ranks N] [--seed N]
"""

import argparse
import collections
import json
import os
import pathlib
import re
import socket
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import trainings
from at_once import at_once
from effective_decks import values_of
from trainings import Failure, expect, say

ACCEPTED, DECK, RESOURCES = 0, 2, 3  # exit codes
PLACE = re.compile(r"\.yaml:\d+:\d+: |\b[a-z_]+(\[\d+\])?(\.[a-z_]+(\[\d+\])?)+ ")  # a position, or a key
MACHINE = """machine_version: 1
name: this machine
has_device: false
ranks_per_node: 8
cores_per_node: 8
host_memory: 8GiB
nvme_space: 100GiB
nvme_read_rate: 2GB/s
nvme_write_rate: 1GB/s
products: {fp32: {flops: 20G}, bf16: {flops: 40G}}
node_link: {bandwidth: 2GB/s, latency: 5us}
"""
SETTINGS = ("checkpoint.every=3 steps", "logging.every=1 steps")


class Folder(trainings.ProgramFolder):
    """Decks of one kind, and the figures of a machine, which a choice of layouts needs."""

    def __init__(self, options, kind, count):
        super().__init__(options, kind)
        self.config = self.folder / "config"
        figures = self.config / "ziggurat" / f"machine-{socket.gethostname()}.yaml"
        figures.parent.mkdir(parents=True)
        figures.write_text(MACHINE)
        subprocess.run([options.generator, "--kind", kind, "--seed", str(options.seed), "--count", str(count), "--ranks",
                        "8", "--folder", self.folder], check=True)
        self.decks = json.loads((self.folder / "index.json").read_text())

    def start(self, *words, ranks=1):
        launcher = [*self.mpiexec, "-n", str(ranks)] if ranks > 1 else []
        environment = os.environ | {"OMP_NUM_THREADS": "1", "OMPI_ALLOW_RUN_AS_ROOT": "1", "XDG_CONFIG_HOME": str(self.config),
                                    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        return subprocess.run([*launcher, self.binary, *map(str, words)], cwd=self.folder, env=environment, text=True,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=trainings.PATIENCE_S)

    def ziggurat(self, entry):
        """Checks a deck, and its effective deck. Returns the exit code."""
        deck, ranks = entry["deck"], entry["ranks"]
        done = self.start("check", deck, "--ranks", ranks, "--print")
        what = f"{self.folder / deck} on {ranks} ranks, auto: {entry['keys']}"
        expect(done.returncode in (ACCEPTED, DECK, RESOURCES), f"{what}: exit code {done.returncode}\n{done.stderr}")
        errors = re.findall(r"^(?:ziggurat: )?error: .*", done.stderr, re.M)
        expect((done.returncode == DECK) <= bool(errors), f"{what}: refused without an error\n{done.stderr}")
        for error in errors:
            expect(PLACE.search(error), f"{what}: an error without a place\n{error}")
        if done.returncode == ACCEPTED:
            effective = self.folder / deck.replace(".yaml", ".effective.yaml")
            effective.write_text(done.stdout)
            again = self.start("check", effective.name, "--ranks", ranks, "--print")
            expect(again.returncode == ACCEPTED, f"{what}: its effective deck is refused\n{again.stderr}")
            first, second = values_of(done.stdout), values_of(again.stdout)
            differing = {key: (first.get(key), second.get(key)) for key in first.keys() | second.keys()
                         if first.get(key) != second.get(key)}
            expect(len(first) > 100 and not differing, f"{what}: its effective deck has other values: {differing}")
        return done.returncode

    def runs(self, entry):
        """Trains, resumes and reads the run. Returns false if the deck cannot have so few steps."""
        deck, ranks = entry["deck"], entry["ranks"]
        run = deck.replace(".yaml", "")
        words = [deck, "train.steps=3", f"run.dir={run}", *SETTINGS]
        if self.start("check", *words, "--ranks", ranks).returncode != ACCEPTED:
            return False
        commands = [("train", *words), ("train", run, "train.steps=5"), ("check", run)]
        effective = (self.folder / deck.replace(".yaml", ".effective.yaml")).read_text()
        if values_of(effective)["data.tokenizer.kind"] != "none":  # else the run has no text
            commands.append(("sample", run, "--prompt", "In", "--tokens", "3"))
        for command in commands:
            done = self.start(*command, ranks=ranks if command[0] == "train" else 1)
            expect(done.returncode == 0, f"{self.folder / deck}, auto: {entry['keys']}: {command} on {ranks} ranks ended with "
                                         f"{done.returncode}\n{done.stderr}")
            if command[0] == "train" and command[1] == deck:
                # The effective deck has the prefetch depth that the run chose with the peak that it measured.
                planned = self.start("check", f"{run}/deck.effective.yaml", "--ranks", ranks, "--json")
                expect(planned.returncode == ACCEPTED, f"{self.folder / run}: {planned.stderr}")
                needed = json.loads(planned.stdout)["memory"]["needed"]["device_B"]
                rows = (self.folder / run / "ranks.jsonl").read_text().splitlines()
                reserved = max(json.loads(row)["device_B"] for row in rows)
                expect(reserved == needed, f"{self.folder / deck}: {needed} bytes planned, {reserved} reserved")
        steps = trainings.step_numbers(self.folder / run)
        expect(steps == [1, 2, 3, 4, 5], f"{self.folder / run}: steps {steps}")
        return True


def check_decks(options, kind, count, runs):
    folder = Folder(options, kind, count)
    failures = []

    class Collector:
        """Collects failures, so that one command finds them all."""

        def ziggurat(self, entry):
            try:
                return folder.ziggurat(entry)
            except Failure as failure:
                failures.append(str(failure))

    codes = at_once(Collector(), *((entry,) for entry in folder.decks))
    expect(not failures, "\n\n".join(failures))
    counts = collections.Counter(codes)
    expect(counts[ACCEPTED] >= count // 10 and counts[DECK] > 0, f"{kind}: exit codes {counts}")
    say(f"{count} decks of the kind {kind}: exit codes {dict(counts)}")
    accepted = [entry for entry, code in zip(folder.decks, codes) if code == ACCEPTED and entry["ranks"] <= options.ranks]
    accepted.sort(key=lambda entry: -entry["ranks"])  # the launcher starts the first runs
    left = runs
    for entry in accepted[::max(1, len(accepted) // max(1, 2 * runs))]:
        left -= folder.runs(entry) if left else 0
    expect(left == 0, f"{kind}: only {runs - left} of {runs} decks could run")
    say(f"{runs} of them train, resume and can be read")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", required=True)
    parser.add_argument("--generator", required=True)
    parser.add_argument("--work", type=pathlib.Path, required=True)
    parser.add_argument("--mpiexec", required=True)
    parser.add_argument("--decks", type=int, default=100)
    parser.add_argument("--chats", type=int, default=60)
    parser.add_argument("--runs", type=int, default=3, help="decks of each kind that run")
    parser.add_argument("--ranks", type=int, default=2, help="maximum number of ranks of a run")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    try:
        for kind, count, runs in (("any", options.decks, options.runs), ("chat", options.chats, options.runs // 3)):
            if count:
                check_decks(options, kind, count, runs)
    except Failure as failure:
        sys.exit(f"FAILED {failure}")


if __name__ == "__main__":
    main()
