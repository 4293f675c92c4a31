#!/usr/bin/env python3
"""What `ziggurat slurm` prints: a whole batch script for a deck that the same judgement as that of `ziggurat check` has
let pass, in which every path and override is what it was.

  slurm_command_test.py --binary ZIGGURAT

slurm_test.py runs such a script on a real Slurm.
"""

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

PATIENCE_S = 240  # only for what hangs
ODD = "it's \"a\" $HOME `x` #1 \\n ö"  # what shells, Slurm and JSON have a meaning for

# Stands for the program in the script, and for mpirun: says what it is given, a word to a line.
STAND_IN = """#!/bin/bash
[ "$1" != check ] || exit 0
printf '%s\\n' "$(basename "$0")" "$@"
"""
# Stands for the program while it trains: makes a step in the folder that the environment names, and is killed.
TRAINS = """#!/bin/bash
[ "$1" != check ] || exec "$REAL" "$@"
mkdir -p "$FOLDER"
echo '{"event":"start","time":'$RANDOM'}' >>"$FOLDER/metrics.jsonl"
echo '{"event":"step","step":1}' >>"$FOLDER/metrics.jsonl"
exit 137
"""
MPIRUN = """#!/bin/bash
printf 'mpirun %s\\n' "$1$2"
shift 4
exec "$@"
"""


def expect(holds, what, said=""):
    if not holds:
        sys.exit(f"FAILED: {what}\n{said}")


class Place:
    """A folder with a deck, a text and stand-ins, and calls of the program from there."""

    def __init__(self, binary, folder):
        self.binary, self.folder = binary, folder
        tiny = (pathlib.Path(__file__).resolve().parents[1] / "decks" / "gpt2_tiny.yaml").read_text()
        self.deck = f"{ODD}.yaml"
        text = tiny.replace("resume: never", "resume: auto").replace("every: none", "every: 10min")
        (folder / self.deck).write_text(text)
        (folder / "never.yaml").write_text(text.replace("resume: auto", "resume: never"))
        (folder / "text.txt").write_text("a text that is long enough for a few windows of tokens\n" * 200)
        (folder / "bin").mkdir()
        for name, text in (("ziggurat", STAND_IN), ("mpirun", MPIRUN)):
            (folder / "bin" / name).write_text(text)
            (folder / "bin" / name).chmod(0o755)
        self.script = folder / "job.sbatch"

    def call(self, *words):
        return subprocess.run([self.binary, *map(str, words)], cwd=self.folder, stdin=subprocess.DEVNULL, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=PATIENCE_S)

    def write(self, *words):
        """The script, which is right by bash's and shellcheck's word."""
        done = self.call("slurm", *words)
        expect(done.returncode == 0, f"slurm {words} prints a script", done.stderr)
        self.script.write_text(done.stdout)
        checkers = [["bash", "-n"]] + ([["shellcheck"]] if shutil.which("shellcheck") else [])
        for checker in checkers:
            checked = subprocess.run([*checker, self.script], capture_output=True, text=True)
            expect(checked.returncode == 0, f"{checker[0]} takes what slurm {words} prints", checked.stdout + checked.stderr)
        return done.stdout

    def start(self, *more, code=0, **variables):
        """What the stand-ins are given by the script."""
        environment = {name: value for name, value in os.environ.items() if not name.startswith("SLURM_")}
        environment |= {"PATH": f"{self.folder}/bin:{os.environ['PATH']}", "SLURM_NTASKS": "6", "SLURM_JOB_ID": "7",
                        "ZIGGURAT": str(self.folder / "bin" / "ziggurat")} | variables
        done = subprocess.run(["bash", self.script, *more], cwd=self.folder, env=environment, text=True,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE_S)
        expect(done.returncode == code, f"the script ends with {code}", done.stdout + done.stderr)
        return done.stdout

    def refuses(self, code, says, *words):
        done = self.call("slurm", *words)
        expect(done.returncode == code and re.search(says, done.stderr) and not done.stdout,
               f"slurm {words} ends with {code}, not {done.returncode}, says '{says}' and prints no script",
               done.stderr + done.stdout)
        return done.stderr


def options_of(script):
    return dict(re.findall(r"^#SBATCH --([a-z-]+)=(.*?)(?: +# .*)?$", script, re.M))


