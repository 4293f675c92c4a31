#!/usr/bin/env python3
"""What the program says to command lines that are wrong, to a system that refuses, and to names that steer terminals.

  command_line_test.py --binary ZIGGURAT
"""

import argparse
import json
import os
import pathlib
import random
import re
import shutil
import stat
import subprocess
import sys
import tempfile

PATIENCE_S = 240  # only for what hangs
NOBODY = 65534
# Clears the screen; the one-character form of ESC [; from right to left; the end of a line; rings; no UTF-8.
STEERING = "\x1b[2J\u009b31m\u202e\r\x07\udcff"
BUG = 70


def expect(holds, what, output=""):
    if not holds:
        sys.exit(f"FAILED: {what}\n{output}")


class Place:
    """A folder that anybody may use, with the program, a deck and a text in it; and a folder that is closed."""

    def __init__(self, binary):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="ziggurat-lines-", dir="/tmp"))
        self.folder.chmod(0o777)
        self.binary = self.folder / "ziggurat"
        shutil.copy(binary, self.binary)
        self.binary.chmod(0o755)
        deck = pathlib.Path(__file__).resolve().parents[1] / "decks" / "gpt2_tiny.yaml"
        (self.folder / "deck.yaml").write_text(deck.read_text().replace("every: none", "every: 5 steps"))
        (self.folder / "text.txt").write_text("a text that is long enough for a few windows of tokens\n" * 200)
        self.closed = self.folder / "closed"
        self.closed.mkdir()
        self.closed.chmod(0)
        for name in ("deck.yaml", "text.txt"):
            (self.folder / name).chmod(0o644)

    def remove(self):
        self.closed.chmod(0o700)
        shutil.rmtree(self.folder)

    def call(self, *words, home=None, as_nobody=False):
        """Exit code and all that was printed, as bytes."""
        environment = dict(os.environ, OMP_NUM_THREADS="1", OMPI_ALLOW_RUN_AS_ROOT="1",
                           OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", HOME=str(home or self.folder))
        for name in ("XDG_CONFIG_HOME", "TMPDIR"):  # folders of whoever tests, which others may not enter
            environment.pop(name, None)
        other = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if as_nobody and os.geteuid() == 0 else {}
        line = [str(self.binary), *map(str, words)]
        done = subprocess.run([os.fsencode(word) for word in line], cwd=self.folder, env=environment,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=PATIENCE_S, **other)
        return done.returncode, done.stdout

    def says(self, code, says, *words, **how):
        got, output = self.call(*words, **how)
        text = output.decode(errors="replace")
        line = " ".join(map(str, words))
        expect(got == code, f"{line!r} ended with {got} instead of {code}", text)
        expect(says in text, f"{line!r} says '{says}'", text)
        expect("a bug in ziggurat" not in text, f"{line!r} calls it a bug", text)
        expect(code in (0, 75) or re.search("^ziggurat: error: ", text, re.M), f"{line!r} says an error", text)
        return text


def refuses_wrong_lines(place):
    for says, words in (
            ("there is no option '--bogus'", ["--bogus", "check", "deck.yaml"]),
            ("there is no command 'foo'", ["foo", "check", "deck.yaml"]),
            ("'--ranks' is before the command", ["--ranks", "2", "check", "deck.yaml"]),
            ("'inspect' is not an override", ["check", "deck.yaml", "inspect"]),
            ("'deck.yaml' is not an override", ["train", "check", "deck.yaml"]),
            ("has no unit 'hed'", ["plan", "deck.yaml", "--program", "--unit", "hed"]),
            ("Did you mean 'head'?", ["plan", "deck.yaml", "--program", "--unit", "hed"]),
            ("there are host_to_device[control], ", ["plan", "deck.yaml", "--program", "--lane", "cpu"]),
            ("has no kind of op 'al_gather'", ["plan", "deck.yaml", "--program", "--kind", "al_gather"]),
            ("Ops count from 0 to", ["plan", "deck.yaml", "--program", "--ops", "3-99999"]),
            ("there is no rank 5 of 1", ["plan", "deck.yaml", "--program", "--rank", "5"]),
            ("File name too long", ["check", "a" * 5000]),
            ("no deck is given", ["check", "a" * 5000 + "=3"])):
        place.says(2, says, *words)


def chooses_ops(place):
    plan = ["plan", "deck.yaml", "--program", "--ranks", "2"]
    summary = place.says(0, "unit ", *plan)
    listed = place.says(0, " ops\n", *plan, "--all").splitlines()
    count = int(re.search(r"^program .*, (\d+) ops$", summary, re.M)[1])
    ops = [line for line in listed if re.match(r" *\d+  ", line)]
    expect(len(ops) == count, f"--all lists {count} ops", len(ops))
    expect(re.search(r"^layers\.0 .* compute +\d+ .*FLOP?|^head +compute +\d+", summary, re.M), "by unit and lane", summary)
    chosen = place.says(0, f" of {count} ops\n", *plan, "--unit", "layers.0", "--lane", "collective")
    rows = [line for line in chosen.splitlines() if re.match(r" *\d+  ", line)]
    expect(rows and all("collective[" in row and "layers.0" in row for row in rows), "only what is asked", chosen)
    expect(all(row.split()[0] in {op.split()[0] for op in ops} for row in rows), "by their places", chosen)
    expect(json.loads(place.says(0, "ziggurat.program/1", *plan, "--json"))["ops"], "JSON has all ops")


def says_what_the_system_refuses(place):
    closed = place.closed
    training = ["deck.yaml", "data.train=[{format: text, path: text.txt}]", "train.steps=6"]
    nobody = {"as_nobody": True}
    place.says(3, "cannot create the run directory", "train", *training, f"run.dir={closed}/x", **nobody)
    place.says(3, "cannot create the run directory", "train", *training, "run.dir=text.txt/x", **nobody)
    place.says(3, f"ziggurat: error: run.dir: '{closed}/x' cannot be written (Permission denied)", "check", *training,
               f"run.dir={closed}/x", **nobody)
    place.says(3, "cannot write results to", "bench", "io", place.folder, "--size", "1MiB", home=closed, **nobody)
    place.says(3, "cannot write results to", "bench", "io", place.folder, "--size", "1MiB", home="/proc", **nobody)
    place.says(3, "cannot write results to", "bench", "io", place.folder, "--machine-file", closed / "m.yaml", **nobody)
    place.says(3, "No such file or directory", "bench", "io", "nowhere")
    place.says(3, "it is not a folder", "bench", "io", "text.txt")
    place.says(3, "Permission denied", "bench", "io", closed / "x", **nobody)
    (place.folder / "drawn").mkdir()
    (place.folder / "drawn/metrics.jsonl").write_text('{"event":"step","time":1,"step":1,"tokens":1,"loss":1.0,"tok_s":1.0}\n')
    place.says(3, "Name a file that can be written: --out FILE.", "plot", "drawn", "--out", "drawn/metrics.jsonl/x.svg")
    place.says(3, "cannot use '/no/folder'", "train", *training, "tiers.nvme={paths: [/no/folder]}", "run.dir=x")
    place.says(3, "cannot use '/no/folder'", "check", *training, "tiers.nvme={paths: [/no/folder]}")
    for code, words in (
            (2, ["check", closed / "deck.yaml"]), (2, ["train", closed / "deck.yaml"]), (3, ["inspect", closed / "run"]),
            (3, ["sample", closed / "run", "--prompt", "a"]), (3, ["eval", closed / "run", "--data", "text.txt"]),
            (2, ["check", *training, "--machine", closed / "m.yaml"]),
            (2, ["train", *training, f"data.validation=[{{format: text, path: {closed}/text.txt}}]", "run.dir=x"]),
            (2, ["train", *training, f"model.init={{from: checkpoint, path: {closed}/run}}", "run.dir=x"])):
        place.says(code, "Permission denied", *words, **nobody)


def is_steering(output):
    text = output.decode(errors="surrogateescape")
    return [c for c in text if (ord(c) < 0x20 and c != "\n") or 0x7f <= ord(c) < 0xa0 or c == "\u202e" or 0xdc80 <= ord(c) <= 0xdcff]


def never_steers_the_terminal(place):
    def quiet(*words):
        code, output = place.call(*words)
        expect(code != BUG and not is_steering(output), f"{words!r} prints {is_steering(output)!r}",
               repr(output[-2000:]))
        return code

    name = STEERING.replace("\r", "")
    run = place.folder / f"run{name}"
    data = place.folder / f"text{name}.txt"
    shutil.copy(place.folder / "text.txt", os.fsencode(data))
    path_of = lambda path: '"' + "".join(c if c.isprintable() and c != '"' else f"\\x{ord(c):02x}" if ord(c) < 0x100 else
                                        f"\\u{ord(c):04x}" for c in str(path).replace("\udcff", "")) + '"'
    run = pathlib.Path(str(run).replace("\udcff", ""))
    data = pathlib.Path(str(data).replace("\udcff", ""))
    shutil.copy(place.folder / "text.txt", data)
    training = ["deck.yaml", f"data.train=[{{format: text, path: {path_of(data)}}}]", "train.steps=6",
                f"run.dir={path_of(run)}"]
    quiet("train", *training, f"run.name={path_of('a' + name)}")
    expect(quiet("train", *training) == 0, "a training in a folder with such a name: " + repr(place.call("train", *training)))
    for log in ("run.log", "perf.txt"):
        expect(not is_steering((run / log).read_bytes()), f"{log} is clean", repr((run / log).read_bytes()[:500]))
    expect(quiet("train", *training, "run.resume=auto") == 0, "finished before")
    for options in ([], ["--tensors"], ["--verify"], ["--json"], ["--diff", run], ["--tensor", STEERING]):
        quiet("inspect", run, *options)
    expect(quiet("sample", run, "--prompt", "a" + STEERING, "--tokens", "20") == 0, "samples")
    expect(quiet("eval", run, "--data", data) == 0, "evaluates")
    expect(quiet("eval", run, "--data", data, "--json") == 0, "evaluates")
    expect(quiet("check", *training) == 2, "checks, and refuses as train would to begin afresh beside checkpoints")
    expect(quiet("check", *training, "run.resume=auto") == 0, "checks")
    expect(quiet("check", *training, "run.resume=auto", "--json") == 0, "checks")
    expect(quiet("inspect", data) == 0, "a token file")
    (run / "ckpt" / f"step-{name}".replace("\udcff", "")).mkdir()
    quiet("inspect", run)
    lines = (
        [STEERING], ["check", STEERING], ["check", STEERING + "=1"], ["check", "deck.yaml", STEERING],
        ["check", "deck.yaml", STEERING + "=1"], ["check", "deck.yaml", "run.name=" + STEERING],
        ["check", "deck.yaml", "model.layers=" + STEERING], ["check", "deck.yaml", "--machine", STEERING],
        ["check", "deck.yaml", "--machine", "./" + STEERING], ["check", "--explain", STEERING],
        ["check", "deck.yaml", "--" + STEERING], ["check", "deck.yaml", "--ranks", STEERING],
        ["check", "deck.yaml", "--print", "run.name=" + path_of(name)],
        ["check", "deck.yaml", "tiers.nvme={paths: [" + path_of("/" + name) + "]}"],
        ["train", "deck.yaml", "model.init={from: checkpoint, path: " + path_of("/" + name) + "}"], ["train", STEERING],
        ["plan", "deck.yaml", "--program", "--unit", STEERING], ["plan", "deck.yaml", "--program", "--variant", STEERING],
        ["inspect", STEERING], ["inspect", STEERING + ".bin"], ["inspect", ".", "--tensor", STEERING],
        ["sample", STEERING, "--prompt", "a"], ["sample", run, "--prompt", "a", "--seed", STEERING],
        ["eval", run, "--data", STEERING], ["eval", run, "--data", "text.txt", "--format", STEERING],
        ["bench", STEERING], ["bench", "io", STEERING], ["bench", "io", ".", "--size", STEERING],
        ["bench", "io", ".", "--size", "1MiB", "--machine-file", "/" + STEERING + "/m"])
    for words in lines:
        quiet(*words)
    bad = place.folder / "bad.yaml"
    for text in (f"{name}: 1\n", f"model: {{{name}: 1}}\n", f"run: {{name: {path_of(name)}, dir: [1]}}\n", f"include: [{path_of(name)}]\n",
                 f"vars: {{a: {path_of(name)}}}\nmodel: {{layers: '${{a}}'}}\n", f"? {name}\n"):
        bad.write_bytes(("deck_version: 1\n" + text).encode(errors="surrogateescape"))
        quiet("check", "bad.yaml")
        quiet("check", "bad.yaml", "--json")
    draw = random.Random(1)
    pieces = ["check", "train", "plan", "inspect", "sample", "eval", "bench", "io", "deck.yaml", "--ranks", "--json",
              "--program", "=", "run.dir=", "--prompt", "-", "--", "1", str(run), STEERING, "\x1b]0;a\x07", "\x00"[:0]]
    for _ in range(60):
        quiet(*[draw.choice(pieces) + draw.choice(["", "", STEERING, "x"]) for _ in range(draw.randint(1, 5))])


def documents_what_it_says(place):
    page = (pathlib.Path(__file__).resolve().parents[3] / "decks" / "DATA.md").read_text()
    told = set(re.findall(r"^\| `(\w+)` \|", page.split("## Fields of")[1], re.M))
    said = json.loads(place.says(0, "{", "inspect", "text.txt", "--json"))
    expect(set(said) == told, "decks/DATA.md tells the fields of inspect --json", f"{set(said) ^ told}")
    expect("73 110" not in place.says(0, "header and size agree", "inspect", "text.txt"), "the first tokens of this text")
    place.says(2, "the given option is for checkpoints", "inspect", "text.txt", "--verify")
    wrong = json.loads(place.call("check", "deck.yaml", "model.layers=two", "--json")[1])
    expect(wrong["errors"] == 1 and wrong["problems"][0]["file"] == "command line", "a wrong deck is valid JSON", wrong)


def tells_the_size_of_checkpoints(place):
    training = ["deck.yaml", "data.train=[{format: text, path: text.txt}]", "train.steps=6", "run.dir=sized"]
    told = json.loads(place.call("check", *training, "--json")[1])["checkpoint"]
    place.says(0, "finished: 6 steps", "train", *training)
    found = json.loads(place.says(0, "{", "inspect", "sized", "--json"))["checkpoints"]
    tensors = json.loads(place.says(0, "{", "inspect", "sized", "--tensors", "--json"))["tensors"]
    expect(len(found) == told["kept"], "as many stay as was told", f"{found} {told}")
    for one in found:
        expect(told["bytes"] <= one["bytes"] <= told["bytes"] + 4096 * len(tensors) + 65536,
               f"a checkpoint of {one['bytes']} bytes", f"{told}, {len(tensors)} tensors")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--binary", required=True)
    chosen = parser.parse_args()
    place = Place(chosen.binary)
    try:
        for test in (refuses_wrong_lines, chooses_ops, says_what_the_system_refuses, documents_what_it_says,
                     tells_the_size_of_checkpoints,
                     never_steers_the_terminal):
            test(place)
            print(f"ok: {test.__name__}", flush=True)
    finally:
        place.remove()


if __name__ == "__main__":
    main()
