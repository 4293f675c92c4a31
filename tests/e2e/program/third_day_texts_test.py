#!/usr/bin/env python3
"""Text files mean one thing in all commands; failed commands leave nothing in the way of their repair.

  third_day_texts_test.py --binary ZIGGURAT --work FOLDER --mpiexec COMMAND
"""

import gzip
import json
import os
import pathlib
import struct
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import trainings
from trainings import PATIENCE_S, Place, expect, run_script, say

DECK, RESOURCE = 2, 3
DOCUMENTS = [f"document {i} of a few words, {i * i}" for i in range(60)]


class Texts(Place):
    def call(self, *words, code=0):
        done = subprocess.run([self.binary, *map(str, words)], cwd=self.folder, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=PATIENCE_S)
        expect(done.returncode == code, f"{words} ended with {done.returncode}, not {code}\n{done.stdout}")
        return done.stdout

    def loss(self, data, *more):
        return json.loads(self.call("eval", "run", "--data", data, "--json", *more))["loss"]


def json_lines_are_documents(chosen):
    """In eval as in tokenize, packed or not; a deck refuses them, with the command that makes tokens."""
    place = Texts(chosen, "lines")
    place.train("run", 1, "train.steps=4", "checkpoint.every=4 steps", "schedule={kind: constant, warmup: 0 steps}")
    lines = "".join(json.dumps({"text": text, "id": i}) + "\n" for i, text in enumerate(DOCUMENTS))
    (place.folder / "web.jsonl").write_text(lines)
    (place.folder / "web.json").write_text(lines)
    (place.folder / "web.jsonl.gz").write_bytes(gzip.compress(lines.encode()))
    (place.folder / "whole.txt").write_text("".join(DOCUMENTS))
    wanted = place.loss("whole.txt")
    for name in ("web.jsonl", "web.json", "web.jsonl.gz"):
        expect(place.loss(name) == wanted, f"{name}: another loss than that of its texts")
    (place.folder / "braces.txt").write_text(lines)
    expect(place.loss("braces.txt") == wanted, "by its content, whatever it is called")
    for name, why in (("web.jsonl", "each line is a JSON object"), ("web.jsonl.gz", "it is a gzip archive")):
        said = place.call("check", place.deck, f"data.train=[{{format: text, path: {name}}}]", code=DECK)
        expect(why in said and f"ziggurat tokenize {name} --tokenizer bytes" in said, said)
        expect("with data.tokenizer: none and model.vocab: 256" in said, said)
        place.call("tokenize", name, "--tokenizer", "bytes", "--out", f"from_{name}", "--format", "llmc")
        place.call("check", place.deck, f"data.train=[{{format: llmc, path: from_{name}.bin}}]", "data.tokenizer=none",
                   "model.vocab=256")  # as the message says
    say("JSON lines")


def a_failed_command_blocks_nothing(chosen):
    place = Texts(chosen, "repairs")
    (place.folder / "bad.jsonl").write_text('{"text": 5}\n')
    said = place.call("tokenize", "bad.jsonl", "--tokenizer", "bytes", "--out", "out", "--format", "llmc", code=DECK)
    expect(said.startswith("ziggurat: error: "), f"the first word is not the error\n{said}")
    expect(not list(place.folder.glob("out*")), f"left: {list(place.folder.glob('out*'))}")
    (place.folder / "bad.jsonl").write_text('{"body": "b"}\n')
    place.call("tokenize", "bad.jsonl", "--tokenizer", "bytes", "--out", "out", "--format", "llmc", "--field", "body")
    say("a command is repaired by another")


def check_refuses_what_train_refuses(chosen):
    place = Texts(chosen, "checks")
    tokens = bytes(range(200)) * 20
    (place.folder / "tokens.bin").write_bytes(b"".join(bytes([value, 0]) for value in tokens))
    settings = ["data.tokenizer=none", "data.train=[{format: raw, dtype: uint16, path: tokens.bin}]"]
    for code, vocab in ((0, 200), (DECK, 100)):
        place.call("check", place.deck, "--ranks", "1", *settings, f"model.vocab={vocab}", code=code)
    trainings.say("token ids beyond the vocabulary")


