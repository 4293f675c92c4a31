#!/usr/bin/env python3
"""Files that are changed by chance: model folders, adapters, tokenizers, decks, checkpoints and metrics. Each command that
reads one ends with 0, 2, 3 or 4, within 10 s of processor time and 1 GiB.

  hostile_files_test.py --binary ZIGGURAT --work FOLDER --mpiexec COMMAND
  hostile_files_test.py --long ...      5,000 changes instead of 300; ZIGGURAT_SEED=N repeats them
"""

import concurrent.futures
import json
import os
import pathlib
import random
import re
import shutil
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import hostile_folder
import trainings
from hostile_folder import HostileFolder
from trainings import expect, say

CODES = (0, 2, 3, 4)
MAX_SECONDS, MAX_KIB = 10, 1 << 20
WORKERS = 2
NUMBER = re.compile(rb"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")
TEXT = re.compile(rb'"(?:[^"\\\n]|\\.)*"')
STRANGE = (b"-1", b"0", b"1", b"2147483648", b"4611686018427387904", b"18446744073709551616", b"1e308", b"0.5", b"nan", b"true",
           b"null", b'""', b'"x"', b'"\\u0000"', b'"../../etc/passwd"', b"[]", b"{}", b"[[]]", b'{"a": 1}', b"[" * 3000 + b"]" * 3000,
           b'"' + b"x" * 100_000 + b'"', b'"\\u202e\\u001b[31m"')

# ---------------------------------------------------------------- changes of bytes


def flip(data, chance):
    for _ in range(chance.choice((1, 1, 3))):
        at = chance.randrange(len(data))
        data[at] ^= 1 << chance.randrange(8)


def cut(data, chance):
    del data[chance.randrange(len(data)):]


def cut_out(data, chance):
    at = chance.randrange(len(data))
    del data[at:at + chance.choice((1, 3, 40))]


def repeat(data, chance):
    at = chance.randrange(len(data))
    data[at:at] = data[at:at + chance.choice((1, 20, 400))] * chance.choice((1, 2, 50))


def sign(data, chance):
    data[chance.randrange(len(data))] = chance.choice(b'"{}[],:-\\0\n #&*!|>%@\x00\xff')


def replace_match(pattern, data, chance):
    found = [match.span() for match in pattern.finditer(bytes(data[:1 << 16]))]
    if found:
        begin, end = chance.choice(found)
        data[begin:end] = chance.choice(STRANGE)


def number(data, chance):
    replace_match(NUMBER, data, chance)


def text(data, chance):
    replace_match(TEXT, data, chance)


def line(data, chance):
    lines = bytes(data).split(b"\n")
    at = chance.randrange(len(lines))
    lines[at:at + 1] = chance.choice(([], lines[at:at + 1] * 2, [lines[chance.randrange(len(lines))]], [b""]))
    data[:] = b"\n".join(lines)


BYTES = (flip, cut, cut_out, repeat, sign, number, number, number, text, text, line)


def change_bytes(path, chance):
    change = chance.choice(BYTES)
    data = bytearray(path.read_bytes())
    if data:
        change(data, chance)
        path.write_bytes(data)
    return f"{path.name}: {change.__name__}"


def change_header(path, chance):
    """The length of the header stays right, so that it is parsed."""
    header, data = hostile_folder.read_safetensors(path)
    words = bytearray(json.dumps(header, indent=1).encode())
    change = chance.choice(BYTES)
    change(words, chance)
    hostile_folder.write_safetensors(path, bytes(words), data)
    return f"header of {path.name}: {change.__name__}"


def change_kind(path, chance):
    """Another thing of that name."""
    kind = chance.choice(("gone", "empty", "folder", "pipe", "link to itself", "link to nothing", "device", "hole"))
    path.unlink()
    if kind == "empty":
        path.touch()
    elif kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind.startswith("link"):
        path.symlink_to(path.name if kind == "link to itself" else "/no/such/file")
    elif kind == "device":
        path.symlink_to(chance.choice(("/dev/zero", "/dev/full")))
    elif kind == "hole":
        with open(path, "wb") as file:
            file.truncate(1 << 40)
    return f"{path.name} is {kind}"


def leaves(value, path=()):
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, below in items:
        yield path + (key,)
        yield from leaves(below, path + (key,))


def change_record(step, chance):
    """One value of COMPLETE is another one, and its hash is right."""
    told = []

    def change(record):
        part = chance.choice([*record, "progress"])
        path = chance.choice([path for path in leaves(record) if path[0] == part])
        value = record
        for key in path[:-1]:
            value = value[key]
        value[path[-1]] = chance.choice((-1, 0, 2**31, 2**62, 2**64, 0.5, 1e308, True, None, "", "\x1b[31m", "x" * 100_000,
                                         "../../etc/passwd", "\x00", [], {}, [[]], {"a": 1}))
        told.append(f"{'.'.join(map(str, path))} of COMPLETE")

    hostile_folder.rewrite_complete(step, change)
    return told[0]


