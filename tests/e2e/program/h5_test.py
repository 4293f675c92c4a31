#!/usr/bin/env python3
"""People read checkpoints with h5py and h5dump: every tensor by name, whole, with the values that training has left.

  h5_test.py --binary ZIGGURAT --work FOLDER --mpiexec COMMAND

The truth is another spread of the same training: 3 ranks with nothing shared out write the same bits as 3 ranks with
everything shared out; what one rank writes, and four that have slices of layers of two stages; and what `ziggurat inspect`
computes. Needs a Python with h5py (Debian: python3-h5py for
/usr/bin/python3) and h5dump (hdf5-tools).
"""

import json
import math
import pathlib
import re
import shutil
import subprocess

import h5py
import numpy
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import trainings
from trainings import Place, expect, say

STEPS = 6
KINDS = ("weights", "first_moment", "second_moment")
HIDDEN, LAYERS, SEQ, VOCAB, FFN = 32, 2, 32, 300, {"gpt2": 128, "llama": 48}
KEY_VALUE = {"gpt2": 32, "llama": 16}  # channels
FP32 = "precision.compute=fp32"
MOST_APART = 1e-4  # of trainings that add in other orders
SAME = [f"train.steps={STEPS}", f"checkpoint.every={STEPS} steps", "train.global_batch=60", f"model.vocab={VOCAB}",
        "sharding.reduce=each_microbatch"]


def shapes(family):
    """The model's tensors, [out, in], without rows that only pad the vocabulary."""
    square, vector = (HIDDEN, HIDDEN), (HIDDEN,)
    key_value, up, down = (KEY_VALUE[family], HIDDEN), (FFN[family], HIDDEN), (HIDDEN, FFN[family])
    layer = {"attn_norm.gain": vector, "mlp_norm.gain": vector, "attention.q.weight": square,
             "attention.k.weight": key_value, "attention.v.weight": key_value, "attention.out.weight": square,
             "mlp.up.weight": up, "mlp.down.weight": down}
    whole = {"embedding.token": (VOCAB, HIDDEN), "final_norm.gain": vector}
    if family == "gpt2":
        layer |= {f"{name}.bias": vector for name in ("attn_norm", "mlp_norm", "attention.q", "attention.k",
                                                      "attention.v", "attention.out", "mlp.down")}
        layer["mlp.up.bias"] = (FFN[family],)
        whole |= {"embedding.position": (SEQ, HIDDEN), "final_norm.bias": vector}
    else:
        layer["mlp.gate.weight"] = up
        whole["head.weight"] = (VOCAB, HIDDEN)
    return whole | {f"layers.{number}.{name}": shape for number in range(LAYERS) for name, shape in layer.items()}


def read_all(master):
    """{kind: {tensor: values}} of all datasets below the kinds, as float32."""
    with h5py.File(master, "r") as file:
        return {kind: {name: dataset[...].astype(numpy.float32) for name, dataset in file[kind].items()}
                for kind in KINDS if kind in file}


def saved(place, name, ranks, *settings):
    place.train(name, ranks, *SAME, *settings)
    return trainings.checkpoint(place.folder / name, STEPS)


def expect_names_and_shapes(what, tensors, expected):
    found = {name: values.shape for name, values in tensors.items()}
    expect(found == expected, f"{what}: {found} instead of {expected}")
    broken = [name for name, values in tensors.items() if not numpy.isfinite(values).all()]
    expect(not broken, f"{what}: not finite: {broken}")


def expect_same_bits(what, ours, other):
    expect(ours.keys() == other.keys(), f"{what}: kinds {list(ours)} and {list(other)}")
    for kind in ours:
        for name, values in ours[kind].items():
            expect(numpy.array_equal(values, other[kind][name]), f"{what}: {kind} of {name} differ")


def expect_what_inspect_says(place, folder, kinds, names):
    """Statistics and first values of these tensors, each kind."""
    for name in names:
        said = json.loads(place.inspect(folder, "--tensor", name, "--json"))
        for row in said["tensors"]:
            what = f"{row['kind']} of {name}"
            values = kinds[row["kind"]][name].astype(numpy.float64)
            computed = {"min": values.min(), "max": values.max(), "mean": values.mean(),
                        "norm": math.sqrt((values * values).sum())}
            for field, value in computed.items():
                expect(math.isclose(row[field], value, rel_tol=1e-9, abs_tol=1e-15),
                       f"{what}: {field} is {value}, but inspect says {row[field]}")
            first = numpy.array(row["first"], dtype=numpy.float32)
            expect(tuple(row["shape"]) == values.shape, f"{what}: inspect says {row}")
            expect(len(first) > 0 and numpy.array_equal(first, values.ravel()[:len(first)].astype(numpy.float32)),
                   f"{what}: first values {values.ravel()[:len(first)]}, but inspect says {row['first']}")
        expect({row["kind"] for row in said["tensors"]} == {kind for kind in kinds if name in kinds[kind]},
               f"inspect says of {name}: {said}")


