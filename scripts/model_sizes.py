#!/usr/bin/env python3
"""Prints which published models one machine of each kind can train, as the table of docs/models.md.

  scripts/model_sizes.py [BUILD]     BUILD: a build folder (default: build/release)

For each model and machine, `ziggurat check` plans a training in bf16 with AdamW on all ranks of one node: ZeRO 3, full
recomputation, sequences of 2048 tokens, one per micro-batch. A cell has the first of PLACES with which the plan fits.
"""

import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests" / "e2e" / part) for part in ("models", "support")]

import json

import published_test

MACHINES = ["laptop", "cpu-64", "rtx-4090", "dgx-a100", "dgx-h100", "dgx-h200"]
MODELS = ["SmolLM2-135M", "SmolLM2-1.7B", "SmolLM3-3B", "Llama-3.2-1B", "Llama-3.2-3B", "Llama-3.1-8B", "Llama-2-13b", "CodeLlama-34b",
          "Llama-3.3-70B", "Mistral-7B-v0.3", "Mistral-Nemo", "Mistral-Large-2411", "Qwen2.5-0.5B", "Qwen2.5-1.5B", "Qwen2.5-3B",
          "Qwen2.5-7B", "Qwen2.5-14B", "Qwen2.5-32B", "Qwen2.5-72B", "Qwen3-0.6B", "Qwen3-1.7B", "Qwen3-4B", "Qwen3-8B", "Qwen3-14B",
          "Qwen3-32B", "gemma-2b", "gemma-7b", "gemma-2-2b", "gemma-2-9b", "gemma-2-27b", "gemma-3-270m", "gemma-3-1b",
          "Phi-3-mini-4k", "phi-4", "Phi-4-mini", "granite-3.3-2b", "granite-3.3-8b", "OLMo-2-1B", "OLMo-2-7B",
          "OLMo-2-13B", "OLMo-2-32B", "pythia-1b", "pythia-12b"]
# Where the state is, and the settings that put it there.
ON_HOST = ["tiers.home.optimizer=host", "tiers.home.gradients=host"]
ON_NVME = ["tiers.home.optimizer=nvme", "tiers.home.gradients=nvme", "tiers.nvme.paths=[DISK]", "sharding.reduce=each_microbatch"]
PLACES = [("device", []),
          ("host", ON_HOST[:1]),
          ("host", ON_HOST),
          ("host", [*ON_HOST, "tiers.home.parameters=host", "tiers.home.activations=host"]),
          ("NVMe", ON_NVME),
          ("NVMe", [*ON_NVME, "tiers.home.parameters=nvme", "tiers.home.activations=nvme"])]
SETTINGS = ["sharding.zero=3", "recompute=full", "checkpoint.async=false"]


def deck_of(folder, model):
    """Writes a deck of the model, and its config.json, to `folder`."""
    kind, _, *sizes = next(row[1:] for row in published_test.MODELS if row[0] == model)
    (folder / "config.json").write_text(json.dumps(published_test.config_of(kind, *sizes)))
    (folder / "deck.yaml").write_text(
        f"deck_version: 1\nrun: {{name: size}}\nmodel: {{init: {{from: hf, path: {folder}}}}}\n"
        f"data: {{tokenizer: none, seq: 2048, train: [{{format: llmc, path: {folder}/train.bin}}]}}\n"
        "train: {steps: 100, global_batch: 64, micro_batch: 1}\noptimizer: {lr: 1.0e-5}\nprecision: {compute: bf16}\n")
    return kind


def place_of_state(program, folder, machine):
    """The first of PLACES with which the plan fits; `-` if none is enough."""
    for place, settings in PLACES:
        command = [program, "check", folder / "deck.yaml", "--machine", machine, *SETTINGS, *settings]
        said = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True).stdout
        if re.search(r"^  FITS", said, re.M):
            return place
        if "DOES NOT FIT" not in said:
            sys.exit(f"{command}: {said}")
    return "-"


def main():
    build = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build" / "release").resolve()
    print("| model | family | " + " | ".join(f"`{machine}`" for machine in MACHINES) + " |")
    print("| --- | --- |" + " --- |" * len(MACHINES))
    for model in MODELS:
        with tempfile.TemporaryDirectory() as place:
            folder = pathlib.Path(place)
            kind = deck_of(folder, model)
            cells = [place_of_state(build / "bin" / "ziggurat", folder, machine) for machine in MACHINES]
        print(f"| {model} | `{kind}` | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
