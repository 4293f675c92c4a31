#!/usr/bin/env python3
"""Readers of a run whose training removes the checkpoint that they read, at each instant: none finds it damaged.

  readers_test.py --binary ZIGGURAT --work FOLDER --mpiexec COMMAND --meanwhile LIBRARY [--on-ranks]

The run has a checkpoint of step 4. A library that each reader starts with (meanwhile.cpp) does what a training with
checkpoint.keep=1 does, at the first, the second ... open that a reader makes, until it makes no more: step 6 comes, step 4
goes. So nothing depends on who is faster.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from trainings import NO_CHECKPOINT, PATIENCE_S, Place, complete_steps, expect, run_script, say

MEANWHILE = None
REMOVED = "was removed while it was being read"


class Readers:
    """The program beside a training. `folder`: a run; `first`, `second`: what lies in its ckpt before and after."""

    def __init__(self, chosen, name):
        self.place = Place(chosen, name)
        self.folder = self.place.folder
        for kept, steps in (("first", 4), ("second", 6)):
            self.place.train("run", 1, f"train.steps={steps}", "schedule.warmup=0 steps", "checkpoint.every=2 steps", "checkpoint.keep.last=1")
            shutil.copytree(self.folder / "run/ckpt", self.folder / kept)
        expect(complete_steps(self.folder / "run") == [6], "only the newest is kept")
        self.step = self.folder / "run/ckpt/step-000000004"
        self.script = self.folder / "meanwhile.sh"

    def arm(self):
        """Step 4 is there, and the script that lets step 6 come and step 4 go."""
        root = self.folder / "run/ckpt"
        shutil.rmtree(root)
        shutil.copytree(self.folder / "first", root)
        new = self.folder / "new"
        shutil.rmtree(new, ignore_errors=True)
        shutil.copytree(self.folder / "second", new)
        self.script.write_text(f"set -e\nmv {new}/step-000000006 {root}/\nmv {new}/LATEST {root}/LATEST\n"
                               f"mv {self.step} {self.step}.tmp\nrm -r {self.step}.tmp\n")
        pathlib.Path(f"{self.script}.done").unlink(missing_ok=True)

    def call(self, at, words, ranks):
        """What a reader gives when the training saves at that open; and whether it came that far."""
        self.arm()
        shutil.rmtree(self.folder / "out", ignore_errors=True)
        launcher = [*self.place.mpiexec, "-n", str(ranks)] if ranks else []
        wrapper = ["env", f"LD_PRELOAD={MEANWHILE}", f"MEANWHILE_AT={at}", f"MEANWHILE_SCRIPT={self.script}"]
        environment = dict(os.environ, OMP_NUM_THREADS="1", OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
        done = subprocess.run([*launcher, *wrapper, self.place.binary, *map(str, words)], cwd=self.folder, env=environment,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE_S)
        return done, not self.script.exists()

    def at_each_open(self, what, words, judge, ranks=0, least=3):
        """Calls `judge` with what the reader gives, until it makes no more opens."""
        at = 0
        is_removed = True
        while is_removed:
            at += 1
            done, is_removed = self.call(at, words, ranks)
            told = done.stdout + done.stderr
            expect("damage" not in told.replace("damages", ""), f"{what}, open {at}: damaged\n{told}")
            judge(at, done, told)
        expect(at > least, f"{what} made {at - 1} opens")
        say(f"{what}{f' on {ranks} ranks' if ranks else ''}: {at - 1} opens")


def is_done(at, done, told):
    expect(done.returncode == 0, f"open {at}: ended with {done.returncode}\n{told}")


def inspects(chosen):
    readers = Readers(chosen, "inspects")
    for more in ([], ["--tensors"], ["--verify"], ["--tensor", "layers.0.mlp.up.weight"]):
        def judge(at, done, told, more=more):
            is_done(at, done, told)
            if not more:
                found = json.loads(done.stdout)["checkpoints"]
                expect(found and all(one["state"] == "complete" for one in found), f"open {at}: {told}")
            if more == ["--verify"]:
                expect(json.loads(done.stdout)["checkpoints"], f"open {at}: nothing was verified\n{told}")
        readers.at_each_open(f"inspect {' '.join(more)}", ["inspect", "run", *more, "--json"], judge)


def named(chosen):
    """One that was named itself is read, or said to be removed; with the remedy."""
    readers = Readers(chosen, "named")
    codes = set()
    for words in (["inspect", readers.step, "--tensor", "layers.0.mlp.up.weight"], ["inspect", readers.step, "--verify"]):
        def judge(at, done, told):
            codes.add(done.returncode)
            expect(done.returncode in (0, NO_CHECKPOINT), f"open {at}: {done.returncode}\n{told}")
            expect(done.returncode == 0 or (REMOVED in told and "checkpoint.keep.last" in told), f"open {at}:\n{told}")
        readers.at_each_open(f"{words[0]} of a step {' '.join(map(str, words[2:]))}", words, judge)
    expect(codes == {0, NO_CHECKPOINT}, f"held, and removed before: {codes}")


def exports(chosen):
    readers = Readers(chosen, "exports")

    def judge(at, done, told):
        is_done(at, done, told)
        expect(sorted(path.name for path in (readers.folder / "out").iterdir()) == ["config.json", "model.safetensors"], told)

    readers.at_each_open("export", ["export", "run", "out"], judge)


def evaluates(chosen):
    readers = Readers(chosen, "evaluates")
    shutil.copy(readers.folder / "text.txt", readers.folder / "data.txt")
    losses = {}
    for ranks in (0, 2):
        def judge(at, done, told):
            is_done(at, done, told)
            found = json.loads(done.stdout)
            expect(found["step"] in (4, 6), told)
            expect(losses.setdefault(found["step"], found["loss"]) == found["loss"], f"open {at}: other weights\n{told}")
        readers.at_each_open("eval", ["eval", "run", "--data", "data.txt", "--json"], judge, ranks)
    expect(len(losses) == 2, f"both were read: {losses}")
    readers.at_each_open("sample", ["sample", "run", "--prompt", "a", "--tokens", 2], is_done)


def begins(chosen):
    """A second training that begins with the weights of the first."""
    readers = Readers(chosen, "begins")

    def judge(at, done, told):
        is_done(at, done, told)
        expect("begins with the weights of" in told, told)
        shutil.rmtree(readers.folder / "other")

    readers.at_each_open("model.init", ["train", readers.place.deck, "run.dir=other", "model.init.from=checkpoint",
                                        "model.init.path=run", "train.steps=1", "schedule.warmup=0 steps", "checkpoint.every=none"], judge)


if __name__ == "__main__":
    at = sys.argv.index("--meanwhile")
    MEANWHILE = pathlib.Path(sys.argv[at + 1]).resolve()
    del sys.argv[at:at + 2]
    if "--on-ranks" in sys.argv:
        sys.argv.remove("--on-ranks")
        run_script(__doc__, evaluates, begins)
    else:
        run_script(__doc__, inspects, named, exports)
