#!/usr/bin/env python3
"""Files as people have them: JSON lines under any name, packed texts, pipes, files that are something else, bad lines.

  field2_files_test.py --binary ZIGGURAT --work FOLDER

The ids that are expected come from Hugging Face's tokenizers, and the texts from Python's json; without the Python that
scripts/setup.sh --tests makes in build/peers it says so and leaves with 77.
"""

import argparse
import bz2
import gzip
import io
import json
import lzma
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tarfile
import time
import zipfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import peers

peers.need("numpy", "tokenizers")

import numpy
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

from trainings import PATIENCE_S, Failure, expect, wait_until

END = "<|endoftext|>"
WORDS = ["All", "human", "beings", "are", "born", "free", "größer", "人人生而自由", "\U0001F680", "\"quoted\"", "line\nbreak", "{}"]
LFS = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 12345\n"
CONFIG = {"model_type": "llama", "hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 48,
          "vocab_size": 400, "max_position_embeddings": 64, "rms_norm_eps": 1e-5, "tie_word_embeddings": False}


def text_of(i, length=12):
    return " ".join(WORDS[(i * 7 + k * k) % len(WORDS)] for k in range(length)) + f" {i}"


def json_lines(documents, field="text"):
    return "".join(json.dumps({"id": i, field: text}, ensure_ascii=i % 2 == 0) + "\n" for i, text in enumerate(documents)).encode()


def zstd(data, *flags):
    return subprocess.run(["zstd", "-q", "-c", *flags], input=data, stdout=subprocess.PIPE, check=True).stdout


def archive_of(make):
    file = io.BytesIO()
    make(file)
    return file.getvalue()


def zip_of(name, data):
    def make(file):
        with zipfile.ZipFile(file, "w") as archive:
            archive.writestr(name, data)
    return archive_of(make)


def tar_of(name, data):
    def make(file):
        with tarfile.open(fileobj=file, mode="w") as archive:
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return archive_of(make)


# What stands in the place of a file: bytes, its name in messages, and a part of the remedy.
IMPOSTORS = {
    "gzip": (gzip.compress(b'{"text": "a"}\n' * 100), "a gzip archive", "gzip -dk"),
    "zstd": (zstd(b'{"text": "a"}\n' * 100), "a zstd archive", "zstd -d"),
    "xz": (lzma.compress(b'{"text": "a"}\n' * 100), "an xz archive", "xz -dk"),
    "bzip2": (bz2.compress(b'{"text": "a"}\n' * 100), "a bzip2 archive", "bzip2 -dk"),
    "zip": (zip_of("a.jsonl", b'{"text": "a"}\n' * 100), "a zip archive", "npack it"),
    "tar": (tar_of("a.jsonl", b'{"text": "a"}\n' * 100), "a tar archive", "npack it"),
    "lfs": (LFS.encode(), "a Git LFS pointer", "git lfs pull"),
    "annex": (b"/annex/objects/SHA256E-s1048576--4d7a.json\n", "a git-annex pointer", "git annex get"),
    "utf16": ('{"text": "a"}\n'.encode("utf-16"), "text in UTF-16", "iconv -f UTF-16"),
    "utf16be": (b"\xfe\xff" + '{"text": "a"}\n'.encode("utf-16-be"), "text in UTF-16", "iconv -f UTF-16"),
    "utf16_unmarked": ('{"text": "a"}\n'.encode("utf-16-le"), "text in UTF-16", "iconv -f UTF-16"),
    "utf32": ('{"text": "a"}\n'.encode("utf-32"), "text in UTF-32", "iconv -f UTF-32"),
    "html": (b"\n<!DOCTYPE html>\n<html><head><title>404</title></head></html>\n", "a web page", "Fetch the file again"),
    "html_bare": (b"<!-- cdn --><HTML><BODY>403 Forbidden</BODY></HTML>\n", "a web page", "Fetch the file again"),
    "s3": (b"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error><Code>AccessDenied</Code></Error>", "a web page", "Fetch the file again"),
}


