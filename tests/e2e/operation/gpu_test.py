#!/usr/bin/env python3
"""Trainings on GPUs, or on emulated ones: the same curve as on the host's cores, the same bits wherever state lies
and however it is cut, checkpoints that either goes on from, and failures of GPUs that are named and end with the
right code on all ranks.

  gpu_test.py --binary ZIGGURAT --work FOLDER --mpiexec COMMAND
"""

import json
import pathlib
import shutil
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import trainings
from trainings import Place, expect, expect_same_curve, losses, say

STEPS = 3
SHORT = [f"train.steps={STEPS}", "schedule.warmup=2 steps", "train.global_batch=4", "train.micro_batch=2", "data.seq=10",
         "precision.compute=fp32"]
SUM_PLAN = "sharding.reduce=each_microbatch"  # that of gradients at home on the host
ON_HOST = "tiers.device.kind=host"
ON_GPU = "tiers.device.kind=cuda"
LATE, THREADS = "late", "threads"
GPU_BYTES = 1 << 32  # of which libraries take a part: NCCL most, where each rank has a GPU
LACK, BUG = 3, 70  # exit codes


def gpus(mode=LATE, count=1, faults=""):
    """What the emulation is told; a real GPU does not care."""
    told = {"ZIGGURAT_EMULATED_CUDA": mode, "ZIGGURAT_EMULATED_CUDA_DEVICES": str(count),
            "ZIGGURAT_EMULATED_CUDA_MEMORY": str(GPU_BYTES)}
    if faults:
        told["ZIGGURAT_EMULATED_CUDA_FAULT"] = faults
    return told


def trained(place, run, ranks, *settings, environment=None, code=0):
    """The console of a training that ends with `code`."""
    with place.start(run, ranks, *SHORT, *settings, environment=environment or gpus()) as job:
        found = job.wait()
        expect(found == code, f"{run} ({ranks} ranks, {' '.join(settings)}) ended with {found} instead of {code}\n"
                              f"{job.tail()}")
        return job.output()


def curve(place, run, first=1, last=STEPS):
    return losses(place.folder / run, first, last)


def curves(chosen):
    for family in ("gpt2", "llama", "gpt_neox"):
        place = Place(chosen, f"curves_{family}", family)
        trained(place, "host", 1, ON_HOST)
        banner = trained(place, "gpu", 1, ON_GPU, SUM_PLAN)
        expect("GPU" in banner, f"the banner does not say what computes:\n{banner[:2000]}")
        gap = expect_same_curve(f"{family} on a GPU and on the host", curve(place, "gpu"), curve(place, "host"))
        say(f"{family}: losses on a GPU are those of the host within {gap:.1e}")
        if family == "gpt2":
            ways_of_one_rank(place)
        elif family == "llama":
            ways_of_two_ranks(place)


def ways_of_one_rank(place):
    ways = {
        "threads": (THREADS, []),
        "recompute": (LATE, ["recompute=full"]),
        "offload": (LATE, ["tiers.home={parameters: host, gradients: host, optimizer: host}"]),
    }
    for way, (mode, settings) in ways.items():
        trained(place, way, 1, ON_GPU, SUM_PLAN, *settings, environment=gpus(mode))
        expect(curve(place, way) == curve(place, "gpu"), f"{way}: other bits than without")
    say(f"the same bits on one rank: {', '.join(ways)}")


def ways_of_two_ranks(place):
    """Which share a GPU, and have one each, where NCCL carries what they exchange: in another order of sums."""
    ways = {f"zero{stage}": [f"sharding.zero={stage}"] for stage in range(4)}
    ways["offload"] = ["sharding.zero=3", "tiers.home={parameters: host, optimizer: host}"]
    for way, settings in ways.items():
        trained(place, way, 2, ON_GPU, SUM_PLAN, *settings, environment=gpus(THREADS if way == "zero3" else LATE))
        expect(curve(place, way) == curve(place, "zero0"), f"{way}: other bits than ZeRO 0")
    expect_same_curve("two ranks and one", curve(place, "zero0"), curve(place, "gpu"))
    say(f"the same bits on two ranks that share a GPU: {', '.join(ways)}")
    trained(place, "own", 2, ON_GPU, SUM_PLAN, "sharding.zero=3", environment=gpus(THREADS, count=2))
    gap = expect_same_curve("GPUs of their own and a shared one", curve(place, "own"), curve(place, "zero0"))
    say(f"with a GPU each, the same losses within {gap:.1e}")


