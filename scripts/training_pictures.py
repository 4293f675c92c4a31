#!/usr/bin/env python3
"""Draws docs/pictures/blend.svg and docs/pictures/preference.svg from two small trainings. It takes about two minutes.

  scripts/training_pictures.py [ZIGGURAT]     the program (default: build/release/bin/ziggurat)

The first run trains on the prose of docs/ and the code of lib/, and their weights change. The second one trains its
weights on pairs of answers: the rest of a sentence of docs/, and the same words in another order.
"""

import json
import pathlib
import random
import re
import struct
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
PICTURES = ROOT / "docs" / "pictures"
SEQ = 128
MODEL = {"family": "llama", "layers": 2, "hidden": 96, "heads": 4, "ffn_hidden": 256, "max_seq": 2 * SEQ,
         "vocab": 256}
BLEND = {
    "deck_version": 1, "run": {"name": "blend", "dir": "blend", "seed": 1}, "model": MODEL,
    "data": {"tokenizer": "bytes", "seq": SEQ, "held_out": "5%",
             "train": [{"format": "text", "path": "prose.txt", "weight": [[0, 0.8], [200, 0.2]]},
                       {"format": "text", "path": "code.txt", "weight": [[0, 0.2], [200, 0.8]]}]},
    "train": {"steps": 400, "global_batch": 16, "micro_batch": 16}, "validate": {"every": "50 steps", "batches": 4},
    "optimizer": {"lr": 3e-3}, "schedule": {"kind": "cosine", "warmup": "30 steps"}, "precision": {"compute": "fp32"},
    "checkpoint": {"every": "400 steps"}}
PREFERENCE = BLEND | {
    "run": {"name": "preference", "dir": "preference", "seed": 1},
    "model": MODEL | {"init": {"from": "checkpoint", "path": "blend"}},
    "data": {"tokenizer": "none", "seq": 2 * SEQ, "packing": "none", "train": [{"format": "chat", "path": "pairs.samples"}],
             "validation": [{"format": "chat", "path": "held_out.samples"}]},
    "train": {"steps": 120, "global_batch": 8, "micro_batch": 8, "objective": {"kind": "dpo", "beta": 0.1}},
    "validate": {"every": "20 steps", "batches": 4},
    "optimizer": {"lr": 3e-5}, "schedule": {"kind": "cosine", "warmup": "10 steps"}, "checkpoint": {"every": "120 steps"}}


def write_samples(path, pairs):
    """Writes pairs of answers, a token per byte, in the format of decks/DATA.md."""
    words, begins, counted = [], [0], 0
    for prompt, *answers in pairs:
        for answer in answers:
            words += [*prompt, *(byte | 1 << 31 for byte in answer)]
            begins.append(len(words))
            counted += len(answer)
    header = struct.pack("<8siiqqqQQQ", b"ZGSAMPLE", 2, 0, len(begins) - 1, len(words), counted, 0, 0, 0)
    path.write_bytes(header + struct.pack(f"<{len(words)}I", *words) + struct.pack(f"<{len(begins)}q", *begins))


def pairs_of(text):
    """The beginning of each sentence with its rest, and with the same words in another order."""
    pairs, draw = [], random.Random(1)
    for sentence in re.findall(r"(?<![^ \n])[A-Z][^.|\n]{50,110}[.](?=[ \n])", text):
        words = sentence.split()
        half = len(words) // 2
        rest = words[half:]
        mixed = draw.sample(rest, len(rest))
        if mixed != rest:
            pairs.append([part.encode() for part in (" ".join(words[:half]), " " + " ".join(rest), " " + " ".join(mixed))])
    draw.shuffle(pairs)
    return pairs


def main():
    program = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build/release/bin/ziggurat").resolve()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)

        def call(*words):
            subprocess.run([program, *map(str, words)], cwd=folder, check=True)

        prose = "\n".join(path.read_text() for path in sorted((ROOT / "docs").glob("*.md")))
        (folder / "prose.txt").write_text(prose)
        (folder / "code.txt").write_text("\n".join(path.read_text() for path in sorted((ROOT / "lib").rglob("*.cpp"))))
        pairs = pairs_of(prose)
        write_samples(folder / "held_out.samples", pairs[:32])
        write_samples(folder / "pairs.samples", pairs[32:])
        for deck in (BLEND, PREFERENCE):
            run = deck["run"]["name"]
            (folder / f"{run}.yaml").write_text(json.dumps(deck, indent=1))
            call("train", f"{run}.yaml")
            call("plot", run, "--smooth", 10, "--out", PICTURES / f"{run}.svg")


if __name__ == "__main__":
    main()
