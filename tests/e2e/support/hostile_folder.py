"""A small model, run and tokenizer that tests of hostile files damage, and bounded calls of the program."""

import ctypes
import ctypes.util
import dataclasses
import json
import os
import shutil
import struct
import subprocess
import time

from trainings import Failure, Place, expect

CALL_S = 60  # only for what hangs

_xxhash = ctypes.CDLL(ctypes.util.find_library("xxhash"))
_xxhash.XXH3_64bits.restype = ctypes.c_uint64
_xxhash.XXH3_64bits.argtypes = [ctypes.c_char_p, ctypes.c_size_t]


def xxh3(data):
    return _xxhash.XXH3_64bits(data, len(data))


@dataclasses.dataclass
class Called:
    code: int
    text: str
    seconds: float  # of processor time
    kib: int  # largest resident memory


def call(binary, folder, *words, seconds=CALL_S):
    """Runs the program once. A call that does not end within `seconds` fails the test."""
    begin = time.monotonic()
    with open(folder / "call.txt", "w+b") as output:
        process = subprocess.Popen([binary, *map(str, words)], cwd=folder, stdin=subprocess.DEVNULL, stdout=output,
                                   stderr=subprocess.STDOUT, env=dict(os.environ, OMP_NUM_THREADS="1"))
        pid = 0
        while pid == 0:
            pid, status, used = os.wait4(process.pid, os.WNOHANG)
            if pid == 0 and time.monotonic() - begin > seconds:
                process.kill()
                os.wait4(process.pid, 0)
                raise Failure(f"{' '.join(map(str, words))} did not end within {seconds} s")
            time.sleep(0.002 if pid == 0 else 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        text = output.read().decode(errors="replace")
    return Called(process.returncode, text, used.ru_utime + used.ru_stime, used.ru_maxrss)


def refuses(binary, folder, code, part, *words, **how):
    """The call ends with `code`, and its text has `part`."""
    found = call(binary, folder, *words, **how)
    expect(found.code == code and part in found.text,
           f"{' '.join(map(str, words))}: exit code {found.code}, expected {code} and '{part}'\n{found.text[-3000:]}")
    return found


# ---------------------------------------------------------------- safetensors


def read_safetensors(path):
    data = path.read_bytes()
    length = struct.unpack("<Q", data[:8])[0]
    return json.loads(data[8:8 + length]), data[8 + length:]


def write_safetensors(path, header, data):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def many_tensors(count):
    """The header and data of a file with so many tensors of one byte."""
    entries = ",".join(f'"model.layers.{k}.weight":{{"dtype":"U8","shape":[1],"data_offsets":[{k},{k + 1}]}}'
                       for k in range(count))
    return ("{" + entries + "}").encode(), bytes(count)


# ---------------------------------------------------------------- checkpoints


def rewrite_complete(step, change):
    """Changes the object in COMPLETE, and sets its hash right, also in LATEST."""
    path = step / "COMPLETE"
    told = json.loads(path.read_text())
    del told["xxh3"]
    change(told)
    body = (json.dumps(told)[:-1] + ",\n").encode()
    path.write_bytes(body + f'"xxh3": "{xxh3(body):016x}"}}\n'.encode())
    latest = step.parent / "LATEST"
    if latest.read_text().startswith(step.name):
        latest.write_text(f"{step.name} {xxh3(body):016x}\n")


def accept_master(step):
    """Makes COMPLETE record the current bytes of master.h5."""
    data = (step / "master.h5").read_bytes()

    def change(told):
        entry = next(entry for entry in told["files"] if entry["name"] == "master.h5")
        hash_key = next(key for key in entry if key not in ("name", "bytes"))
        entry["bytes"] = len(data)
        entry[hash_key] = f"{xxh3(data):016x}" if isinstance(entry[hash_key], str) else xxh3(data)

    rewrite_complete(step, change)


# ---------------------------------------------------------------- what is damaged


def write_tokenizer(folder):
    """A byte-level tokenizer.json with some merges."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    letters = {byte: chr(byte) for byte in printable}
    letters |= {byte: chr(256 + k) for k, byte in enumerate(byte for byte in range(256) if byte not in printable)}
    vocab = {letters[byte]: byte for byte in range(256)}
    merges = [["t", "h"], ["th", "e"], ["a", "n"], ["i", "n"]]
    for first, second in merges:
        vocab[first + second] = len(vocab)
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    (folder / "tokenizer.json").write_text(json.dumps({
        "version": "1.0", "truncation": None, "padding": None,
        "added_tokens": [{"id": len(vocab), "content": "<|end|>", "single_word": False, "lstrip": False, "rstrip": False,
                          "normalized": False, "special": True}],
        "normalizer": None, "pre_tokenizer": level, "post_processor": None, "decoder": level,
        "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
                  "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False, "vocab": vocab,
                  "merges": merges}}, indent=1))
    (folder / "tokenizer_config.json").write_text(json.dumps(
        {"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": "<|end|>", "model_max_length": 32}, indent=1))


class HostileFolder(Place):
    """A folder with the deck of a small Llama, a finished run `whole` of it, and its export `model`."""

    SETTINGS = ["train.steps=4", "train.global_batch=2", "train.micro_batch=2", "checkpoint.every=2 steps",
                "checkpoint.keep.last=5", "parallel.threads=1", "schedule.warmup=0 steps", "logging.every=1 steps"]

    def __init__(self, chosen, name):
        super().__init__(chosen, name, "llama")
        self.train("whole", 1, *self.SETTINGS)
        self.call("export", "whole", "model", "--dtype", "f32")
        write_tokenizer(self.folder / "model")

    def copy(self, source, target):
        path = self.folder / target
        shutil.rmtree(path, ignore_errors=True)
        shutil.copytree(self.folder / source, path, symlinks=True)
        return path

    def refuses(self, code, part, *words, **how):
        return refuses(self.binary, self.folder, code, part, *words, **how)
