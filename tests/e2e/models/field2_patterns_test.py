#!/usr/bin/env python3
"""Tokens of documents of Unicode 16, held against tokenizers and SentencePiece: by the patterns of GPT-2, Llama 2, Llama 3,
Qwen2, DeepSeek V3, Mistral and Gemma, and by each class of characters that patterns name.

  field2_patterns_test.py --binary ZIGGURAT --work FOLDER

Runs by a Python with a version of tokenizers that has Unicode 16, which scripts/setup.sh --tests makes in build/peers; without
one it says so and leaves with 77. Vocabularies are trained here. ZIGGURAT_DOCUMENTS is the number of documents (default 300).
"""

import argparse
import json
import os
import pathlib
import random
import sys
import time
import unicodedata

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import peers

peers.need("numpy", "sentencepiece", "tokenizers")
peers.need_unicode_16()

import sentencepiece
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

from field2_documents import UNICODE_16, documents_of
from tokenizer_test import GPT2, LLAMA3, Place, byte_level, save, split, training_texts
from trainings import Failure, expect

DOCUMENTS = int(os.environ.get("ZIGGURAT_DOCUMENTS", "300"))
MARK = "\u2581"
END = "</s>"
DEEPSEEK_V3 = (r"""[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|"""
               r"\s*[\r\n]+|\s+(?!\S)|\s+")
