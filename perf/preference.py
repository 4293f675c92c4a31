#!/usr/bin/env python3
"""Times steps of DPO beside steps of cross-entropy on the same sequences: two pairs of answers of 256 tokens each in 1,024.

  perf/preference.py --binary build/release/bin/ziggurat [--rounds 1]

The program computes the losses of both answers and their gradients in one pass, with a second sweep over the logits. A program
that needs the losses before its forward pass for training takes one more forward pass in each step: `with_another_forward` is
that ratio, from the time of the reference's scores, which are one forward pass of each sequence.
"""

import argparse
import json
import pathlib
import random
import statistics
import struct

import training

SEQUENCES, ANSWER, ANSWERS = 4, 256, 4
COUNTS = 1 << 31


def sample_file(version):
    """Random tokens as a sample file: conversations (1), or pairs of answers (2)."""
    path = training.RESULTS / f"random_answers_{version}.samples"
    draw = random.Random(1234)
    number = SEQUENCES * ANSWERS
    # All answers have the same prompt of one token.
    tokens = [draw.randrange(training.VOCABULARY) | COUNTS if place % ANSWER else 1 for place in range(number * ANSWER)]
    begins = [sample * ANSWER for sample in range(number + 1)]
    training.RESULTS.mkdir(parents=True, exist_ok=True)
    path.write_bytes(struct.pack("<8siiqqqQQQ", b"ZGSAMPLE", version, 0, number, len(tokens), number * (ANSWER - 1), 0, 0, 0)
                     + struct.pack(f"<{len(tokens)}I", *tokens) + struct.pack(f"<{len(begins)}q", *begins))
    return path


def settings_of(objective):
    path = sample_file(1 if objective == "next_token" else 2)
    return {"data.train": f"[{{format: chat, path: {path}}}]", "data.tokenizer": "none", "model.vocab": training.VOCABULARY,
            "train.objective.kind": objective, "train.micro_batch": 2}


def forward_seconds(binary, threads):
    """Seconds of one forward pass of all sequences: of a validation on them."""
    settings = settings_of("next_token")
    settings |= {"data.validation": settings["data.train"], "validate.every": "2 steps"}
    training.train(binary, 1, threads, settings, 4, "preference_forward")
    with open(training.RESULTS / "runs" / "preference_forward" / "metrics.jsonl") as lines:
        return min(record["validate_s"] for record in map(json.loads, lines) if record["event"] == "validate")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", type=pathlib.Path, required=True)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--threads", type=int, default=2)
    chosen = parser.parse_args()
    ratios, forwards = [], []
    for _ in range(chosen.rounds):
        seconds = {kind: training.train(chosen.binary, 1, chosen.threads, settings_of(kind), 4, f"preference_{kind}")["step_seconds"]
                   for kind in ("next_token", "dpo")}
        ratios.append(seconds["dpo"] / seconds["next_token"])
        forwards.append(1 + forward_seconds(chosen.binary, chosen.threads) / seconds["next_token"])
    print(json.dumps({"measurement": "preference", "seconds": seconds, "ratio": statistics.median(ratios),
                      "with_another_forward": statistics.median(forwards)}), flush=True)


if __name__ == "__main__":
    main()