def asks_for(place):
    script = place.write(place.deck, "--nodes", 3, "--ntasks-per-node", 2, "--time", "0:04:00", "--account", "a b",
                         "--partition=all", "--job-name", 'my "job"')
    expected = {"job-name": '"my \\"job\\""', "nodes": "3", "ntasks-per-node": "2", "time": "0:04:00", "account": '"a b"',
                "partition": "all", "signal": "B:USR1@60", "open-mode": "append", "output": "%x-%j.out"}
    expect(options_of(script) == expected, f"its options are {expected}", options_of(script))
    options = options_of(place.write(place.deck, "run.name=other"))
    expect((options["job-name"], options["nodes"], options["ntasks-per-node"]) == ("other", "1", "1"),
           "without options it is named for the run, of as many ranks as the deck takes", options)
    options = options_of(place.write(place.deck, "parallel.tensor=2", "parallel.data=3", "--nodes", 3))
    expect(options["ntasks-per-node"] == "2", "degrees say how many ranks there are", options)


def of_a_machine(place):
    deck = "decks/llama-8b.yaml"
    options = options_of(place.write(deck, "--nodes", 4, "--machine", "dgx-h100"))
    expect((options["ntasks-per-node"], options["cpus-per-task"], options["gpus-per-node"]) == ("8", "14", "8"),
           "a machine says how many ranks, cores and GPUs a node has", options)
    options = options_of(place.write(deck, "--nodes", 4, "--machine", "dgx-h100", "parallel.data=16"))
    expect((options["ntasks-per-node"], options["gpus-per-node"]) == ("4", "4"), "where the deck is for fewer, so many", options)
    place.refuses(3, r"DOES NOT FIT: device is short by", deck, "--machine", "v100-32gb")
    place.refuses(2, r"Did you mean 'dgx-h100'", deck, "--machine", "dgx-h10")


def keeps_words(place):
    overrides = (f"run.dir='runs/{ODD.replace(chr(39), chr(39) * 2)}'", "vars={a: \"b c\"}")
    place.write(place.deck, *overrides, "--nodes", 3, "--ntasks-per-node", 2)
    told = place.start("train.steps=7")
    expect(told.splitlines()[:6] == ["mpirun -n6", "ziggurat", "train", place.deck, *overrides], "words are what they were",
           told)
    expect(told.splitlines()[6] == "train.steps=7", "the words of sbatch come after those of the script", told)


def finds_the_run(place):
    """The script reads the run's folder from what `ziggurat check --json` really prints."""
    for name, text in (("trains", TRAINS), ("scontrol", "#!/bin/bash\n")):
        (place.folder / "bin" / name).write_text(text)
        (place.folder / "bin" / name).chmod(0o755)
    folder = f"runs/{ODD} \U0001f600"
    place.write(place.deck, "run.dir='" + folder.replace("'", "''") + "'", "--nodes", 3, "--ntasks-per-node", 2)
    for start in range(1, 4):  # the second would be the last, were the step not seen
        said = place.start(code=137, ZIGGURAT=str(place.folder / "bin" / "trains"), REAL=str(place.binary), FOLDER=folder,
                           SLURM_RESTART_COUNT=str(start - 1))
        expect("asks Slurm to queue it again" in said, f"start {start} is queued again", said)
    expect((place.folder / "ziggurat-7.idle").read_text() == "0 2 1 none\n", "it knows how far the run is")
    (place.folder / "ziggurat-7.idle").unlink()


def judges(place):
    line = (place.deck, "--nodes", 7, "--ntasks-per-node", 1)
    said = place.refuses(2, r"train\.global_batch = 30 cannot be made from this layout", *line)
    checked = place.call("check", place.deck, "--ranks", 7).stderr
    expect(said == checked, "it says what `check` says", f"{said}\n{checked}")
    place.refuses(2, r"checkpoint\.every: is 'none' \(each start", place.deck, "checkpoint.every=none")
    place.refuses(2, r"run\.resume: is 'never' \(each start", "never.yaml")
    place.refuses(2, r"--gpus-per-node: the deck computes on cores", place.deck, "--gpus-per-node", 1)
    place.refuses(2, r"'--time' takes a time in Slurm's format.* not '1h'", place.deck, "--time", "1h")
    place.refuses(2, r"is not valid in a batch script", place.deck, "--account", "a\n#SBATCH --nodes=9")
    place.refuses(2, r"more than 1000000 ranks", place.deck, "--nodes", 1000, "--ntasks-per-node", 1001)
    place.refuses(2, r"no deck is given", "--nodes", 2)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", required=True)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        place = Place(pathlib.Path(chosen.binary).resolve(), pathlib.Path(folder))
        for part in (asks_for, of_a_machine, keeps_words, finds_the_run, judges):
            part(place)
            print(f"ok: {part.__name__}", flush=True)


if __name__ == "__main__":
    main()