def checkpoints(chosen):
    place = Place(chosen, "checkpoints", "llama")
    saving = ["checkpoint.every=2 steps"]
    trained(place, "whole", 1, ON_GPU, *saving)
    for run, first, then in (("to_host", ON_GPU, ON_HOST), ("to_gpu", ON_HOST, ON_GPU), ("stays", ON_GPU, ON_GPU)):
        trained(place, run, 1, first, *saving)
        folder = place.folder / run
        shutil.rmtree(trainings.checkpoint(folder, STEPS))
        (folder / "DONE").unlink()
        trained(place, run, 1, then, *saving)
        gap = expect_same_curve(run, curve(place, run), curve(place, "whole"), 0 if run == "stays" else 1e-5)
        place.expect_whole(folder)
        say(f"a checkpoint of {'a GPU' if first == ON_GPU else 'the host'} goes on "
            f"{'on a GPU' if then == ON_GPU else 'on the host'} within {gap:.1e}")


def products(chosen):
    """Measured algorithms are recorded, used after a resume, and equal on all ranks."""
    place = Place(chosen, "products", "gpt2")
    settings = [ON_GPU, "precision.products=measured", "checkpoint.every=2 steps"]
    trained(place, "first", 2, ON_GPU)
    console = trained(place, "measured", 2, *settings)
    expect("matrix products do not use the first algorithm" in console, f"no line about them:\n{console[-2000:]}")
    file = place.folder / "measured" / "products.json"
    (library, choices), = json.loads(file.read_text()).items()
    expect(len(choices) > 5 and set(choices.values()) <= {0, 1, 2}, f"unexpected choices: {choices}")

    def resumed(run, recorded):
        folder = place.folder / run
        shutil.copytree(place.folder / "measured", folder)
        shutil.rmtree(trainings.checkpoint(folder, STEPS))
        (folder / "DONE").unlink()
        (folder / "products.json").write_text(recorded)
        trained(place, run, 2, *settings)
        return curve(place, run)

    expect(resumed("same", file.read_text()) == curve(place, "measured"), "other bits after a resume")
    others = {product: (choice + 1) % 3 for product, choice in choices.items()}
    expect(resumed("others", json.dumps({library: others})) != curve(place, "measured"), "products.json is not used")
    kept = json.loads((place.folder / "others" / "products.json").read_text())
    expect(kept == {library: others}, "a resumed run changes products.json")
    gap = expect_same_curve("measured and first algorithms", curve(place, "measured"), curve(place, "first"))
    say(f"{len(choices)} products measured; the same bits after a resume, and within {gap:.1e} of the first algorithms")

    (place.folder / "measured" / "DONE").unlink()
    shutil.rmtree(trainings.checkpoint(place.folder / "measured", STEPS))
    for damaged in ("{", ""):
        file.write_text(damaged)
        console = trained(place, "measured", 2, *settings, code=2)
        expect("products.json is damaged" in console, f"the damage '{damaged}' is not named:\n{console[-2000:]}")


def attention(chosen):
    """precision.attention_backward reaches cuDNN: its emulation adds in another order."""
    place = Place(chosen, "attention", "gpt2")
    settings = [ON_GPU, "precision.compute=bf16", "model.dropout=0", "model.max_seq=128", "data.seq=128"]
    trained(place, "deterministic", 1, *settings)
    console = trained(place, "fast", 1, *settings, "precision.attention_backward=fast")
    expect("cuDNN" in console, f"cuDNN did not compute attention:\n{console[-2000:]}")
    trained(place, "again", 1, *settings, "precision.attention_backward=fast", "recompute=full")
    expect(curve(place, "fast")[0] == curve(place, "deterministic")[0], "forward has other bits")
    expect(curve(place, "fast") != curve(place, "deterministic"), "the order of backward is not used")
    expect(curve(place, "fast") == curve(place, "again"), "recomputation changes the order of backward")
    gap = expect_same_curve("both orders", curve(place, "fast"), curve(place, "deterministic"), 1e-3)
    say(f"attention's backward in another order: losses within {gap:.1e}")


