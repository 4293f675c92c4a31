#!/usr/bin/env python3
"""Text to tokens beside Hugging Face's tokenizers, with as many threads, in turn.

  build/peers/bin/python3 perf/tokenizing.py --binary build/release/bin/ziggurat [--text FILE] [--rounds 5]

Both read JSON lines and write a file of uint16; ours with its index. The vocabularies, of 32,000 tokens, are trained on
the text: with GPT-2's pattern and with Llama 3's. Prints a JSON line for each pattern.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import tempfile
import time

import numpy
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

ROOT = pathlib.Path(__file__).resolve().parents[1]
LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|"
          r"\s+(?!\S)|\s+")
CUTTERS = {
    "gpt2": pre_tokenizers.ByteLevel(add_prefix_space=False),
    "llama3": pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(LLAMA3), "isolated", False),
                                       pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]),
}
BATCH = 1000  # documents that theirs encodes at once
LINES = 40    # of the text, in a document
COPIES = 8    # of the text


def train(cutter, text, folder):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer, tokenizer.decoder = cutter, decoders.ByteLevel()
    tokenizer.train_from_iterator(text.splitlines(), trainers.BpeTrainer(
        vocab_size=32000, show_progress=False, special_tokens=["<|endoftext|>"], initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    tokenizer.save(str(folder / "tokenizer.json"))
    return tokenizer


def ours(binary, folder, threads):
    for left in folder.glob("ours*"):
        left.unlink()
    begin = time.perf_counter()
    subprocess.run([binary, "tokenize", "text.jsonl", "--tokenizer", "tokenizer.json", "--out", "ours", "--format", "megatron",
                    "--threads", str(threads)], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - begin


def theirs(tokenizer, folder):
    end = tokenizer.token_to_id("<|endoftext|>")
    begin = time.perf_counter()
    with (folder / "text.jsonl").open() as lines, (folder / "theirs.bin").open("wb") as out:
        while batch := [json.loads(line)["text"] for _, line in zip(range(BATCH), lines)]:
            for encoding in tokenizer.encode_batch_fast(batch, add_special_tokens=False):
                out.write(numpy.asarray(encoding.ids + [end], numpy.uint16).tobytes())
    return time.perf_counter() - begin


def own_text():
    """The repository's pages and sources, one behind the other."""
    names = subprocess.run(["git", "ls-files", "*.md", "*.hpp", "*.cpp", "*.py"], cwd=ROOT, check=True, stdout=subprocess.PIPE,
                           text=True).stdout.split()
    return "".join((ROOT / name).read_text() for name in names)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", type=pathlib.Path, required=True)
    parser.add_argument("--text", type=pathlib.Path, help="default: the repository's pages and sources")
    parser.add_argument("--rounds", type=int, default=5)
    chosen = parser.parse_args()
    threads = len(os.sched_getaffinity(0))
    os.environ |= {"RAYON_NUM_THREADS": str(threads), "TOKENIZERS_PARALLELISM": "true"}
    text = chosen.text.read_text(errors="replace") if chosen.text else own_text()
    lines = text.splitlines(keepends=True) * COPIES
    for name, cutter in CUTTERS.items():
        with tempfile.TemporaryDirectory() as place:
            folder = pathlib.Path(place)
            tokenizer = train(cutter, text, folder)
            with (folder / "text.jsonl").open("w") as file:
                for at in range(0, len(lines), LINES):
                    file.write(json.dumps({"text": "".join(lines[at:at + LINES])}) + "\n")
            times = [(ours(chosen.binary.resolve(), folder, threads), theirs(tokenizer, folder)) for _ in range(chosen.rounds)]
            same = (folder / "ours.bin").read_bytes() == (folder / "theirs.bin").read_bytes()
            megabytes = sum(map(len, lines)) / 1e6
            print(json.dumps({"measurement": "tokenize", "pattern": name, "threads": threads, "MB": round(megabytes, 1), "same_bytes": same,
                              "ours_MB_s": round(megabytes / statistics.median(a for a, _ in times), 1),
                              "theirs_MB_s": round(megabytes / statistics.median(b for _, b in times), 1),
                              "speedup": round(statistics.median(b / a for a, b in times), 2)}), flush=True)


if __name__ == "__main__":
    main()
