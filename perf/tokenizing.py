#!/usr/bin/env python3
"""Text to tokens beside Hugging Face's tokenizers and SentencePiece, with as many threads, in turn.

  build/peers/bin/python3 perf/tokenizing.py --binary build/release/bin/ziggurat [--text FILE] [--rounds 5] [--copies 2]
    [--patterns NAME...]

All read JSON lines and write a file of uint16; ours with its index. The vocabularies, of 32,000 tokens, are trained on the text, with
the patterns of GPT-2, Llama 3, Qwen2, DeepSeek V3 and Mistral (Tekken), as tokenizer.json of the kinds that Llama 2, Mistral and Gemma
have, and as SentencePiece's BPE and unigram models. Prints a JSON line for each.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "e2e" / "support"))
import peers

peers.need("numpy", "sentencepiece", "tokenizers")
peers.need_unicode_16()

import numpy
import sentencepiece
import tokenizers
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

MARK = "\u2581"
END = "</s>"
LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|"
          r"\s+(?!\S)|\s+")
DEEPSEEK_V3 = (r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|"""
               r"\s*[\r\n]+|\s+(?!\S)|\s+")
TEKKEN = (r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|"
          r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|"
          r"\s+(?!\S)|\s+")
BYTE_LEVEL = {"gpt2": None, "llama3": (LLAMA3,), "qwen2": (LLAMA3.replace("{1,3}", ""),),
              "deepseek_v3": (r"\p{N}{1,3}", "[一-龥぀-ゟ゠-ヿ]+", DEEPSEEK_V3), "mistral_tekken": (TEKKEN,)}
CHARACTERS = {  # normalizer and pre-tokenizer
    "llama2_json": (normalizers.Sequence([normalizers.Prepend(MARK), normalizers.Replace(" ", MARK)]), None),
    "mistral_json": (None, pre_tokenizers.Metaspace(MARK, "first", False)),
    "gemma_json": (normalizers.Replace(" ", MARK), pre_tokenizers.Split(" ", "merged_with_previous"))}
PIECES = {"llama2_sentencepiece": {"model_type": "bpe", "split_digits": True}, "unigram_sentencepiece": {"model_type": "unigram"}}
VOCAB = 32000
BATCH = 1000  # documents that theirs encodes at once
LINES = 40    # of the text, in a document


def cutter_of(patterns):
    if patterns is None:
        return pre_tokenizers.ByteLevel(add_prefix_space=False)
    return pre_tokenizers.Sequence([*(pre_tokenizers.Split(Regex(pattern), "isolated", False) for pattern in patterns),
                                    pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])


def by_tokenizers(tokenizer):
    end = tokenizer.token_to_id(END)
    return lambda batch: [encoding.ids + [end] for encoding in tokenizer.encode_batch_fast(batch, add_special_tokens=False)]


