#!/usr/bin/env python3
"""Files of a run's folder as somebody who may write there can make them: pipes, devices, sockets, folders, links that
lead round in a circle, holes of a terabyte, unreadable ones, and a COMPLETE with its hash set right that says what
cannot be. No command hangs, dies of a signal, calls it a bug of its own, prints what steers a terminal, or takes other
weights for those that were saved.

  strange_files_test.py --binary ZIGGURAT --work FOLDER --mpiexec COMMAND
  ZIGGURAT_DAMAGES=200 strange_files_test.py ...    so many by chance, too (default 2); ZIGGURAT_SEED=N
"""

import ctypes
import ctypes.util
import json
import os
import pathlib
import random
import re
import shutil
import socket
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import trainings
from trainings import Place, expect, say

SAVES = (4, 8)
STEPS = 12
PATIENCE_S = 240  # who waits for a pipe waits for ever
CODES = (0, 1, 2, 3, 4)
SETTINGS = ["train.global_batch=6", "train.micro_batch=2", "precision.compute=fp32", "schedule.kind=constant",
            "checkpoint.every=4 steps", "checkpoint.keep.last=10", "parallel.threads=1"]
SAMPLE = ["--tokens", "8", "--seed", "1", "--prompt", "a"]

# ---------------------------------------------------------------- COMPLETE with a right hash

xxhash = ctypes.CDLL(ctypes.util.find_library("xxhash"))
xxhash.XXH3_64bits.restype = ctypes.c_uint64
xxhash.XXH3_64bits.argtypes = [ctypes.c_char_p, ctypes.c_size_t]


def with_its_hash(body):
    """`body`: all lines of COMPLETE before the last."""
    data = body.encode()
    return data + f'"xxh3": "{xxhash.XXH3_64bits(data, len(data)):016x}"}}\n'.encode()


def rewrite(step, change):
    """Changes what COMPLETE says and sets its hash right."""
    path = step / "COMPLETE"
    told = trainings.manifest(step)
    expect(with_its_hash(path.read_text()[:path.read_text().rindex('"xxh3"')]) == path.read_bytes(), "another hash")
    del told["xxh3"]
    told = change(told) or told
    body = json.dumps(told)[:-1] + ",\n"
    path.write_bytes(with_its_hash(body))


def leaves(value, path=()):
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, below in items:
        yield path + (key,)
        yield from leaves(below, path + (key,))


def put(value, path, new):
    for key in path[:-1]:
        value = value[key]
    value[path[-1]] = new


def nested(levels):
    value = []
    for _ in range(min(levels, 900)):
        value = [value]
    return value


STRANGE = (-1, 0, 1, 2**31, 2**62, 2**63, 2**64, 0.5, -0.0, 1e308, True, None, "", "\x1b[31m\x1b]0;owned\x07",
           "x" * 100_000, "../../../etc/passwd", "/etc/passwd", "\u202e", "\x00", [], {}, [[]], nested(50), {"a": 1})


def say_something_else(step, chance):
    """One value of COMPLETE is another one."""
    told = trainings.manifest(step)
    part = chance.choice([*told, "progress", "progress"])
    path = chance.choice([path for path in leaves(told) if path[0] == part != "xxh3"] or [("progress", "step")])
    new = chance.choice(STRANGE)
    rewrite(step, lambda told: put(told, path, new))
    return f"{'.'.join(map(str, path))} of COMPLETE is {str(new)[:40]!r}"


def change_its_deck(step, chance):
    """One word of the deck in COMPLETE is another one."""
    lines = trainings.manifest(step)["deck"].splitlines()
    number = chance.choice([n for n, line in enumerate(lines) if ": " in line])
    key = lines[number].split(": ")[0]
    new = chance.choice(("-1", "0", "1", "3", "1000000", "9223372036854775807", "1e308", "nan", "''", "[]", "{}",
                         "auto", "none", "'${env:HOME}'", "\"\\x1b[31m\"", "[" * 3000 + "]" * 3000, "/dev/zero"))

    def change(told):
        told["deck"] = "\n".join([*lines[:number], f"{key}: {new}", *lines[number + 1:]]) + "\n"

    rewrite(step, change)
    return f"the deck in COMPLETE says {key.strip()}: {new[:40]}"


# ---------------------------------------------------------------- files that are none


def gone(path):
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def pipe(path, _):
    gone(path)
    os.mkfifo(path)


def folder(path, _):
    gone(path)
    (path / "in the way").mkdir(parents=True)


def circle(path, _):
    gone(path)
    path.symlink_to(path.name)


def nowhere(path, _):
    gone(path)
    path.symlink_to("/no/such/place")


def device(path, chance):
    gone(path)
    path.symlink_to(chance.choice(("/dev/zero", "/dev/full", "/dev/tty")))


def a_socket(path, _):
    gone(path)
    with socket.socket(socket.AF_UNIX) as made:
        here = os.getcwd()
        os.chdir(path.parent)  # names of sockets are short
        made.bind(path.name)
        os.chdir(here)


