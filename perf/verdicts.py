#!/usr/bin/env python3
"""Reads the measurements of parts of perf/run.sh and prints a table: figure | measured | bar | verdict.

  perf/verdicts.py [--results build/perf] PART...

Exit code 1 when a bar is missed, or one that needs no peer has no measurement.
"""

import argparse
import dataclasses
import json
import pathlib
import sys

MIB = 1 << 20


@dataclasses.dataclass
class Bar:
    """`key` of the records that match `where` must be at least, or at most, `value`: every one of them."""

    title: str
    where: dict
    key: str
    value: float
    is_most: bool = False

    def worst(self, records):
        """The measured value that decides; None without one."""
        values = [record[self.key] for record in records if self.key in record and self.matches(record)]
        return (max if self.is_most else min)(values, default=None)

    def matches(self, record):
        return all(test(record) if callable(test) else record.get(key) == test for key, test in self.where.items())

    def holds(self, value):
        return value <= self.value if self.is_most else value >= self.value


def model_bars(measurement, key, title, least):
    return [Bar(f"{model} {precision}: {title}", {"measurement": measurement, "model": model, "precision": precision},
                key, value)
            for model in ("gpt2-124m", "llama-124m") for precision, value in least.items()]


def collective_bars():
    large = {"measurement": "collectives", "type": "f32", "ranks": 2, "bytes": 64 * MIB}
    small = {"measurement": "collectives", "bytes": 4096, "cores": lambda record: record["ranks"] <= record["cores"]}
    bars = []
    for kind, times in {"reduce_scatter": 12, "all_reduce": 6, "all_gather": 3}.items():
        name = kind.replace("_", "-")
        bars += [Bar(f"{name}, 64 MiB fp32, 2 ranks: times MPI's", large | {"kind": kind}, "ratio", times),
                 Bar(f"{name}, 64 MiB fp32, 2 ranks: share of copy", large | {"kind": kind}, "share_of_copy", 0.85),
                 Bar(f"{name}, 4 KiB, a core for each rank: times MPI's", small | {"kind": kind}, "ratio", 1)]
    return bars + [Bar("collectives: all results right", {"measurement": "collectives"}, "is_right", True)]