def byte_level(name, text, folder):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer, tokenizer.decoder = cutter_of(BYTE_LEVEL[name]), decoders.ByteLevel()
    tokenizer.train_from_iterator(text.splitlines(), trainers.BpeTrainer(
        vocab_size=VOCAB, show_progress=False, special_tokens=[END], initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    tokenizer.save(str(folder / "tokenizer.json"))
    return by_tokenizers(tokenizer)


def characters(name, text, folder):
    tokenizer = Tokenizer(models.BPE(byte_fallback=True, fuse_unk=True, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(MARK)
    tokenizer.train_from_iterator(text.splitlines(), trainers.BpeTrainer(
        vocab_size=VOCAB, show_progress=False, special_tokens=["<unk>", "<s>", END, *(f"<0x{byte:02X}>" for byte in range(256))]))
    said = json.loads(tokenizer.to_str())
    said["added_tokens"] = said["added_tokens"][:3]
    said["decoder"] = json.loads(decoders.Sequence([decoders.Replace(MARK, " "), decoders.ByteFallback(), decoders.Fuse(),
                                                    decoders.Strip(" ", 1, 0)]).__getstate__())
    for key, part in zip(("normalizer", "pre_tokenizer"), CHARACTERS[name]):
        said[key] = json.loads(part.__getstate__()) if part else None
    (folder / "tokenizer.json").write_text(json.dumps(said))
    return by_tokenizers(Tokenizer.from_file(str(folder / "tokenizer.json")))


def pieces(name, text, folder):
    (folder / "lines.txt").write_text(text)
    sentencepiece.SentencePieceTrainer.train(
        input=str(folder / "lines.txt"), model_prefix=str(folder / "tokenizer"), vocab_size=VOCAB, hard_vocab_limit=False, byte_fallback=True,
        normalization_rule_name="identity", remove_extra_whitespaces=False, minloglevel=2, **PIECES[name])
    processor = sentencepiece.SentencePieceProcessor(model_file=str(folder / "tokenizer.model"))
    threads, end = len(os.sched_getaffinity(0)), processor.eos_id()
    return lambda batch: [ids + [end] for ids in processor.encode(batch, num_threads=threads)]


def ours(binary, folder, threads):
    for left in folder.glob("ours*"):
        left.unlink()
    begin = time.perf_counter()
    subprocess.run([binary, "tokenize", "text.jsonl", "--tokenizer", ".", "--out", "ours", "--format", "megatron", "--threads", str(threads)],
                   cwd=folder, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.perf_counter() - begin


def theirs(encode, folder):
    begin = time.perf_counter()
    with (folder / "text.jsonl").open() as lines, (folder / "theirs.bin").open("wb") as out:
        while batch := [json.loads(line)["text"] for _, line in zip(range(BATCH), lines)]:
            for ids in encode(batch):
                out.write(numpy.asarray(ids, numpy.uint16).tobytes())
    return time.perf_counter() - begin


def own_text():
    """The repository's pages and sources, one behind the other."""
    names = subprocess.run(["git", "ls-files", "*.md", "*.hpp", "*.cpp", "*.py"], cwd=ROOT, check=True, stdout=subprocess.PIPE,
                           text=True).stdout.split()
    return "".join((ROOT / name).read_text() for name in names)


def measure(name, text, lines, chosen, threads):
    make = byte_level if name in BYTE_LEVEL else characters if name in CHARACTERS else pieces
    with tempfile.TemporaryDirectory() as place:
        folder = pathlib.Path(place)
        encode = make(name, text, folder)
        with (folder / "text.jsonl").open("w") as file:
            for at in range(0, len(lines), LINES):
                file.write(json.dumps({"text": "".join(lines[at:at + LINES])}) + "\n")
        times = [(ours(chosen.binary.resolve(), folder, threads), theirs(encode, folder)) for _ in range(chosen.rounds)]
        same = (folder / "ours.bin").read_bytes() == (folder / "theirs.bin").read_bytes()
    our, their = (statistics.median(column) for column in zip(*times))
    megabytes = sum(len(line.encode()) for line in lines) / 1e6
    return {"measurement": "tokenize", "pattern": name, "library": "sentencepiece" if make is pieces else f"tokenizers {tokenizers.__version__}",
            "threads": threads, "MB": round(megabytes, 1), "same_bytes": same, "ours_MB_s": round(megabytes / our, 1),
            "theirs_MB_s": round(megabytes / their, 1), "speedup": round(their / our, 2)}


def main():
    every = [*BYTE_LEVEL, *CHARACTERS, *PIECES]
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", type=pathlib.Path, required=True)
    parser.add_argument("--text", type=pathlib.Path, help="default: the repository's pages and sources")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--copies", type=int, default=2, help="of the text, one behind the other")
    parser.add_argument("--patterns", nargs="+", default=every, choices=every)
    chosen = parser.parse_args()
    threads = len(os.sched_getaffinity(0))
    os.environ |= {"RAYON_NUM_THREADS": str(threads), "TOKENIZERS_PARALLELISM": "true"}
    text = chosen.text.read_text(errors="replace") if chosen.text else own_text()
    lines = text.splitlines(keepends=True) * chosen.copies
    for name in chosen.patterns:
        print(json.dumps(measure(name, text, lines, chosen, threads)), flush=True)


if __name__ == "__main__":
    main()
