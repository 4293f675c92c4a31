#!/usr/bin/env python3
"""What a deck takes from a variable that is called like a secret is in no file of the run, and another value is no other run.

  secrets_test.py --binary ZIGGURAT --work FOLDER --mpiexec COMMAND
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from trainings import PATIENCE_S, Place, expect, losses, manifest, checkpoint, run_script, say

SECRET, OTHER = "s3cr3t-v4lue", "0ther-v4lue"
SETTINGS = ["run.name=run-${env:MY_API_TOKEN}", "data.train=[{format: text, path: '${env:MY_API_TOKEN}/text.txt'}]",
            "data.validation=[{format: text, path: '${env:MY_API_TOKEN}/text.txt'}]",
            "validate={every: 2 steps, batches: 1, sample: {prompt: '${env:MY_API_TOKEN}', tokens: 2}}",
            "checkpoint.every=2 steps", "checkpoint.keep.last=5", "logging.tensorboard=true"]


def files_with(folder, text):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file() and text.encode() in path.read_bytes())


def in_no_file(chosen):
    place = Place(chosen, "in_no_file")
    for secret in (SECRET, OTHER):
        (place.folder / secret).mkdir()
        shutil.copy(place.folder / "text.txt", place.folder / secret)
    for ranks in (1, 2):
        run = f"run{ranks}"

        def train(secret, run=run, ranks=ranks):
            with place.start(run, ranks, "train.steps=6", *SETTINGS, environment={"MY_API_TOKEN": secret}) as training:
                expect(training.wait() == 0, training.tail())
                return training.output()

        said = train(SECRET)
        expect(not files_with(place.folder / run, SECRET), f"{ranks} ranks: in {files_with(place.folder / run, SECRET)}")
        expect(SECRET not in said.replace(place.deck, ""), f"on the console\n{said}")
        effective = (place.folder / run / "deck.effective.yaml").read_text()
        expect(effective.count("${env:MY_API_TOKEN}") == 4, effective)

        shutil.rmtree(checkpoint(place.folder / run, 6))  # so that it goes on after step 4
        said = train(OTHER)
        expect("resumed after step" in said and "is another one" not in said and "changed since" not in said,
               f"{ranks} ranks: another secret is the same training\n{said}")
        step = checkpoint(place.folder / run, 6)
        kept = manifest(step)
        expect("${env:MY_API_TOKEN}" in json.dumps(kept["data"]) and "${env:MY_API_TOKEN}" in kept["deck"], "COMPLETE has the variable")
        expect(not files_with(place.folder / run, OTHER) and not files_with(place.folder / run, SECRET), "in a file")
        say(f"{ranks} ranks: neither value is in a file, and a run goes on with another")


def used_again(chosen):
    """The effective deck, and checkpoints, of a run with a secret."""
    place = Place(chosen, "used_again")
    (place.folder / SECRET).mkdir()
    shutil.copy(place.folder / "text.txt", place.folder / SECRET)
    environment = {"MY_API_TOKEN": SECRET}
    with place.start("first", 1, "train.steps=2", "schedule.warmup=0 steps", *SETTINGS, environment=environment) as training:
        expect(training.wait() == 0, training.tail())
    place.deck = "first/deck.effective.yaml"
    with place.start("second", 1, environment=environment) as training:
        expect(training.wait() == 0, training.tail())
    expect(losses(place.folder / "first", 1, 2) == losses(place.folder / "second", 1, 2), "the effective deck gives the same run")
    with place.start("third", 1) as training:
        expect(training.wait() == 2 and "the environment has no 'MY_API_TOKEN'" in training.output(), training.tail())

    def call(*words):
        done = subprocess.run([place.binary, *words], cwd=place.folder, env=dict(os.environ, OMP_NUM_THREADS="1"),
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE_S)
        expect(done.returncode == 0, f"{words}: {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout

    call("eval", "first", "--data", "text.txt")
    call("sample", "first", "--prompt", "a", "--tokens", "2")
    call("export", "first", "out")
    call("inspect", "first", "--verify")
    call("inspect", "first", "--diff", "second")
    with_value = subprocess.run([place.binary, "check", place.deck, "--print"], cwd=place.folder, env={**os.environ, **environment},
                                capture_output=True, text=True, timeout=PATIENCE_S)
    expect(with_value.returncode == 0 and SECRET not in with_value.stdout, f"printed decks\n{with_value.stdout}{with_value.stderr}")
    say("the effective deck and checkpoints are used without the value, or with it from the environment")


if __name__ == "__main__":
    run_script(__doc__, in_no_file, used_again)