TEKKEN = (r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|"
          r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")
CLASSES = r"""\p{L} \p{Lu} \p{Ll} \p{Lt} \p{Lm} \p{Lo} \p{M} \p{Mn} \p{Mc} \p{N} \p{Nd} \p{Nl} \p{No} \p{S} \p{Sm} \p{Sc} \p{Sk} \p{So} \p{P}
    \p{Po} \p{Z} \p{Zs} \p{C} \p{Cn} \p{Cf} \p{Letter} \p{Uppercase_Letter} \p{^L} \P{L} \p{Alpha} \p{Upper} \p{Lower} \p{Alnum} \p{Punct}
    \p{Han} \p{Hiragana} \p{Cyrillic} \p{Thai} \p{Latin} \p{Emoji} \p{Extended_Pictographic} \p{Ideographic} \w \W \d \D \s \S
    [[:alpha:]] [[:upper:]] [[:lower:]] [[:digit:]] [[:alnum:]] [[:punct:]] [[:word:]] [^[:alpha:]] [[:^alpha:]] [\w] [^\w\s] [\W] [\D]
    [^\P{L}a-z] [\p{L}&&[^a-z]] []\p{L}] [^]\p{L}] \p{Graph} \p{Print} \p{Assigned} \p{Blank}
    (?i:\p{Lu}) (?i)\p{Ll} (?i:\P{Lu}) (?i:\p{^Ll}) (?i:[\p{Lu}]) (?i:[^\p{Lu}]) (?i:[\P{Lu}]) (?i:[^\P{Ll}]) (?i:[[:upper:]])
    (?i:[\p{Ll}&&\p{Latin}]) (?i:[\w&&[^\p{Lu}]]) (?i:[A-Z\p{Lt}]) (?i:\x{1C89}+) (?i:\x{A7DA}\x{264}) (?i:[\x{19B}\x{10D50}-\x{10D65}])
    (?i:x[\p{Lu}]) (?i-i:[\p{Lu}]) (?i:\x{390}|\x{FB05}|\x{1E9E})""".split()


def byte_level_tokenizers():
    sequence = lambda *steps: pre_tokenizers.Sequence(list(steps))
    cut = lambda *patterns: sequence(*(split(Regex(pattern)) for pattern in patterns), byte_level(False))
    return {"gpt2": byte_level(True), "gpt2_split": cut(GPT2), "llama3": cut(LLAMA3), "qwen2": cut(LLAMA3.replace("{1,3}", "")),
            "deepseek_v3": cut(r"\p{N}{1,3}", "[一-龥぀-ゟ゠-ヿ]+", DEEPSEEK_V3), "mistral_tekken": cut(TEKKEN),
            "digits": sequence(pre_tokenizers.Digits(individual_digits=True), byte_level(True))}


def character_tokenizers():
    llama2 = normalizers.Sequence([normalizers.Prepend(MARK), normalizers.Replace(" ", MARK)])
    return {"llama2": (llama2, None), "mistral": (None, pre_tokenizers.Metaspace(MARK, "first", False)),
            "gemma": (normalizers.Replace(" ", MARK), pre_tokenizers.Split(" ", "merged_with_previous"))}


def expect_equal(place, name, documents, encode, end):
    ours = place.tokenize(documents, name, f"made_{name}")
    for document, our, their in zip(documents, ours, encode(documents), strict=True):
        if our != [*their, end]:
            at = next((i for i, (a, b) in enumerate(zip(our, their)) if a != b), min(len(our), len(their)))
            raise Failure(f"{name}: token {at} of {document!r} is {our[at:at + 5]}, theirs {their[at:at + 5]}")
    return sum(map(len, ours))


def encode_by(tokenizer):
    return lambda documents: [encoding.ids for encoding in tokenizer.encode_batch(documents, add_special_tokens=False)]


def patterns_of_bytes(place, documents):
    for name, cutter in byte_level_tokenizers().items():
        tokenizer = Tokenizer(models.BPE())
        tokenizer.pre_tokenizer, tokenizer.decoder = cutter, decoders.ByteLevel()
        tokenizer.train_from_iterator(training_texts() + documents[:100], trainers.BpeTrainer(
            vocab_size=1500, show_progress=False, special_tokens=[END], initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
        save(place, name, tokenizer)
        print(f"    {name}: {expect_equal(place, name, documents, encode_by(tokenizer), 0)} tokens", flush=True)


def patterns_of_characters(place, documents):
    bytes_ = [f"<0x{byte:02X}>" for byte in range(256)]
    for name, (normalizer, cutter) in character_tokenizers().items():
        tokenizer = Tokenizer(models.BPE(byte_fallback=True, fuse_unk=True, unk_token="<unk>"))
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(MARK)
        tokenizer.train_from_iterator(training_texts() + documents[:100], trainers.BpeTrainer(
            vocab_size=1500, show_progress=False, limit_alphabet=400, special_tokens=["<unk>", "<s>", END, *bytes_]))
        said = json.loads(tokenizer.to_str())
        said["added_tokens"] = said["added_tokens"][:3]
        said["decoder"] = json.loads(decoders.Sequence([decoders.Replace(MARK, " "), decoders.ByteFallback(), decoders.Fuse(),
                                                        decoders.Strip(" ", 1, 0)]).__getstate__())
        said["normalizer"] = json.loads(normalizer.__getstate__()) if normalizer else None
        said["pre_tokenizer"] = json.loads(cutter.__getstate__()) if cutter else None
        tokenizer = Tokenizer.from_str(json.dumps(said))
        save(place, name, tokenizer)
        print(f"    {name}: {expect_equal(place, name, documents, encode_by(tokenizer), 2)} tokens", flush=True)


def pieces(place, documents):
    (place.folder / "pieces.txt").write_text("\n".join(training_texts()))
    for kind in ("bpe", "unigram"):
        folder = place.folder / f"sp_{kind}"
        folder.mkdir()
        sentencepiece.SentencePieceTrainer.train(
            input=str(place.folder / "pieces.txt"), model_prefix=str(folder / "tokenizer"), model_type=kind, vocab_size=1500,
            character_coverage=0.99, byte_fallback=True, normalization_rule_name="identity", remove_extra_whitespaces=False, minloglevel=2)
        theirs = sentencepiece.SentencePieceProcessor(model_file=str(folder / "tokenizer.model"))
        print(f"    {folder.name}: {expect_equal(place, folder.name, documents, theirs.encode, theirs.eos_id())} tokens", flush=True)


def classes(place):
    """Each class of characters cuts every character that Unicode 16 has and those before it as the reference does."""
    every = ["".join(map(chr, UNICODE_16[at:at + 3000])) for at in range(0, len(UNICODE_16), 3000)]
    tokenizer = Tokenizer.from_file(str(place.folder / "gpt2" / "tokenizer.json"))
    said = json.loads(tokenizer.to_str())
    newest = [document for document in every if any(unicodedata.category(c) == "Cn" for c in document)]
    said["model"]["merges"], said["model"]["vocab"] = [], {token: i for i, token in enumerate(["</s>", *pre_tokenizers.ByteLevel.alphabet()])}
    for number, pattern in enumerate(CLASSES):
        cutter = pre_tokenizers.Sequence([split(Regex(pattern), "removed"), byte_level(False)])
        said["pre_tokenizer"] = json.loads(cutter.__getstate__())
        tokenizer = Tokenizer.from_str(json.dumps(said))
        save(place, "class", tokenizer)
        try:
            expect_equal(place, "class", every if number < 20 or pattern.startswith("(?i") else newest, encode_by(tokenizer), 0)
        except Failure as failure:
            raise Failure(f"{pattern}: {str(failure)[:3000]}") from failure
        for left in place.folder.glob("made_class*"):
            left.unlink()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("binary", "work"):
        parser.add_argument(f"--{name}", type=pathlib.Path, required=True)
    place = Place(parser.parse_args())
    documents = documents_of(random.Random(16), DOCUMENTS)
    newer = {c for document in documents for c in document if unicodedata.category(c) == "Cn"}
    expect(len(newer) > 200, f"{len(newer)} characters are newer than Unicode {unicodedata.unidata_version}")
    for test in (patterns_of_bytes, patterns_of_characters, pieces):
        begin = time.monotonic()
        test(place, documents)
        print(f"  {test.__name__.replace('_', ' ')}: ok, {time.monotonic() - begin:.1f} s", flush=True)
    classes(place)
    print("  classes: ok")


if __name__ == "__main__":
    try:
        main()
    except Failure as failure:
        sys.exit(f"FAILED: {failure}")
