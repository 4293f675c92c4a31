#!/usr/bin/env python3
"""Plans the scaling figures of ZeRO-Infinity on DGX-2 nodes, and prints planned figures next to the published ones.

  perf/published/zero_infinity.py [--program build/release/bin/ziggurat] [--table docs/published.md]

Sizes: whether the largest published model of each strategy fits, and whether the model of the next strategy does not.
Scaling: petaflops of a model of a trillion parameters on 4 to 32 nodes, with a constant batch per node. Exit code 1 if a
published size does not fit, a model of the next strategy fits, or scaling is not super-linear.

Source: Rajbhandari et al., "ZeRO-Infinity", SC'21: section 8, and the authors' slides (DeepSpeed repository,
docs/assets/files/SC21-ZeRO-Infinity.pdf, pages 14, 16 and 17). Figures without numbers are read from the chart, +- 0.1.
"""

import argparse
import dataclasses
import json
import pathlib
import subprocess
import sys

import published_rows

ROOT = pathlib.Path(__file__).resolve().parents[2]
TITLE = "## ZeRO-Infinity's sizes and scaling"
PEAK = 125e12  # decks/machines/dgx-2.yaml, to which utilisations refer
GPUS_OF_NODE = 16
ALL_ON = "tiers.home={{parameters: {0}, gradients: {0}, optimizer: {0}, activations: {1}}}"
WITHOUT_TILES = ["tiers.tile=off", "tiers.nvme.paths=[]"]


@dataclasses.dataclass
class Strategy:
    """Placement of state, with the size of the largest published model in billions of parameters."""

    name: str
    billions: float
    model: list  # overrides
    placement: list
    nodes: int = 1
    deck: str = "zero-infinity-1t"


def shape(layers, hidden, heads):
    return [f"model.layers={layers}", f"model.hidden={hidden}", f"model.heads={heads}"]


# In ascending order of size: a strategy does not fit the model of the next one.
STRATEGIES = [
    Strategy("data parallelism", 1.4, shape(26, 2048, 32), ["sharding.zero=0", ALL_ON.format("device", "device"), *WITHOUT_TILES]),
    Strategy("ZeRO-Offload", 13, shape(40, 5120, 40),
             ["sharding.zero=2", "tiers.home={parameters: device, gradients: host, optimizer: host, activations: device}", *WITHOUT_TILES]),
    Strategy("ZeRO stage 3", 20, shape(24, 8192, 64), ["sharding.zero=3", ALL_ON.format("device", "device"), *WITHOUT_TILES]),
    Strategy("ZeRO-Infinity, host", 70, shape(86, 8192, 64), [ALL_ON.format("host", "host"), *WITHOUT_TILES]),
    Strategy("ZeRO-Infinity, NVMe", 1000, [], []),
]
NEXT_OF_NVME = Strategy("", 2000, shape(254, 25600, 256), [])
ON_32_NODES = Strategy("ZeRO-Infinity, NVMe, 32 nodes", 32000, [], [], 32, "zero-infinity-32t")
NEXT_ON_32_NODES = Strategy("", 64000, ["model.layers=310"], [], 32, "zero-infinity-32t")

# Petaflops on that many nodes. The paper has 2.8 in its text, and 25 for 32 nodes in its abstract.
MEASURED = {4: 2.8, 8: 6.2, 16: 11.8, 32: 25.1}
BATCH_OF_GPU = 5  # table 1 of the paper, for this model on 32 nodes
SCALING = [f"train.micro_batch={BATCH_OF_GPU}", "tiers.home={parameters: host, gradients: nvme, optimizer: nvme, activations: host}"]