def write_megatron(prefix, documents):
    """A pair as preprocess_data.py writes it."""
    tokens = [token for document in documents for token in document]
    prefix.with_suffix(".bin").write_bytes(struct.pack(f"<{len(tokens)}H", *tokens))
    lengths = [len(document) for document in documents]
    offsets = [2 * sum(lengths[:i]) for i in range(len(lengths))]
    head = b"MMIDIDX\0\0" + struct.pack("<QBQQ", 1, 8, len(lengths), len(lengths) + 1)
    prefix.with_suffix(".idx").write_bytes(head + struct.pack(f"<{len(lengths)}i", *lengths) +
                                           struct.pack(f"<{len(lengths)}q", *offsets) +
                                           struct.pack(f"<{len(lengths) + 1}q", *range(len(lengths) + 1)))


def other_files_are_recognised(chosen):
    """A Megatron pair is read by any of its names; models and runs are named, with the command that is meant."""
    place = Texts(chosen, "others", "llama")
    write_megatron(place.folder / "pair", [[1, 2, 3, 4, 5] * 20, [7, 8, 9] * 30])
    settings = ["train.steps=2", "checkpoint.every=2 steps", "schedule={kind: constant, warmup: 0 steps}"]
    place.train("bytes", 1, *settings)
    place.train("run", 1, *settings, "data.tokenizer=none", "data.train=[{format: megatron, path: pair}]", "model.vocab=256")
    losses = {place.loss(name) for name in ("pair", "pair.bin", "pair.idx")}
    expect(losses == {place.loss("pair", "--format", "megatron")}, f"one pair, and the losses {losses}")
    place.call("export", "bytes", "model")
    weights = "model/model.safetensors"
    wanted = {
        ("eval", "bytes", "--data", "pair.bin"): "is a Megatron pair of token files",
        ("eval", "bytes", "--data", "pair"): "is a Megatron pair of token files",
        ("eval", "bytes", "--data", weights): "weights of a model (safetensors)). Import its model",
        ("eval", "run", "--data", weights): "weights of a model (safetensors)",
        ("eval", "bytes", "--data", "model"): "ziggurat import model RUN, then ziggurat eval RUN --data FILE",
        ("eval", "bytes", "--data", "run"): "ziggurat eval run --data FILE",
        ("eval", "bytes", "--data", "run/ckpt"): "has checkpoints, not data",
        ("eval", "bytes", "--data", "."): "is a folder. Name a file",
        ("eval", "model", "--data", "text.txt"): "ziggurat import model RUN, then name RUN",
        ("sample", "model", "--prompt", "a"): "ziggurat import model RUN, then name RUN",
        ("sample", weights, "--prompt", "a"): "ziggurat import model RUN, then name RUN",
        ("sample", "pair.idx", "--prompt", "a"): "It looks like a token file: name a run here, tokens with --data",
        ("inspect", "model"): "ziggurat import model RUN, then name RUN",
        ("inspect", weights): "weights of a model (safetensors)). Import its model",
    }
    for words, text in wanted.items():
        said = place.call(*words, code=DECK)
        expect(text in said, f"{words}: {said}")
    for name in ("pair", "pair.bin", "pair.idx"):
        expect("documents   2 in 2 sequences" in place.call("inspect", name), f"inspect {name}")
    say(f"{len(wanted)} other files")


def times_are_those_of_kept_peaks(chosen):
    """Before a training nobody knows the rate of products, and the command that measures is named; then it is kept."""
    place = Texts(chosen, "times")
    (place.folder / "config").mkdir()
    os.environ["XDG_CONFIG_HOME"] = str(place.folder / "config")
    commands = [[command, place.deck, "--ranks", "1"] for command in ("check", "plan")]
    for words in commands:
        said = place.call(*words)
        expect("time      unknown" in said and "Measure on that machine: ziggurat bench all" in said, said)
    said = place.call("check", place.deck, "--machine", "dgx-h100", "--ranks", "1")
    expect("Measure on that machine" not in said, said)
    place.call("train", place.deck, "run.dir=measured", "train.steps=1", "schedule.warmup=0 steps")
    for words in commands:
        said = place.call(*words)
        expect("time      estimated: a step takes" in said and "time      unknown" not in said, said)
    expect(json.loads(place.call("check", place.deck, "--ranks", "1", "--json"))["time"]["step_s"] > 0, "as JSON")
    say("times by kept peaks")


if __name__ == "__main__":
    run_script(__doc__, times_are_those_of_kept_peaks, other_files_are_recognised, json_lines_are_documents, a_failed_command_blocks_nothing, check_refuses_what_train_refuses)
