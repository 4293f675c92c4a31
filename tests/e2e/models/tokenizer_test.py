#!/usr/bin/env python3
"""Text to tokens, held against Hugging Face's tokenizers and SentencePiece: the same ids of texts in twelve scripts, of
emoji and of random Unicode, token files as their readers expect them, and the same bytes whatever kills a job.

  tokenizer_test.py --binary ZIGGURAT --work FOLDER

Runs by a Python with tokenizers, which scripts/setup.sh --tests makes in build/peers; without one it says so and leaves
with 77. Vocabularies are trained here. ZIGGURAT_TOKENS=full in the environment takes ten times as much random text.
"""

import argparse
import json
import os
import pathlib
import random
import shutil
import signal
import struct
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import peers

peers.need("numpy", "sentencepiece", "tokenizers")
if __name__ == "__main__":
    peers.need_unicode_16()

import numpy
import sentencepiece
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

from trainings import Failure, expect

PATIENCE_S = 240
RANDOM_BYTES = (10 if os.environ.get("ZIGGURAT_TOKENS") == "full" else 1) * 1_000_000
GPT2 = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|"
          r"\s+(?!\S)|\s+")
END = "<|endoftext|>"
SCRIPTS = [  # article 1 of the Universal Declaration of Human Rights
    "All human beings are born free and equal in dignity and rights. They're endowed with reason; it's 1948, isn't it?",
    "Tous les êtres humains naissent libres et égaux en dignité et en droits. L’œuvre naïve coûte 12,50 €.",
    "Все люди рождаются свободными и равными в своём достоинстве и правах.",
    "Όλοι οι άνθρωποι γεννιούνται ελεύθεροι και ίσοι στην αξιοπρέπεια και τα δικαιώματα.",
    "يولد جميع الناس أحرارًا متساوين في الكرامة والحقوق. ١٢٣",
    "כל בני האדם נולדו בני חורין ושווים בערכם ובזכויותיהם.",
    "सभी मनुष्यों को गौरव और अधिकारों के मामले में जन्मजात स्वतन्त्रता और समानता प्राप्त है। १२३",
    "人人生而自由，在尊严和权利上一律平等。他们赋有理性和良心。",
    "すべての人間は、生まれながらにして自由であり、かつ、尊厳と権利とについて平等である。",
    "모든 인간은 태어날 때부터 자유로우며 그 존엄과 권리에 있어 동등하다.",
    "มนุษย์ทั้งหลายเกิดมามีอิสระและเสมอภาคกันในเกียรติศักดิ์และสิทธิ",
    "ყველა ადამიანი იბადება თავისუფალი და თანასწორი თავისი ღირსებითა და უფლებებით.",
    "👩‍👩‍👧‍👦 🇫🇷 ☕️ 👍🏽 … ⅓ Ⅷ ² x̃ ﷺ ﬆ 'ſ 'S 'LL we'Ve\r\n\r\n  \t  indented\n\n\n   \u2003\u3000\u00a0x",
]


class Place:
    def __init__(self, chosen):
        self.binary, self.folder = chosen.binary.resolve(), chosen.work.resolve()
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)

    def start(self, *words):
        return subprocess.Popen([str(word) for word in (self.binary, *words)], cwd=self.folder, text=True,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, errors="replace")

    def ziggurat(self, *words, code=0):
        process = self.start(*words)
        said, _ = process.communicate(timeout=PATIENCE_S)
        expect(process.returncode == code, f"{words}: exit code {process.returncode}, not {code}\n{said}")
        return said

    def tokenize(self, documents, tokenizer, name, *words):
        """Makes NAME.idx and NAME.bin of documents, and gives the ids of each."""
        lines = "".join(json.dumps({"id": i, "text": text}, ensure_ascii=i % 2 == 0) + "\n" for i, text in enumerate(documents))
        (self.folder / f"{name}.jsonl").write_text(lines)
        self.ziggurat("tokenize", f"{name}.jsonl", "--tokenizer", tokenizer, "--out", name, "--format", "megatron", *words)
        return self.read_megatron(name)

    def read_megatron(self, name):
        index = (self.folder / f"{name}.idx").read_bytes()
        expect(index[:17] == b"MMIDIDX\0\0" + struct.pack("<Q", 1), f"{name}.idx begins with {index[:17]}")
        code, sequences, entries = struct.unpack_from("<BQQ", index, 17)
        lengths = numpy.frombuffer(index, numpy.int32, sequences, 34)
        begins = numpy.frombuffer(index, numpy.int64, sequences, 34 + 4 * sequences)
        documents = numpy.frombuffer(index, numpy.int64, entries, 34 + 12 * sequences)
        expect(len(index) == 34 + 12 * sequences + 8 * entries, f"{name}.idx has {len(index)} bytes")
        expect(list(documents) == list(range(sequences + 1)), f"{name}.idx: documents {documents}")
        tokens = numpy.fromfile(self.folder / f"{name}.bin", {8: numpy.uint16, 4: numpy.int32}[code])
        ends = numpy.cumsum(lengths)
        expect(list(begins) == list((ends - lengths) * tokens.itemsize), f"{name}.idx: begins {begins}")
        expect((ends[-1] if sequences else 0) == len(tokens), f"{name}.bin has {len(tokens)} tokens, not {ends[-1:]}")
        return [part.tolist() for part in numpy.split(tokens, ends[:-1])] if sequences else []


