#!/usr/bin/env python3
"""Adapters trained on pairs of answers, compared with PyTorch: with the base model as reference, and with the model at the
start, whose adapters are not zero.

  preference_lora_test.py --binary ZIGGURAT --work FOLDER --mpiexec COMMAND

Runs by a Python with PyTorch, which scripts/setup.sh --tests makes in build/peers. Without one, it prints that and exits with
77.
Only a checkpoint gives a run its adapters, so the values are computed here, by scripts/oracle/preference.py.
"""

import functools
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import peers

peers.need("numpy", "torch")

import torch

from pair_folder import PairFolder, concurrently, expect_curves
from trainings import expect, run_script, say

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "scripts" / "oracle"))
import models
import preference
import tensor_file

RANK, ALPHA = 4, 8
LORA = f"train.lora={{rank: {RANK}, alpha: {ALPHA}}}"
PEFT_NAME = re.compile(r"base_model\.model\.model\.(layers\.\d+)\.self_attn\.([qv])_proj\.lora_([AB])\.weight")
# Ranks and settings of the runs with each reference.
LAYOUTS = {"alone": (1, ()), "zero3": (2, ("sharding.zero=3",)),
           "tensor": (2, ("parallel.tensor=2", "parallel.sequence=true", "train.micro_batch=1")),
           "grid": (4, ("parallel.tensor={degree: 4, mode: 2d}", "train.micro_batch=1"))}


def adapters_of(path):
    """Exported adapters under Ziggurat's names, in float64."""
    adapters = {}
    for name, tensor in tensor_file.read(path).items():
        layer, part, factor = PEFT_NAME.fullmatch(name).groups()
        adapters[f"{layer}.attention.{part}.lora_{factor.lower()}"] = tensor.double()
    expect(len(adapters) == 2 * 2 * preference.MODEL["layers"], f"exported adapters: {list(adapters)}")
    return adapters


def samples_of(place):
    tokens, counts, begins = (torch.tensor(place.tensors.values(f"samples/{part}"), dtype=torch.int32)
                              for part in ("tokens", "counts", "begins"))
    return preference.padded([(tokens[a:b], counts[a:b]) for a, b in zip(begins, begins[1:])])


def base_of(place):
    stored = tensor_file.read(place.folder / "models" / "policy" / "model.safetensors")
    return {name: stored[preference.hf_name(name)].double() for name in models.shapes(preference.MODEL)}


def adapters_train_as_in_pytorch(chosen):
    torch.set_num_threads(1)
    place = PairFolder(chosen, "adapters")
    place.train("adapted", place.oracle["objectives"]["dpo"], LORA, "optimizer.lr=0.02", "train.steps=3",
                "checkpoint.every=3 steps")
    place.call("export", "adapted", "exported", "--dtype", "f32")
    base, samples = base_of(place), samples_of(place)
    adapters = adapters_of(place.folder / "exported" / "adapter_model.safetensors")
    expect(all(tensor.abs().max() > 1e-3 for tensor in adapters.values()), "an adapter at the start is zero")

    def weights_of(factors):
        return preference.with_adapters(base, factors, ALPHA / RANK)

    runs = {}
    for kind, beta in (("dpo", 0.1), ("ipo", 0.2)):
        for reference, weights in (("adapters_off", base), ("start", weights_of(adapters))):
            objective = {"kind": kind, "beta": beta, "label_smoothing": 0.0, "reference": reference}
            sums = preference.reference_sums(preference.MODEL, weights, samples)
            curves = preference.train(preference.MODEL, adapters, samples, objective, sums, weights_of=weights_of)
            runs[f"{kind}_{reference}"] = objective, curves
    for kind in ("dpo", "ipo"):
        first, other = (runs[f"{kind}_{reference}"][1]["losses"][0] for reference in ("adapters_off", "start"))
        expect(abs(first - other) > 100 * place.oracle["bound"], f"{kind}: the adapters have no effect: {first} and {other}")

    init = "model.init={from: checkpoint, path: adapted}"
    cases = [(name, layout) for name in runs for layout in LAYOUTS if layout == "alone" or name.startswith("dpo")]

    def train_case(name, layout):
        ranks, settings = LAYOUTS[layout]
        return place.train(f"{name}_{layout}", runs[name][0], LORA, init, *settings, ranks=ranks)

    trained = concurrently(*(functools.partial(train_case, *case) for case in cases))
    for (name, layout), steps in zip(cases, trained):
        expect_curves(f"{name} on layout {layout}", steps, runs[name][1], place.oracle["bound"])
    say(f"adapters train as in PyTorch, in {len(cases)} runs")


if __name__ == "__main__":
    run_script(__doc__, adapters_train_as_in_pytorch)
