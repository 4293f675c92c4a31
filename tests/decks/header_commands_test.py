#!/usr/bin/env python3
"""Every shipped deck says in its first lines how it is checked, and that command works as it stands where nothing but
the decks is: no data, no environment.

  header_commands_test.py --binary ZIGGURAT --work FOLDER
"""

import argparse
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PATIENCE_S = 600  # only for what hangs
HEADER = re.compile(r"^# check: (ziggurat check (\S+) --ranks (\d+) --machine \S+)$", re.MULTILINE)
TRAINING = re.compile(r"^# train: mpirun -n (\d+) ziggurat train (\S+)$", re.MULTILINE)


def header_of(deck):
    """What the first lines say is run, after a look at whether it is about this deck."""
    name = str(deck.relative_to(ROOT))
    text = deck.read_text()
    found = HEADER.search(text)
    if not found:
        sys.exit(f"FAILED {name}: no line '# check: ziggurat check {name} --ranks N --machine M'")
    training = TRAINING.search(text)
    if found[2] != name or (training and training.groups() != (found[3], name)):
        sys.exit(f"FAILED {name}: its first lines are about another deck or another number of ranks")
    return found[1]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", type=pathlib.Path, required=True)
    parser.add_argument("--work", type=pathlib.Path, required=True, help="emptied, then a copy of the decks")
    chosen = parser.parse_args()
    shutil.rmtree(chosen.work, ignore_errors=True)
    shutil.copytree(ROOT / "decks", chosen.work / "decks")
    environment = {key: value for key, value in os.environ.items() if not key.startswith("ZIGGURAT")}
    environment["PATH"] = f"{chosen.binary.resolve().parent}:{environment['PATH']}"
    environment["HOME"] = str(chosen.work)  # without a machine file

    decks = sorted([*(ROOT / "decks").glob("*.yaml"), *(ROOT / "decks" / "systems").glob("*.yaml")])
    for command in map(header_of, decks):
        done = subprocess.run(shlex.split(command), cwd=chosen.work, env=environment, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=PATIENCE_S)
        if done.returncode != 0 or "FITS" not in done.stdout or "warning:" in done.stdout:
            sys.exit(f"FAILED {command}: exit code {done.returncode}\n{done.stdout}")
    # A plan of this machine's needs no data either; what is to be trained here does.
    for words, code in ((["plan", "--program"], 0), (["check"], 2), (["train"], 2)):
        command = ["ziggurat", words[0], "decks/gpt2-124m.yaml", *words[1:]]
        command += [] if words == ["train"] else ["--ranks", "8"]
        done = subprocess.run(command, cwd=chosen.work, env=environment, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=PATIENCE_S)
        if done.returncode != code or "there is no such file" not in done.stdout:
            sys.exit(f"FAILED {shlex.join(command)}: exit code {done.returncode} instead of {code}\n{done.stdout}")
    if len(decks) < 16:
        sys.exit(f"FAILED there are only {len(decks)} decks")
    print(f"ok: {len(decks)} decks are checked by the commands of their first lines")


main()