BARS = {
    "step": model_bars("step", "share_of_floor", "share of the floor's rate", {"f32": 0.95, "bf16": 0.90}),
    "collectives": collective_bars(),
    "storage": [Bar(f"checkpoint, {title}: share of the disk's plain rate",
                    {"measurement": "storage", "kind": kind, "is_right": True}, "ratio", 0.8)
                for kind, title in (("write", "saving"), ("read", "loading"), ("verify", "verifying"))],
    "queue": [Bar(f"NVMe, {kind}: share of fio's rate",
                  {"measurement": "nvme_queue", "kind": kind, "way": "queue", "is_right": True}, "ratio", 0.95)
              for kind in ("read", "write")],
    "tiers": [Bar(f"state on NVMe, {tokens} tokens: step over its floor", {"measurement": "tiers", "tokens": tokens},
                  "over_floor", 1.10, is_most=True) for tokens in (2048, 256)] +
             [Bar("state on NVMe: share of a step in which a ready transfer found the disk idle",
                  {"measurement": "tiers"}, "disk_idle", 0.05, is_most=True)] +
             [Bar("parameters on slow NVMe, 4 micro-batches: speed by layer over by micro-batch",
                  {"measurement": "orders", "figure": "parameters"}, "ratio", 1.5)],
    "context": [Bar("two ranks, sequences of 8192: tokens/s by context over by data", {"measurement": "context",
                    "figure": "speed"}, "ratio", 0.85),
                Bar("Ring Attention: seconds of attention between ranks, most over least less 1",
                    {"measurement": "context", "figure": "zig_zag"}, "spread", 0.03, is_most=True)],
    "pieces": [Bar("slow tensor axis: share of the collectives that pieces hide", {"measurement": "pieces"}, "hidden", 0.6),
               Bar("fast tensor axis: step in pieces over whole collectives", {"measurement": "pieces"}, "cost", 1.02,
                   is_most=True)],
    "updates": [Bar("optimizer on the host, link as PCIe 4.0: practicality", {"measurement": "updates", "case": "host"},
                    "practicality", 0.85),
                Bar("optimizer on NVMe at 6 GB/s per 100 TFLOP/s: practicality", {"measurement": "updates", "case": "nvme"},
                    "practicality", 0.70),
                Bar("NVMe as long as backward: step over its floor",
                    {"measurement": "updates", "case": "nvme as long as backward"}, "over_floor", 1.10, is_most=True),
                Bar("NVMe as long as backward: updates in backward over after it",
                    {"measurement": "updates", "case": "nvme as long as backward"}, "in_over_after", 0.85, is_most=True)],
    "adamw": [Bar(f"AdamW, {kind}, {threads} thread(s): share of the plain loop",
                  {"measurement": "adamw", "type": kind, "threads": threads}, "share_of_plain", 0.85)
              for kind in ("f32", "bf16", "both casts") for threads in (1, 2)],
    "spread": [Bar(title, {"measurement": "spread", "figure": figure}, "ratio", value, is_most=True)
               for figure, title, value in (
                   ("zero3", "two ranks: step with ZeRO 3 over ZeRO 0", 1.10),
                   ("tiers", "two ranks: homes by the planner where all is roomy over no tiers", 1.03),
                   ("ranks", "two ranks over one of two threads: time per token", 1.05),
                   ("processor_time", "eight ranks over two: processor time", 1.5))],
    # Of two stages one is idle for one of nine passes; their layers balance to 0.93.
    "axes": [Bar(title, {"measurement": "axes", "figure": figure}, "ratio", value)
             for figure, title, value in (
                 ("tensor", "two ranks: tensor with sequence over data, tokens/s", 0.85),
                 ("pipeline", "two ranks: pipeline of eight micro-batches over data, tokens/s", 0.90 * 8 / 9 * 0.93))],
    "families": [Bar(f"{model} {precision}: FLOP rate over that of Llama's layers",
                     {"measurement": "families", "model": model, "precision": precision}, "ratio", 0.9)
                 for model in ("qwen3-1024", "gemma-1024", "gemma2-1024", "mistral-1024") for precision in ("f32", "bf16")],
    "cache": [Bar(f"{precision}: {title}", {"measurement": "cache", "figure": figure, "precision": precision}, "ratio", value)
              for figure, title, value in (
                  ("decode", "tokens/s of a text over weights at the memory's bandwidth", 0.7),
                  ("own", "choices with contexts of their own over whole sequences, tokens/s", 2.0),
                  ("examples", "choices after five examples over whole sequences, tokens/s", 5.0))
              for precision in ("fp32", "bf16")],
    # The second sweep is a third of the head's FLOPs, and the head is a third of GPT-2 124M.
    "preference": [Bar("a step of DPO over one of cross-entropy", {"measurement": "preference"}, "ratio", 1.2, is_most=True)],
    "bubble": [Bar(f"{schedule}: what stages wait for each other, off theory by its share", {"measurement": "bubble",
                   "schedule": schedule}, "off", 0.05, is_most=True) for schedule in ("gpipe", "1f1b", "zero_bubble",
                   "zero_bubble_v", "zero_bubble_v_half", "interleaved", "pipedream")],
    "saving": [Bar("checkpoint beside training: the step that saves over others",
                   {"measurement": "saving", "figure": "step_that_saves"}, "ratio", 1.10, is_most=True)],
    "throttled": [Bar("auto's depth: step over that at the best of 1 to 4", {"measurement": "throttled"}, "auto", 1.05,
                      is_most=True),
                  Bar("overlap: gain as a share of what the floor says", {"measurement": "throttled"}, "overlap", 0.9),
                  Bar("fetching a layer: time on four ranks over one", {"measurement": "throttled"}, "fetch", 0.3,
                      is_most=True)],
    "chunks": [Bar("chunks that stay: step over that of the best static split", {"measurement": "chunks"},
                   "over_static", 1.0, is_most=True),
               Bar("auto's chunk: step over that of the best power of two", {"measurement": "chunks"}, "over_best", 1.03,
                   is_most=True),
               Bar("chunks with room for all state: step over static movement", {"measurement": "chunks"}, "with_room",
                   1.03, is_most=True)],
    "torch": model_bars("compare_torch", "ratio", "tokens/s over the faster PyTorch", {"f32": 1.4, "bf16": 1.4}),
    "torch_adamw": [Bar(f"AdamW, {kind}, {threads} thread(s): PyTorch's time over ours",
                        {"measurement": "compare_adamw", "type": kind, "threads": threads}, "ratio", value)
                    for kind, value in (("f32", 0.95), ("both casts", 1.3)) for threads in (1, 2)],
    "fsdp2": [Bar("ZeRO 3 bf16: tokens/s over PyTorch FSDP2", {"measurement": "compare_sharded", "peer": "fsdp2"},
                  "ratio", 1.6)],
    "deepspeed": [Bar("ZeRO 3 fp32: tokens/s over DeepSpeed ZeRO-3",
                      {"measurement": "compare_sharded", "peer": "deepspeed"}, "ratio", 2)],
    "offload": [Bar(f"NVMe, {seq} tokens, recompute {ours}: rate over DeepSpeed's full",
                    {"measurement": "compare_deepspeed", "seq": seq, "ours": ours, "theirs": "full"}, "rate", 2)
                for seq in (128, 1024) for ours in ("full", "none")] +
               [Bar("state on NVMe: peak memory over DeepSpeed ZeRO-3", {"measurement": "compare_deepspeed"}, "peak", 0.5,
                    is_most=True)],
    "tokenize": [Bar(f"text to tokens, {pattern}: rate over the library's", {"measurement": "tokenize", "pattern": pattern,
                     "same_bytes": True}, "speedup", 1)
                 for pattern in ("gpt2", "llama3", "qwen2", "deepseek_v3", "mistral_tekken", "llama2_json", "mistral_json", "gemma_json",
                                 "llama2_sentencepiece", "unigram_sentencepiece")],
    "largest": [Bar("the largest model: peak memory over 12 GiB", {"measurement": "largest"}, "share_of_limit", 1,
                    is_most=True)],
}
NEEDS_PEER = {"queue", "torch", "torch_adamw", "fsdp2", "deepspeed", "offload", "tokenize"}
ON_REQUEST = {"largest"}


def read(path):
    if not path.exists():
        return []
    with open(path) as file:
        return [json.loads(line) for line in file if line.startswith("{")]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=pathlib.Path, default=pathlib.Path("build/perf"))
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(BARS))
    chosen = parser.parse_args()
    if unknown := set(chosen.parts) - set(BARS):
        parser.error(f"no part is called {', '.join(sorted(unknown))} ({', '.join(BARS)} are).")

    failed = False
    print(f"{'figure':<60} {'measured':>9} {'bar':>9}  verdict")
    for part in chosen.parts or [name for name in BARS if name not in ON_REQUEST]:
        records = read(chosen.results / f"{part}.jsonl")
        for bar in BARS[part]:
            value = bar.worst(records)
            if value is None:
                verdict, failed = "not measured", failed or part not in NEEDS_PEER
            else:
                verdict, failed = ("ok", failed) if bar.holds(value) else ("MISSED", True)
            shown = "-" if value is None else format(value, ".3f")
            print(f"{bar.title:<60} {shown:>9} {('<= ' if bar.is_most else '>= ') + format(bar.value, '.2f'):>9}  {verdict}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
