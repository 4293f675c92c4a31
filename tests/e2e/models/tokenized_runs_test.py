#!/usr/bin/env python3
"""A run on token numbers that knows its tokenizer: its samples are text, its losses bits per byte, and no other tokenizer
takes the place of its own.

  tokenized_runs_test.py --binary ZIGGURAT --work FOLDER --mpiexec COMMAND

Runs by a Python with tokenizers and sentencepiece, which scripts/setup.sh --tests makes in build/peers; without one it
says so and leaves with 77. Vocabularies are trained here.
"""

import argparse
import json
import math
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import peers

peers.need("numpy", "sentencepiece", "tokenizers")

import numpy
import sentencepiece
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

from trainings import Failure, ProgramFolder, expect

ROOT = pathlib.Path(__file__).resolve().parents[3]
END = "<|endoftext|>"
HEADER_BYTES = 1024
STRANGE = "naïve œuvre — 中文 и так далее 🏽\n"
SEQ = 16


class Place(ProgramFolder):
    decoding = "replace"

    def ziggurat(self, *words, ranks=1, code=0):
        return "".join(self.call(*words, ranks=ranks, code=code))  # a launcher passes them on in any order

    def tokens(self, name):
        return numpy.fromfile(self.folder / name, numpy.uint16, offset=HEADER_BYTES).tolist()


def texts():
    return [(ROOT / name).read_text() for name in ("README.md", "lib/README.md", "tests/README.md", "decks/DATA.md")]


