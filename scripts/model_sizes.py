#!/usr/bin/env python3
"""Writes the table of docs/models.md: which published models train on which shipped machine, from `ziggurat check`.

  scripts/model_sizes.py [--binary ZIGGURAT] [--print]     --print: shows the table and leaves the page as it is

A cell is the nearest tier in which all state of a full training fits on one node: device, host or NVMe.
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests/e2e/models"))
import published_test

PAGE = ROOT / "docs/models.md"
BEGIN, END = "<!-- made by scripts/model_sizes.py -->\n", "<!-- end -->\n"
MACHINES = ["rtx-4090", "v100-32gb", "dgx-a100", "dgx-h100", "dgx-h200"]
SEQ = 4096
DOES_NOT_FIT = 3  # exit code of check
LEFT_OUT = {"DeepSeek-R1-Distill-Llama-8B", "Qwen2.5-7B with yarn", "Phi-3-mini-128k"}  # as large as another row
TIERS = {
    "device": [],
    "host": [f"tiers.home.{kind}=host" for kind in ("parameters", "gradients", "optimizer", "activations")],
    "NVMe": [f"tiers.home.{kind}=nvme" for kind in ("parameters", "gradients", "optimizer")] +
            ["tiers.home.activations=host", "tiers.nvme.paths=[/tmp]"],
}
DECK = """deck_version: 1
run: {{name: size}}
model: {{init: {{from: hf, path: model}}}}
data: {{tokenizer: none, seq: {seq}, train: [{{format: raw, path: tokens.bin, dtype: uint32}}]}}
train: {{steps: 1000, global_batch: 8, micro_batch: 1}}
sharding: {{zero: 3}}
recompute: {{kind: full}}
precision: {{compute: bf16}}
optimizer: {{lr: 1.0e-4}}
checkpoint: {{async: false}}
"""


def fits(binary, folder, machine, settings):
    command = [binary, "check", "size.yaml", "--machine", machine, *settings]
    done = subprocess.run(command, cwd=folder, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode not in (0, DOES_NOT_FIT):
        sys.exit(f"{command}: exit code {done.returncode}\n{done.stdout}")
    return done.returncode == 0


def rows(binary):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "model").mkdir()
        (folder / "tokens.bin").write_bytes(bytes(1 << 20))
        for model, kind, parameters, *sizes in published_test.MODELS:
            if model in LEFT_OUT:
                continue
            config = published_test.config_of(kind, *sizes)
            (folder / "model/config.json").write_text(json.dumps(config))
            (folder / "size.yaml").write_text(DECK.format(seq=min(SEQ, config["max_position_embeddings"])))
            cells = [next((tier for tier, settings in TIERS.items() if fits(binary, folder, machine, settings)), "-")
                     for machine in MACHINES]
            yield f"| `{kind}` | {model} | {parameters / 1e9:.2f} | {' | '.join(cells)} |"
            print(model, *cells, file=sys.stderr, flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", type=pathlib.Path, default=ROOT / "build/release/bin/ziggurat")
    parser.add_argument("--print", action="store_true")
    chosen = parser.parse_args()
    head = f"| `model.family` | model | 10^9 parameters | {' | '.join(MACHINES)} |\n|{' --- |' * (3 + len(MACHINES))}\n"
    table = head + "\n".join(rows(chosen.binary.resolve())) + "\n"
    if chosen.print:
        print(table)
        return
    text = PAGE.read_text()
    PAGE.write_text(re.sub(f"{BEGIN}.*?{END}", lambda _: BEGIN + table + END, text, flags=re.S))


if __name__ == "__main__":
    main()
