#!/usr/bin/env python3
"""An export has the type that the model came in, or was computed in; adapters name their base; overrides and names of other
programs get the right form in the message.

  third_day_export_test.py --binary ZIGGURAT --work FOLDER --mpiexec COMMAND
"""

import json
import pathlib
import struct
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import trainings
from trainings import PATIENCE_S, Place, expect, run_script, say

DECK = 2
SETTINGS = ["checkpoint.every=2 steps", "schedule={kind: constant, warmup: 0 steps}", "train.steps=2", "train.global_batch=10"]


class Exports(Place):
    def call(self, *words, code=0):
        done = subprocess.run([self.binary, *map(str, words)], cwd=self.folder, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=PATIENCE_S)
        expect(done.returncode == code, f"{words} ended with {done.returncode}, not {code}\n{done.stdout}")
        return done.stdout

    def types(self, folder, name="model.safetensors"):
        """Types of the numbers in a file of weights, by its header."""
        data = (self.folder / folder / name).read_bytes()
        header = json.loads(data[8:8 + struct.unpack("<Q", data[:8])[0]])
        return {tensor["dtype"] for key, tensor in header.items() if key != "__metadata__"}


def types_are_those_of_the_model(chosen):
    place = Exports(chosen, "types", "llama")
    for compute, theirs in (("fp32", "F32"), ("bf16", "BF16")):
        place.train(compute, 1, *SETTINGS, f"precision.compute={compute}")
        said = place.call("export", compute, f"{compute}_out")
        expect(place.types(f"{compute}_out") == {theirs} and "as computed" in said, said)
        other = "bf16" if compute == "fp32" else "fp32"
        place.train(f"tuned_{compute}", 1, *SETTINGS, f"model.init={{from: hf, path: {compute}_out}}",
                    f"precision.compute={other}")
        said = place.call("export", f"tuned_{compute}", f"tuned_{compute}_out")
        expect(place.types(f"tuned_{compute}_out") == {theirs} and "as the model came in" in said, said)
        expect("note:" not in said, said)
    place.call("export", "bf16", "asked", "--dtype", "f32")
    expect(place.types("asked") == {"F32"}, "the type that was asked for")

    config = place.folder / "tuned_fp32" / "ckpt" / "published" / "config.json"
    config.write_text(json.dumps(json.loads(config.read_text()) | {"torch_dtype": "float16"}))
    said = place.call("export", "tuned_fp32", "half_out")
    expect(place.types("half_out") == {"F32"} and "note: the model came in float16" in said and "--dtype bf16" in said, said)
    say("types")


def adapters_name_their_base(chosen):
    place = Exports(chosen, "bases", "llama")
    place.train("base", 1, *SETTINGS)
    place.train("adapted", 1, *SETTINGS, "train.lora.rank=4", "model.init={from: checkpoint, path: base}")

    def base_of(folder):
        return json.loads((place.folder / folder / "adapter_config.json").read_text())["base_model_name_or_path"]

    said = place.call("export", "adapted", "plain_out")
    expect(base_of("plain_out") is None and "note: the adapters name no base" in said and "--base" in said, said)
    said = place.call("export", "adapted", "named_out", "--base", "meta-llama/Llama-3.2-1B")
    expect(base_of("named_out") == "meta-llama/Llama-3.2-1B" and "note:" not in said, said)
    for words in (("base", "whole_out"), ("adapted", "merged_out", "--merge")):
        said = place.call("export", *words, "--base", "x", code=DECK)
        expect("--base names the base of adapters" in said and not (place.folder / words[1]).exists(), said)
    say("bases")


# What somebody writes who comes from another program, and what the message says to write.
OVERRIDES = {
    ("--train.steps", "5"): "train.steps=5",
    ("--optimizer.lr=3e-4",): "optimizer.lr=3e-4",
    ("data.train.0.path=x.txt",): "Write data.train[0].path=x.txt.",
    ("data.train.0.format=raw",): "Write data.train[0].format=raw.",
    ("train.steps: 5",): "Write train.steps=5.",
    ("optimizer.lr:", "3e-4"): "Write optimizer.lr=3e-4.",
    ("train.steps", "5"): "Write train.steps=5.",
    ("train.steps", "=", "5"): "Write train.steps=5.",
    ("train.lora.r=4",): "Here that is train.lora.rank",
    ("train.lora={r: 4}",): "Here that is train.lora.rank",
    ("train.lora.lora_alpha=4",): "Here that is train.lora.alpha",
    ("lora_dropout=0.1",): "adapters have no dropout",
    ("train.lora={rank: 4, targets: [q_proj]}",): "'attention.q'",
    ("train.lora={rank: 4, targets: [down_proj]}",): "'mlp.down'",
    ("precision.compute=bfloat16",): "'bf16'",
    ("precision.compute=float16",): "'bf16'",
    ("tiers.home.parameters=cpu",): "'host'",
    ("tiers.home.optimizer=disk",): "'nvme'",
}
EXPLAINED = {
    "train.lora.r": "Here that is train.lora.rank",
    "train.lora.target_modules": "Here that is train.lora.targets",
    "lora_alpha": "Here that is train.lora.alpha",
    "q_proj": "The setting is attention.q",
    "o_proj": "The setting is attention.out",
    "bfloat16": "precision.compute=bf16",
    "cpu": "The setting is host",
    "packing": "Here that is data.reset_at_document",
}


def other_names_get_ours(chosen):
    place = Exports(chosen, "names", "llama")
    for words, ours in OVERRIDES.items():
        said = place.call("check", place.deck, *words, code=DECK)
        expect(ours in said, f"{words}: {said}")
    for word, ours in EXPLAINED.items():
        said = place.call("check", "--explain", word, code=DECK)
        expect(ours in said, f"{word}: {said}")
    say(f"{len(OVERRIDES)} overrides and {len(EXPLAINED)} names")


if __name__ == "__main__":
    run_script(__doc__, types_are_those_of_the_model, adapters_name_their_base, other_names_get_ours)