def make_hf(place):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.train_from_iterator(texts(), trainers.BpeTrainer(
        vocab_size=500, show_progress=False, special_tokens=[END], initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    (place.folder / "hf").mkdir()
    tokenizer.save(str(place.folder / "hf" / "tokenizer.json"))
    return tokenizer


def make_sentencepiece(place):
    (place.folder / "sp").mkdir()
    (place.folder / "sp.txt").write_text("\n".join(texts()))
    sentencepiece.SentencePieceTrainer.train(
        input=str(place.folder / "sp.txt"), model_prefix=str(place.folder / "sp" / "tokenizer"), vocab_size=600, byte_fallback=True,
        model_type="bpe", normalization_rule_name="identity", remove_extra_whitespaces=False, minloglevel=2)
    return sentencepiece.SentencePieceProcessor(model_file=str(place.folder / "sp" / "tokenizer.model"))


def write_deck(place, name, tokenizer):
    (place.folder / f"{name}.yaml").write_text(
        f"deck_version: 1\nrun: {{name: {name}, dir: runs/{name}}}\n"
        "model: {family: llama, layers: 1, hidden: 32, heads: 2}\n"
        f"data: {{tokenizer: {tokenizer}, seq: {SEQ}, held_out: 10%, train: [{{format: llmc, path: {name}.bin}}]}}\n"
        "train: {steps: 4, global_batch: 8, micro_batch: 2}\noptimizer: {lr: 1.0e-2}\n"
        "validate: {every: 2 steps, batches: 1, sample: {prompt: 'the state', tokens: 12}}\n")


def perplexities(place, run, data, ranks=1, *options):
    return json.loads(place.ziggurat("eval", run, "--data", data, "--json", *options, ranks=ranks).splitlines()[0])


def of_hugging_face(place):
    theirs = make_hf(place)
    text = "".join(texts()) + STRANGE
    (place.folder / "all.txt").write_text(text)
    write_deck(place, "hf_run", "{kind: hf, path: hf}")
    said = place.ziggurat("check", "hf_run.yaml", 'data.train=[{format: text, path: all.txt}]', code=2)
    command = re.search(r"ziggurat (tokenize all.txt --tokenizer hf --out NAME --format llmc)", said)
    expect(command, said)
    place.ziggurat(*command[1].replace("NAME", "hf_run").split())
    ids = theirs.encode(text).ids
    expect(place.tokens("hf_run.bin") == [theirs.token_to_id(END), *ids], "the run's tokens are others")

    said = place.ziggurat("check", "hf_run.yaml", "--print")
    expect(re.search(r"vocab: 500 +# .*data.tokenizer", said), said)
    hash_ = re.search(r"xxh3:[0-9a-f]{16}", said)[0]
    said = place.ziggurat("train", "hf_run.yaml", "sharding.zero=3", ranks=2)
    expect("the state" in said, f"no sample of text:\n{said}")
    expect(hash_ in (place.folder / "runs/hf_run/deck.effective.yaml").read_text(), "the run does not know its tokenizer")

    prompt = "the state of naïve 中"
    sample = ["sample", "runs/hf_run", "--prompt", prompt, "--tokens", "30"]
    once, notes = place.call(*sample)
    twice, _ = place.call(*sample, ranks=2)
    expect(once == twice, f"two ranks say something else:\n{once}\n{twice}")
    expect(prompt in once and "step 4" in notes and "tokens/s" in notes, once + notes)

    part = text[:5000] + STRANGE * 5
    (place.folder / "part.txt").write_text(part)
    place.ziggurat("tokenize", "part.txt", "--tokenizer", "hf", "--out", "part", "--format", "llmc")
    of_text, of_tokens = (perplexities(place, "runs/hf_run", name) for name in ("part.txt", "part.bin"))
    expect({**of_text, "data": ""} == {**of_tokens, "data": ""}, f"{of_text} of text, {of_tokens} of tokens")
    expect({**perplexities(place, "runs/hf_run", "part.txt", 3), "data": ""} == {**of_text, "data": ""}, "three ranks find another")
    targets = place.tokens("part.bin")[1:]
    expect(of_text["tokens"] == len(targets), f"{of_text}, not {len(targets)} targets")
    expect(len(part.encode()) - SEQ * 8 <= of_text["bytes"] <= len(part.encode()), f"{of_text} of {len(part.encode())} bytes")
    bits = of_text["loss"] / math.log(2) * of_text["tokens"] / of_text["bytes"]
    expect(math.isclose(of_text["bits_per_byte"], bits, rel_tol=1e-9), f"{of_text}, not {bits}")

    (place.folder / "hf").rename(place.folder / "moved")
    said = place.ziggurat("sample", "runs/hf_run", "--prompt", prompt, code=2)
    expect("hf" in said, said)
    said = place.ziggurat("eval", "runs/hf_run", "--data", "part.bin", ranks=2)
    expect("'hf' is not here" in said and " bits per byte\n" not in said and "perplexity" in said, said)
    expect("bits per byte" in place.ziggurat("eval", "runs/hf_run", "--data", "part.bin", "--tokenizer", "moved"), "no bits")
    place.ziggurat("eval", "runs/hf_run", "--data", "part.txt", code=2)
    again, _ = place.call(*sample, "--tokenizer", "moved")
    expect(once == again, "from another place it says something else")
    place.ziggurat("train", "hf_run.yaml", "data.tokenizer.path=moved", "train.steps=6")

    exported_with_its_tokenizer(place, theirs)
    other = place.folder / "other.json"
    other.write_text((place.folder / "moved/tokenizer.json").read_text() + "\n")
    said = place.ziggurat("sample", "runs/hf_run", "--prompt", prompt, "--tokenizer", "other.json", code=2)
    expect("not the tokenizer of the run" in said, said)
    said = place.ziggurat("train", "hf_run.yaml", "data.tokenizer.path=other.json", "train.steps=8", code=2)
    expect("data.tokenizer.hash" in said and hash_ in said, said)


def exported_with_its_tokenizer(place, tokenizer):
    """What lies beside it goes along from a folder of Hugging Face, and from nowhere else."""
    (place.folder / "moved/generation_config.json").write_text("{}")
    place.ziggurat("export", "runs/hf_run", "out")
    names = {path.name for path in (place.folder / "out").iterdir()}
    own = {"config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"}
    expect(names == own | {"generation_config.json"}, f"exported: {names}")
    config = json.loads((place.folder / "out/tokenizer_config.json").read_text())
    expect(config["tokenizer_class"] == "PreTrainedTokenizerFast", f"{config}")  # as transformers reads tokenizer.json
    (place.folder / "mine.json").write_bytes((place.folder / "moved/tokenizer.json").read_bytes())
    (place.folder / "tokenizer.json").write_text("of somebody else")
    (place.folder / "generation_config.json").write_text("of somebody else")
    place.ziggurat("train", "hf_run.yaml", "data.tokenizer.path=mine.json", "train.steps=7")
    place.ziggurat("export", "runs/hf_run", "out_mine")
    names = {path.name for path in (place.folder / "out_mine").iterdir()}
    expect(names == own, f"exported: {names}")
    back = Tokenizer.from_file(str(place.folder / "out_mine/tokenizer.json"))
    expect(back.get_vocab() == tokenizer.get_vocab(), "another tokenizer was exported")


def of_sentencepiece(place):
    theirs = make_sentencepiece(place)
    lines = [text + STRANGE for text in texts()]
    (place.folder / "sp.jsonl").write_text("".join(json.dumps({"text": line}) + "\n" for line in lines))
    place.ziggurat("tokenize", "sp.jsonl", "--tokenizer", "sp", "--out", "sp_run", "--format", "llmc", "--threads", 2)
    end = theirs.eos_id()
    expected = [token for line in lines for token in (end, *theirs.encode(line))]
    expect(place.tokens("sp_run.bin") == expected, "the tokens are not those of sentencepiece")
    write_deck(place, "sp_run", "{kind: sentencepiece, path: sp/tokenizer.model}")
    said = place.ziggurat("train", "sp_run.yaml")
    expect("the state" in said, f"no sample of text:\n{said}")
    prompt = "the state"
    said = place.ziggurat("sample", "runs/sp_run", "--prompt", prompt, "--tokens", "20", "--temperature", "0")
    expect(prompt in said, said)
    (place.folder / "one.txt").write_text(lines[0])
    found = perplexities(place, "runs/sp_run", "one.txt")
    counted = sum(1 if theirs.is_byte(token) else len(theirs.id_to_piece(token).replace("\u2581", " ").encode())
                  for token in theirs.encode(lines[0])[:found["tokens"]])
    expect(found["bytes"] == counted, f"{found}, not {counted} bytes")
    (place.folder / "broken.model").write_bytes(b"no model")
    said = place.ziggurat("check", "sp_run.yaml", "data.tokenizer.path=broken.model", "model.vocab=600", code=2)
    expect("broken.model" in said, said)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("binary", "work"):
        parser.add_argument(f"--{name}", type=pathlib.Path, required=True)
    parser.add_argument("--mpiexec", required=True)
    place = Place(parser.parse_args())
    for test in (of_hugging_face, of_sentencepiece):
        test(place)
        print(f"  {test.__name__.replace('_', ' ')}: ok", flush=True)


if __name__ == "__main__":
    try:
        main()
    except Failure as failure:
        sys.exit(f"FAILED: {failure}")
