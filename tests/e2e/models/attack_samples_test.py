#!/usr/bin/env python3
"""Samples that contradict themselves, that leave nothing to learn, or that changed since the program kept them.

  attack_samples_test.py --binary ZIGGURAT --work FOLDER --mpiexec COMMAND
"""

import json
import pathlib
import socket
import struct
import sys
from concurrent.futures import ThreadPoolExecutor

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from byte_tokenizer import write_byte_tokenizer
from trainings import DECKS, ProgramFolder, expect, run_script, say

DECK, VOCAB = 2, 300
SHORT = ("train.steps=2", "schedule.warmup=1 steps", "train.global_batch=2", "train.micro_batch=1")
IDS = ("data.tokenizer=none", f"model.vocab={VOCAB}")
DPO = "train.objective={kind: dpo}"
COUNTED, LOSS_ON, TOKENS = 32, 12, 64  # offsets in a sample file


def sample_file(samples, version=1):
    """Bytes of a file as decks/DATA.md describes it; a negative token has the flag."""
    words = [-token | 1 << 31 if token < 0 else token for sample in samples for token in sample]
    begins = [0]
    for sample in samples:
        begins.append(begins[-1] + len(sample))
    header = struct.pack("<8siiqqqQQQ", b"ZGSAMPLE", version, 0, len(samples), len(words), sum(word >> 31 for word in words), 0, 0, 0)
    return header + struct.pack(f"<{len(words)}I", *words) + struct.pack(f"<{len(begins)}q", *begins)


def changed(content, offset, form, value):
    size = struct.calcsize(form)
    return content[:offset] + struct.pack(form, value) + content[offset + size:]


def of(path, kind="train"):
    return f"data.{kind}=[{{format: chat, path: {path}}}]"


class Place(ProgramFolder):
    def __init__(self, chosen, name):
        super().__init__(chosen, name)
        (self.folder / "deck.yaml").write_text((DECKS / "llama_tiny.yaml").read_text())

    def said(self, *words, **how):
        return "".join(self.call(*words, **how))

    def refused(self, text, *words):
        said = self.said(*words, code=DECK)
        expect(text in said and said.count("error:") == 1, f"{words}: not one error with '{text}'\n{said}")

    def write(self, name, content):
        (self.folder / name).write_bytes(content)
        return name

    def losses(self, run):
        rows = map(json.loads, (self.folder / run / "metrics.jsonl").read_text().splitlines())
        return [row["loss"] for row in rows if row["event"] == "step"]


def at_once(*cases):
    with ThreadPoolExecutor(3) as pool:
        for done in [pool.submit(case) for case in cases]:
            done.result()


def kept_samples_are_checked(chosen):
    """Records in a deck: their samples are kept by trainings only, and made again when their hash differs."""
    place = Place(chosen, "kept")
    write_byte_tokenizer(place.folder / "tokenizer")
    records = "".join(json.dumps({"text": f"word {i} " * 3}) + "\n" for i in range(8))
    place.write("chats.jsonl", records.encode())
    deck = ("deck.yaml", "data.tokenizer={kind: hf, path: tokenizer}", *SHORT)
    for command in ("check", "plan"):
        said = place.said(command, *deck, of("chats.jsonl"))
        expect("is encoded for this command only" in said, said)
    said = place.said("check", *deck, of("chats.jsonl"), of("chats.jsonl", "validation"))
    expect("'chats.jsonl' is validated and trained on" in said and said.count("is encoded for") == 1, said)
    expect(sorted(path.name for path in place.folder.glob("chats*")) == ["chats.jsonl"], "check and plan keep samples")
    left = place.folder / f"chats.jsonl.0123456789abcdef.samples.{socket.gethostname()}-1.tmp"
    left.write_bytes(b"of a process that was killed")
    place.said("train", *deck, of("chats.jsonl"), "run.dir=first")
    samples, = place.folder.glob("chats.jsonl.*")
    whole, first = samples.read_bytes(), place.losses("first")
    expect(samples.name.endswith(".samples"), f"{samples.name} and not the file of a killed process")
    expect("is encoded" not in place.said("check", *deck, of("chats.jsonl")), "a check does not use the kept samples")

    damages = {"token": changed(whole, TOKENS, "<I", 65 | 1 << 31), "cut": whole[:100], "foreign": sample_file([[1, -2], [3, -4]]),
               "counted": changed(whole, COUNTED, "<q", 1), "empty": b""}
    for name, content in damages.items():
        samples.write_bytes(content)
        if name == "token":
            said = place.said("check", *deck, of("chats.jsonl"))
            expect("it is damaged: its hash differs" in said and samples.read_bytes() == content, said)
        said = place.said("train", *deck, of("chats.jsonl"), f"run.dir={name}", ranks=2 if name == "cut" else 1)
        expect(said.count("is not used: it ") == 1, f"{name}: no note\n{said}")
        expect(place.losses(name) == first and samples.read_bytes() == whole, f"{name}: {place.losses(name)}, not {first}")

    # A name that no folder takes stands for a folder in which nobody can write, root included.
    long = place.write("r" * 240 + ".jsonl", records.encode())
    said = place.said("train", *deck, of(long), "run.dir=elsewhere", ranks=2)
    expect(place.losses("elsewhere") == first and len(list((place.folder / "elsewhere").glob("*.samples"))) == 1, said)
    say("samples that the program keeps are checked when they are used, and made again")


