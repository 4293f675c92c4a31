#!/usr/bin/env python3
"""examples/own_tokens: a program of its own trains on tokens that it brings, and goes on where it was stopped.

  example_test.py --program OWN_TOKENS --work FOLDER --mpiexec COMMAND
"""

import argparse
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys

EXAMPLE = pathlib.Path(__file__).resolve().parents[3] / "examples" / "own_tokens"
PATIENCE_S = 240  # only for what hangs


def expect(holds, what, said=""):
    if not holds:
        sys.exit(f"FAILED: {what}\n{said}")
    print(f"ok: {what}", flush=True)


def train(command, folder, *settings, code=0):
    """What the example says."""
    environment = dict(os.environ, OMP_NUM_THREADS="1", OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    done = subprocess.run([*command, EXAMPLE / "deck.yaml", *settings], cwd=folder, env=environment, text=True,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=PATIENCE_S)
    expect(done.returncode == code, f"the example ends with {code}, not {done.returncode}", done.stdout)
    return done.stdout


def losses(folder):
    lines = (folder / "runs" / "own_tokens" / "metrics.jsonl").read_text().splitlines()
    return [event["loss"] for event in map(json.loads, lines) if event["event"] == "step"]


def learns(command, folder):
    """Trains the example on its own tokens in `folder`, which is made anew."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    said = train(command, folder)
    found = losses(folder)
    expect(len(found) == 200 and found[0] > 5 and found[-1] < 2, f"its loss falls, from {found[0]} to {found[-1]}", said)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("program", "work", "mpiexec"):
        parser.add_argument(f"--{name}", required=True)
    chosen = parser.parse_args()
    folder = pathlib.Path(chosen.work)
    on_two = [*shlex.split(chosen.mpiexec), "-n", "2", str(pathlib.Path(chosen.program).resolve())]
    learns(on_two, folder)
    said = train(on_two, folder, "train.steps=210")
    expect("resumed after step 200" in said and len(losses(folder)) == 210, "it goes on from its checkpoint", said)
    said = train(on_two, folder, "data.tokenizer=none", "model.vocab=100", "run.name=small", code=2)
    expect(re.search(r"data\.train\[0\]\.path: token \d+ at square \d+ is not in the vocabulary \(model\.vocab = 100", said),
           "tokens outside the vocabulary are refused with their place", said)
    said = train(on_two, folder, "train.global_batch=3", code=2)
    expect(said.count("train.global_batch = 3 cannot be made") == 1, "a deck that is wrong is told once", said)


if __name__ == "__main__":
    main()