def byte_level(regex, prefix=False):
    return pre_tokenizers.ByteLevel(add_prefix_space=prefix, use_regex=regex)


def split(pattern, behavior="isolated", invert=False):
    return pre_tokenizers.Split(pattern, behavior, invert)


def cutters():
    """Names of pre-tokenizers, and them."""
    sequence = lambda *steps: pre_tokenizers.Sequence(list(steps))
    made = {
        "gpt2": byte_level(True),
        "gpt2_split": sequence(split(Regex(GPT2)), byte_level(False)),
        "gpt2_prefix": byte_level(True, prefix=True),
        "llama3": sequence(split(Regex(LLAMA3)), byte_level(False)),
        "qwen2": sequence(split(Regex(LLAMA3.replace("{1,3}", ""))), byte_level(False)),
        "starcoder": sequence(pre_tokenizers.Digits(individual_digits=True), byte_level(True)),
        "digits": sequence(pre_tokenizers.Digits(individual_digits=False), byte_level(False, prefix=True)),
        "deepseek": sequence(split(Regex("[\r\n]")), split(Regex(r"\s?\p{L}+")), split(Regex(r"\s?\p{P}+")),
                             split(Regex("[一-龥ࠀ-一가-퟿]+")), pre_tokenizers.Digits(individual_digits=True), byte_level(False)),
        "whole": byte_level(False),
        "empty_matches": sequence(split(Regex("x*")), byte_level(False)),
    }
    for behavior in ("removed", "merged_with_previous", "merged_with_next", "contiguous"):
        for invert in (False, True):
            made[f"{behavior}_{invert}"] = sequence(split(Regex(r"[\s\p{P}]"), behavior, invert), byte_level(True))
    made["text"] = sequence(split("e."), split(" ", "merged_with_next"), byte_level(False))
    return made


def training_texts():
    root = pathlib.Path(__file__).resolve().parents[3]
    pages = [path.read_text() for path in sorted(root.glob("*.md")) + sorted(root.glob("lib/*/README.md"))]
    return pages + SCRIPTS * 20


