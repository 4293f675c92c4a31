#!/usr/bin/env python3
"""What `ziggurat bench gemm`, `comm`, `optimizer` and `all` measure, the file in which they keep it, and the plan that
uses it. No check depends on how fast the machine is.

  bench_test.py --binary ZIGGURAT --work FOLDER --mpiexec "MPIEXEC FLAGS"
"""

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys

PATIENCE_S = 240  # only for what hangs
DECK = pathlib.Path(__file__).resolve().parents[3] / "decks" / "quickstart.yaml"
PRODUCTS = {f"products.{kind}{product}.flops" for kind in ("bf16", "fp32")
            for product in ("", ".backward_input", ".backward_weight")}
KERNELS = PRODUCTS | {"device_bandwidth", "sweeps.packing.forward", "attention.forward_flops", "attention.backward_flops",
                      "op_overhead"} | {f"sweeps.{sweep}.{direction}" for sweep in ("norm", "activation", "rotation", "embedding")
                                        for direction in ("forward", "backward")}
UPDATES = {"update_rate", "host_bandwidth", "sweeps.squares.forward", "host_to_device_rate", "device_to_host_rate"}
LINKS = {"node_link.bandwidth", "node_link.latency"}
DISKS = {"nvme_read_rate", "nvme_write_rate", "nvme_block", "nvme_queue_depth"}


def expect(holds, what, output=""):
    if not holds:
        sys.exit(f"FAILED: {what}\n{output}")