# ---------------------------------------------------------------- what is changed, and who reads it


class Sources(HostileFolder):
    def __init__(self, chosen):
        super().__init__(chosen, "sources")
        self.train("lora", 1, *self.SETTINGS, "train.lora={rank: 2, alpha: 4, targets: [attention.q]}")
        self.call("export", "lora", "adapters", "--dtype", "f32")
        self.call("export", "whole", "sharded", "--dtype", "f32", "--shard", "40KB")

    def in_folder(self, folder, source, names, chance):
        """Changes one file of a copy of `source`."""
        copy = folder / source
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(self.folder / source, copy)
        files = sorted(path for path in copy.rglob("*") if path.is_file() and path.match(names))
        path = chance.choice(files)
        if chance.random() < 0.1:
            return change_kind(path, chance)
        if path.suffix == ".safetensors" and chance.random() < 0.7:
            return change_header(path, chance)
        if path.name == "COMPLETE" and chance.random() < 0.7:
            return change_record(path.parent, chance)
        return change_bytes(path, chance)

    def model(self, folder, chance):
        source = chance.choice(("model", "sharded"))
        what = self.in_folder(folder, source, chance.choice(("*.json", "config.json", "*.safetensors*")), chance)
        return what, ["import", source, "new"]

    def adapters(self, folder, chance):
        if chance.random() < 0.5:
            return self.in_folder(folder, "adapters", "*", chance), ["import", "adapters", "new"]
        what = self.in_folder(folder, "lora/ckpt", "*", chance)
        return what, ["export", "lora/ckpt", "new", *chance.choice(((), ("--merge",)))]

    def tokenizer(self, folder, chance):
        shutil.copy(self.folder / "text.txt", folder)
        what = self.in_folder(folder, "model", "tokenizer*.json", chance)
        return what, ["tokenize", "text.txt", "--tokenizer", "model", "--out", "new", "--format", "llmc"]

    def a_deck(self, folder, chance):
        for name in ("text.txt", self.deck):
            shutil.copy(self.folder / name, folder)
        if chance.random() < 0.5:
            shutil.copy(self.folder / "whole" / "deck.effective.yaml", folder / self.deck)
        what = change_bytes(folder / self.deck, chance)
        return what, ["check", self.deck]

    def checkpoint(self, folder, chance):
        what = self.in_folder(folder, "whole/ckpt", "*", chance)
        return what, chance.choice((["inspect", "whole/ckpt", "--verify"], ["inspect", "whole/ckpt", "--tensors"],
                                    ["export", "whole/ckpt", "new"]))

    def metrics(self, folder, chance):
        what = self.in_folder(folder, "whole", chance.choice(("metrics.jsonl", "*.jsonl", "*.txt", "deck.effective.yaml")), chance)
        return what, chance.choice((["report", "whole", "--out", "page.html"], ["plot", "whole"], ["inspect", "whole"]))

    def one_change(self, number, seed):
        chance = random.Random(f"{seed} {number}")
        folder = self.folder / f"change{number}"
        folder.mkdir()
        kinds = (self.model, self.adapters, self.tokenizer, self.a_deck, self.checkpoint, self.metrics)
        what, words = kinds[number % len(kinds)](folder, chance)
        found = hostile_folder.call(self.binary, folder, *words)
        where = f"change {number} ({what}), {' '.join(words)}: {found.seconds:.2f} s, {found.kib >> 10} MiB\n{found.text[-2000:]}"
        expect(found.code in CODES, f"exit code {found.code} after {where}")
        expect(found.code == 0 or found.text.strip(), f"no message after {where}")
        expect("\x1b" not in found.text, f"it steers a terminal: {where}")
        expect(found.seconds < MAX_SECONDS and found.kib < MAX_KIB, f"too much time or memory: {where}")
        shutil.rmtree(folder)
        return found


def files(chosen):
    seed = int(os.environ.get("ZIGGURAT_SEED", "1"))
    count = 5000 if chosen.long else 300
    sources = Sources(chosen)
    with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
        found = list(pool.map(lambda number: sources.one_change(number, seed), range(count)))
    codes = {code: sum(each.code == code for each in found) for code in CODES}
    expect(codes[0] < 0.6 * count and codes[4] > 0 and codes[2] > 0, f"most changes are noticed: {codes}")
    say(f"{count} changed files, seed {seed}: exit codes {codes}, at most {max(each.seconds for each in found):.2f} s and "
        f"{max(each.kib for each in found) >> 10} MiB")


if __name__ == "__main__":
    trainings.run_script(__doc__, files)
