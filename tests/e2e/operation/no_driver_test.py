#!/usr/bin/env python3
"""A program that is built for GPUs, where there is no driver for them.

  no_driver_test.py --binary ZIGGURAT --work FOLDER --mpiexec COMMAND [--without ZIGGURAT]

tiers.device.kind=cuda ends with 3 and one sentence; auto says that the host computes, and trains to the bits of
kind=host, and of the program of --without, which is built without GPUs, if it is there and compiled alike. Where
the system names a GPU that no driver answers for, auto ends with 3 too. On the emulated GPUs the environment takes the
driver away; a real one is left alone, and the test is skipped.
"""

import argparse
import ctypes
import os
import pathlib
import re
import shlex
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import equivalence

SKIPPED = 77  # CTest's SKIP_RETURN_CODE
NO_RESOURCE = 3
PATIENCE_S = 240  # only for what hangs
DECKS = pathlib.Path(__file__).resolve().parents[1] / "decks"
# A /dev of this process alone, with what MPI wants of it and a GPU's file.
NAMED_GPU = """
set -e
dev=$(mktemp -d)
mount -t tmpfs x "$dev"
for name in null zero full random urandom tty; do touch "$dev/$name"; mount --bind "/dev/$name" "$dev/$name"; done
mkdir "$dev/shm" "$dev/pts"
mount --bind /dev/shm "$dev/shm"
touch "$dev/nvidia0"
mount --rbind "$dev" /dev
exec "$@"
"""


def expect(holds, what, output=""):
    if not holds:
        sys.exit(f"FAILED: {what}\n{output}")


def has_driver():
    try:
        ctypes.CDLL("libcuda.so.1")
        return True
    except OSError:
        return False


def compiled(binary):
    """How a program was, as `Release, march=native`."""
    said = subprocess.run([binary, "--version"], check=True, capture_output=True, text=True).stdout
    return re.search(r"\(git [^,]*, (.*)\)", said)[1]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--binary", required=True)
    parser.add_argument("--work", type=pathlib.Path, required=True)
    parser.add_argument("--mpiexec", required=True)
    parser.add_argument("--without", type=pathlib.Path)
    chosen = parser.parse_args()
    if has_driver():
        print("SKIPPED: this machine has a driver for GPUs")
        return SKIPPED
    os.environ["ZIGGURAT_EMULATED_CUDA_DRIVER"] = "0"
    work = chosen.work.resolve()
    runner = equivalence.Runner(chosen.binary, chosen.mpiexec, work, equivalence.Family(DECKS / "llama_tiny.yaml", 5))

    def call(*words, before=(), ranks=2):
        done = subprocess.run([*before, *shlex.split(chosen.mpiexec), "-n", str(ranks), chosen.binary, "train",
                               "llama_tiny.yaml", "train.steps=5", *words], cwd=work, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=PATIENCE_S, check=False)
        return done.returncode, done.stdout

    code, said = call("tiers.device.kind=cuda", "run.dir=cuda")
    expect(code == NO_RESOURCE, f"tiers.device.kind=cuda ended with {code}", said)
    told = [line for line in said.splitlines() if "there is no GPU to compute with" in line]
    expect(len(told) == 1 and "no GPU driver is installed" in said, "not told once, with its reason", said)
    expect(not (work / "cuda").exists(), "a run that cannot begin left a folder", said)

    code, said = call("run.dir=told")
    expect(code == 0, f"tiers.device.kind=auto ended with {code}", said)
    told = said.count("the host's cores compute, not a GPU")
    expect(told == 1 and "no GPU driver is installed" in said, f"auto told {told} times that no GPU computes", said)
    code, said = call("run.dir=silent", "tiers.device.kind=host")
    expect(code == 0 and "not a GPU" not in said, "kind=host speaks of GPUs", said)

    on_host = runner.train(equivalence.Case("host", 2, ["tiers.device.kind=host"]))
    equivalence.same_bits("auto", runner.train(equivalence.Case("auto", 2)), "host", on_host)
    if chosen.without and chosen.without.exists() and compiled(chosen.without) == compiled(chosen.binary):
        runner.binary = str(chosen.without)
        equivalence.same_bits("without", runner.train(equivalence.Case("without", 2)), "host", on_host)
        print("the bits of the program that is built without GPUs")
    else:
        print("no program that is built without GPUs, and else alike, is there to compare with")

    named = ["unshare", *([] if os.geteuid() == 0 else ["--user", "--map-root-user"]), "--mount", "sh", "-c", NAMED_GPU, "sh"]
    probe = subprocess.run([*named, "test", "-e", "/dev/nvidia0"], capture_output=True, text=True, check=False)
    if probe.returncode != 0:
        print(f"not tried: a GPU's file, for no namespace can be made here ({probe.stderr.strip()})")
        return 0
    code, said = call("run.dir=named", before=named)
    expect(code == NO_RESOURCE, f"with a GPU that no driver answers for, auto ended with {code}", said)
    expect(said.count("this machine lists GPUs that cannot be used") == 1, "not told once that a GPU cannot be used", said)
    code, said = call("run.dir=meant", "tiers.device.kind=host", before=named)
    expect(code == 0, f"kind=host ended with {code} beside such a GPU", said)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except equivalence.Failure as failure:
        sys.exit(f"FAILED: {failure}")