def figures(text):
    """Lines of a machine file with a value: number of the line, key with dots, value."""
    maps = []
    for number, line in enumerate(text.splitlines()):
        name, value = line.strip().split(":", 1)
        del maps[(len(line) - len(line.lstrip())) // 2:]
        if value:
            yield number, ".".join([*maps, name]), value.strip()
        else:
            maps.append(name)


def with_figure(text, wanted, value):
    """The machine file with another value of a key."""
    lines = text.splitlines()
    (number,) = [number for number, key, _ in figures(text) if key == wanted]
    lines[number] = lines[number].split(":")[0] + ": " + value
    return "\n".join(lines) + "\n"


class Place:
    """A folder with a home, in which results are kept."""

    def __init__(self, binary, mpiexec, folder):
        self.binary, self.mpiexec, self.folder = binary.resolve(), mpiexec.split(), folder
        self.environment = dict(os.environ, OMP_NUM_THREADS="1", HOME=str(folder))
        self.environment.pop("XDG_CONFIG_HOME", None)

    def says(self, code, *words, ranks=1):
        launch = [*self.mpiexec, "-n", str(ranks)] if ranks > 1 else []
        done = subprocess.run([*launch, self.binary, *words], cwd=self.folder, env=self.environment,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              timeout=PATIENCE_S)
        expect(done.returncode == code, f"{' '.join(map(str, words))} ends with {code}, not {done.returncode}",
               done.stdout)
        return done.stdout

    def kept(self, file=None):
        """Figures of a machine file, by key."""
        path = file or next((self.folder / ".config/ziggurat").glob("machine-*.yaml"))
        return {key: value for _, key, value in figures(path.read_text())}


def refuses_at_once(place):
    said = place.says(3, "bench", "comm", "--brief")
    expect("there is no link to measure (one rank was started)" in said and "mpirun -n 2" in said, "one rank has no link", said)
    for measured in ("gemm", "optimizer", "all"):
        said = place.says(3, "bench", measured, "--machine-file", "/proc/nothing/m.yaml")
        expect("cannot write results to" in said and "FLOP/s" not in said and "GB/s" not in said,
               f"{measured} measures only what it can keep", said)
    said = place.says(3, "bench", "all", "--brief", "nowhere")
    expect("cannot measure 'nowhere'" in said and "FLOP/s" not in said, "a folder that is missing", said)
    (place.folder / "text.yaml").write_text("no machine file")
    said = place.says(2, "bench", "optimizer", "--brief", "--machine-file", "text.yaml")
    expect("exists and is not a machine file" in said, "another file is not overwritten", said)
    expect((place.folder / "text.yaml").read_text() == "no machine file", "it is as it was")


def measures_one_after_the_other(place):
    said = place.says(0, "bench", "gemm", "--brief")
    for part in ("bf16 products", "fp32 products", "forward", "backward_input", "backward_weight", "ops of llama",
                 "ops of gpt2", "kept in "):
        expect(part in said, f"gemm shows '{part}'", said)
    kernels = place.kept()
    expect(KERNELS <= set(kernels), "gemm keeps the rates of kernels", KERNELS - set(kernels))
    expect(not (UPDATES | LINKS) & set(kernels), "and no others", kernels)
    expect(kernels["ranks_per_node"] == "1", "of one rank", kernels)

    said = place.says(0, "bench", "comm", "--brief", ranks=2)
    expect(said.count("all_reduce") == 3 and said.count("message") == 3, "comm shows each call once", said)
    links = place.kept()
    expect(LINKS <= set(links), "comm keeps the link of a node", links)
    expect(links["ranks_per_node"] == "2", "of two ranks", links)
    expect({key: links[key] for key in KERNELS} == {key: kernels[key] for key in KERNELS}, "rates of kernels stay", links)

    place.says(0, "bench", "optimizer", "--brief", ranks=2)
    expect(KERNELS | LINKS | UPDATES <= set(place.kept()), "optimizer adds the rates of updates", place.kept())

    said = place.says(0, "plan", DECK, "--ranks", "1", "--time")
    expect("rates were measured with 2 ranks on a node, this run has 1; measure again: ziggurat bench all" in said,
           "a plan says that the rates are those of other ranks", said)
    expect("rates were measured" not in place.says(0, "plan", DECK, "--ranks", "2", "--time", "parallel.threads=1"),
           "and is silent otherwise")
    said = place.says(0, "plan", DECK, "--ranks", "2", "--time", "parallel.threads=3")
    expect("rates were measured with 1 thread per rank, this run has 3; measure again: OMP_NUM_THREADS=3 mpirun -n 2 ziggurat "
           "bench all" in said, "or of other threads", said)


def measures_all(place):
    disk = place.folder / "disk"
    disk.mkdir()
    file = place.folder / "all.yaml"
    file.write_text("machine_version: 1\nname: mine\nhas_device: false\nranks_per_node: 8\ncores_per_node: 1\n"
                    "host_memory: 1GiB\ncheckpoint_rate: 7MB/s\nprice_per_hour: 1.5\nop_overhead: 1s\nnode_link:\n  sharers: 2\n")
    said = place.says(0, "bench", "all", disk, "--size", "1MiB", "--brief", "--machine-file", file, ranks=2)
    expect("kept in" in said, "all keeps its results", said)
    kept = place.kept(file)
    expect(KERNELS | LINKS | UPDATES | DISKS <= set(kept), "all measures everything", kept)
    expect((kept["checkpoint_rate"], kept["price_per_hour"], kept["name"].strip('"'), kept["node_link.sharers"]) ==
           ("7MB/s", "1.5", "mine", "2"),
           "figures that were not measured stay", kept)
    expect(kept["op_overhead"] != "1s" and kept["ranks_per_node"] == "2", "those that were measured are replaced", kept)
    expect(list(disk.iterdir()) == [], "no file is left", list(disk.iterdir()))


def plans_with_it(place):
    file = place.folder / "all.yaml"
    (place.folder / "text.txt").write_text("a text that is long enough for a few windows of tokens\n" * 200)
    place.environment["ZIGGURAT_TEXT"] = str(place.folder / "text.txt")

    def step(text):
        file.write_text(text)
        said = place.says(0, "plan", DECK, "--ranks", "2", "--machine", file)
        found = re.search(r"^time +estimated: a step takes ([\d.]+) (us|ms|s)\b", said, re.M)
        expect(found, "the plan has the time of a step", said)
        return float(found[1]) * {"us": 1e-6, "ms": 1e-3, "s": 1}[found[2]]

    measured = file.read_text()
    usual = step(measured)
    for key, value in (("products.bf16.flops", "1000000000"), ("node_link.latency", "0.2s"), ("op_overhead", "0.05s"),
                       ("update_rate", "500000")):
        slow = step(with_figure(measured, key, value))
        expect(slow > 1.5 * usual, f"{key} counts in the plan", (slow, usual))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--binary", type=pathlib.Path, required=True)
    parser.add_argument("--work", type=pathlib.Path, required=True)
    parser.add_argument("--mpiexec", required=True)
    arguments = parser.parse_args()
    shutil.rmtree(arguments.work, ignore_errors=True)
    arguments.work.mkdir(parents=True)
    place = Place(arguments.binary, arguments.mpiexec, arguments.work.resolve())
    for check in (refuses_at_once, measures_one_after_the_other, measures_all, plans_with_it):
        check(place)
    print("measured")


if __name__ == "__main__":
    main()