class Planner:
    def __init__(self, program):
        self.program = program

    def run(self, deck, nodes, *arguments):
        ranks = nodes * GPUS_OF_NODE
        command = [self.program, "plan", ROOT / "decks" / "systems" / f"{deck}.yaml", "--ranks", str(ranks), "--machine", "dgx-2",
                   "--json", f"train.global_batch={ranks}", "checkpoint.async=false", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=ROOT)
        if done.returncode not in (0, 3) or not done.stdout:
            sys.exit(f"zero_infinity.py: {' '.join(map(str, command))}: {done.stderr or done.stdout}")
        return done.returncode == 0, json.loads(done.stdout)

    def fits(self, strategy, model_of):
        """Plans the model of a strategy with the placement of `strategy`: (fits, billions of parameters)."""
        fits, plan = self.run(model_of.deck, strategy.nodes, *model_of.model, *strategy.placement)
        return fits, plan["model"]["parameters"] / 1e9

    def petaflops(self, nodes):
        batch = nodes * GPUS_OF_NODE * BATCH_OF_GPU
        fits, plan = self.run("zero-infinity-1t", nodes, *SCALING, f"train.global_batch={batch}")
        if not fits:
            sys.exit(f"zero_infinity.py: the trillion on {nodes} nodes does not fit")
        return plan["time"]["mfu_by_convention"]["C1"] * PEAK * nodes * GPUS_OF_NODE / 1e15


def sizes(source):
    """Lines of the table of sizes, and the faults."""
    lines, faults = [], []
    pairs = [*zip(STRATEGIES, [*STRATEGIES[1:], NEXT_OF_NVME]), (ON_32_NODES, NEXT_ON_32_NODES)]
    for strategy, following in pairs:
        fits, billions = source.fits(strategy, strategy)
        fits_next, more = source.fits(strategy, following)
        lines.append(f"| {strategy.name} | {strategy.nodes} | {strategy.billions:g} | {billions:,.1f}: {'fits' if fits else 'does not fit'} | "
                     f"{more:,.1f}: {'fits' if fits_next else 'does not fit'} |")
        if not fits:
            faults.append(f"{strategy.name}: {billions:,.1f} billion parameters do not fit")
        if fits_next:
            faults.append(f"{strategy.name}: {more:,.1f} billion parameters fit, which the paper needs the next strategy for")
    return lines, faults


def scaling(source):
    planned = {nodes: source.petaflops(nodes) for nodes in MEASURED}
    first = min(MEASURED)
    ratio = {nodes: planned[nodes] / planned[first] / (nodes / first) for nodes in MEASURED}
    lines = [f"| {nodes} | {nodes * GPUS_OF_NODE} | {measured:g} | {planned[nodes]:.2f} | {100 * (planned[nodes] / measured - 1):+.0f} % | "
             f"{measured / MEASURED[first] / (nodes / first):.2f} | {ratio[nodes]:.2f} |" for nodes, measured in MEASURED.items()]
    faults = [] if ratio[max(MEASURED)] > 1 else [f"scaling from {first} nodes is not super-linear: {ratio[max(MEASURED)]:.3f}"]
    return lines, faults


def section(of_sizes, of_scaling):
    return "\n".join([
        TITLE, "",
        "`perf/published/zero_infinity.py` makes these tables from `decks/systems/zero-infinity-*.yaml` and the machine file `dgx-2`",
        "(Rajbhandari et al., 2021, and its slides). Sizes are in billions of parameters: the largest published model of each",
        "strategy, the planned model of that size, and that of the next strategy, which must not fit.", "",
        "| strategy | nodes | published | planned | the next size |", "| --- | --- | --- | --- | --- |", *of_sizes, "",
        f"A trillion parameters on 4 to 32 nodes, {BATCH_OF_GPU} sequences of 1024 tokens per GPU, parameters and activations in host",
        "memory, gradients and optimizer states on NVMe: petaflops of all GPUs, recomputation counted (C1), and their ratio to linear scaling from 4 nodes.", "",
        "| nodes | GPUs | measured | planned | error | measured / linear | planned / linear |", "| --- | --- | --- | --- | --- | --- | --- |",
        *of_scaling, ""])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=ROOT / "build/release/bin/ziggurat", type=pathlib.Path)
    parser.add_argument("--table", type=pathlib.Path, help="replace the section of this file")
    chosen = parser.parse_args()
    source = Planner(chosen.program.resolve())
    of_sizes, faults = sizes(source)
    of_scaling, more = scaling(source)
    text = section(of_sizes, of_scaling)
    print(text)
    if chosen.table:
        published_rows.replace_section(chosen.table, TITLE, text)
    for fault in faults + more:
        print(f"FAULT {fault}", file=sys.stderr)
    sys.exit(1 if faults + more else 0)


if __name__ == "__main__":
    main()