def train(place, name, cutter, size):
    """Saves a tokenizer as NAME/tokenizer.json and gives it."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = cutter
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.train_from_iterator(training_texts(), trainers.BpeTrainer(
        vocab_size=size, show_progress=False, special_tokens=[END], initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    save(place, name, tokenizer)
    return tokenizer


def save(place, name, tokenizer):
    (place.folder / name).mkdir(exist_ok=True)
    tokenizer.save(str(place.folder / name / "tokenizer.json"))


def changed(place, name, tokenizer, change):
    """The tokenizer with its JSON changed, saved as NAME."""
    said = json.loads(tokenizer.to_str())
    change(said)
    made = Tokenizer.from_str(json.dumps(said))
    save(place, name, made)
    return made


def random_documents(seed, size, end_token=END):
    """Texts of all planes, with what patterns tell apart."""
    draw = random.Random(seed)
    telling = [" ", "  ", "\n", "\r\n", "\t", "'", "'s", "'LL", "a", "Word", "été", "1", "2024", "٣", ".", "...", "中文", "한", "́", "ſ", "‍",
               "\x00", "\x85", "\u00a0", "\u2028", "🏽", "𝒳", end_token]
    documents, bytes_made = [], 0
    while bytes_made < size:
        parts = []
        for _ in range(draw.randrange(400)):
            chance = draw.random()
            if chance < 0.5:
                parts.append(draw.choice(telling))
            elif chance < 0.8:
                parts.append(chr(draw.randrange(0x3000)))
            else:
                code = draw.randrange(0x110000)
                parts.append(chr(code) if not 0xD800 <= code < 0xE000 else "x")
        documents.append("".join(parts))
        bytes_made += len(documents[-1].encode())
    return documents


def expect_equal_ids(place, name, tokenizer, documents):
    ours = place.tokenize(documents, name, f"made_{name}")
    end = tokenizer.token_to_id(END)
    theirs = [encoding.ids + [end] for encoding in tokenizer.encode_batch(documents, add_special_tokens=False)]
    for document, our, their in zip(documents, ours, theirs):
        if our != their:
            at = next((i for i, (a, b) in enumerate(zip(our, their)) if a != b), min(len(our), len(their)))
            raise Failure(f"{name}: token {at} of {document!r} is {our[at:at + 5]}, theirs {their[at:at + 5]}")
    expect(len(ours) == len(theirs), f"{name}: {len(ours)} documents, not {len(theirs)}")
    return ours


def the_ids_are_those_of_tokenizers(place):
    small = SCRIPTS + random_documents(1, 20_000) + [
        "", " ", "\n", "a" * 5000, " " * 3000, "\n " * 1000, "中" * 3000, f"{END}{END} x{END}", "'" * 99, "1" * 100]
    for name, cutter in cutters().items():
        is_main = name in ("gpt2", "llama3")
        tokenizer = train(place, name, cutter, 3000 if is_main else 700)
        ours = expect_equal_ids(place, name, tokenizer, small + (random_documents(2, RANDOM_BYTES) if is_main else []))
        if "removed" not in name and "prefix" not in name and name != "digits":
            back = tokenizer.decode_batch([ids[:-1] for ids in ours[:len(SCRIPTS)]], skip_special_tokens=False)
            expect(back == SCRIPTS, f"{name}: what was encoded is not decoded")
        print(f"    {name}: {sum(map(len, ours))} tokens of {len(ours)} documents", flush=True)


def the_ids_are_those_of_sentencepiece(place):
    (place.folder / "pieces.txt").write_text("\n".join(training_texts()))
    documents = SCRIPTS + ["", " ", "  two  spaces ", "a" * 3000, "</s> <s> <unk>", "\n\t x"] + [
        text for text in random_documents(4, RANDOM_BYTES // 4, "</s>") if "\0" not in text]
    for kind, more in (("unigram", {}), ("bpe", {"byte_fallback": True, "normalization_rule_name": "identity", "remove_extra_whitespaces": False,
                                                 "split_digits": True})):
        folder = place.folder / f"sp_{kind}"
        folder.mkdir()
        sentencepiece.SentencePieceTrainer.train(input=str(place.folder / "pieces.txt"), model_prefix=str(folder / "tokenizer"),
                                                 model_type=kind, vocab_size=1500, character_coverage=0.99, minloglevel=2, **more)
        theirs = sentencepiece.SentencePieceProcessor(model_file=str(folder / "tokenizer.model"))
        ours = place.tokenize(documents, f"sp_{kind}", f"made_{kind}")
        for document, our, their in zip(documents, ours, theirs.encode(documents), strict=True):
            expect(our == their + [theirs.eos_id()], f"{kind}: {document[:200]!r} is {our[:20]}, theirs {their[:20]}")
        print(f"    {kind}: {sum(map(len, ours))} tokens of {len(ours)} documents", flush=True)


def what_the_model_says_counts(place):
    tokenizer = Tokenizer.from_file(str(place.folder / "llama3" / "tokenizer.json"))
    documents = SCRIPTS + random_documents(3, 50_000)

    def ignores_merges(said):
        said["model"]["ignore_merges"] = True
        said["model"]["merges"] = said["model"]["merges"][::7]

    def merges_of_old(said):
        said["model"]["merges"] = [" ".join(merge) if isinstance(merge, list) else merge for merge in said["model"]["merges"]]
        for key in ("type", "byte_fallback", "ignore_merges"):
            said["model"].pop(key, None)
        said["model"] |= {"continuing_subword_prefix": "", "end_of_word_suffix": ""}

    def adds_tokens(said):
        first = len(said["model"]["vocab"])
        for i, (content, more) in enumerate((("<left>", {"lstrip": True}), ("<right>", {"rstrip": True, "special": False}),
                                             ("<norm>", {"normalized": True}), ("<nor", {}), ("be", {"lstrip": True, "rstrip": True}),
                                             ("é", {"normalized": True}))):
            said["added_tokens"].append({"id": first + i, "content": content, "single_word": False, "lstrip": False, "rstrip": False,
                                         "normalized": False, "special": True} | more)
        said["post_processor"] = json.loads(processors.ByteLevel().__getstate__())

    expect_equal_ids(place, "ignores_merges", changed(place, "ignores_merges", tokenizer, ignores_merges), documents)
    old = json.loads(tokenizer.to_str())
    merges_of_old(old)
    (place.folder / "old").mkdir()
    (place.folder / "old" / "tokenizer.json").write_text(json.dumps(old))
    expect_equal_ids(place, "old", tokenizer, documents)
    texts = ["a <left> b", "\u3000\n<left><right> \t<left>x", "<nor <norm> <norm>m", "be  be be\n<right>", "été <right>é", "<right>  <left>"]
    expect_equal_ids(place, "adds", changed(place, "adds", tokenizer, adds_tokens), texts + documents)


def composed_form_is_that_of_tokenizers(place):
    """Every character alone, behind a letter, among marks, and runs of what composes."""
    tokenizer = Tokenizer.from_file(str(place.folder / "gpt2" / "tokenizer.json"))
    tokenizer.normalizer = normalizers.NFC()
    save(place, "nfc", tokenizer)
    codes = [code for code in range(0x110000) if not 0xD800 <= code < 0xE000]
    alone = ["\n".join(map(chr, codes[at:at + 1000])) for at in range(0, len(codes), 1000)]
    among = ["".join(f"a\u0315{chr(code)}\u0334\u0345 " for code in codes[at:at + 1000]) for at in range(0, len(codes), 1000)]
    draw = random.Random(7)
    changes = [chr(code) for code in codes if normalizers.NFD().normalize_str(chr(code)) != chr(code)]
    pieces = sorted({part for whole in changes for part in normalizers.NFD().normalize_str(whole)}) + changes[::20] + list("a \u1100\u1161\u11a8")
    runs = ["".join(draw.choices(pieces, k=200)) for _ in range(1500)]
    expect_equal_ids(place, "nfc", tokenizer, SCRIPTS + alone + (among if RANDOM_BYTES > 1_000_000 else among[:200]) + runs)


def llmc_files_are_exact(place):
    text = place.folder / "two words.txt"
    text.write_text("two words")
    (place.folder / "empty.txt").write_text("")
    tokenizer = Tokenizer.from_file(str(place.folder / "gpt2" / "tokenizer.json"))
    ids = tokenizer.encode("two words").ids
    end = tokenizer.token_to_id(END)
    said = place.ziggurat("tokenize", text.name, "empty.txt", text.name, "--tokenizer", "gpt2/tokenizer.json", "--out", "short.bin",
                          "--format", "llmc")
    tokens = [end, *ids, end, end, *ids]
    expect(f"{len(tokens)} tokens of 3 documents, uint16" in said, said)
    expected = struct.pack("<3i", 20240520, 1, len(tokens)) + bytes(1012) + struct.pack(f"<{len(tokens)}H", *tokens)
    expect((place.folder / "short.bin").read_bytes() == expected, "short.bin is not what llm.c writes")
    left = sorted(path.name for path in place.folder.glob("short*"))
    expect(left == ["short.bin"], f"files are left: {left}")
    place.ziggurat("inspect", "short.bin")
    said = place.ziggurat("tokenize", text.name, "--tokenizer", "gpt2", "--out", "short", "--format", "llmc", code=2)
    expect("'short.bin' exists already" in said, said)

    def has_many(said):
        first = len(said["model"]["vocab"])
        said["added_tokens"] += [{"id": first + i, "content": f"<|{i}|>", "single_word": False, "lstrip": False, "rstrip": False,
                                  "normalized": False, "special": True} for i in range(70_000)]

    many = json.loads(tokenizer.to_str())
    has_many(many)
    (place.folder / "many.json").write_text(json.dumps(many))
    (place.folder / "many.txt").write_text("<|69999|>")
    tokens = [end, len(many["model"]["vocab"]) + 69_999]
    place.ziggurat("tokenize", "many.txt", "--tokenizer", "many.json", "--out", "many", "--format", "llmc")
    expected = struct.pack("<3i", 20240801, 7, 2) + bytes(1012) + struct.pack("<2I", *tokens)
    expect((place.folder / "many.bin").read_bytes() == expected, "many.bin is not what llm.c writes")
    place.ziggurat("tokenize", "many.txt", "--tokenizer", "many.json", "--out", "many4", "--format", "megatron")
    expect(place.read_megatron("many4") == [tokens[::-1]], "many4 has other tokens")
    said = json.loads(place.ziggurat("inspect", "many4", "--json"))
    expect((said["type"], said["documents"], said["problem"]) == ("int32", 1, None), said)


def big_job(place):
    documents = SCRIPTS * 100 + training_texts()[:30]
    lines = "".join(json.dumps({"text": f"{i} {text}"}) + "\n" for i in range(8) for text in documents)
    (place.folder / "big.jsonl").write_text(lines * 20)
    (place.folder / "one.txt").write_text("\n".join(documents))
    return ["tokenize", "one.txt", "big.jsonl", "one.txt", "--tokenizer", "llama3", "--format"]


def threads_change_no_byte(place):
    job = big_job(place)
    for format_ in ("megatron", "llmc"):
        for threads in (1, 3):
            place.ziggurat(*job, format_, "--out", f"{format_}{threads}", "--threads", threads)
        for path in place.folder.glob(f"{format_}1.*"):
            other = path.with_name(path.name.replace("1.", "3."))
            expect(path.read_bytes() == other.read_bytes(), f"{path.name} and {other.name} differ")
    said = json.loads(place.ziggurat("inspect", "megatron1", "--json"))
    expect(said["documents"] == 2 + len((place.folder / "big.jsonl").read_bytes().splitlines()) and not said["problem"], said)


def killed_jobs_go_on(place):
    """At ten instants; then the same bytes."""
    job = big_job(place)
    draw = random.Random(5)
    for format_ in ("megatron", "llmc"):
        begin = time.monotonic()
        place.ziggurat(*job, format_, "--out", f"whole_{format_}", "--threads", 1)
        whole_s = time.monotonic() - begin
        words = [*job, format_, "--out", f"killed_{format_}", "--threads", 1]

        def is_whole():
            for path in place.folder.glob(f"whole_{format_}.*"):
                killed = path.with_name(path.name.replace("whole", "killed"))
                expect(path.read_bytes() == killed.read_bytes(), f"{killed.name} is not {path.name} after {kills} kills")
                killed.unlink()
            left = [path.name for path in place.folder.glob(f"killed_{format_}*")]
            expect(not left, f"files are left: {left}")

        kills = 0
        while kills < 5:
            process = place.start(*words)
            try:
                process.communicate(timeout=draw.uniform(0.05, 0.5) * whole_s)
                expect(process.returncode == 0, f"exit code {process.returncode} after {kills} kills")
                is_whole()  # and another one begins
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
                process.communicate()
                kills += 1
                names = {path.name for path in place.folder.glob(f"killed_{format_}*")}
                if names and f"killed_{format_}.journal" not in names:
                    is_whole()  # it was done when it was killed
        place.ziggurat(*words)
        is_whole()
        print(f"    {format_}: {kills} kills of a job of {whole_s:.1f} s", flush=True)


def another_job_is_refused(place):
    job = big_job(place)
    words = [*job, "llmc", "--out", "begun", "--threads", 1]
    process = place.start(*words)
    while not (place.folder / "begun.journal").exists() or (place.folder / "begun.journal").read_text().count("\n") < 2:
        expect(process.poll() is None, "it has ended")
        time.sleep(0.01)
    said = place.ziggurat(*words, code=3)
    expect("another process is writing it" in said, said)
    process.kill()
    process.communicate()
    for change, name in (({"llama3": "gpt2"}, "tokenizer"), ({"llmc": "megatron"}, "format"), ({"one.txt": "two words.txt"}, "inputs")):
        said = place.ziggurat(*[change.get(word, word) for word in words], code=2)
        expect("begun.journal" in said and f"started with other {name}" in said, said)
    said = place.ziggurat(*words, "--field", "other", code=2)
    expect("started with other field" in said, said)
    journal = place.folder / "begun.journal"
    with journal.open("a") as file:
        file.write('{"file": 1, "off')  # as if the power had gone
    said = place.ziggurat(*words)
    expect("done before" in said, f"nothing was kept: {said}")
    expect((place.folder / "begun.bin").read_bytes() == (place.folder / "whole_llmc.bin").read_bytes(), "begun.bin is not whole")


def what_is_wrong_is_named(place):
    def refused(content, name, code=2):
        path = place.folder / name
        path.write_bytes(content)
        for left in place.folder.glob("wrong*"):
            left.unlink()
        return place.ziggurat("tokenize", name, "--tokenizer", "gpt2", "--out", "wrong", "--format", "llmc", code=code)

    for content, name, said_of_it in ((b'{"text": "a"}\n\n{"text": 3}\n', "bad.jsonl", "'bad.jsonl', line 3: not an object with a text"),
                                      (b'{"text": "a"}\n{"text": "a\n', "bad.jsonl", "'bad.jsonl', line 2: not JSON"),
                                      (b'{"text": "\xff"}\n', "bad.jsonl", "'bad.jsonl', line 1: not JSON"),
                                      (b'["text"]\n', "bad.jsonl", "line 1: not an object"),
                                      (b'{"body": "a"}\n', "bad.jsonl", "Name the text's field"),
                                      (b"abc\xffd", "bad.txt", "'bad.txt': the text is not UTF-8 at its byte 3")):
        said = refused(content, name)
        expect(said_of_it in said, f"{content}: {said}")
    said = place.ziggurat("tokenize", "gone.txt", "--tokenizer", "gpt2", "--out", "x", "--format", "llmc", code=2)
    expect("gone.txt" in said, said)
    said = place.ziggurat("tokenize", "one.txt", "--tokenizer", "gone", "--out", "x", "--format", "llmc", code=2)
    expect("cannot read 'gone'" in said, said)
    said = place.ziggurat("tokenize", "one.txt", "--tokenizer", "gpt2", "--out", "gone/x", "--format", "llmc", code=3)
    expect("gone/x" in said, said)
    word_piece = Tokenizer(models.WordPiece({"[UNK]": 0}, unk_token="[UNK]"))
    save(place, "word_piece", word_piece)
    said = place.ziggurat("tokenize", "one.txt", "--tokenizer", "word_piece", "--out", "x", "--format", "llmc", code=2)
    expect("its model is a WordPiece, which is not implemented" in said, said)
    said = place.ziggurat("tokenize", "one.txt", "--tokenizer", "bytes", "--out", "bytes", "--format", "llmc")
    expect("names no document token" in said, said)
    tokens = numpy.fromfile(place.folder / "bytes.bin", numpy.uint16, offset=1024)
    expect(tokens.astype(numpy.uint8).tobytes() == (place.folder / "one.txt").read_bytes(), "bytes are other bytes")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("binary", "work"):
        parser.add_argument(f"--{name}", type=pathlib.Path, required=True)
    place = Place(parser.parse_args())
    for test in (the_ids_are_those_of_tokenizers, the_ids_are_those_of_sentencepiece, what_the_model_says_counts, composed_form_is_that_of_tokenizers, llmc_files_are_exact, threads_change_no_byte,
                 killed_jobs_go_on, another_job_is_refused, what_is_wrong_is_named):
        begin = time.monotonic()
        test(place)
        print(f"  {test.__name__.replace('_', ' ')}: ok, {time.monotonic() - begin:.1f} s", flush=True)


if __name__ == "__main__":
    try:
        main()
    except Failure as failure:
        sys.exit(f"FAILED: {failure}")