def hole(path, _):
    if path.is_dir():
        gone(path)
    with open(path, "ab") as file:
        file.truncate(1 << 40)


def noise(path, chance):
    gone(path)
    path.write_bytes(chance.randbytes(chance.choice((0, 1, 17, 5000))))


def text(path, chance):
    gone(path)
    path.write_text(chance.choice(("\x1b[31m", "[" * 5000 + "]" * 5000, '{"a":' * 20000, "step-000000008 \x1b[31m\n",
                                   "step-99999999999999999999 0123456789abcdef\n", "../x 0123456789abcdef\n")))


def cut(path, chance):
    if path.is_file():
        os.truncate(path, chance.randrange(path.stat().st_size + 1))
    else:
        gone(path)


def flip(path, chance):
    if path.is_file() and path.stat().st_size > 0:
        data = bytearray(path.read_bytes())
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        path.write_bytes(data)
    else:
        gone(path)


def unreadable(path, _):
    path.chmod(0)


def away(path, _):
    gone(path)


ANY = (pipe, folder, circle, nowhere, device, a_socket, hole, noise, text, cut, flip, unreadable, away)
SAYING = (say_something_else, change_its_deck)


# ---------------------------------------------------------------- commands


class Strange:
    """A run that ended after its second save, of which each damage gets a copy; and one that went on."""

    def __init__(self, chosen):
        self.place = Place(chosen, "gpt2")
        self.place.train("whole", 1, *SETTINGS, f"train.steps={STEPS}")
        self.curve = trainings.losses(self.place.folder / "whole", 1, STEPS)
        self.place.train("first", 1, *SETTINGS, f"train.steps={SAVES[-1]}")
        self.source = self.place.folder / "first"
        self.words = {step: self.sample(trainings.checkpoint(self.source, step)) for step in SAVES}

    def sample(self, folder):
        return self.run("sample", folder, *SAMPLE)[1].splitlines()[-1:]

    def run(self, *words):
        """Exit code and output; within PATIENCE_S."""
        command = [self.place.binary, *map(str, words)]
        process = subprocess.Popen(command, cwd=self.place.folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, start_new_session=True,
                                   env=dict(os.environ, OMP_NUM_THREADS="1"))
        try:
            output = process.communicate(timeout=PATIENCE_S)[0].decode(errors="replace")
        except subprocess.TimeoutExpired:
            process.kill()
            raise trainings.Failure(f"{' '.join(command)} hangs") from None
        return process.returncode, output

    def copy(self):
        run = self.place.folder / "strange"
        if run.exists():
            subprocess.run(["chmod", "-R", "u+rwx", run], check=True)
            shutil.rmtree(run)
        shutil.copytree(self.source, run)
        return run

    def look(self, what, run, may_lie=False, only=None):
        """All commands on what became of `run`, or `only` some. `may_lie`: COMPLETE says something else with a right
        hash."""
        told = {}
        newest = trainings.checkpoint(run, SAVES[1])
        train = ["train", self.place.deck, f"run.dir={run}", "run.resume=auto", *SETTINGS, f"train.steps={STEPS}"]
        for name, words in {
                "list": ["inspect", run], "json": ["inspect", "--json", run], "verify": ["inspect", "--verify", run],
                "tensors": ["inspect", "--tensors", run], "step": ["inspect", newest],
                "diff": ["inspect", newest, "--diff", self.source], "sample": ["sample", run, *SAMPLE],
                "named": ["sample", newest, *SAMPLE],
                "eval": ["eval", run, "--data", "text.txt"], "train": train}.items():
            if only and name not in only:
                continue
            code, output = self.run(*words)
            expect(code in CODES, f"{what}: {name} ended with {code}\n{output[-2000:]}")
            expect("\x1b" not in output and "\x07" not in output,
                   f"{what}: {name} lets it steer a terminal:\n{output!r}")
            expect(code == 0 or output.strip(), f"{what}: {name} ended with {code} and said nothing")
            told[name] = (code, output)
        if told["sample"][0] == 0 and not may_lie:
            output = told["sample"][1]
            expect(output.splitlines()[-1:] in self.words.values(), f"{what}: sample says something else:\n{output}")
        if told["train"][0] == 0 and not may_lie:
            rows = [row for row in trainings.events(run) if row["event"] == "step"]
            for row in rows:
                expect(float(row["loss"]) == self.curve[row["step"] - 1], f"{what}: another loss at step {row['step']}")
            expect(rows and rows[-1]["step"] == STEPS, f"{what}: train has done nothing\n{told['train'][1]}")
        say(f"{what}: " + ", ".join(f"{name} {code}" for name, (code, _) in told.items()))
        return told


