#!/usr/bin/env python3
"""Token files as people have them: broken, bare, packed, without anything to foretell, trained on and validated.

  token_files_test.py --binary ZIGGURAT --work FOLDER --mpiexec COMMAND
"""

import argparse
import gzip
import json
import pathlib
import shutil
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from trainings import Failure, ProgramFolder, expect

DECK = pathlib.Path(__file__).resolve().parents[1] / "decks" / "llama_tiny.yaml"
TOKENS = [(i * i + i // 7) % 300 for i in range(4000)]
DOCUMENT = 5
ON_TOKENS = ("data.tokenizer=none", "model.vocab=300", "train.steps=4")


class Place(ProgramFolder):
    def __init__(self, chosen):
        super().__init__(chosen)
        deck = DECK.read_text().replace("checkpoint:", "# checkpoint:").replace("warmup: 5 steps", "warmup: 1 steps")
        (self.folder / "deck.yaml").write_text(deck)
        (self.folder / "text.txt").write_text("a text that is long enough for a few windows of tokens\n" * 200)

    def call(self, *words, ranks=0, code=0):
        """What it says, standard output before standard error."""
        return "".join(super().call(*words, ranks=ranks, code=code))

    def train(self, run, *settings, ranks=0, code=0):
        return self.call("train", "deck.yaml", f"run.dir={run}", *settings, ranks=ranks, code=code)

    def rows(self, run, event):
        lines = (self.folder / run / "metrics.jsonl").read_text().splitlines()
        return [row for row in map(json.loads, lines) if row["event"] == event]

    def write_llmc(self, name, tokens):
        (self.folder / name).write_bytes(struct.pack("<256i", 20240520, 1, len(tokens), *[0] * 253) +
                                         struct.pack(f"<{len(tokens)}H", *tokens))

    def write_raw(self, name, tokens, type_="H"):
        (self.folder / name).write_bytes(struct.pack(f"<{len(tokens)}{type_}", *tokens))

    def write_megatron(self, name, tokens, lengths, **changes):
        """A document for each of `lengths`."""
        begins = [2 * sum(lengths[:i]) for i in range(len(lengths))]
        documents = list(range(len(lengths) + 1))
        for key, value in changes.items():
            {"begins": begins, "documents": documents}[key][-1] = value
        index = b"MMIDIDX\0\0" + struct.pack("<QBQQ", 1, 8, len(lengths), len(documents))
        for type_, numbers in (("i", lengths), ("q", begins), ("q", documents)):
            index += struct.pack(f"<{len(numbers)}{type_}", *numbers)
        (self.folder / f"{name}.idx").write_bytes(index)
        self.write_raw(f"{name}.bin", tokens)


def is_read_by_all_commands_alike(place):
    for name, changes, wrong in (("wrapped", {"begins": -2147483648}, "sequence 2 of 1000 tokens begins at byte -2147483648"),
                                 ("short", {"documents": 2}, "its documents do not end with its last sequence")):
        place.write_megatron(name, TOKENS[:3000], [1000] * 3, **changes)
        settings = (*ON_TOKENS, f"data.train=[{{format: megatron, path: {name}}}]", "model.heads=3")
        said = {command: place.call(*command.split(), "deck.yaml", *settings, code=2)
                for command in ("check", "train", "plan --program", "slurm")}
        for command, words in said.items():
            expect(f"'{name}.idx' is not a valid Megatron index ({wrong}" in words, f"{command}: {words}")
            expect("command line:4:" in words, f"{command} names the place: {words}")
            expect("model.heads" in words, f"{command} says all at once: {words}")
        (place.folder / f"{name}.yaml").write_text(
            (place.folder / "deck.yaml").read_text().replace("{format: text, path: text.txt}",
                                                             f"{{format: megatron, path: {name}}}"))
        said = place.call("doctor", f"{name}.yaml", code=2)
        expect(f"'{name}.idx' is not a valid Megatron index ({wrong}" in said, f"doctor: {said}")
        said = place.call("inspect", f"{name}.idx", code=2)
        expect(wrong in said, f"inspect: {said}")


def trains_on_raw_numbers(place):
    tokens = [DOCUMENT if i % 37 == 0 else token for i, token in enumerate(TOKENS)]
    other = TOKENS[500:1500]
    place.write_llmc("train.bin", tokens)
    place.write_llmc("other.bin", other)
    sources = {"llmc": ("format: llmc, path: train.bin", "format: llmc, path: other.bin")}
    for type_, dtype in (("H", "uint16"), ("I", "uint32")):
        place.write_raw(f"train.{dtype}", tokens, type_)
        place.write_raw(f"other.{dtype}", other, type_)
        sources[dtype] = tuple(f"format: raw, path: {name}.{dtype}, dtype: {dtype}" for name in ("train", "other"))
    for cut in ("false", "true"):
        losses = {}
        for name, (train, validation) in sources.items():
            run = f"{name}_{cut}"
            said = place.train(run, *ON_TOKENS, f"data.train=[{{{train}}}]", f"data.validation=[{{{validation}}}]",
                               "validate.every=2 steps", f"data.reset_at_document={cut}", "checkpoint.every=4 steps",
                               *([f"data.document_token={DOCUMENT}"] if cut == "true" else []), ranks=2)
            expect("warning" not in said, said)
            losses[name] = [row["loss"] for event in ("step", "validate") for row in place.rows(run, event)]
        expect(len(losses["llmc"]) == 6 and losses["uint16"] == losses["llmc"] == losses["uint32"],
               f"the losses of the same tokens: {losses}")
    wanted = place.call("eval", "llmc_false", "--data", "other.bin", "--json")
    for dtype in ("uint16", "uint32"):
        said = place.call("eval", "llmc_false", "--data", f"other.{dtype}", "--format", "raw", "--dtype", dtype, "--json")
        expect(said.replace(dtype, "bin") == wanted, f"{said} {wanted}")
        head = json.loads(place.call("inspect", f"train.{dtype}", "--json"))
        expect((head["format"], head["type"], head["tokens"], head["first"]) == ("raw", dtype, 4000, tokens[:16]), head)
    said = place.call("eval", "llmc_false", "--data", "other.uint16", code=2)
    expect("it looks like bare token numbers of 16 bits). Use --format raw --dtype uint16." in said, said)
    said = place.train("refused", *ON_TOKENS, "data.train=[{format: llmc, path: train.uint16}]", code=2)
    expect("it looks like bare token numbers of 16 bits). Use {format: raw, dtype: uint16}." in said, said)


def says_that_nothing_is_to_be_foretold(place):
    place.write_megatron("documents", TOKENS, [100] * 40)
    place.write_megatron("words", TOKENS[:200], [1] * 200)
    # The only target is in the last of six sequences; a validation of one batch reads two others.
    place.write_megatron("one_target", TOKENS[:200], [1] * 190 + [2] + [1] * 8)
    said = place.train("refused", *ON_TOKENS, "data.train=[{format: megatron, path: documents}]",
                       "data.validation=[{format: megatron, path: words}]", "data.reset_at_document=true", code=2)
    expect("no token of data.validation[0] counts in the loss of the validation (each document has one token" in said, said)
    for ranks in (0, 2):
        run = f"foretold{ranks}"
        said = place.train(run, *ON_TOKENS, "data.train=[{format: megatron, path: documents}]",
                           "data.validation=[{format: megatron, path: one_target}]", "data.reset_at_document=true",
                           "train.global_batch=2", "train.micro_batch=1", "validate.batches=1",
                           "validate.every=2 steps", "checkpoint.every=4 steps", ranks=ranks)
        expect("nan" not in said, said)
        expect(said.count("no target tokens, so it has no loss") == 1, f"says so once: {said}")
        expect(said.count("| no target tokens") == 2, f"each validation has its line: {said}")
        rows = place.rows(run, "validate")
        expect([(row["loss"], row["loss_tokens"]) for row in rows] == [(None, 0)] * 2, rows)
        expect(not any("loss_nonfinite" in row for row in rows), rows)
        said = place.call("eval", run, "--data", "words", "--format", "megatron", ranks=ranks, code=2)
        expect("ziggurat: error: --data: 'words' has no target tokens" in said and "nan" not in said, said)
        expect(said.count("error: ") == 1, f"says it once: {said}")
        place.call("eval", run, "--data", "documents", "--format", "megatron", ranks=ranks)


def warns_of_validation_that_is_trained_on(place):
    for name in ("part1", "part2"):
        place.write_llmc(f"{name}.bin", TOKENS[:2000] if name == "part1" else TOKENS[2000:])
    shutil.copy(place.folder / "part2.bin", place.folder / "copy.bin")
    (place.folder / "link.bin").symlink_to("part1.bin")
    for validation, trained, how in (("part2.bin", "part2.bin", "is that file"), ("link.bin", "part1.bin", "is that file"),
                                     ("copy.bin", "part2.bin", "has the same bytes")):
        settings = (*ON_TOKENS, "data.train=[{format: llmc, path: 'part?.bin'}]", "validate.every=2 steps",
                    f"data.validation=[{{format: llmc, path: {validation}}}]")
        wanted = f"'{validation}' is validated and trained on ('{trained}' of data.train[0] {how})"
        for said in (place.call("check", "deck.yaml", *settings), place.train(f"shared_{validation}", *settings)):
            expect(said.count("warning: ") == 1 and wanted in said, f"{wanted}\n{said}")
    place.write_llmc("new.bin", TOKENS[::-1])
    said = place.call("check", "deck.yaml", *settings, "data.validation=[{format: llmc, path: new.bin}]")
    expect("warning" not in said, said)


def warns_of_what_is_no_text(place):
    place.write_raw("tokens.txt", TOKENS * 4)
    (place.folder / "packed.txt").write_bytes(gzip.compress((place.folder / "tokens.txt").read_bytes(), mtime=0))
    place.train("text", "train.steps=2", "checkpoint.every=2 steps")
    settings = ("data.train=[{format: text, path: tokens.txt}]", "train.steps=2")
    why = "'tokens.txt' is read as text ("
    for said in (place.call("check", "deck.yaml", *settings), place.train("no_text", *settings),
                 place.call("eval", "text", "--data", "tokens.txt")):
        expect(said.count("warning: ") == 1 and why in said and "it looks like bare token numbers of 16 bits" in said, said)
    for command in ("check", "train"):  # eval unpacks it
        said = place.call(command, "deck.yaml", "data.train=[{format: text, path: packed.txt}]", "run.dir=packed", code=2)
        expect("'packed.txt' is not plain text (it is a gzip archive)" in said, said)
    expect("warning" not in place.call("check", "deck.yaml") + place.call("eval", "text", "--data", "text.txt"),
           "text is text")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", required=True)
    parser.add_argument("--work", required=True)
    parser.add_argument("--mpiexec", required=True)
    place = Place(parser.parse_args())
    for check in (is_read_by_all_commands_alike, trains_on_raw_numbers, says_that_nothing_is_to_be_foretold,
                  warns_of_validation_that_is_trained_on, warns_of_what_is_no_text):
        check(place)
        print(f"ok: {check.__name__}", flush=True)


if __name__ == "__main__":
    try:
        main()
    except Failure as failure:
        sys.exit(f"FAILED: {failure}")
