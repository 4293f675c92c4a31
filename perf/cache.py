#!/usr/bin/env python3
"""Times generation and multiple choice with a KV cache, for a Llama of 8 layers x 1024 with a vocabulary of 32000.

  perf/cache.py --binary build/release/bin/ziggurat --folder build/perf [--rounds 3]

decode: tokens/s of `ziggurat sample` over those that reading all weights at the memory's bandwidth allows.
choice: tokens that `ziggurat eval --task` has scored per second over the tokens/s of `ziggurat eval --data`, which reads
each token of each row. Two sets of 60 tasks: with contexts of their own, and with one beginning of five examples for all.
"""

import argparse
import json
import pathlib
import random
import re
import subprocess
import time

MODEL = "{family: llama, layers: 8, hidden: 1024, heads: 16, kv_heads: 4, ffn_hidden: 2816, vocab: 32000, max_seq: 2048}"
THREADS = 2
TASKS = 60


def bandwidth(binary):
    """Bytes per second that THREADS threads read from memory."""
    printed = subprocess.run([binary.parent / "read_bench", str(THREADS)], text=True, stdout=subprocess.PIPE, check=True)
    return json.loads(printed.stdout)["bytes_per_second"]


class Place:
    def __init__(self, binary, folder):
        self.binary, self.folder = binary.resolve(), folder / "cache"
        self.folder.mkdir(parents=True, exist_ok=True)
        root = pathlib.Path(__file__).resolve().parents[1]
        self.text = "".join(path.read_text() for path in sorted((root / "docs").glob("*.md")))
        (self.folder / "text.txt").write_text(self.text)
        (self.folder / "deck.yaml").write_text(
            f"deck_version: 1\nrun: {{dir: run}}\nmodel: {MODEL}\n"
            "data: {seq: 2048, tokenizer: bytes, train: [{format: text, path: text.txt}]}\n"
            "train: {steps: 1, global_batch: 1, micro_batch: 1}\ncheckpoint: {every: 1 steps}\n")
        if not (self.folder / "run").exists():
            self.call("train", "deck.yaml")

    def call(self, *words):
        done = subprocess.run([self.binary, *map(str, words)], cwd=self.folder, text=True, capture_output=True, check=True)
        return done.stdout, done.stderr

    def weights(self):
        """Number of weights that one token reads: all except the embedding's table."""
        layer = 1024 * (16 + 2 * 4) * 64 + 1024 * 1024 + 3 * 1024 * 2816
        return 8 * layer + 32000 * 1024

    def decode(self, compute):
        notes = self.call("sample", "run", "--prompt", "In the", "--tokens", 100, "--temperature", 0, "--compute", compute)[1]
        return float(re.search(r"tokens at ([0-9.e+]+) tokens/s", notes)[1])

    def whole(self, compute):
        """Tokens per second of a forward of whole sequences: from the times of two lengths of data."""
        seconds = []
        for name, length in (("short.txt", 2049), ("long.txt", 6 * 2048 + 1)):
            (self.folder / name).write_bytes(self.text.encode()[:length])
            begin = time.perf_counter()
            self.call("eval", "run", "--data", name, "--format", "text", "--compute", compute)
            seconds.append(time.perf_counter() - begin)
        return 5 * 2048 / (seconds[1] - seconds[0])

    def write_tasks(self, name, beginning):
        draw = random.Random(1)
        words = self.text.split()
        with (self.folder / name).open("w") as file:
            for _ in range(TASKS):
                at = draw.randrange(len(words) - 100)
                endings = [" ".join(words[draw.randrange(len(words) - 4):][:3]) for _ in range(4)]
                file.write(json.dumps({"ctx": beginning + " ".join(words[at:at + 30]), "endings": endings, "label": 0}) + "\n")

    def choice(self, name, compute):
        printed = json.loads(self.call("eval", "run", "--task", name, "--compute", compute, "--json")[0])
        return printed["read_tokens"] / printed["seconds"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", type=pathlib.Path, required=True)
    parser.add_argument("--folder", type=pathlib.Path, required=True)
    parser.add_argument("--rounds", type=int, default=3)
    chosen = parser.parse_args()
    place = Place(chosen.binary, chosen.folder)
    place.write_tasks("own.jsonl", "")
    place.write_tasks("examples.jsonl", place.text[:1000])
    for compute, width in (("fp32", 4), ("bf16", 2)):
        best = {"decode": 0.0, "own": 0.0, "examples": 0.0, "whole": 0.0, "limit": 0.0}
        for _ in range(chosen.rounds):
            best["limit"] = max(best["limit"], bandwidth(chosen.binary) / (place.weights() * width))
            best["decode"] = max(best["decode"], place.decode(compute))
            best["whole"] = max(best["whole"], place.whole(compute))
            for name in ("own", "examples"):
                best[name] = max(best[name], place.choice(f"{name}.jsonl", compute))
        print(json.dumps({"measurement": "cache", "figure": "decode", "precision": compute, "tokens_per_second": best["decode"],
                          "limit": best["limit"], "ratio": best["decode"] / best["limit"]}), flush=True)
        for name in ("own", "examples"):
            print(json.dumps({"measurement": "cache", "figure": name, "precision": compute, "tokens_per_second": best[name],
                              "whole": best["whole"], "ratio": best[name] / best["whole"]}), flush=True)


if __name__ == "__main__":
    main()