def at_chance(of, number, chance):
    run = of.copy()
    newest = trainings.checkpoint(run, SAVES[1])
    may_lie = chance.random() < 0.4
    if may_lie:
        what = chance.choice(SAYING)(newest, chance)
    else:
        places = [run / "metrics.jsonl", run / "run.log", run / "DONE", run / "deck.effective.yaml", run / "env.txt",
                  run / "perf.txt", run / "errors", run / "STOP", run / "CHECKPOINT", run / "ckpt", newest,
                  run / "ckpt" / "step-000000010", run / "ckpt" / "step-000000012.tmp", run / "ckpt" / "LATEST.tmp",
                  *[run / "ckpt" / "LATEST"] * 3, *[newest / "COMPLETE"] * 3,
                  *sorted(path for path in newest.iterdir() if path.name != "COMPLETE")]
        file = chance.choice(places)
        change = chance.choice(ANY)
        if change is unreadable and not file.exists():
            change = noise
        change(file, chance)
        what = f"{file.relative_to(run)}: {change.__name__}"
    of.look(f"strange {number}: {what}", run, may_lie)


# ---------------------------------------------------------------- what must come of it

NESTED = "[" * 5000 + "]" * 5000
PASSED_OVER = {"verify": 4, "step": 0, "diff": 4, "sample": 0, "eval": 0, "train": 0}
# An older one is taken, unless this one is named.
DECK_REFUSED = {"verify": 4, "sample": 0, "named": 4, "eval": 0, "train": 0}
NOTHING = {"list": 0, "verify": 0, "diff": 0, "sample": 0, "eval": 0, "train": 0}


def says_nested(step):
    path = step / "COMPLETE"
    body = path.read_text()
    path.write_bytes(with_its_hash(body[:body.rindex('"xxh3"')] + f'"more": {NESTED},\n'))


def says_progress(**fields):
    return lambda step: rewrite(step, lambda told: told["progress"].update(fields))


def says_deck(line):
    return lambda step: rewrite(step, lambda told: told.update(deck=told["deck"] + line + "\n"))


def asks_environment(step):
    def change(told):
        told["deck"], found = re.subn(r"^  dir: .*$", "  dir: '${env:HOME}'", told["deck"], count=1, flags=re.MULTILINE)
        expect(found, "the deck has no run.dir\n" + told["deck"])

    rewrite(step, change)


# By name: what is done to the newest step, the exit codes, and what `inspect --verify` or `sample` says.
KNOWN = {
    "COMPLETE is a pipe": (lambda step: pipe(step / "COMPLETE", None), PASSED_OVER, "not a regular file"),
    "COMPLETE has a terabyte": (lambda step: hole(step / "COMPLETE", None), PASSED_OVER, "more than any such file"),
    "LATEST is a pipe": (lambda step: pipe(step.parent / "LATEST", None), NOTHING | {"verify": 4}, "not a regular file"),
    "a shard is a pipe": (lambda step: pipe(step / "shard-00000.h5", None), PASSED_OVER, "not a file"),
    "a step is a file": (lambda step: noise(step.with_name("step-000000010"), random.Random(1)),
                         NOTHING | {"verify": 4}, "step-000000010"),
    "a step is a circle of links": (lambda step: circle(step.with_name("step-000000010"), None),
                                    NOTHING | {"verify": 4}, "step-000000010"),
    "COMPLETE nests 5000 deep": (says_nested, PASSED_OVER, "nest deeper"),
    "COMPLETE has skipped more than it did": (says_progress(skipped=9), PASSED_OVER, "is inconsistent"),
    "COMPLETE has come too far": (says_progress(next_sample=2**62), PASSED_OVER, "progress out of range"),
    "the layout steers a terminal": (lambda step: rewrite(step, lambda told: told.update(layout="\x1b[31m")),
                                     PASSED_OVER, "unprintable characters"),
    "its deck includes a file": (says_deck("include: [/etc/passwd]"), DECK_REFUSED,
                                 "a recorded deck includes files"),
    "its deck asks for the environment": (asks_environment,
                                          DECK_REFUSED, "uses environment variables"),
    "metrics.jsonl is a pipe": (lambda step: pipe(step.parents[1] / "metrics.jsonl", None), NOTHING | {"train": 3}, ""),
    "STOP is a pipe": (lambda step: pipe(step.parents[1] / "STOP", None), NOTHING, ""),
}


def known(of):
    for what, (change, codes, words) in KNOWN.items():
        run = of.copy()
        change(trainings.checkpoint(run, SAVES[1]))
        told = of.look(what, run, only={"verify", "sample", "train", *codes})
        found = {name: told[name][0] for name in codes}
        expect(found == codes, f"{what}: exit codes {found} instead of {codes}\n" +
               "\n".join(told[name][1] for name in codes if found[name] != codes[name]))
        expect(words in told["verify"][1] + told["sample"][1], f"{what}: nobody says '{words}'\n{told['verify'][1]}")


def by_chance(of):
    seed = int(os.environ.get("ZIGGURAT_SEED", "1"))
    print(f"seed {seed}", flush=True)
    chance = random.Random(seed)
    for number in range(1, int(os.environ.get("ZIGGURAT_DAMAGES", "2")) + 1):
        at_chance(of, number, chance)


def strange_files(chosen):
    of = Strange(chosen)
    known(of)
    by_chance(of)


if __name__ == "__main__":
    trainings.run_script(__doc__, strange_files)