class Place:
    def __init__(self, chosen):
        self.binary, self.folder = chosen.binary.resolve(), chosen.work.resolve()
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        self.tokenizer = Tokenizer(models.BPE())
        self.tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        self.tokenizer.decoder = decoders.ByteLevel()
        self.tokenizer.train_from_iterator([text_of(i) for i in range(200)], trainers.BpeTrainer(
            vocab_size=400, show_progress=False, special_tokens=[END], initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
        self.tokenizer.save(str(self.folder / "tokenizer.json"))
        self.end = self.tokenizer.token_to_id(END)
        self.known = {}  # ids by text

    def write(self, name, data):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        return name

    def call(self, *words, code=0, **more):
        done = subprocess.run([str(word) for word in (self.binary, *words)], cwd=self.folder, text=True, errors="replace",
                              stdin=more.pop("stdin", subprocess.DEVNULL), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=PATIENCE_S, **more)
        expect(done.returncode == code, f"{words}: exit code {done.returncode}, not {code}\n{done.stdout}")
        return done.stdout

    def command(self, name, *words):
        tokenizer = [] if "--tokenizer" in words else ["--tokenizer", "tokenizer.json"]
        return ["tokenize", *words, *tokenizer, "--out", name, "--format", "llmc"]

    def tokenize(self, name, *words, code=0, **more):
        return self.call(*self.command(name, *words), code=code, **more)

    def ids(self, name):
        return numpy.frombuffer((self.folder / f"{name}.bin").read_bytes()[1024:], numpy.uint16).tolist()

    def expect_documents(self, name, documents):
        unseen = [text for text in documents if text not in self.known]
        self.known.update(zip(unseen, (each.ids for each in self.tokenizer.encode_batch(unseen))))
        wanted = [id for text in documents for id in (self.end, *self.known[text])]
        found = self.ids(name)
        expect(found == wanted, f"{name}: {len(found)} ids, not {len(wanted)}: {found[:20]}, not {wanted[:20]}")


def json_lines_are_known_by_their_content(place):
    documents = [text_of(i) for i in range(40)]
    lines = json_lines(documents)
    packed = {"a.json": lines, "b.ndjson": lines, "C.JSONL": lines, "d.Json": b"\n\n" + lines, "e.dat": lines, "f": lines,
              "g.txt": b"\xef\xbb\xbf" + lines, "h.jsonl.gz": gzip.compress(lines), "i.json.zst": zstd(lines),
              "j.NDJSON.GZ": gzip.compress(lines[:900]) + gzip.compress(lines[900:]), "k": zstd(lines[:77]) + zstd(lines[77:]),
              "l.jsonl.gz": gzip.compress(lines, mtime=1) + b"\0" * 512, "m.bin": zstd(lines, "--long=27", "-19"),
              "n.json": lines.rstrip(b"\n").replace(b"\n", b"\r\n"),
              "o.json": json_lines(documents[:1] + ["x" * 100_000]).rstrip(b"\n")}
    for i, (name, data) in enumerate(packed.items()):
        place.tokenize(f"known{i}", place.write(name, data))
        place.expect_documents(f"known{i}", documents if name != "o.json" else [documents[0], "x" * 100_000])
    for i, (field, name) in enumerate((("body", "p.json"), ("content", "q.zst"))):
        data = json_lines(documents, field)
        place.tokenize(f"field{i}", place.write(name, zstd(data) if name.endswith("zst") else data), "--field", field)
        place.expect_documents(f"field{i}", documents)
    # Texts, packed or not, stay one document; what an option says holds.
    text = "{ braces } alone\n" + "\n".join(documents)
    for i, (name, data, words) in enumerate((("r.txt", text.encode(), ()), ("s.txt.gz", gzip.compress(text.encode()), ()),
                                             ("t.txt.zst", zstd(text.encode()), ()), ("a.json", lines, ("--input", "text")),
                                             ("u.json", json.dumps(documents, indent=1).encode(), ("--input", "text")),
                                             ("page.html", IMPOSTORS["html"][0], ()),
                                             ("page.txt", IMPOSTORS["html"][0], ("--input", "text")))):
        place.tokenize(f"text{i}", place.write(name, data), *words)
        place.expect_documents(f"text{i}", [(gzip.decompress(data).decode() if name.endswith("gz") else
                                             text if name.endswith("zst") else data.decode())])
    for name, value, words in (("v.json", [{"text": text} for text in documents], ()),
                               ("w.json", {"text": documents[0], "more": [1, 2]}, ()),
                               ("x.data", [{"text": text} for text in documents], ("--field", "text"))):
        place.write(name, json.dumps(value, indent=2).encode())
        said = place.tokenize("never", name, *words, code=2)
        expect("it is JSON, but not one object on each line" in said and "jq -c" in said, said)


def other_files_are_named(place):
    for name, (data, what, remedy) in IMPOSTORS.items():
        is_unpacked = name in ("gzip", "zstd")
        for ending in (() if is_unpacked else ("jsonl", "txt")):
            said = place.tokenize("never", place.write(f"other/{name}.{ending}", data), code=2)
            expect(what in said and remedy in said and f"other/{name}.{ending}" in said, f"{name}.{ending}: {said}")
        if not is_unpacked:  # packed once more
            said = place.tokenize("never", place.write(f"other/{name}.gz", gzip.compress(data)), code=2)
            expect(what in said and remedy in said, f"{name}.gz: {said}")
        # A tokenizer, a configuration, weights, an index of shards, tokens.
        folder = f"model_{name}"
        for file in ("tokenizer.json", "tokenizer.model"):
            said = place.tokenize("never", "e.dat", "--tokenizer", place.write(f"{folder}/{file}", data), code=2)
            expect(what in said and remedy in said and file in said, f"{name} as {file}: {said}")
            (place.folder / folder / file).unlink()
        place.write(f"{folder}/config.json", data)
        said = place.call("import", folder, "run", code=2)
        expect(what in said and remedy in said and "config.json" in said, f"{name} as config.json: {said}")
        place.write(f"{folder}/config.json", json.dumps(CONFIG).encode())
        for file in ("model.safetensors", "model.safetensors.index.json"):
            place.write(f"{folder}/{file}", data)
            said = place.call("import", folder, "run", code=4)
            expect(what in said and remedy in said and file in said, f"{name} as {file}: {said}")
            expect(said.startswith("ziggurat: error: ") and "note" not in said and "train.bin" not in said, said)
            (place.folder / folder / file).unlink()
        place.write(f"{folder}/train.bin", data)
        deck = (f"deck_version: 1\nrun: {{name: x}}\nmodel: {{family: llama, layers: 1, hidden: 32, heads: 2, vocab: 400}}\n"
                f"data: {{tokenizer: none, seq: 8, train: [{{format: FORMAT, path: {folder}/train}}]}}\n"
                "train: {steps: 1, global_batch: 1, micro_batch: 1}\noptimizer: {lr: 1.0e-3}\n")
        shutil.copy(place.folder / folder / "train.bin", place.folder / folder / "train.idx")
        for format_ in ("llmc", "megatron", "text"):
            file = "train" if format_ == "megatron" else "train.bin"
            place.write("deck.yaml", deck.replace("FORMAT", format_).replace("/train}", f"/{file}}}").encode())
            said = place.call("check", "deck.yaml", code=2)
            expect(what in said and remedy in said, f"{name} as {format_}: {said}")
    expect(not (place.folder / "run").exists(), "an import that was refused has left something")


def cut_archives_are_refused(place):
    lines = json_lines([text_of(i) for i in range(4000)])
    for name, data in (("cut.gz", gzip.compress(lines)[:-9]), ("cut.zst", zstd(lines, "--check")[:-5]),
                       ("no_end.jsonl.gz", gzip.compress(lines)[:5000])):
        said = place.tokenize("never", place.write(name, data), code=2)
        expect("compressed data end too early" in said and name in said, said)
    data = bytearray(gzip.compress(lines))
    data[len(data) // 2:len(data) // 2 + 9] = b"\xff" * 9
    said = place.tokenize("never2", place.write("hurt.gz", bytes(data)), code=2)
    expect("gzip data are corrupt" in said and "hurt.gz" in said, said)


def pipes_are_read_to_their_end(place):
    documents = [text_of(i, 40) for i in range(6000)]
    lines = json_lines(documents)
    expect(len(lines) > 2 << 20, "several batches")
    place.write("pipe.jsonl", lines)
    place.write("pipe.zst", zstd(lines))
    shell = " ".join(map(str, [place.binary, *place.command("NAME", "INPUT")]))
    for i, (given, feed) in enumerate((("<(cat pipe.jsonl)", ""), ("<(cat pipe.zst)", ""), ("/dev/stdin", "cat pipe.jsonl |"),
                                       ("/dev/stdin", "cat pipe.zst |"), ("fifo", "(cat pipe.jsonl > fifo) &"))):
        if given == "fifo":
            os.mkfifo(place.folder / "fifo")
        command = f"{feed} {shell.replace('NAME', f'pipe{i}').replace('INPUT', given)}"
        done = subprocess.run(["bash", "-c", command], cwd=place.folder, text=True, capture_output=True, timeout=PATIENCE_S)
        expect(done.returncode == 0, f"{command}: {done}")
        place.expect_documents(f"pipe{i}", documents)
    done = subprocess.run(["bash", "-c", f"true | {shell.replace('NAME', 'none').replace('INPUT', '/dev/stdin')}"],
                          cwd=place.folder, text=True, capture_output=True, timeout=PATIENCE_S)
    expect(done.returncode == 2 and "an empty pipe" in done.stderr and not (place.folder / "none.bin").exists(), done)


def work_before_a_bad_line_is_kept(place):
    documents = [text_of(i, 40) for i in range(6000)]
    good = json_lines(documents).splitlines(keepends=True)
    bad_at, surrogate = 5000, b'{"id": 1, "text": "\\ud83d alone"}\n'
    bad = good[:bad_at] + [surrogate] + good[bad_at + 1:]
    place.write("first.jsonl", json_lines(["first"]))
    kept = {}
    for i, (name, pack) in enumerate((("late.jsonl", bytes), ("late.json.gz", gzip.compress), ("late.zst", zstd), ("/dev/stdin", bytes))):
        def with_lines(lines):
            if name != "/dev/stdin":
                place.write(name, pack(b"".join(lines)))
                return {}
            return {"stdin": open(place.folder / place.write("stdin", b"".join(lines)), "rb")}
        through_pipe = name == "/dev/stdin"

        def run(lines, *words, code=0):
            more = with_lines(lines)
            if not through_pipe:
                return place.tokenize(f"kept{i}", "first.jsonl", name, *words, code=code)
            with more["stdin"]:
                feeder = subprocess.Popen(["cat"], stdin=more["stdin"], stdout=subprocess.PIPE)
                try:
                    return place.tokenize(f"kept{i}", "first.jsonl", name, *words, code=code, stdin=feeder.stdout)
                finally:
                    feeder.stdout.close()
                    feeder.wait()

        said = run(bad, code=2)
        expect(f"line {bad_at + 1}" in said and "a lone surrogate" in said and "--skip-bad-lines" in said, said)
        expect((place.folder / f"kept{i}.journal").exists(), "no journal")
        other = [good[0].replace(b"All", b"ALL"), *good[1:]]
        expect(other[0] != good[0], "a changed first line")
        said = run(other, code=2)
        expect("started with other inputs" in said, said)
        said = run([*good, b'{"text": "one more"}\n'])
        expect("of it done before" in said and "skipped" not in said, said)
        place.expect_documents(f"kept{i}", ["first", *documents, "one more"])
        expect(not (place.folder / f"kept{i}.journal").exists(), "a journal is left")
    # Another file behind the place, and lines that are skipped instead.
    place.write("late.jsonl", b"".join(bad))
    place.tokenize("more", "first.jsonl", "late.jsonl", code=2)
    place.write("extra.json", b'{"text": "a"}\n[1]\n{"text": 1}\n{"other": "b"}\n\n{"text": "b"\n{"text": "c"}\n')
    said = place.tokenize("more", "first.jsonl", "late.jsonl", "extra.json", "--skip-bad-lines", "--input", "jsonl")
    expect("of it done before" in said and "5 bad lines skipped" in said, said)
    for line in (f"'late.jsonl', line {bad_at + 1} is skipped: a lone surrogate", *(f"'extra.json', line {n} is skipped" for n in (2, 3, 4, 6))):
        expect(line in said, f"{line} in {said}")
    place.expect_documents("more", ["first", *documents[:bad_at], *documents[bad_at + 1:], "a", "c"])


def the_first_bad_lines_are_named(place):
    lines = [f'{{"text": "{i}"}}\n' if i % 3 else "no JSON\n" for i in range(300)]
    place.write("many.jsonl", "".join(lines).encode())
    said = place.tokenize("many", "many.jsonl", "--skip-bad-lines")
    expect("100 bad lines skipped" in said and said.count("is skipped:") == 20 and "80 more lines are skipped" in said, said)
    place.expect_documents("many", [str(i) for i in range(300) if i % 3])
    said = place.tokenize("none_left", place.write("surrogates.ndjson", b'{"text": "x\\udc00\\ud800"}\n'), "--skip-bad-lines")
    expect("1 bad line skipped" in said and "0 documents" in said, said)


def a_killed_job_goes_on_in_a_packed_file(place):
    documents = [text_of(i, 60) for i in range(16000)]
    place.write("long.jsonl.zst", zstd(json_lines(documents)))
    place.tokenize("whole", "long.jsonl.zst", "--threads", "1")
    process = subprocess.Popen([str(word) for word in (place.binary, *place.command("killed", "long.jsonl.zst", "--threads", "1"))],
                               cwd=place.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    journal = place.folder / "killed.journal"
    wait_until(lambda: process.poll() is not None or (journal.exists() and journal.read_text().count("\n") > 1), "a record")
    process.send_signal(signal.SIGKILL)
    is_killed = process.wait() != 0
    if is_killed:
        said = place.tokenize("killed", "long.jsonl.zst", "--threads", "2")
        expect("of it done before" in said, said)
    expect(place.ids("killed") == place.ids("whole"), f"other ids (killed: {is_killed})")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("binary", "work"):
        parser.add_argument(f"--{name}", type=pathlib.Path, required=True)
    place = Place(parser.parse_args())
    for test in (json_lines_are_known_by_their_content, other_files_are_named, cut_archives_are_refused, pipes_are_read_to_their_end,
                 work_before_a_bad_line_is_kept, the_first_bad_lines_are_named, a_killed_job_goes_on_in_a_packed_file):
        begin = time.monotonic()
        test(place)
        print(f"  {test.__name__.replace('_', ' ')}: ok, {time.monotonic() - begin:.1f} s", flush=True)


if __name__ == "__main__":
    try:
        main()
    except Failure as failure:
        sys.exit(f"FAILED: {failure}")
