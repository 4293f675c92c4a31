#!/usr/bin/env python3
"""The folder of a run stands for its deck: a run goes on by it, also one that was copied, in the folder that is named.

  run_folder_test.py --binary ZIGGURAT --work FOLDER --mpiexec COMMAND
"""

import filecmp
import json
import pathlib
import re
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from trainings import PATIENCE_S, Place, complete_steps, expect, losses, run_script, say

DECK = 2
SETTINGS = ["train.steps=6", "validate.every=3 steps", "checkpoint.every=3 steps", "checkpoint.keep=4", "schedule=constant",
            "data.validation=[{format: text, path: other.txt}]"]
MOVED = "the run continues in '{}', the folder of this deck (it was recorded in 'run')"


class Runs(Place):
    """A run of six steps, of which the deck in the folder is another now."""

    def __init__(self, chosen, name, *settings):
        super().__init__(chosen, name)
        (self.folder / "other.txt").write_text("a text on which nobody has trained: 0123456789\n" * 20)
        self.train("run", 1, *SETTINGS, *settings)
        (self.folder / self.deck).write_text("deck_version: 1\n")

    def call(self, *words, code=0):
        """What a command says: its output, then its errors."""
        done = subprocess.run([self.binary, *map(str, words)], cwd=self.folder, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=PATIENCE_S)
        expect(done.returncode == code, f"{words} ended with {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout, done.stderr

    def start_folder(self, folder, ranks, *settings):
        """What a training by its folder says, on so many ranks."""
        self.deck = folder  # that of Place.start()
        return self.train(folder, ranks, *settings)


def names_of(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def trains_on(chosen):
    """In the folder that is named, and only there."""
    place = Runs(chosen, "trains_on")
    shutil.copytree(place.folder / "run", place.folder / "untouched")
    shutil.copytree(place.folder / "run", place.folder / "copy")

    _, said = place.call("train", "copy", "train.steps=9")
    expect(MOVED.format("copy") in said, said)
    expect(complete_steps(place.folder / "copy") == [3, 6, 9], "the copy goes on with its own checkpoints")
    whole = losses(place.folder / "copy", 1, 9)
    run, untouched = place.folder / "run", place.folder / "untouched"
    names = names_of(untouched)
    _, other, unreadable = filecmp.cmpfiles(run, untouched, names, shallow=False)
    expect(names_of(run) == names and not other and not unreadable, f"the original is another: {other}")

    _, said = place.call("train", "run", "train.steps=9")
    expect("the folder of this deck" not in said, said)
    expect(losses(run, 1, 9) == whole, "the original goes on to the same losses")
    shutil.copytree(run, place.folder / "on_two")
    said = place.start_folder("on_two", 2, "train.steps=12")
    expect("the run had 1 rank (automatic choices are made again)" in said and "written by 1 rank" in said, said)
    _, said = place.call("train", "copy/deck.effective.yaml", "train.steps=12", "run.dir=third")
    expect("the folder of this deck" not in said and complete_steps(place.folder / "third") == [3, 6, 9, 12],
           "run.dir of the command line wins")
    say("train")


def was_begun_afresh(chosen):
    """By run.resume=never: its folder has it go on all the same, unless that is said again."""
    place = Runs(chosen, "afresh", "run.resume=never")
    run = place.folder / "run"
    shutil.copytree(run, place.folder / "again")

    for command in ("check", "train"):
        _, said = place.call(command, "run", "train.steps=9")
        expect("run.resume: never from its first start" in said, f"{command}: {said}")
    expect(complete_steps(run) == [3, 6, 9] and len(losses(run, 1, 9)) == 9, "it goes on with its own checkpoints")
    _, said = place.call("train", "again", "run.resume=never", code=DECK)
    expect("run.resume: never from" not in said and "cannot start from scratch in 'again'" in said, said)
    say("begun afresh")


def is_understood_alike(chosen):
    """By the commands that start nothing; and those that read checkpoints read the folder that is named."""
    place = Runs(chosen, "alike")
    (place.folder / "run").rename(place.folder / "moved")
    for named in ("moved", "moved/deck.effective.yaml"):
        answer = json.loads(place.call("check", named, "--json")[0])
        expect(answer["run"]["dir"] == "moved", f"check {named}: {answer['run']}")
        for words in (("check", named), ("plan", named, "--program"), ("slurm", named)):
            said = place.call(*words)[1]
            expect(MOVED.format("moved") in said, f"{words}: {said}")
        script = place.call("slurm", named)[0]
        expect(re.search(rf"\b{re.escape(named)}\b", script), script)
    said = place.call("check", "moved/ckpt", code=DECK)[1]
    expect("Did you mean 'moved'?" in said, said)
    expect("moved/ckpt/step-000000006" in place.call("eval", "moved", "--data", "other.txt")[0], "eval reads it")
    expect("moved/ckpt/step-000000006" in place.call("sample", "moved", "--prompt", "a", "--tokens", "1")[1],
           "sample reads it")
    expect(re.search(r"(?m)^ *6 +complete", place.call("inspect", "moved")[0]), "inspect reads it")
    expect(not (place.folder / "run").exists(), "nobody makes the folder anew")
    say("other commands")


if __name__ == "__main__":
    run_script(__doc__, trains_on, was_begun_afresh, is_understood_alike)
