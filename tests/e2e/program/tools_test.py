#!/usr/bin/env python3
"""What one does with checkpoints: inspect, sample and eval, on any number of ranks and on broken input.

  tools_test.py --layout data|grid --binary ZIGGURAT --work FOLDER --mpiexec COMMAND
"""

import argparse
import itertools
import json
import math
import pathlib
import shutil
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from trainings import GRID, GRID_RANKS, Failure, ProgramFolder

PROMPT = "a text"
TOKENS = 40


class Place(ProgramFolder):
    """A folder with a run of 20 steps that has saved three times, and the program. `layout`: how inspect tells of it;
    `bound`: how far apart losses may be that training and eval have summed in their own orders."""

    def __init__(self, chosen, family, layout="data 3", bound=0.0):
        super().__init__(chosen, family)
        self.layout, self.bound = layout, bound
        (self.folder / "text.txt").write_text("a text that is long enough for a few windows of tokens\n" * 200)
        # Whole windows of 32 tokens: eval --data also counts a partial one, which validation leaves out.
        text = "another text, which nobody has trained on: 0123456789\n" * 60
        (self.folder / "other.txt").write_text(text[:32 * (len(text) // 32 - 1) + 1])
        shutil.copy(pathlib.Path(__file__).resolve().parents[1] / "decks" / f"{family}_tiny.yaml", self.folder / "deck.yaml")
        self.run = self.folder / "run"

    def train(self, *settings, run=None, ranks=3, sampled=True):
        sample = [f"validate.sample={{prompt: '{PROMPT}', tokens: {TOKENS}, temperature: 0.8}}"] if sampled else []
        self.call("train", "deck.yaml", f"run.dir={run or self.run}", "run.resume=auto", "train.steps=20",
                  "checkpoint.every=[5 steps]", "checkpoint.keep.last=3",
                  "data.validation=[{format: text, path: other.txt}]", "validate.every=20 steps", *sample, *settings,
                  ranks=ranks)

    def step(self, number, run=None):
        return (run or self.run) / "ckpt" / f"step-{number:09d}"

    def copy(self, name):
        """The run under another name, to be damaged."""
        made = self.folder / name
        shutil.rmtree(made, ignore_errors=True)
        shutil.copytree(self.run, made)
        return made


def expect(holds, what, output=""):
    if not holds:
        raise Failure(f"{what}\n{output}")


def validated(run):
    """The last validation of a run."""
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    return [line for line in lines if line["event"] == "validate"][-1]


def trained_sample(run):
    """What training printed after its last validation."""
    lines = (run / "run.log").read_text().split("sample after step 20", 1)[1].split("\n")[1:]
    return "".join(line[4:] + "\n" for line in itertools.takewhile(lambda line: line.startswith("  | "), lines))


def lists(place):
    for path in (place.run, place.run / "ckpt"):
        found = json.loads(place.call("inspect", path, "--json")[0])["checkpoints"]
        expect([one["step"] for one in found] == [10, 15, 20], "lists the three steps", found)
        expect(all(one["state"] == "complete" and one["why_not"] is None for one in found), "all complete", found)
        expect([one["progress"]["next_sample"] for one in found] == [300, 450, 600], "the samples", found)
        expect(all(one["bytes"] == sum(file.stat().st_size for file in pathlib.Path(one["path"]).iterdir())
                   for one in found), "the bytes of all files", found)
    text = place.call("inspect", place.run)[0]
    expect(text.count(" complete ") == 3 and place.layout in text, "says it to people", text)
    text = place.call("inspect", place.step(15), "--tensors")[0]
    expect("step       15" in text and "layers.1." in text and "second_moment" in text, "lists tensors", text)


def compares(place):
    everything = json.loads(place.call("inspect", place.step(20), "--tensors", "--json")[0])["tensors"]
    same = json.loads(place.call("inspect", place.run, "--diff", place.step(20), "--json")[0])
    expect(same["same"] and len(same["tensors"]) == len(everything), "the newest is the same as itself", same)
    other = json.loads(place.call("inspect", place.step(20), "--diff", place.step(15), "--json", code=1)[0])
    expect(not other["same"] and other["second_progress"]["step"] == 15, "another step differs", other)
    expect(all(tensor["differing"] > 0 for tensor in other["tensors"]), "in every tensor", other["tensors"])

    fewer = place.folder / "fewer"
    place.train("sharding.zero=3", "run.seed=7", run=fewer)
    text = place.call("inspect", place.run, "--diff", fewer, code=1)[0]
    expect("run.seed: 4321 and 7" in text, "names what the decks differ in", text)
    elsewhere = place.folder / "elsewhere"
    place.train("sharding.zero=0", "sharding.reduce=each_microbatch", run=elsewhere)
    text = place.call("inspect", place.run, "--diff", elsewhere)[0]
    expect("sharding.zero: 3 and 0" in text, "another layout is the same state", text)
    expect(f"tensors: {len(everything)} of {len(everything)} have the same bits" in text, "bit by bit", text)


def shows_numbers(place):
    said = json.loads(place.call("inspect", place.run, "--tensor", "layers.0.mlp.up.weight", "--json")[0])
    expect([row["kind"] for row in said["tensors"]] == ["weights", "first_moment", "second_moment"], "all kinds", said)
    for row in said["tensors"]:
        expect(row["min"] < row["mean"] < row["max"] and row["norm"] > 0 and row["nonfinite"] == 0, "sane numbers", row)
        expect(len(row["first"]) == 8, "the first few", row)
    message = place.call("inspect", place.run, "--tensor", "layers.0.mlp.up.wieght", code=2)[1]
    expect("Did you mean 'layers.0.mlp.up.weight'?" in message, "says what was meant", message)


def verifies(place):
    text = place.call("inspect", place.run, "--verify")[0]
    expect("3 checkpoints" in text and "all bytes verified" in text, "nothing is damaged", text)
    run = place.copy("damaged")
    shard = sorted(place.step(15, run).glob("shard-*.h5"))[0]
    content = bytearray(shard.read_bytes())
    content[len(content) // 2] ^= 1
    shard.write_bytes(content)
    text = place.call("inspect", run, "--verify", code=4)[0]
    expect(text.count("corrupt: ") == 1 and shard.name in text and "1 corrupt item\n" in text, "names the file", text)
    expect(len(json.loads(place.call("inspect", "--verify", "--json", run, code=4)[0])["checkpoints"]) == 3,
           "all are checked")
    (place.step(20, run) / "COMPLETE").write_text("{}")
    text = place.call("inspect", run, "--verify", code=4)[0]
    expect("COMPLETE" in text and shard.name in text, "names both", text)
    text = place.call("inspect", run)[0]
    expect(" CORRUPT " in text, "the list says so", text)


def samples(place):
    # In bf16, two tensor ranks round other sums than one rank, which may choose another token.
    texts = {place.call("sample", place.run, "--prompt", PROMPT, "--tokens", TOKENS, "--compute", "fp32", ranks=ranks)[0]
             for ranks in (0, 2, 3)}
    expect(len(texts) == 1, "the same text on any number of ranks", texts)
    text = place.call("sample", place.run, "--prompt", PROMPT, "--tokens", TOKENS)[0]
    wanted = trained_sample(place.run)
    expect(text == wanted, "the text that training has printed", f"{wanted}\n{text}")
    other = place.call("sample", place.run, "--prompt", PROMPT, "--tokens", TOKENS, "--seed", 7)[0]
    expect(other != text, "another seed gives another text", other)
    coldest = {place.call("sample", place.run, "--prompt", PROMPT, "--tokens", 5, "--temperature", 0, "--seed", seed)[0]
               for seed in (1, 2)}
    expect(len(coldest) == 1, "no chance at temperature 0", coldest)
    message = place.call("sample", place.run, "--prompt", PROMPT, "--tokens", 5, "--compute", "fp16", code=2)[1]
    expect("fp32" in message and "bf16" in message, "names the number types", message)
    for limit in (("--top-k", 1), ("--top-p", 1e-9)):
        text = place.call("sample", place.run, "--prompt", PROMPT, "--tokens", 5, *limit)[0]
        expect({text} == coldest, f"the most likely token alone with {limit}", text)
    whole = wanted[len(PROMPT):]
    ends = next(letter for letter in whole[3:] if letter in "GHIJKLMNOPQRSTUVWYZghijklmopqrsuvwyz#@")  # in no escape
    text = place.call("sample", place.run, "--prompt", PROMPT, "--tokens", TOKENS, "--stop", ends, ranks=3)[0]
    expect(text == PROMPT + whole[:whole.index(ends)] + "\n", "ends before the text", f"{wanted}\n{text}")
    message = place.call("sample", place.run, "--prompt", PROMPT * 50, "--tokens", 1)[1]
    expect("it continues from the last" in message, "says that the prompt is cut", message)
    message = place.call("sample", place.step(10), "--prompt", PROMPT, "--tokens", 5)[1]
    expect("step 10" in message, "takes the step that is named", message)


def evaluates(place):
    wanted = validated(place.run)
    for ranks in (0, 2):
        said = json.loads(place.call("eval", place.run, "--data", "other.txt", "--json", ranks=ranks)[0])
        expect(abs(said["loss"] - wanted["loss"]) <= place.bound and said["tokens"] == wanted["loss_tokens"],
               f"the loss that validation had, within {place.bound}, on {ranks} ranks", f"{said}\n{wanted}")
        expect(math.isclose(said["perplexity"], math.exp(said["loss"])), "perplexity", said)
        own = json.loads(place.call("eval", place.run, "--json", ranks=ranks)[0])
        expect(own == said | {"data": "data.validation of the run: 'other.txt'"}, "the run's own data without --data", own)
    text = place.call("eval", place.run, "--data", "other.txt", "--format", "text")[0]
    expect("nats per token" in text and "bits per byte" in text, "says it to people", text)


def evaluates_own_data(place):
    """Without --data, on what the run's validations take: here two batches of a share that is held out."""
    run = place.folder / "held"
    place.train("data.validation=[]", "data.held_out=20%", "validate.batches=2", run=run, sampled=False, ranks=0)
    wanted = validated(run)
    said = json.loads(place.call("eval", run, "--json")[0])
    expect(abs(said["loss"] - wanted["loss"]) <= place.bound and said["tokens"] == wanted["loss_tokens"],
           "the loss that validation had", f"{said}\n{wanted}")
    expect(said["data"] == "data.held_out of the run: the last 20 % of 'text.txt' (2 batches, from validate.batches)",
           "says what it is", said)
    text = (place.folder / "text.txt").read_text()
    (place.folder / "text.txt").write_text(text + text[:100])
    message = place.call("eval", run)[1]
    expect("'text.txt' has changed since the checkpoint was written" in message, "another part is the last 20 %", message)
    (place.folder / "text.txt").rename(place.folder / "gone.txt")
    message = place.call("eval", run, ranks=2, code=2)[1]
    expect("text.txt' (No such file" in message and f" in '{place.folder.resolve()}')" in message and "--data FILE" in message,
           "says where it was looked for", message)
    (place.folder / "text.txt").write_text(text)
    place.train("data.validation=[]", "validate.every=none", run=place.folder / "none", sampled=False, ranks=0)
    message = place.call("eval", place.folder / "none", code=2)[1]
    expect("has neither data.validation nor data.held_out). Give --data FILE." in message, "says what to do", message)


def looks_elsewhere(place):
    """Neither the data of the run nor where it was are needed; a damaged checkpoint is passed over."""
    run = place.copy("moved")
    (place.folder / "text.txt").rename(place.folder / "gone.txt")
    (place.step(20, run) / "COMPLETE").write_text("{}")
    message = place.call("sample", run, "--prompt", PROMPT, "--tokens", 3, ranks=2)[1]
    expect("note: " in message and "step 15" in message, "goes back to the one before, and says so", message)
    (place.folder / "gone.txt").rename(place.folder / "text.txt")
    shard = sorted(place.step(15, run).glob("shard-*.h5"))[0]
    content = shard.read_bytes()
    shard.write_bytes(content[:len(content) // 2] + bytes(len(content) - len(content) // 2))
    message = place.call("eval", place.step(15, run), "--data", "other.txt", ranks=2, code=4)[1]
    expect(shard.name in message, "damage found while reading is named", message)


def refuses(place):
    empty = place.folder / "empty"
    empty.mkdir()
    foreign = place.folder / "foreign"
    (foreign / "ckpt" / "step-000000003").mkdir(parents=True)
    (foreign / "ckpt" / "step-000000003" / "COMPLETE").write_bytes(bytes(range(256)))
    half = place.folder / "half"
    (half / "ckpt" / "step-000000003.tmp").mkdir(parents=True)
    prompt, data = ("--prompt", PROMPT), ("--data", "other.txt")
    for words, code, says in (
            (("inspect", "nowhere"), 2, "there is no such folder"),
            (("inspect", "deck.yaml", "--tensors"), 2, "is for checkpoints"),
            (("inspect", empty), 4, "there is no checkpoint"),
            (("inspect", foreign, "--tensors"), 4, "COMPLETE"),
            (("inspect", half, "--tensors"), 4, "unfinished"),
            (("inspect", place.run, "--diff", empty), 4, "there is no checkpoint"),
            (("sample", "nowhere", *prompt), 2, "there is no such folder"),
            (("sample", empty, *prompt), 4, "there is no checkpoint"),
            (("sample", foreign, *prompt), 4, "no checkpoint in"),
            (("sample", half, *prompt), 4, "no checkpoint in"),
            (("sample", place.run), 2, "no prompt is given"),
            (("eval", place.run, "--format", "text"), 2, "--format requires --data"),
            (("eval", place.run, "--choices", "c.jsonl"), 2, "--choices requires --task"),
            (("eval", place.run, "--data", "nowhere.txt"), 2, "nowhere.txt"),
            (("eval", place.run, "--data", "deck.yaml", "--format", "llmc"), 2, "it reads bytes of text"),
            (("eval", empty, *data), 4, "there is no checkpoint")):
        message = place.call(*words, code=code)[1]
        expect(says in message and message.startswith("ziggurat: error: ") and message.count("\n") < 12,
               f"{' '.join(map(str, words))}: says '{says}'", message)
    message = place.call("sample", empty, *prompt, ranks=3, code=4)[1]
    expect(message.count("there is no checkpoint") == 1, "says it once for all ranks", message)
    (place.folder / "short.txt").write_text("s")
    message = place.call("eval", place.run, "--data", "short.txt", ranks=2, code=2)[1]
    expect("error: --data: 1 token" in message and "too few" in message, "a file without one window", message)
    expect(place.call("inspect", foreign, "--verify", code=4)[0].count("corrupt: ") == 1, "a foreign COMPLETE is damage")
    expect(" unfinished " in place.call("inspect", half)[0], "lists a save that was cut short")


def tokens_file(path, tokens):
    """llm.c's format: a header of 256 words, then a token in each two bytes."""
    path.write_bytes(struct.pack("<256i", 20240520, 1, len(tokens), *[0] * 253) +
                     struct.pack(f"<{len(tokens)}H", *tokens))


def reads_tokens(chosen):
    """A model of token numbers has no text to go on with, and takes files of tokens."""
    place = Place(chosen, "llama")
    tokens_file(place.folder / "train.bin", [(i * i) % 300 for i in range(4000)])
    tokens_file(place.folder / "other.bin", [(i * 7) % 300 for i in range(385)])
    tokens_file(place.folder / "foreign.bin", [5] * 399 + [300])
    place.train("data.tokenizer=none", "model.vocab=300", "data.train=[{format: llmc, path: train.bin}]",
                "data.validation=[{format: llmc, path: other.bin}]", ranks=2, sampled=False)
    wanted = validated(place.run)
    for ranks in (0, 3):
        said = json.loads(place.call("eval", place.run, "--data", "other.bin", "--json", ranks=ranks)[0])
        expect(said["loss"] == wanted["loss"], f"the loss that validation had, on {ranks} ranks", f"{said}\n{wanted}")
    message = place.call("eval", place.run, "--data", "foreign.bin", ranks=2, code=2)[1]
    expect("error: --data" in message and "300" in message, "a token that the model does not have", message)
    message = place.call("eval", place.run, "--data", "text.txt", "--format", "text", code=2)[1]
    expect("it reads token numbers" in message, "text for a model of tokens", message)
    message = place.call("sample", place.run, "--prompt", PROMPT, code=2)[1]
    expect("Give the tokenizer that made them" in message, "nothing to make a text of", message)
    print("ok: reads_tokens", flush=True)


def run_checks(place, checks):
    for check in checks:
        check(place)
        print(f"ok: {place.layout}: {check.__name__}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", required=True)
    parser.add_argument("--work", required=True)
    parser.add_argument("--mpiexec", required=True)
    parser.add_argument("--layout", choices=("data", "grid"), required=True, help="of the checkpoints")
    chosen = parser.parse_args()
    if chosen.layout == "grid":
        grid = Place(chosen, "gpt2", "tensor 2, context 1, data 1, pipeline 2", bound=1e-6)
        grid.train("precision.compute=fp32", *GRID, ranks=GRID_RANKS)
        return run_checks(grid, (lists, verifies, samples, evaluates))
    cut_by_data = Place(chosen, "llama")
    cut_by_data.train("sharding.zero=3")
    run_checks(cut_by_data, (lists, compares, shows_numbers, verifies, samples, evaluates, evaluates_own_data, looks_elsewhere,
                             refuses))
    reads_tokens(chosen)


if __name__ == "__main__":
    try:
        main()
    except Failure as failure:
        sys.exit(f"FAILED: {failure}")