def contradictions_are_refused(chosen):
    """By check, inspect, train and eval, with the file and the place in it."""
    place = Place(chosen, "contradictions")
    whole = sample_file([[7, -8, -9], [10, -11, 12]])
    place.write("whole.samples", whole)
    deck = ("deck.yaml", *IDS, *SHORT)
    place.said("train", *deck, of("whole.samples"), "run.dir=base", "checkpoint.every=2 steps")
    byte = f"byte {COUNTED}, the number of tokens whose flag is set: "
    reasons = {"negative": (changed(whole, COUNTED, "<q", -7), byte + "-7 of 6"),
               "huge": (changed(whole, COUNTED, "<q", 1 << 60), byte + f"{1 << 60} of 6"),
               "fewer": (changed(whole, COUNTED, "<q", 2), byte + "2, but 3 tokens have it"),
               "loss_on": (changed(whole, LOSS_ON, "<i", 3), "byte 12, the tokens that count in the loss: 3"),
               "begin": (changed(whole, len(whole) - 16, "<q", 1 << 62), "sample 1 begins at token")}

    def case(name, content, reason):
        path = place.write(f"{name}.samples", content)
        text = f"{path}' is not a valid sample file ({reason}"
        place.refused(text, "check", *deck, of(path))
        place.refused(text, "inspect", path)
        if name in ("negative", "fewer"):
            place.refused(text, "train", *deck, of(path), f"run.dir={name}")
            place.refused(text, "eval", "base", "--data", path, "--format", "chat")

    at_once(*(lambda name=name, of_case=of_case: case(name, *of_case) for name, of_case in reasons.items()))
    pairs = {"prompts": ([[7, 8, -9], [7, 6, -9]], "the prompts differ: token 1 is 8 with the chosen answer and 6"),
             "flags": ([[-7, -8, -9], [-7, -8, -10]], "the first token of the chosen answer has a flag"),
             "one_flag": ([[7, -8, -9], [7, 8, -10]], "token 1 has a flag in the chosen answer only"),
             "none": ([[7, -8], [7, 9]], "no token of the rejected answer has a flag")}
    for name, (answers, reason) in pairs.items():
        path = place.write(f"{name}.samples", sample_file([[7, -8], [7, -9], *answers], version=2))
        text = f"{path}' is not a valid sample file (pair 1, samples 2 and 3, bytes 80 to "
        for command in (("check", *deck, of(path), DPO), ("inspect", path)):
            place.refused(text, *command)
            place.refused(reason, *command)
    say("files that contradict themselves are refused with the place and the reason")


def nothing_to_learn_is_an_error(chosen):
    """The targets that are left are counted, and data without any is refused before a step."""
    place = Place(chosen, "nothing")
    place.write("late.samples", sample_file([[1] * 20 + [-2], [3] * 20 + [-4]]))
    place.write("some.samples", sample_file([[1] * 20 + [-2], [3, -4, -5], [6, 7]]))
    place.write("no_flags.samples", sample_file([[1, 2, 3]] * 8))
    place.write("pairs.samples", sample_file([[1] * 8 + [-2], [1] * 8 + [-3]], version=2))
    deck = ("deck.yaml", *IDS, *SHORT)
    fields = json.loads(place.call("check", *deck, of("some.samples"), of("some.samples", "validation"), "--json")[0])
    expect(fields.get("targets") == [{"source": "data.train[0]", "counted": 3, "held_out": 0},
                                 {"source": "data.validation[0]", "counted": 3, "held_out": 0}], fields.get("targets"))
    said = place.said("check", *deck, of("some.samples"), "data.seq=8")
    expect("targets   data.train[0]: 2 tokens count in the loss\n" in said, said)
    expect("1 of 3 samples of data.train[0] has no token that counts in the loss (they are cut at data.seq = 8" in said, said)
    expect("1 of 3 samples of data.train[0] has no token that counts in the loss (none of their tokens has a flag" in said, said)
    text = "counts in the loss"
    refusals = {
        f"no token of data.train[0] {text} (samples are cut at data.seq = 8": ("train", of("late.samples"), "data.seq=8"),
        f"no token of data.train[0] {text} (data.seq = 1 leaves no token before": ("train", of("some.samples"), "data.seq=1"),
        f"no token of data.train[0] {text} (no token of its sequences has a flag": ("check", of("no_flags.samples"), "data.seq=8"),
        f"no token of data.train[0] {text} (no token of its sequences has a flag). Make": ("train", of("no_flags.samples"), "data.packing=wrapped", "data.seq=8"),
        f"no token of data.validation[0] {text} of the validation (samples are cut": ("train", of("some.samples"), of("late.samples", "validation"), "data.seq=8"),
        f"no token of data.train[0] {text} of the validation (data.held_out)": ("check", of("some.samples"), "data.held_out=34%"),
        "no pair of answers is left": ("check", of("pairs.samples"), "data.seq=8", DPO)}
    at_once(*(lambda text=text, words=words: place.refused(text, words[0], *deck, *words[1:]) for text, words in refusals.items()))
    say("data without a target is refused")


def a_bad_length_is_its_own_error(chosen):
    """A chat source without a valid data.seq: the error about it, alone."""
    place = Place(chosen, "length")
    place.write("some.samples", sample_file([[3, -4, -5]]))
    place.write("pairs.samples", sample_file([[1, -2], [1, -3]], version=2))
    (place.folder / "open.yaml").write_text((DECKS / "llama_tiny.yaml").read_text().replace(", seq: 32", "").replace(", max_seq: 32", ""))
    deck = ("open.yaml", *IDS, *SHORT)
    for case in ((of("some.samples"),), (of("pairs.samples"), DPO)):
        place.refused("data.seq", "check", *deck, *case)
        place.refused("data.seq", "train", *deck, *case, "data.seq=0")
        place.refused("data.seq", "check", *deck, *case, "data.seq=many", "model.max_seq=32")
    say("a missing or a bad data.seq is reported alone")


if __name__ == "__main__":
    run_script(__doc__, kept_samples_are_checked, contradictions_are_refused, nothing_to_learn_is_an_error, a_bad_length_is_its_own_error)