def attention(chosen):
    """precision.attention_backward reaches cuDNN: its emulation adds in another order."""
    place = Place(chosen, "attention", "gpt2")
    settings = [ON_GPU, "precision.compute=bf16", "model.dropout=0", "model.max_seq=128", "data.seq=128"]
    trained(place, "deterministic", 1, *settings)
    console = trained(place, "fast", 1, *settings, "precision.attention_backward=fast")
    expect("cuDNN" in console, f"cuDNN did not compute attention:\n{console[-2000:]}")
    trained(place, "again", 1, *settings, "precision.attention_backward=fast", "recompute=full")
    expect(curve(place, "fast")[0] == curve(place, "deterministic")[0], "forward has other bits")
    expect(curve(place, "fast") != curve(place, "deterministic"), "the order of backward is not used")
    expect(curve(place, "fast") == curve(place, "again"), "recomputation changes the order of backward")
    gap = expect_same_curve("both orders", curve(place, "fast"), curve(place, "deterministic"), 1e-3)
    say(f"attention's backward in another order: losses within {gap:.1e}")


def fused_products(chosen):
    """precision.products: fused and measured let a product include the gradient of SwiGLU."""
    place = Place(chosen, "fused_products", "llama")
    settings = [ON_GPU, "precision.compute=bf16", "model.hidden=48", "model.heads=3", "model.kv_heads=3", "model.ffn_hidden=40"]
    trained(place, "apart", 1, *settings)
    console = trained(place, "fused", 1, *settings, "precision.products=fused")
    expect("cuDNN computes the gradients of gated units in" in console, f"no line about them:\n{console[-2000:]}")
    trained(place, "again", 1, *settings, "precision.products=fused", "recompute=selective")
    expect(curve(place, "fused") != curve(place, "apart"), "nothing is fused")
    expect(curve(place, "fused") == curve(place, "again"), "recomputation changes the bits of the emulated kernel")
    gap = expect_same_curve("fused and separate", curve(place, "fused"), curve(place, "apart"), 1e-3)
    say(f"gradients of SwiGLU in their products: losses within {gap:.1e}")

    steps = 5
    measuring = [*settings, "precision.products=measured", "checkpoint={every: 2 steps, keep: 3}", f"train.steps={steps}"]
    trained(place, "measured", 1, *measuring)
    (library, choices), = json.loads((place.folder / "measured" / "products.json").read_text()).items()
    fused, = (product for product in choices if "the gradient of SwiGLU" in product)
    for way in range(2):
        folder = place.folder / f"way{way}"
        shutil.copytree(place.folder / "measured", folder)
        for step in (4, steps):
            shutil.rmtree(trainings.checkpoint(folder, step))
        (folder / "DONE").unlink()
        (folder / "products.json").write_text(json.dumps({library: choices | {fused: way}}))
        trained(place, folder.name, 1, *measuring)
    curves_of_ways = [curve(place, f"way{way}", 1, steps) for way in range(2)]
    expect(curves_of_ways[0] != curves_of_ways[1], "products.json does not choose between fused and separate")
    expect(curve(place, "measured", 1, steps) in curves_of_ways or choices[fused] == 2, "other bits after a resume")

    console = trained(place, "without", 1, *settings, "precision.products=fused",
                      environment=gpus() | {"ZIGGURAT_EMULATED_CUDA_CUDNN": "0"})
    expect("precision.products: fused has no effect" in console, f"no line about them:\n{console[-2000:]}")
    expect(curve(place, "without") == curve(place, "apart"), "other bits without cuDNN")


def failures(chosen):
    place = Place(chosen, "failures", "gpt2")
    cases = {
        "no_memory": ("malloc:1", LACK, ("cannot reserve", "GPU 0")),
        "no_pinning": ("pin:1", LACK, ("cannot pin",)),
        "copy": ("copy:40", BUG, ("copy",)),
        "launch": ("launch:100", BUG, ("failed:",)),
        "illegal": ("illegal:100", BUG, ("failed:", "llegal")),
        "lost": ("lost:300", LACK, ("failed:",)),
    }
    for name, (faults, code, words) in cases.items():
        for ranks in (1, 2):
            console = trained(place, f"{name}_{ranks}", ranks, ON_GPU, environment=gpus(faults=faults), code=code)
            for word in words:
                expect(word in console, f"{name} on {ranks} ranks does not say '{word}':\n{console[-3000:]}")
            expect("ziggurat: error:" in console, f"{name}:\n{console[-3000:]}")
        say(f"{name}: code {code} on 1 and 2 ranks, named")


if __name__ == "__main__":
    trainings.run_script(__doc__, curves, checkpoints, products, fused_products, attention, failures)