def expect_what_h5dump_says(folder, kinds):
    """Nine digits are all of a float."""
    for kind in kinds:
        text = subprocess.run(["h5dump", "-y", "-w", "0", "-m", "%.9g", "-g", f"/{kind}", folder / "master.h5"], check=True,
                              stdout=subprocess.PIPE, text=True, timeout=trainings.PATIENCE_S).stdout
        dumped = dict(re.findall(r'DATASET "([^"]+)" \{.*?DATA \{(.*?)\}', text, re.DOTALL))
        expect(dumped.keys() == kinds[kind].keys(), f"h5dump: {kind} has {list(dumped)}")
        for name, values in kinds[kind].items():
            found = numpy.array(dumped[name].replace(",", " ").split(), dtype=numpy.float32)
            expect(numpy.array_equal(found, values.ravel()), f"h5dump: {kind} of {name} differ")


def expect_of_family(chosen, family):
    place = Place(chosen, family, family)
    expected = shapes(family)
    spread = saved(place, "spread", 3, "sharding.zero=3")
    kinds = read_all(spread / "master.h5")
    expect(tuple(kinds) == KINDS, f"kinds {list(kinds)}")
    for kind in KINDS:
        expect_names_and_shapes(f"{family}, {kind}", kinds[kind], expected)
    expect_same_bits(f"{family}, zero 3 and zero 0", kinds,
                     read_all(saved(place, "whole", 3, "sharding.zero=0") / "master.h5"))
    with h5py.File(spread / "master.h5", "r") as file:
        expect(int(file.attrs["step"]) == STEPS and int(file.attrs["ranks"]) == 3,
               f"{family}: attributes {dict(file.attrs)}")
        expect("deck_version: 1" in str(file["deck"].asstr()[()]), f"{family}: no deck in master.h5")

    one = saved(place, "one", 1, FP32)
    alone = read_all(one / "master.h5")
    for kind in KINDS:
        expect_names_and_shapes(f"{family}, {kind} of one rank", alone[kind], expected)
    apart = max(numpy.abs(alone["weights"][name] - values).max() for name, values in kinds["weights"].items())
    expect(apart < 0.05, f"{family}: weights of 1 and 3 ranks are {apart} apart")
    expect_of_a_cut_model(place, family, expected, alone)
    expect_what_inspect_says(place, spread, kinds, expected)
    expect_what_inspect_says(place, one, alone, ["embedding.token", "layers.1.mlp.down.weight"])

    elsewhere = place.folder / "elsewhere" / "kept"
    shutil.copytree(spread, elsewhere)
    shutil.rmtree(spread)
    expect_same_bits(f"{family}, copied", read_all(elsewhere / "master.h5"), kinds)
    expect_what_h5dump_says(elsewhere, kinds)
    say(f"{family}: {len(expected)} tensors of {len(KINDS)} kinds by name, of 3 ranks and of 1, also in another folder; "
        "h5py, inspect and h5dump agree")


def gap(ours, other):
    """Over all tensors, relative to their norm."""
    def norm(tensors):
        return math.sqrt(sum(float((values.astype(numpy.float64) ** 2).sum()) for values in tensors))
    # Attention does not depend on a bias of all keys: rounding alone moves it.
    names = [name for name in other if not name.endswith("attention.k.bias")]
    return norm(ours[name] - other[name] for name in names) / norm(other[name] for name in names)


def expect_of_a_cut_model(place, family, expected, alone):
    """Ranks that have slices of layers of two stages write the tensors that one rank has trained."""
    cut = read_all(saved(place, "cut", trainings.GRID_RANKS, FP32, *trainings.GRID) / "master.h5")
    for kind in KINDS:
        expect_names_and_shapes(f"{family}, {kind} of slices and stages", cut[kind], expected)
        found = gap(cut[kind], alone[kind])
        expect(found <= MOST_APART, f"{family}: {kind} of slices and stages are {found} apart from those of one rank")


def expect_frozen(chosen):
    """A frozen tensor has weights only; in bf16 they read as the numbers that they are."""
    place = Place(chosen, "frozen", "llama")
    partly = ["train.only=[layers.1.*]", "precision.compute=bf16"]
    kinds = read_all(saved(place, "spread", 3, "sharding.zero=3", *partly) / "master.h5")
    expected = shapes("llama")
    expect_names_and_shapes("frozen, weights", kinds["weights"], expected)
    for kind in KINDS[1:]:
        expect_names_and_shapes(f"frozen, {kind}", kinds[kind],
                                {name: shape for name, shape in expected.items() if name.startswith("layers.1.")})
    initial = read_all(saved(place, "initial", 1, "precision.compute=fp32", "optimizer.lr=1e-30") / "master.h5")
    for name, values in kinds["weights"].items():
        if not name.startswith("layers.1."):
            before = initial["weights"][name]
            expect(numpy.allclose(values, before, rtol=2**-8, atol=1e-30), f"frozen: {name} has other values")
            expect(not (values.view(numpy.uint32) & 0xFFFF).any(), f"frozen: {name} is not bf16")
    say("frozen: weights alone, in bf16, with the values of the start")


def h5(chosen):
    for family in ("gpt2", "llama"):
        expect_of_family(chosen, family)
    expect_frozen(chosen)


if __name__ == "__main__":
    trainings.run_script(__doc__, h5)
